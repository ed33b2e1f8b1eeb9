"""The demo's story: two faults, and a crash of the service in the middle of the second recovery."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from cmgr.cli import past, show, source
from cmgr.cli.demo.service import Service
from cmgr.cli.options import Common, StatusOptions
from cmgr.cli.text import out
from cmgr.errors import StoreError
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.rings import Phase
from cmgr.sentences.sentence import say
from cmgr.service.door.client import order
from cmgr.view.text import timeline
from cmgr.view.text.render import wrapped

FAULT = "80E24E00"
PATIENCE = timedelta(seconds=30)
DOWN = (Phase.WAITING, Phase.RESETTING, Phase.VERIFYING)
"""Phases in which the containers are down."""


class Story:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._common = Common(config=service.config)
        self._told = 0
        self._faulted = source.now()
        self._closed = 0

    def tell(self) -> None:
        self._say(say("demo.starts"))
        self._service.start()
        self._status()
        self._first()
        self._second()
        self._status()
        self._typed("history")
        asked = past.HistoryOptions(config=self._service.config)
        out.lines(timeline.episodes(source.spoken(asked, past.episodes(asked, 20)), show.page(asked)))
        self._say(say("demo.on-page", command="cmgr demo --web"))

    def _first(self) -> None:
        self._say(say("demo.first"))
        self._fault(1)
        self._follow(lambda: self._closed == 1, say("demo.not-recovered", length=PATIENCE))
        self._status()

    def _second(self) -> None:
        self._say(say("demo.second"))
        self._fault(2)
        self._follow(self._is_down, say("demo.not-stopped", length=PATIENCE))
        self._service.kill()
        self._tell_notes()
        self._say(say("demo.dead"))
        self._status()
        self._say(say("demo.starts-again"))
        self._service.start()
        self._follow(lambda: self._closed == 2, say("demo.not-recovered", length=PATIENCE))

    def _fault(self, chip: int) -> None:
        self._typed(f"inject {chip} {FAULT}")
        with source.opened(self._common) as database:
            self._told = max((note.id for note in database.notes(None, 1)), default=0)
        self._faulted = source.now()
        order(self._service.socket, "inject", chip=chip, code=FAULT, assertion="occurred")

    def _status(self) -> None:
        self._typed("status")
        show.status(StatusOptions(config=self._service.config))

    def _follow(self, done: Callable[[], bool], late: str) -> None:
        """Tell the timeline line by line until it is done."""

        def told_and_done() -> bool:
            self._tell_notes()
            return done()

        self._service.wait(told_and_done, PATIENCE, late)

    def _tell_notes(self) -> None:
        with suppress(StoreError), source.opened(self._common) as database:
            for note in database.notes(None, 1000):
                if note.id > self._told:
                    self._told = note.id
                    self._closed += note.kind is NoteKind.CLOSED
                    self._line(note.at, note.text)

    def _line(self, at: datetime, text: str) -> None:
        offset = timeline.offset((at - self._faulted).total_seconds()).rjust(10)
        first, *rest = wrapped(out.spoken(text), out.width() - 14)
        out.lines([f"  {offset}  {first}", *(" " * 14 + line for line in rest)])
        out.flush()

    def _is_down(self) -> bool:
        with source.opened(self._common) as database:
            node = database.node()
        return any(ring.phase in DOWN for ring in node.rings.values()) and all(
            hold.is_down for hold in node.holds.values()
        )

    def _typed(self, command: str) -> None:
        out.lines(["", f"$ cmgr {command}"])
        out.flush()

    def _say(self, text: str) -> None:
        out.lines(["", *(f"# {line}" for line in wrapped(out.spoken(text), out.width() - 2))])
        out.flush()
