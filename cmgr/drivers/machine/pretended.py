"""Faults of the machine that a person simulates, for drills: a source that finds what it was told to find.

Nothing of it outlives the process, but for what has happened: that counts as over as it does for every source.
"""

import itertools
import threading
from collections.abc import Callable

from cmgr.model.values.faults import Assertion, FaultCode
from cmgr.model.values.machine import MachineKey, Symptom
from cmgr.model.values.messages.facts import MachineTold
from cmgr.sentences.sentence import say

NAME = "drill"


class Pretended:
    """Any thread. `tell` neither blocks nor raises."""

    def __init__(self, tell: Callable[[MachineTold], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._found: dict[MachineKey, Symptom] = {}
        self._serial = itertools.count(1)

    def inject(self, code: FaultCode, part: str, assertion: Assertion) -> None:
        """Find this fault from now on, no longer, or once: then it has happened, and is over by time or by a person."""
        key = code, part
        with self._lock:
            if assertion is Assertion.CLEARED:
                self._found.pop(key, None)
            else:
                mark = f"drill {next(self._serial)}" if assertion is Assertion.ONCE else ""
                self._found[key] = Symptom(code, part, say("symptom.for-drill"), mark)
            # Told inside the lock: two orders at once must not be told the other way round.
            self._tell(
                MachineTold(
                    NAME, tuple(self._found.values()), off=all(symptom.mark for symptom in self._found.values())
                )
            )
            if assertion is Assertion.ONCE:
                del self._found[key]  # It is remembered by the books.
