"""The invariants of ARCHITECTURE.md, as questions that tests and the running service ask."""

from collections.abc import Collection, Iterator

from cmgr.model.containers.together.projects import unready_until
from cmgr.model.holds.obstacles import Block, slot_blocker, start_blocker
from cmgr.model.recovery.reboots import in_the_way
from cmgr.model.recovery.resetting import unsafe_reset
from cmgr.model.scope import halting
from cmgr.model.values.chips import ChipId, listed
from cmgr.model.values.messages.commands import (
    Command,
    MakeShares,
    PrepareReset,
    ResetRing,
    RunTest,
    ScheduleReboot,
    StartContainer,
    StopContainer,
    WriteCdi,
)
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase, Ring


def unsafe(node: Node, command: Command) -> str:
    """Return why this command must not go out with the node as it is, or nothing.

    `reduce` never gives such a command: the service asks all the same, because a reset under a running container or a
    start without a hold is worse than a recovery that waits.
    """
    match command:
        case PrepareReset(order=ResetRing(ring=ring)) | ResetRing(ring=ring):
            return unsafe_reset(node, ring)
        case RunTest():
            return _on(node, command.chips)
        case StartContainer():
            hold = node.holds.get(command.key)
            if hold is None or hold.attempt.command != command.id:
                return f"{command.name} is not held"
            blocker = start_blocker(node, hold)
            if blocker.kind is Block.CHIP or halting(node, command.key) is not None:
                return blocker.why
            return slot_blocker(node, hold)
        case ScheduleReboot(delay=delay) if delay is not None:
            return next(in_the_way(node), "")
        case WriteCdi():
            return doubled(node)
        case MakeShares():
            return _on(node, command.shares)
        case StopContainer():
            hold = node.holds.get(command.key)
            return "" if hold is not None and hold.attempt.command == command.id else f"{command.name} is not held"
        case _:
            return ""


def _on(node: Node, chips: Collection[ChipId]) -> str:
    users = [c.name for c in node.containers.values() if c.running and not c.kept.chips.isdisjoint(chips)]
    return f"{users[0]} runs on {listed(chips)}" if users else ""


def doubled(node: Node) -> str:
    """Return which chip two slots hold, in words, or nothing."""
    owners: dict[ChipId, str] = {}
    for slot in node.slots.values():
        for chip in slot.chips | slot.wish:
            if owners.setdefault(chip, slot.name) != slot.name:
                return f"slots {owners[chip]} and {slot.name} both hold chip {chip}"
    return ""


def stuck(node: Node) -> tuple[str, ...]:
    """Return the rings that wait for nothing that anybody will bring."""
    return tuple(f"ring {r.id} is stuck in {r.phase}: {r.reason}" for r in node.rings.values() if _stuck(node, r))


def _stuck(node: Node, ring: Ring) -> bool:
    # In phase waiting a ring may wait for a person, another ring or a container: the reason says so, and resync looks.
    waits = ring.phase not in (Phase.HEALTHY, Phase.WAITING)
    return ring.phase is not Phase.HEALTHY and (not ring.reason or (waits and not any(_brought(node, ring))))


def _brought(node: Node, ring: Ring) -> Iterator[bool]:
    """Yield, of each thing that a ring can wait for, whether it comes."""
    yield any(at is not None for at in (ring.deadline, ring.ask_at, ring.refused_until, ring.make_at))
    yield ring.asked is not None or ring.reset is not None or ring.making is not None
    yield ring.test is not None and ring.test.command is not None
    for other in node.rings.values():
        # A container that is to be started may use another ring, too, which has to be read first.
        yield other.read is None and (other.asked is not None or other.ask_at is not None)
        # Or shares have to be made there first.
        yield other.making is not None or other.make_at is not None
    for state in node.runtimes.values():
        yield state.asked is not None or state.ask_at is not None or bool(state.why_down)
    for hold in node.holds.values():
        # By its order a container may wait for one of another ring that it shares a third container's ring with.
        yield hold.attempt.command is not None or hold.attempt.retry_at is not None
        # Or, in its project, for one that runs and is not ready: until a time, or the other's own word.
        yield unready_until(node, hold) is not None
    yield node.cdi.asked is not None or node.cdi.retry_at is not None
