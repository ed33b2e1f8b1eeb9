"""The door for the page's process: the readings, the way into a session, and the orders of those who are in one.

That process has no power of its own. It is trusted to show what it reads to sessions only; to order anything it needs
a session's secret, and the order is then that session's person's.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr.config.roles import Role
from cmgr.errors import CmgrError, ConfigError, chain
from cmgr.frozen import dataclass, replace
from cmgr.model.values.troubles import Trouble
from cmgr.sentences.sentence import say
from cmgr.service.door.control import ControlServer
from cmgr.service.door.orders.chips import named_user, text_of
from cmgr.service.door.routes import LANG, Answer, Arg, Request, Route
from cmgr.service.door.sessions import TICKET_SECONDS, Session, Sessions
from cmgr.service.log.setup import Log
from cmgr.service.part import degraded
from cmgr.words import stamp

if TYPE_CHECKING:
    from cmgr.view import slot_shapes

GROUP = "cmgr-web"

NEVER = (
    *("inject", "drill", "drill-end", "reload", "check", "ticket", "end-sessions", "describe"),
    *("status-text", "chips-text", "faults-text"),
)
"""Not given on the page: drills, the configuration, what lasts long, and what a terminal shows."""

_SECRET = Arg("session", "string", "What `enter` has given.", required=True)


@dataclass(frozen=True, slots=True)
class Pages:
    """Answers about the page itself. Any thread; each raises `CmgrError`."""

    sessions: Sessions
    now: Callable[[], datetime]
    orders: bool
    """Whether orders may be given on the page."""

    def ticket(self, request: Request) -> "slot_shapes.Ticket":
        until = self.now() + timedelta(seconds=TICKET_SECONDS)
        return {"ticket": self.sessions.ticket(request.uid, request.role), "ends": stamp(until)}

    def end(self, _request: Request) -> "slot_shapes.SessionsEnded":
        return {"sessions": self.sessions.end()}

    def enter(self, request: Request) -> "slot_shapes.Entered":
        secret, session = self.sessions.enter(text_of(request, "ticket"))
        return {"session": secret, **self._about(session)}

    def session(self, request: Request) -> "slot_shapes.PageSession":
        return self._about(self.sessions.seen(text_of(request, "session")))

    def leave(self, request: Request) -> "slot_shapes.Left":
        self.sessions.leave(text_of(request, "session"))
        return {"left": True}

    def ordered(self, route: Route) -> Route:
        """Return this order as it can be given through the page: with a session, whose person gives it."""

        def answer(request: Request) -> Answer:
            session = self.sessions.ordering(text_of(request, "session"))
            if not self.orders:
                raise CmgrError(say("error.no-orders-on-page"), hint=f"cmgr {request.do}")
            route.refuse(session.role)
            args = {name: value for name, value in request.args.items() if name != "session"}
            return route.answer(replace(request, args=args, uid=session.uid, role=session.role, on_page=True))

        return replace(route, answer=answer, args=(*(route.args or ()), _SECRET))

    def _about(self, session: Session) -> "slot_shapes.PageSession":
        until = self.now() + timedelta(seconds=self.sessions.left(session))
        orders = self.orders and session.role is Role.OPERATE
        return {"who": named_user(session.uid), "ends": stamp(until), "orders": orders}


def for_persons(pages: Pages) -> tuple[Route, ...]:
    """Return the part of the control socket's table that is about the page."""
    return (
        Route(
            "POST", "/v1/web/ticket", "ticket", pages.ticket, "A ticket that opens the page once: cmgr web.",
            role=Role.LOOK,
        ),
        Route("POST", "/v1/web/end", "end-sessions", pages.end, "End all sessions of the page: cmgr web --end."),
    )  # fmt: skip


def for_the_page(pages: Pages, table: Iterable[Route]) -> tuple[Route, ...]:
    """Return what the page's process can ask, of the table of all that can be asked."""
    ticket = Arg("ticket", "string", "What cmgr web has printed behind #t=.", required=True)
    known = [route for route in table if route.do not in NEVER]
    return (
        *(pages.ordered(route) for route in known if route.method == "POST"),
        Route("POST", "/v1/enter", "enter", pages.enter, "Open a session.", (ticket, LANG)),
        Route("POST", "/v1/session", "session", pages.session, "Whose session it is.", (_SECRET,)),
        Route("POST", "/v1/leave", "leave", pages.leave, "End a session.", (_SECRET,)),
        *(route for route in known if route.method == "GET"),
    )


class PageDoor(ControlServer):
    """Lets the page's process in. No recovery depends on that."""

    def __init__(self, path: Path, pages: Pages, table: Iterable[Route], log: Log) -> None:
        super().__init__(path, for_the_page(pages, table), log, group=GROUP)
        self._shut = ""

    def start(self) -> None:
        try:
            super().start()
        except ConfigError as error:
            self._shut = chain(error)
            self._log.warn(f"there is no page: {self._shut}")

    def troubles(self) -> Iterable[Trouble]:
        if why := self._shut:
            yield degraded("web", say("trouble.no-page"), why)
        yield from super().troubles()
