"""Three appliances and three nodes of etcd, as real processes that end, stand still and are cut off where a test says.

Judged is by the witness beside each service, which notes every start and death of its pretended containers and every
reset by the machine's monotonic clock: all three have the same, whatever time of day they see.
"""

import json
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cmgr.errors import CmgrError
from cmgr.service.door.client import get
from cmgr.store.reader import open_reader
from tests.crash.crashing import ROOT, Plan, program
from tests.fleet.services import MEMBERS, Appliance, services
from tests.support.daemons.etcd import Cluster
from tests.support.figures import Figures
from tests.support.relay import Relay
from tests.support.service import NOW, Setting
from tests.support.waiting import eventually

SECTION = "Fleet"

BESIDE = 8
"""The chip of x, which is in no group."""

COMMITTED = re.compile(r"(before|after) (a commit|write of|read while|last look)|in (r\d|a reset)")
"""Points at which the database, the engine, the containers or the chips have changed, or are about to."""

RINGS = "the rings of members"
"""Whose reset has to be over before members are started."""

QUICK: Mapping[str, Setting] = {
    "fleet.lease": "5s",
    "limits.episodes_per_hour": 100_000,
    "reset.attempts": 100,
    "reset.window": "60s",
}
"""Many rounds come one after the other, each with a reset of its own."""


@dataclass(frozen=True, slots=True)
class Deed:
    """A container started or died, or a ring's reset was ordered, at this time of the machine's monotonic clock."""

    at: float
    appliance: str
    action: str
    name: str

    @property
    def who(self) -> tuple[str, str]:
        return self.appliance, self.name


def _ring(chips: Sequence[int]) -> str:
    return "the ring beside" if BESIDE in chips else RINGS


class Mortal(Appliance):
    """An appliance that ends, or stands still, at a point of its next round."""

    def __init__(self, folder: Path, name: str, size: int, endpoints: Sequence[str]) -> None:
        super().__init__(folder, name, size, endpoints)
        self.configure(QUICK)
        self.surroundings: Mapping[str, str] = {}

    def launch(self, environment: Mapping[str, str] | None = None, program_: Sequence[str] = ()) -> None:
        plan = Plan(str(self.folder / "trace"), str(self.folder / "witness"), rounds=str(self.folder / "rounds"))
        super().launch({"PYTHONPATH": str(ROOT), **self.surroundings, **(environment or {})}, program(plan))

    def meets(self, point: str | int | None, how: signal.Signals) -> None:
        """Let it get this signal at a point, by name or number, or nowhere: in the round that begins next."""
        (self.folder / "rounds").write_text(json.dumps({"at": point, "how": how}))

    def goes_on(self) -> None:
        """Let it live, or live again, without such a point."""
        (self.folder / "rounds").write_text("{}")
        if not self.running():
            self.launch()
        elif self.stands_still():
            self.tell(signal.SIGCONT)

    def passed(self) -> list[str]:
        """Return the points of all rounds until now, in the order in which it passed them."""
        path = self.folder / "trace"
        return path.read_text().splitlines() if path.exists() else []

    def stands_still(self) -> bool:
        return self.running() and Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def is_there(self) -> bool:
        """Return whether it stands still, or has ended."""
        return not self.running() or self.stands_still()

    def deeds(self) -> list[Deed]:
        path = self.folder / "witness"
        seen = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [Deed(w["steady"], self.name, w["action"], w.get("name") or _ring(w["chips"])) for w in seen]


class Trio:
    """The three, in one fleet, and how many rounds they have gone through."""

    def __init__(self, cluster: Cluster, relays: Mapping[str, Relay], appliances: Sequence[Mortal]) -> None:
        self.cluster = cluster
        self.relays = relays
        self.all = {each.name: each for each in appliances}
        self.rounds = 0
        self._marks = dict.fromkeys(self.all, 0)

    def __getitem__(self, name: str) -> Mortal:
        return self.all[name]

    def fault(self, name: str = "a", chip: int = 0) -> None:
        """Let a chip of a member have a fault, by which a round begins. Its service may die of it."""
        with suppress(CmgrError):
            self[name].inject(chip, NOW)

    def points(self) -> Mapping[str, list[str]]:
        """Return the points that each passes in a round in which nothing happens to anybody."""
        before = {name: len(each.passed()) for name, each in self.all.items()}
        self.fault()
        self.comes_through()
        return {name: each.passed()[before[name] :] for name, each in self.all.items()}

    def meets(self, name: str, point: str, how: signal.Signals) -> Mortal:
        """Let one of them get this signal at a point of a round that begins now, and wait until it has.

        Where this round has fewer commits than the one that the point is of, it is over then.
        """
        self[name].meets(point, how)
        self.fault()
        other = self["b" if name == "a" else "a"]  # While it stands still, a question would wait for half a minute.
        eventually(lambda: self[name].is_there() or other.is_whole(self.rounds + 1), f"{name} gets to {point}")
        return self[name]

    def comes_through(self, rounds: int = 1, beside: str = "") -> None:
        """Wait until so many more rounds are over, and check that everybody went through them as one must.

        In one round each member dies once and is started once, in several at least that. `beside`: the appliances on
        which the container beside the group was recovered as well; on others nothing has happened to it.
        """
        self.rounds += rounds
        self.all_run(self.rounds)
        deeds = self.news()
        for name in self.all:
            for container in (*MEMBERS, "x"):
                mine = [deed.action for deed in deeds if deed.who == (name, container)]
                wanted = ["die", "start"] if container in MEMBERS or name in beside else []
                several = rounds > 1 and (mine[:1], mine[-1:]) == (wanted[:1], wanted[-1:])
                assert several or mine == wanted, f"{container} of {name}: {deeds}"
        assert too_early(deeds) == [], deeds
        if rounds == 1:
            ended = [d.at for d in deeds if d.name in (*MEMBERS, RINGS) and d.action in ("die", "reset")]
            assert max(ended) <= min(d.at for d in deeds if d.name in MEMBERS and d.action == "start"), deeds
        assert {each.group()["fleet"]["round"] for each in self.all.values()} == {self.rounds}

    def all_run(self, round_: int) -> None:
        """Wait until all members run after this round, or a later one, and see that none of the others is lost."""
        for each in self.all.values():
            eventually(lambda each=each: is_over(each, round_), f"all of {each.name} runs after round {round_}")  # type: ignore[misc]

    def news(self) -> list[Deed]:
        """Return what has been done since this was asked last, in its order."""
        found = list[Deed]()
        for name, each in self.all.items():
            deeds = each.deeds()
            found += deeds[self._marks[name] :]
            self._marks[name] = len(deeds)
        return sorted(found, key=lambda deed: deed.at)

    def figures(self, figures: Figures, more: Mapping[str, int], overtaken: int = 0) -> None:
        """Say what was proved: a check has failed where anything was lost or too early.

        `overtaken`: rounds of these before whose end a fault began the next one.
        """
        figures.add(SECTION, "rounds of three services", self.rounds)
        figures.add(SECTION, "of these complete", self.rounds - overtaken)
        figures.add(SECTION, "of these overtaken by another fault", overtaken)
        for what, count in more.items():
            figures.add(SECTION, what, count)
        figures.add(SECTION, "members started before the barrier", 0)
        figures.add(SECTION, "members lost, left down or started twice in a round", 0)


def steps(points: Mapping[str, Sequence[str]], most: int = 0) -> list[tuple[str, str]]:
    """Return each with its points at which something lasting changes: all of them, or so many, spread evenly."""
    found = list[tuple[str, str]]()
    for name, passed in points.items():
        lasting = [point for point in passed if COMMITTED.match(point)]
        count = min(most or len(lasting), len(lasting))
        found += [(name, lasting[n * len(lasting) // count]) for n in range(count)]
    return found


def too_early(deeds: Sequence[Deed], names: str = "abc") -> list[Deed]:
    """Return the starts of members of which there was no moment, since each had died, in which all were down.

    The deeds begin while all run.
    """
    down = dict[tuple[str, str], bool]((who, False) for who in ((n, m) for n in names for m in MEMBERS))
    free = set[tuple[str, str]]()
    early = list[Deed]()
    for deed in deeds:
        if deed.who not in down or deed.action not in ("start", "die"):
            continue
        down[deed.who] = deed.action == "die"
        if deed.action == "start":
            early += [] if deed.who in free else [deed]
            free.discard(deed.who)
        elif all(down.values()):
            free = set(down)
    return early


def is_over(each: Mortal, round_: int) -> bool:
    """Return whether everything on this appliance runs, and its books are closed."""
    with suppress(CmgrError):
        if each.is_whole(round_) and each.runs("x"):
            with open_reader(each.database) as reader:
                return not reader.node().holds and not reader.commands()
    return False


def document(each: Appliance) -> Mapping[str, Any]:
    """Return what the appliance says of the group over all."""
    return dict(each.group()["fleet"])


def is_seen(by: Appliance, name: str) -> bool:
    told: Any = get(by.socket, "fleet")
    return any(one["name"] == name and one["state"] != "away" for one in told["appliances"])


@contextmanager
def trio(folder: Path, cluster: Cluster, kind: type[Mortal] = Mortal) -> Iterator[Trio]:
    """Yield three that run."""
    relays = {name: Relay(node.client) for name, node in zip("abc", cluster.nodes, strict=True)}
    try:
        with services(folder, "abc", lambda name: (relays[name].endpoint,), kind) as made:
            yield Trio(cluster, relays, made)
    finally:
        for relay in relays.values():
            relay.close()
