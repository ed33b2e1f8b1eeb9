"""Those who are busy in a walk: not stopped before they say that they are not, and waited for no longer than may be."""

from datetime import datetime

from cmgr.model.scope import handled_faults
from cmgr.model.values.holds import Cause, HoldState
from cmgr.model.values.messages.commands import Command
from cmgr.model.values.messages.facts import Event
from cmgr.model.values.node import Node, rings_with
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import Veto
from tests.model.world import World


class Patient(World):
    """A world in which each step is judged by whom it did not wait for."""

    def _reduced(self, *together: Event) -> list[Command]:
        before, decided = self.node, super()._reduced(*together)
        wrong = wronged(before, self.node, together[-1].at)
        assert not wrong, f"seed {self.seed}: {wrong}"
        return decided


def wronged(before: Node, after: Node, at: datetime) -> list[str]:
    """Return whom this step did not wait for, and the rings that wait for too long."""
    longest = after.policy.limits.busy
    rings = (r for r in after.rings.values() if r.vetoed is not None and at >= r.vetoed + longest)
    found = [f"ring {ring.id} waits still: {ring.reason}" for ring in rings if "limits.busy" in ring.reason]
    for key, hold in after.holds.items():
        known, container = before.holds.get(key), after.containers.get(key)
        new = (known is None or known.runs) and hold.state is HoldState.TO_STOP and hold.cause is Cause.EPISODE
        if not new or container is None or container.kept.veto is None or not container.kept.veto.busy:
            continue
        veto, of = container.kept.veto, rings_with(after, container.kept.chips)
        if container.can_answer and all(_waits(before, after, ring, veto, at) for ring in of):
            found.append(f"{hold.name} is stopped although it is busy")
    return found


def _waits(before: Node, after: Node, ring: Ring, veto: Veto, at: datetime) -> bool:
    """Return whether nothing but what may wait asks for the stop of somebody on the ring."""
    if ring.vetoed is None or veto.at < ring.vetoed or at >= ring.vetoed + after.policy.limits.busy:
        return False
    if ring.id in after.reset_orders or not after.isolations.keys().isdisjoint(ring.chips):
        return False
    if any(h.episode == ring.episode and not h.died for h in before.holds.values()) and ring.in_episode:
        return False
    faults = handled_faults(after, ring)
    return bool(faults) and all(after.policy.levels[f.level].busy and after.policy.levels[f.level].stop for f in faults)
