"""The one way to a reset. A reason for one (faults, a person's order, chips that are not up) says why and since when.

due → within the budget → nobody in the way → a last look at runtimes and chips → idle for long enough → the order
"""

from collections.abc import Sequence
from enum import Enum, auto

from cmgr.model.recovery.resetting import Why, order_reset
from cmgr.model.recovery.waiting import require_due, require_free, require_idle, require_look
from cmgr.model.scope import is_spent
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.faults import Fault
from cmgr.model.values.rings import Ring


class Came(Enum):
    """The outcome of a try."""

    WAITING = auto()
    """The ring says what it waits for."""
    ORDERED = auto()
    SPENT = auto()
    """The budget is used up."""
    SILENT = auto()
    """A chip has kept the ring from its reset by silence for as long as a boot may take."""


def try_reset(turn: Turn, ring: RingId, why: Why, faults: Sequence[Fault] = ()) -> Came:
    """Reset the ring if that is due and possible now. `faults`: those that it is to cure, the gravest first."""
    if not require_due(turn, turn.ring(ring), faults):
        return Came.WAITING
    if is_spent(turn.node, turn.ring(ring), turn.at):
        return Came.SPENT
    if not require_free(turn, turn.ring(ring), faults):
        spared = turn.ring(ring).spared is not None
        return Came.SILENT if spared and _is_silent(turn, turn.ring(ring)) else Came.WAITING
    if not require_look(turn, turn.ring(ring)):
        return Came.SILENT if _is_silent(turn, turn.ring(ring)) else Came.WAITING
    if faults and not require_idle(turn, turn.ring(ring), faults[0].level):
        return Came.WAITING
    order_reset(turn, turn.ring(ring), why)
    return Came.ORDERED


def is_ready(turn: Turn, ring: RingId) -> bool:
    """Return whether nobody is in the way of a test that a person wants; else the ring says what it waits for."""
    return (
        require_due(turn, turn.ring(ring), ())
        and require_free(turn, turn.ring(ring), ())
        and require_look(turn, turn.ring(ring))
    )


def mute(turn: Turn, ring: Ring) -> list[ChipId]:
    """Return the chips of the ring that did not answer when they were read."""
    return [c for c in ring.chips if (r := turn.node.reports.get(c)) is not None and r.error]


def _is_silent(turn: Turn, ring: Ring) -> bool:
    if not mute(turn, ring) or ring.silent is None or turn.at - ring.silent < turn.node.policy.reset.boot:
        return False
    return ring.failures > 0 or _driver_answers(turn, ring)


def _driver_answers(turn: Turn, ring: Ring) -> bool:
    """Return whether it is the chips that are silent, and not the driver: then another one has answered meanwhile."""
    mates = [turn.node.reports[c] for c in ring.chips if c in turn.node.reports]
    if any(not report.error for report in mates):
        return True
    lately = turn.at - turn.node.policy.reset.boot
    others = (r for r in turn.node.rings.values() if r.id != ring.id and r.silent is None)
    return any(other.read is not None and other.read >= lately for other in others)
