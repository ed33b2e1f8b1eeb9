"""Handing a person's order to the deciding thread, and waiting until it has been decided on and written down."""

import threading
import time
from collections.abc import Callable
from datetime import datetime

from cmgr.errors import CmgrError
from cmgr.model.values.facts import Ordered
from cmgr.ports import Clock
from cmgr.service.inbox import Inbox

PATIENCE = 10.0
_PAUSE = 0.002


class Handover:
    """Any thread. `taken` says up to when facts have been decided on."""

    def __init__(
        self, inbox: Inbox, clock: Clock, taken: Callable[[], datetime | None], patience: float = PATIENCE
    ) -> None:
        self._inbox = inbox
        self._clock = clock
        self._taken = taken
        self._patience = patience

    def give(self, order: Ordered) -> None:
        """Return when the order is in force. Blocks up to 10 s. Raises `CmgrError` when that takes longer."""
        self._inbox.put(order)
        given = self._clock.now()
        # The service may have nothing else to do, and then nothing later than the order would ever be decided on.
        self._inbox.nudge()
        until = time.monotonic() + self._patience
        pause = threading.Event()
        while (taken := self._taken()) is None or taken < given:
            if time.monotonic() >= until:
                raise CmgrError(
                    f"cannot tell whether it is done: the service has not come to it within {self._patience:g} s",
                    hint="cmgr status",
                )
            pause.wait(_PAUSE)
