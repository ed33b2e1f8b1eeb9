"""How an order is declared: its name, what it says and what it takes, at the function that checks it.

Its route, its preview and its entry in openapi.json follow from that.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from cmgr.config.roles import Role
from cmgr.model.values.messages.facts import Ordered
from cmgr.service.door.routes import Answering, Arg, Request, Route, flag_of

CHIP = Arg("chip", "integer", "The chip's physical id.", required=True)
CONTAINER = "Its name, NAMESPACE/NAME, or id."
PREVIEW = Arg("preview", "boolean", "Say what would happen, and do nothing.")


Document = TypeVar("Document")
Deed = TypeVar("Deed", bound=Callable[..., Any])
Wish = Generator[tuple[Sequence[str], Ordered | None], None, Document]
"""An order has two parts. The first checks it, and yields what it would do, in sentences, and the fact that it is.

The second is run when the fact is in force, and returns the answer; where there is no fact it is what does it.
"""


def asked(
    do: str, says: str, *args: Arg, method: str = "POST", path: str = "", role: Role = Role.OPERATE
) -> Callable[[Deed], Deed]:
    """Declare what can be asked for, and has no preview. `path`: else that of an order of this name."""

    def declared(deed: Deed) -> Deed:
        def route(answer: Answering) -> Route:
            return Route(method, path or f"/v1/orders/{do}", do, answer, says, args, role=role)

        vars(deed)["route"] = route
        return deed

    return declared


if TYPE_CHECKING:
    from cmgr.view import shapes

    Taken = Callable[[Any, Request], Document | shapes.Preview]


def order(do: str, says: str, *args: Arg) -> "Callable[[Callable[[Any, Request], Wish[Document]]], Taken[Document]]":
    """Declare an order by its two parts (`Wish`). With `preview` it is not given: what it would do is told."""

    def declared(wish: Callable[[Any, Request], Wish[Document]]) -> "Taken[Document]":
        @asked(do, says, *args, PREVIEW)
        @wraps(wish)
        def answer(part: Any, request: Request) -> "Document | shapes.Preview":
            parts = wish(part, request)
            does, fact = next(parts)
            if flag_of(request, PREVIEW.name):
                return {"does": [*does]}
            if fact is not None:
                part.give(fact)
            try:
                next(parts)
            except StopIteration as end:
                return cast("Document", end.value)
            raise AssertionError(f"{do}: an order is one fact")

        return answer

    return declared


def declared_of(part: object) -> Iterator[Route]:
    """Yield the routes of what is declared in the class of this object, in the order in which it stands there."""
    for name, declared in vars(type(part)).items():
        if hasattr(declared, "route"):
            yield declared.route(getattr(part, name))
