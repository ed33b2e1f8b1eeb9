"""Appliances of a fleet on an etcd of the tests, and what each of them is told."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from cmgr.errors import FleetError
from cmgr.fleet.appliance_text import Keys
from cmgr.fleet.etcd import EtcdFleet, Pace
from cmgr.fleet.gateway import Access, Gateway
from cmgr.fleet.registration import Identity
from cmgr.model.values.messages.documents import Document, Entry, EntryState, Outcome, Seen
from cmgr.model.values.messages.fleet_facts import FleetDown, FleetUp, GroupSeen
from cmgr.model.values.presence import Presence
from cmgr.model.values.services.groups import GroupPhase
from cmgr.ports import FleetFact
from tests.support.waiting import eventually

QUICK = Pace(pulse=0.1, answer=1.0, resync=0.5, first_delay=0.05, longest_delay=0.2)
"""Nobody in a test waits as long as in a machine room."""

SLOW = Pace(pulse=3600.0, resync=3600.0, first_delay=0.05, longest_delay=0.2)
"""Nothing is noticed by looking."""

LEASE = timedelta(seconds=5)


def document(round_: int = 1, **names: str) -> Document:
    """Return a document in which each appliance has one container."""
    members = {
        name: Entry(round_, EntryState.RUNNING, why, (f"rank-{name}",)) for name, why in (names or {"a": ""}).items()
    }
    return Document(2, round_, GroupPhase.RUNNING, "a", "a test", members=members)


class One:
    """An appliance, and everything that it was told, in order."""

    def __init__(self, fleet: EtcdFleet) -> None:
        self.fleet = fleet
        self.told: list[FleetFact] = []

    def begin(self) -> "One":
        """Watch, and wait until the engine is up."""
        self.fleet.watch(self.told.append)
        return self

    def up(self, times: int = 1) -> "One":
        eventually(lambda: self.ups() >= times, "the fleet is up")
        return self

    def ups(self) -> int:
        return sum(isinstance(fact, FleetUp) for fact in self.told)

    def born(self) -> str:
        return [fact.born for fact in self.told if isinstance(fact, FleetUp)][-1]

    def downs(self) -> list[str]:
        return [fact.why for fact in self.told if isinstance(fact, FleetDown)]

    def seen(self, group: str) -> list[Seen]:
        return [fact.seen for fact in self.told if isinstance(fact, GroupSeen) and fact.group == group]

    def sees(self, group: str, document: Document | None) -> Seen:
        """Wait until this is what was told last of the group."""

        def last() -> Seen | None:
            seen = self.seen(group)
            return seen[-1] if seen and seen[-1].document == document and not seen[-1].error else None

        found = eventually(last, f"{self.fleet.name} is told of {group}")
        assert found is not None
        return found


def show(one: One) -> None:
    """Let the appliance show that it is well."""
    one.fleet.show(lambda: Presence("ready", datetime(2026, 1, 1, tzinfo=UTC)))


def down(one: One, words: str) -> str:
    """Wait until the appliance is told that the engine is away for such a reason."""

    def found() -> str:
        return next((why for why in one.downs() if words in why), "")

    try:
        return eventually(found)
    except AssertionError:
        raise AssertionError(f"{one.fleet.name} is not told of: {words}; but of: {one.downs()}") from None


def written(one: One, round_: int, revision: int, group: str = "tp4") -> int:
    """Write a document as soon as that goes. Return its revision."""

    def done() -> int:
        try:
            told = one.fleet.write(group, document(round_), revision)
        except FleetError:
            return 0
        if told.outcome is Outcome.UNKNOWN:
            return 0
        assert told.outcome is Outcome.DONE
        return told.revision

    return eventually(done, f"{one.fleet.name} writes round {round_}")


def refused(one: One, why: str) -> None:
    with pytest.raises(FleetError, match=why):
        one.fleet.write("tp4", document(99), 0)


def reborn(one: One, before: str) -> bool:
    return one.born() != before


Make = Callable[..., One]


@contextmanager
def appliances(endpoints: tuple[str, ...], lease: timedelta = LEASE) -> Iterator[Make]:
    """Yield what makes an appliance of one new fleet there, by its name."""
    prefix = f"/fleet-{secrets.token_hex(4)}"
    with ExitStack() as stack:

        def make(
            name: str = "a", machine: str = "", pace: Pace = QUICK, access: Access | None = None, at: str = prefix
        ) -> One:
            word = (machine or name).encode().hex().ljust(32, "0")
            who = Identity(name, Keys(at), lambda: word, lease)
            one = One(EtcdFleet(who, Gateway(access or Access(endpoints)), pace))
            stack.callback(one.fleet.close)
            return one

        yield make
