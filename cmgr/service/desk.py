"""Handing something to the deciding thread, and waiting until it has been decided on and written down."""

from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from typing import TypeVar

from cmgr.errors import ServiceHangs, Unsure
from cmgr.model.values.messages.facts import Fact, Ordered
from cmgr.sentences.sentence import say
from cmgr.service.inbox import Inbox
from cmgr.service.part import Part, Step

T = TypeVar("T")

PATIENCE = 8.0
"""Shorter than whoever asks waits: he hears whether it was done."""


def awaited(answer: Future[T], patience: float, take_back: Callable[[], bool]) -> T:
    """Return what the deciding thread answers. Blocks up to `patience` seconds.

    After that `take_back` says whether it has not been begun, and is not begun any more. Raises `ServiceHangs` then,
    else `Unsure`.
    """
    try:
        return answer.result(patience)
    except TimeoutError:
        why = say("error.not-come-to-it", length=timedelta(seconds=patience))
        if take_back():
            raise ServiceHangs(say("error.nothing-done", why=why), hint=say("error.to-end-it")) from None
        raise Unsure(say("error.done-or-not", why=why), hint=say("error.status-and-journal")) from None


class Desk(Part):
    """Where orders are handed over."""

    def __init__(self, inbox: Inbox, patience: float = PATIENCE) -> None:
        self._inbox = inbox
        self._patience = patience
        # By the identity of the order, which is kept as long as somebody waits: two persons may order the same.
        self._waiting: dict[int, tuple[Fact, Future[None]]] = {}

    def give(self, order: Ordered) -> None:
        """Return when the order is in force. Any thread. Blocks up to 8 s. Raises as `awaited`."""
        answer: Future[None] = Future()
        self._waiting[id(order)] = order, answer
        try:
            self._inbox.put(order)
            awaited(answer, self._patience, lambda: self._inbox.take_back(order))
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
