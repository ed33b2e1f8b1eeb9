"""A fleet's engine that is etcd: the port `Fleet` over the gateway.

Two threads. `fleet-watch` registers, reads everything, follows the changes behind that, and begins anew whenever that
ends. `fleet-pulse` keeps our sign of life, by the node that the watch hangs on: a node that does not answer is left. A
watch alone would not tell: https://etcd.io/docs/v3.5/learning/api/#watch-streams promises nothing about a line that is
silent. It also reads everything now and then, and notices a watch that has not told what is there.
"""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from cmgr.errors import FleetError, Unsure
from cmgr.fleet import document_text
from cmgr.fleet import etcd_wire as wire
from cmgr.fleet.appliance_text import presence
from cmgr.fleet.gateway import Away, Gateway, Stream
from cmgr.fleet.registration import RANGE, TXN, Identity, Registration
from cmgr.fleet.roll import Roll
from cmgr.fleet.sign import Sign
from cmgr.frozen import dataclass
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.messages.documents import NOTHING, Document, EntryState, Outcome, Seen, Written
from cmgr.model.values.messages.fleet_facts import FleetDown, FleetUp, GroupSeen
from cmgr.model.values.presence import Appliance, EngineNode, FleetSeen, Presence
from cmgr.ports import FleetFact
from cmgr.sentences.sentence import reason

MOST_KEYS = 8192
"""So many keys of a fleet are read; a thousand groups and sixty appliances have fewer by far."""

_CLOSE_SECONDS = 1.5

_SHORT_LIFE = 5.0
"""A watch that ended sooner than this counts as another failure in a row."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds. `pulse`: how often the node that the watch hangs on is asked, and `answer` how long it may take.

    `resync`: how often everything is read. `first_delay`, `longest_delay`: before the next try after a failure.
    """

    pulse: float = 2.0
    answer: float = 1.5
    resync: float = 30.0
    first_delay: float = 0.2
    longest_delay: float = 5.0


USUAL = Pace()


class EtcdFleet:
    """One appliance in the fleet. Opened without asking anybody: `watch` begins."""

    def __init__(self, who: Identity, gateway: Gateway, pace: Pace = USUAL) -> None:
        self.name = who.name
        self._keys = who.keys
        self._gateway = gateway
        self._pace = pace
        self._registration = Registration(gateway, who)
        self._roll = Roll(who.name)
        self._sign = Sign(gateway, who.keys.alive(who.name), who.lease)
        self._telling = threading.Lock()
        self._told: dict[str, int] = {}
        """The revision of each group's document that was told last."""
        self._owed: dict[str, int] = {}
        """The changes that a reading has found before the watch told them."""
        self._stream: Stream | None = None
        self._refusal: wire.Refused | None = None
        """The answer to the last write, if etcd takes none though it answers."""
        self._flows = self._is_down = False
        self._why_down = ""
        self._over = threading.Event()
        self._tell: Callable[[FleetFact], None] = lambda fact: None
        names = {"fleet-watch": self._watch, "fleet-pulse": self._pulse}
        self._threads = [threading.Thread(target=run, name=name, daemon=True) for name, run in names.items()]

    def watch(self, tell: Callable[[FleetFact], None]) -> None:
        self._tell = tell
        for thread in self._threads:
            thread.start()

    def write(self, group: str, document: Document, revision: int) -> Written:
        registered = self._registration.now
        if registered is None:
            raise FleetError(f"cannot write the document of group {group}: not registered with the fleet at present")
        self._show_ready(document, registered.same)
        key = self._keys.group(group)
        stored = document_text.text(document) if document.members else None
        order = wire.Puts(
            {} if stored is None else {key: stored},
            () if stored is not None else (key,),
            same=registered.same,
            at={key: revision},
            reads=(key, *registered.same),
        )
        try:
            verdict = wire.verdict(self._gateway.ask(TXN, wire.puts_asked(order)))
        except (Unsure, wire.Malformed):
            return Written(Outcome.UNKNOWN)
        except wire.Refused as error:
            self._refusal = error
            raise
        self._refusal = None
        if verdict.done:
            return Written(Outcome.DONE, verdict.revision)
        found = {name: there.value for name, there in verdict.found.items()}
        if not self._registration.holds({name: found.get(name) for name in registered.same}):
            self._begin_anew()
            raise FleetError(f"cannot write the document of group {group}: this appliance has to register again")
        there = verdict.found.get(key)
        # It was sent twice: the first time nobody had answered.
        if stored is not None and there is not None and there.value == stored:
            return Written(Outcome.DONE, there.mod)
        return Written(Outcome.STALE)

    def _show_ready(self, document: Document, same: dict[str, bytes | None]) -> None:
        """Before it says that we are ready: whoever reads that finds what is shown for it. Raises `FleetError`."""
        entry = document.members.get(self.name)
        if entry is not None and entry.state is EntryState.READY:
            try:
                self._sign.renew(same)
            except Unsure as error:
                raise FleetError(error.message, hint=error.hint) from None

    def read(self, group: str) -> Seen:
        try:
            page = wire.page(self._gateway.ask(RANGE, wire.range_asked(self._keys.group(group))))
        except Unsure as error:
            raise FleetError(error.message, hint=error.hint) from None
        return _seen(page.keys[0].value, page.keys[0].mod) if page.keys else NOTHING

    def show(self, look: Callable[[], Presence]) -> None:
        """Show the others what this returns. It is called every 2 s, on a thread of the fleet's, and must not raise."""
        self._sign.show(look)

    def shown(self) -> Mapping[str, Presence]:
        """Return what each appliance shows: all that was shown before this call is in it.

        A text that cannot be read is left out. Any thread; blocks up to 3 s for a page of them. Raises `FleetError`.
        """
        found = dict[str, Presence]()
        try:
            keys, _ = self._all(self._keys.alive(""))
        except Unsure as error:
            raise FleetError(error.message, hint=error.hint) from None
        for key in keys:
            kind, name = self._keys.split(key.name)
            with suppress(FleetError):
                found |= {name: presence(key.value)[0]} if kind == "alive" else {}
        return found

    def appliances(self) -> tuple[Appliance, ...]:
        """Return the appliances as they show themselves, by name. Any thread; does not block or raise."""
        return self._roll.appliances()

    def seen(self) -> FleetSeen:
        """Return what the engine told last, by the machine's clock. Any thread; does not block or raise."""
        heard = max((at for at, _ in tuple(self._gateway.heard.values())), default=None)
        term = self._sign.term
        return FleetSeen(
            self._roll.appliances(),
            None if heard is None else datetime.fromtimestamp(heard, UTC),
            None if term is None else term[1],
            *self.refusal(),
        )

    def refusal(self) -> tuple[str, str]:
        """Return why the engine takes no writes though it answers, and what to do about that; nothing where it does.

        It is found out every 30 s, and each time that something is to be written. Any thread; does not block or raise.
        """
        error = self._refusal
        return ("", "") if error is None else (error.message, error.hint)

    def nodes(self) -> tuple[EngineNode, ...]:
        """Return the engine's nodes as they are. Any thread; blocks up to 3 s, and does not raise."""
        from cmgr.fleet.nodes import nodes  # Only people ask for them, and mostly nobody does.

        return nodes(self._gateway)

    def close(self) -> None:
        self._over.set()
        self._begin_anew()
        until = time.monotonic() + _CLOSE_SECONDS
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, until - time.monotonic()))
        self._gateway.close()

    def _watch(self) -> None:
        failures = 0
        while not self._over.is_set():
            began, self._flows = time.monotonic(), False
            try:
                self._follow()
            except (FleetError, Unsure) as error:
                failures = 0 if self._flows and time.monotonic() - began > _SHORT_LIFE else failures + 1
                # A line that breaks is opened anew: only when that cannot be done is the engine away.
                if failures > 2 or not self._flows:
                    self._say_down(error)
                if failures:
                    self._over.wait(self._delay(failures))

    def _say_down(self, error: FleetError | Unsure) -> None:
        """Tell it once; anew only when a person has something else to do."""
        why = reason(error, "")
        is_silence = isinstance(error, Unsure) or type(error) is Away
        if self._is_down and (why == self._why_down or is_silence):
            return
        self._is_down, self._why_down = True, why
        self._say(FleetDown(why))

    def _delay(self, failures: int) -> float:
        first, most = timedelta(seconds=self._pace.first_delay), timedelta(seconds=self._pace.longest_delay)
        return backed_off(first, most, failures).total_seconds()

    def _follow(self) -> None:
        """Register, read everything, and follow what changes. It ends by an error: `FleetError` or `Unsure`."""
        registered = self._registration.made()
        keys, revision = self._all(self._keys.whole)
        stream = self._gateway.follow("/v3/watch", wire.watch_asked(self._keys.whole, revision + 1))
        self._stream = stream
        try:
            if self._over.is_set():
                stream.cut()  # `close` may have looked for it too early.
            lines = stream.lines()
            self._take(wire.news(next(lines)))
            self._began(registered.born, keys)
            for line in lines:
                self._take(wire.news(line))
        finally:
            self._stream = None
            stream.cut()

    def _all(self, prefix: str) -> tuple[tuple[wire.Key, ...], int]:
        """Return every key below this as they were at one revision."""
        first, end = wire.below(prefix)
        found: list[wire.Key] = []
        revision = 0
        while len(found) <= MOST_KEYS:
            page = wire.page(self._gateway.ask(RANGE, wire.range_asked(first, end, revision)))
            revision = revision or page.revision
            found += page.keys
            if not page.more or not page.keys:
                return tuple(found), revision
            first = page.keys[-1].name + "\0"
        hint = "another fleet.prefix"
        raise FleetError(f"cannot use {self._keys.prefix}: more than {MOST_KEYS} keys are there", hint=hint)

    def _began(self, born: str, keys: tuple[wire.Key, ...]) -> None:
        self._roll.begin(keys, self._keys)
        seen = {name: key for key in keys for kind, name in (self._keys.split(key.name),) if kind == "groups"}
        with self._telling:
            gone = self._told.keys() - seen.keys()
            self._told, self._owed, self._flows, self._is_down = {}, {}, True, False
            self._tell(FleetUp(born))
            for name in gone:
                self._tell(GroupSeen(name, NOTHING))
            for name, key in seen.items():
                self._told[name] = key.mod
                self._tell(GroupSeen(name, _seen(key.value, key.mod)))

    def _take(self, news: wire.News) -> None:
        """Tell a line of the watch. Raises `FleetError` when it is the last, or we have to register anew."""
        if news.canceled:
            why = "what was asked for is compacted" if news.compacted else news.why or "etcd gave no reason"
            raise FleetError(f"cannot follow etcd: the watch was canceled: {why}")
        registered = self._registration.now
        for change in news.changes:
            kind, name = self._keys.split(change.name)
            if registered is not None and registered.same.get(change.name, change.value) != change.value:
                raise FleetError(f"cannot follow etcd: {change.name} was changed: registering again")
            if kind == "groups":
                seen = NOTHING if change.value is None else _seen(change.value, change.mod)
                with self._telling:
                    self._tell_group(name, seen, change.mod, by_watch=True)
            elif kind:
                self._roll.take(kind, name, change.value, live=True)

    def _tell_group(self, name: str, seen: Seen, mod: int, *, by_watch: bool) -> None:
        """Tell it unless something later was told. Whoever calls it holds `_telling`."""
        if mod < self._told.get(name, 0):
            return
        if by_watch and mod >= self._owed.get(name, 0):
            self._owed.pop(name, None)
        elif not by_watch and mod > self._told.get(name, 0):
            self._owed[name] = mod
        self._told[name] = mod
        self._tell(GroupSeen(name, seen))

    def _say(self, fact: FleetFact) -> None:
        with self._telling:
            self._tell(fact)

    def _pulse(self) -> None:
        read_at = time.monotonic()
        while not self._over.wait(self._pace.pulse):
            stream, registered = self._stream, self._registration.now
            if stream is None or registered is None or not self._flows:
                continue
            try:
                owed = dict(self._owed)
                self._sign.beat(stream.endpoint, registered.same, self._pace.answer)
                if any(self._owed.get(name) == mod for name, mod in owed.items()):
                    raise FleetError(f"cannot follow {stream.endpoint}: it does not tell what is there")
                if time.monotonic() - read_at >= self._pace.resync:
                    read_at = time.monotonic()
                    self._resync(stream)
                    self._try_to_write()
                elif self._refusal is not None:
                    self._try_to_write()
            except (FleetError, Unsure):
                self._gateway.suspect(stream.endpoint)
                stream.cut()
        self._sign.end()

    def _try_to_write(self) -> None:
        with suppress(FleetError, Unsure):  # A node that answers too late is found by the next beat.
            self._refusal = self._registration.refused(self._pace.answer)

    def _resync(self, stream: Stream) -> None:
        """Read everything, and tell every document anew, as long as it is this watch that tells the changes."""
        keys, revision = self._all(self._keys.whole)
        seen = {name: key for key in keys for kind, name in (self._keys.split(key.name),) if kind == "groups"}
        with self._telling:
            # Read before another watch began, it may be of a memory that was put back since, and of later revisions
            # than any that come now.
            if self._stream is not stream:
                return
            for name, key in seen.items():
                self._tell_group(name, _seen(key.value, key.mod), key.mod, by_watch=False)
            for name in [name for name, mod in self._told.items() if name not in seen and mod <= revision]:
                self._tell_group(name, NOTHING, revision, by_watch=True)

    def _begin_anew(self) -> None:
        stream = self._stream
        if stream is not None:
            stream.cut()


def _seen(stored: bytes, revision: int) -> Seen:
    try:
        return Seen(document_text.parse(stored), revision)
    except FleetError as error:
        return Seen(None, revision, reason(error, ""))
