"""The door while the chips are not known: what would have to say something of chips, or order it, is refused."""

from collections.abc import Callable, Sequence
from functools import partial

from cmgr.errors import DriverError, ServiceDown
from cmgr.frozen import replace
from cmgr.sentences.sentence import chained, say
from cmgr.service.door.routes import Answer, Request, Route

ANSWERED = frozenset(
    {
        "describe", "status", "status-text", "health", "events", "episodes", "episode", "picture", "history", "explain",
        "check", "ticket", "end-sessions", "enter", "session", "leave",
    }
)  # fmt: skip
"""All that is answered all the same: it speaks of the service, of what was, or of tables."""


def refusing(routes: Sequence[Route], refusal: Callable[[], DriverError | None]) -> tuple[Route, ...]:
    """Return the routes, those not `ANSWERED` with a refusal for as long as `refusal` says why no chip is known."""
    return tuple(
        each if each.do in ANSWERED else replace(each, answer=partial(_answer, each, refusal)) for each in routes
    )


def _answer(route: Route, refusal: Callable[[], DriverError | None], request: Request) -> Answer:
    if (why := refusal()) is not None:
        raise ServiceDown(say("error.chips-unknown", do=route.do, why=chained(why)), hint=why.hint)
    return route.answer(request)
