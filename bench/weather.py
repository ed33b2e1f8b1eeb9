"""The storm: 20,000 events in 10 s on chip 0, and meanwhile the faults that count, on other chips."""

import time
from collections.abc import Iterator
from datetime import timedelta

from cmgr.config.sim import SimEvent
from cmgr.drivers.sim.driver import SimDriver
from cmgr.model.values.faults import Assertion, Severity

EVENTS = 20_000
SECONDS = 10.0
REAL = "80E24E00"
"""A fault of level RestartNPU."""

NOTED = "80818200"
"""A fault of level NotHandleFault."""

REAL_FAULTS = {1: 3.0, 2: 8.0, 3: 9.5, 4: 15.0}
"""When, in seconds from the storm's beginning, each of these chips has it."""

RECORDED = {REAL: "fault", NOTED: "note"}
"""As which kind of call the hearing of a fault is recorded."""

_LASTING = 64
"""So many of the storm's own faults are active at a time."""


def code(number: int) -> str:
    """Return a code that no table knows."""
    return f"9A{number:06X}"


def sent() -> frozenset[str]:
    """Return the code of every fault that the storm makes on chip 0."""
    return frozenset(e.code for e in _storm() if e.assertion is not Assertion.CLEARED)


def storm(chips: SimDriver) -> None:
    """Let it happen, in its time. Blocks."""
    began = time.monotonic()
    for event in sorted([*_storm(), *_real()], key=lambda e: e.after):
        left = began + event.after.total_seconds() - time.monotonic()
        if left > 0:
            time.sleep(left)
        chips.occur(event)


def _real() -> Iterator[SimEvent]:
    for chip, after in REAL_FAULTS.items():
        yield SimEvent(chip, REAL, timedelta(seconds=after))


def _storm() -> Iterator[SimEvent]:
    """Yield in turn: a new fault, a flap of the grave one, a new fault that is there once, the end of an older one."""
    for n in range(EVENTS):
        after, four = timedelta(seconds=n * SECONDS / EVENTS), n // 4
        match n % 4:
            case 0:
                yield _minor(code(four), after, Assertion.OCCURRED)
            case 1:
                yield SimEvent(0, REAL, after, Assertion.CLEARED if four % 2 else Assertion.OCCURRED)
            case 2:
                yield _minor(code(EVENTS + four), after, Assertion.ONCE)
            case _:
                yield _minor(code(max(0, four - _LASTING)), after, Assertion.CLEARED)


def _minor(which: str, after: timedelta, assertion: Assertion) -> SimEvent:
    return SimEvent(0, which, after, assertion, severity=int(Severity.minor))
