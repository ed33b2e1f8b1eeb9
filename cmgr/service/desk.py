"""Handing something to the deciding thread, and waiting until it has been decided on and written down."""

from concurrent.futures import Future
from typing import TypeVar

from cmgr.errors import Unsure
from cmgr.model.values.messages.facts import Fact, Ordered
from cmgr.service.inbox import Inbox
from cmgr.service.loop import Step

T = TypeVar("T")

PATIENCE = 10.0


def awaited(answer: Future[T], patience: float, hint: str) -> T:
    """Return what the deciding thread answers. Blocks up to `patience` seconds; raises `Unsure` after that."""
    try:
        return answer.result(patience)
    except TimeoutError as error:
        why = f"the service has not come to it within {patience:g} s"
        raise Unsure(f"cannot tell whether it is done: {why}", hint=hint) from error


class Desk:
    """Where orders are handed over. One of the loop's observers."""

    def __init__(self, inbox: Inbox, patience: float = PATIENCE) -> None:
        self._inbox = inbox
        self._patience = patience
        # By the identity of the order, which is kept as long as somebody waits: two persons may order the same.
        self._waiting: dict[int, tuple[Fact, Future[None]]] = {}

    def give(self, order: Ordered) -> None:
        """Return when the order is in force. Any thread. Blocks up to 10 s. Raises `Unsure` when it takes longer."""
        answer: Future[None] = Future()
        self._waiting[id(order)] = order, answer
        try:
            self._inbox.put(order)
            awaited(answer, self._patience, "cmgr status")
        finally:
            del self._waiting[id(order)]

    def observe(self, step: Step) -> None:
        """Answer whose order was decided on. The deciding thread only."""
        if not self._waiting:
            return
        for event in step.events:
            found = self._waiting.get(id(event.fact))
            if found is not None:
                found[1].set_result(None)
