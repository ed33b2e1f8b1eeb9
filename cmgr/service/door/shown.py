"""The documents as the command line prints them, for one who waits: lines that fit his terminal, in his time zone.

They are made of the same documents at the moment they are asked for, by the functions that the command line has for a
service that is older or does not answer.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo

from cmgr.config.kinds import is_zone
from cmgr.errors import BadRequest
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say, translated
from cmgr.service.door.answers import Answers
from cmgr.service.door.routes import Page, Request, language_in, number_of, unread
from cmgr.shortcut import STATE
from cmgr.view import status as view
from cmgr.view.text import reading, render, texts

if TYPE_CHECKING:
    from cmgr.view import shapes

Document = TypeVar("Document")


@dataclass(frozen=True, slots=True)
class Shown:
    """Any thread; each raises `CmgrError`. `clock`: the time by the system's clock, as the command line has it."""

    answers: Answers
    clock: Callable[[], datetime]

    def status(self, request: Request) -> Page:
        told = _spoken(request, self.answers.status(request))
        return _page(texts.picture(told, self._sheet(request)), (STATE, reading.state(told)))

    def chips(self, request: Request) -> Page:
        # Measurements stand in no line, and take their time.
        told: shapes.Chips = {"chips": view.chips(self.answers.node())}
        return _page(texts.chips(_spoken(request, told), self._sheet(request)))

    def faults(self, request: Request) -> Page:
        told = _spoken(request, self.answers.faults(request))
        return _page(texts.faults(told, self._sheet(request), history=False))

    def _sheet(self, request: Request) -> texts.Page:
        width = number_of(request, "width", render.WIDTH)
        zone = _zone(str(request.args.get("zone", "UTC")))
        return texts.Page(render.Face(self.clock(), zone, language_in(request.args)), max(width, render.WIDTH))


def _page(lines: Iterable[str], *headers: tuple[str, str]) -> Page:
    return Page(render.block(lines).encode(), headers)


def _spoken(request: Request, document: Document) -> Document:
    return translated(document, language_in(request.args))


def _zone(name: str) -> tzinfo:
    if name in ("UTC", "Etc/UTC"):
        return UTC  # It has no file where there are no zones.
    if not is_zone(name):
        raise BadRequest(unread(say("error.no-zone", zone=repr(name[:40]))))
    return ZoneInfo(name)
