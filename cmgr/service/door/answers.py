"""The service's answers: the documents that `cmgr … -o json` prints. Orders stand in `orders`."""

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cmgr import redact
from cmgr.config.roles import Role
from cmgr.config.spelling import duration
from cmgr.errors import BadRequest, CmgrError
from cmgr.frozen import dataclass
from cmgr.model.containers.moving.cdi import of_chips
from cmgr.model.values.chips import ChipId
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import ContainerKey
from cmgr.ports import ChipDriver, Diagnosing, Gauge, Runtime
from cmgr.sentences.sentence import say, translated
from cmgr.service.door import records
from cmgr.service.door.orders.chip_list import chips_in
from cmgr.service.door.orders.groups import there
from cmgr.service.door.routes import Page, Request, Stream, Unwell, flag_of, language_in, number_of, unread
from cmgr.service.parts.cdi_files import CdiFiles
from cmgr.service.parts.exports import EVENTS, Exports
from cmgr.service.parts.ranks import Ranks
from cmgr.service.timing.period import period, quarter_of
from cmgr.store.reader import Reader, open_reader
from cmgr.view import status as view
from cmgr.view.groups import groups
from cmgr.view.slots import slots
from cmgr.view.text.drawing import drawing
from cmgr.words import one_line

if TYPE_CHECKING:
    from cmgr.view import group_shapes, shapes, slot_shapes
    from cmgr.view.one import one_shapes

MOST = 1000
"""Rows of the past in one answer, the newest: ten thousand would cost a third of a second of processor."""
OVERDUE_LOOKS = timedelta(seconds=5)
"""How often it is looked anew whether what is under way takes too long."""


class Version:
    """How often a value has changed, as far as anybody has looked. Any thread."""

    def __init__(self) -> None:
        # Another life counts from the beginning, and its answers are others.
        self._life = os.urandom(4).hex()
        self._lock = threading.Lock()
        self._value: object = None
        self._count = 0

    def of(self, value: object) -> str:
        """Return a text that is another one whenever the value is. Values that share their parts compare fast."""
        with self._lock:
            if value is not self._value and value != self._value:
                self._count += 1
            self._value = value
            return f"{self._life}-{self._count}"


LAST_WORDS = 10
"""So many lines of the log of a container that does not serve are shown."""

MOST_EVENTS = 1000
"""So many lines of the history the events are made of, the newest."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers from the node as it is at that moment, and from the database. Any thread; each raises `CmgrError`."""

    driver: ChipDriver
    node: Callable[[], Node]
    own: Callable[[], view.Own]
    now: Callable[[], datetime]
    database: Path
    look: "Callable[[], shapes.Check]"
    """Looks at everything that the service needs, as `cmgr check` does. May block for long."""
    files: Callable[[], CdiFiles]
    exports: Exports
    seen: "Callable[[bool], group_shapes.Fleet]"
    """Returns the fleet as it is seen from here; with true the engine's nodes are asked, within 3 s."""
    ranks: Ranks
    reaction: Callable[[], timedelta]
    """Returns `downtime.reaction`."""
    runtimes: Mapping[str, Runtime]
    """By name, as many as there are at that moment."""

    _version: Version = field(default_factory=Version)
    _picture: Version = field(default_factory=Version)
    _looking: threading.Lock = field(default_factory=threading.Lock)

    def status(self, _request: Request) -> "shapes.Status":
        return view.status(self.node(), self.own(), self.now())

    def chips(self, _request: Request) -> "shapes.Chips":
        node = self.node()
        rows = view.chips(node)
        if isinstance(self.driver, Gauge):
            chips = sorted(node.chips)
            measured = self.driver.measure(chips)
            rows = [{**row, "measured": dict(measured.get(chip, {}))} for chip, row in zip(chips, rows, strict=True)]
        return {"chips": rows}

    def faults(self, request: Request) -> "shapes.Faults":
        since = request.args.get("since")
        if since is None and not request.args.get("all"):
            return view.faults(self.node())
        with self._read() as database:
            begin = None if since is None else self.now() - _length(str(since))
            return records.faults(self.node(), database, begin, MOST)

    def containers(self, _request: Request) -> "shapes.Containers":
        return {"containers": view.containers(self.node())}

    def chip(self, request: Request) -> "one_shapes.AboutChip":
        with self._read() as database:
            return records.about_chip(self.node(), database, number_of(request, "chip"), self.now())

    def container(self, request: Request) -> "one_shapes.AboutContainer":
        with self._read() as database:
            told = records.about_container(self.node(), database, str(request.args["container"]), self.now())
        # Logs have secrets in them, of which not all can be blacked out.
        if not told["container"]["serves"] and request.role is Role.OPERATE:
            told["last_words"] = self._last_words(told["container"])
        return told

    def _last_words(self, row: "shapes.Container") -> list[str]:
        key = ContainerKey(row["runtime"], row["namespace"], row["id"])
        runtime: object = self.runtimes.get(key.runtime)
        if not isinstance(runtime, Diagnosing):
            return []
        try:
            written = runtime.output(key, LAST_WORDS)
        except CmgrError:
            return []  # The command that shows its log says why there is none.
        return [*map(one_line, redact.text(written).splitlines())]

    def explain(self, request: Request) -> "shapes.Explanation":
        return view.explain(str(request.args["code"]), self.node())

    def episodes(self, request: Request) -> "shapes.Episodes":
        with self._read() as database:
            node, asked = self.node(), self._asked(request)
            return records.episodes(database, _limit(request), self.now(), records.sought(node, database, asked))

    def episode(self, request: Request) -> "shapes.Timeline":
        with self._read() as database:
            return records.episode(database, number_of(request, "episode"), self.now(), MOST)

    def picture(self, request: Request) -> Page:
        language = language_in(request.args)
        told = translated(self.episode(request), language)
        return Page(drawing(told, self.own().name, language).encode())

    def history(self, request: Request) -> "shapes.History":
        with self._read() as database:
            sought = records.sought(self.node(), database, self._asked(request))
            return records.lines(database, _limit(request), sought)

    def downtime(self, request: Request) -> "slot_shapes.Downtime":
        # By the system's clock, as the database has it.
        now, when = datetime.now(UTC), str(request.args.get("when", ""))
        try:
            asked = period(when) if when else quarter_of(now)
        except ValueError as error:
            raise BadRequest(unread(str(error)), hint=say("error.such-periods")) from error
        silent = {state.name: state.silent for state in self.node().runtimes.values() if state.silent is not None}
        with self._read() as database:
            return records.downtime(database, asked, now, self.reaction(), silent)

    def groups(self, _request: Request) -> "group_shapes.Groups":
        return {"groups": groups(self.node())}

    def group(self, request: Request) -> "group_shapes.Groups":
        name = there(request, self.node(), "show")
        return {"groups": [row for row in groups(self.node()) if row["name"] == name]}

    def ranktable(self, request: Request) -> Page:
        name = there(request, self.node(), "ranktable")
        return Page(json.dumps(self.ranks.table(name)).encode())

    def fleet(self, request: Request) -> "group_shapes.Fleet":
        return self.seen(bool(request.args.get("nodes")))

    def slots(self, _request: Request) -> "slot_shapes.Slots":
        return {"slots": slots(self.node())}

    def cdi(self, _request: Request) -> "slot_shapes.Cdi":
        node, files = self.node(), self.files()
        spec = of_chips(node)
        file = str(files.path(spec.name))
        return {"file": file, "kept": node.policy.cdi_chips, "specification": files.document(spec)}

    def export(self, request: Request) -> Page:
        name = str(request.args["document"])
        described = flag_of(request, "described")
        if name != EVENTS:
            return Page(self.exports.text(name, described=described))
        if described:
            raise BadRequest(say("error.not-described", document=EVENTS))
        with self._read() as database:
            return Page(self.exports.events(database.notes(None, MOST_EVENTS)))

    def check(self, _request: Request) -> "shapes.Check":
        # One after the other: each loads the driver's library in a process of its own.
        with self._looking:
            return self.look()

    def health(self, _request: Request) -> "slot_shapes.Wellbeing | Unwell":
        told = view.health(self.node(), self.own())
        return told if told["healthy"] else Unwell(told)

    def events(self, _request: Request) -> "Annotated[Stream, shapes.HistoryLine]":
        return Stream()

    def tag(self) -> str:
        """Return a text that changes whenever anything does that is decided on."""
        return self._version.of(self.node())

    def tag_of_picture(self) -> str:
        """Return the same for the whole picture: with the service's own state, and with how long things take."""
        node = self.node()
        under_way = bool(node.holds) or any(ring.in_episode for ring in node.rings.values())
        late = (self.now() - datetime.min.replace(tzinfo=self.now().tzinfo)) // OVERDUE_LOOKS if under_way else 0
        return self._picture.of((node, self.own(), late))

    def _asked(self, request: Request) -> records.Asked:
        args = {name: str(value) for name, value in request.args.items()}
        if (outcome := args.get("outcome")) not in (None, *records.OUTCOMES):
            raise BadRequest(unread(say("error.must-be-one-of", name="outcome", those=records.OUTCOMES)))
        since = None if "since" not in args else self.now() - _length(args["since"])
        chips = None if "chip" not in args else _chips(args["chip"])
        return records.Asked(chips, args.get("container"), args.get("group"), outcome, since)

    def _read(self) -> Reader:
        return open_reader(self.database)


def _limit(request: Request) -> int:
    limit = number_of(request, "limit", records.LIMIT)
    if not 0 < limit <= MOST:
        raise BadRequest(unread(say("error.from-one-to", name="limit", most=MOST)))
    return limit


def _chips(text: str) -> frozenset[ChipId]:
    try:
        return chips_in(text)
    except ValueError as part:
        told = unread(say("error.is-no-chip", text=repr(str(part))))
        raise BadRequest(told, hint=say("error.such-as-chips")) from part


def _length(text: str) -> timedelta:
    try:
        return min(duration(text), timedelta(days=3650))
    except ValueError as error:
        told = unread(say("error.is-no-length", name="since"))
        raise BadRequest(told, hint=say("error.such-lengths")) from error
