"""A small machine to be shown, and what can happen to it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from cmgr.model.holds.obstacles import start_blocker
from cmgr.model.values.chips import Chip, ChipId, ChipReport, RingId
from cmgr.model.values.faults import Fault, FaultCode, Isolation, Level, Severity
from cmgr.model.values.holds import Hold, HoldState
from cmgr.model.values.node import Node, RuntimeState
from cmgr.model.values.rings import Phase, Ring
from cmgr.model.values.services.containers import Container, ContainerKey, Kept

T0 = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)
CODE = FaultCode("80E24E00")


def key(name: str) -> ContainerKey:
    return ContainerKey("docker", "", name)


def machine() -> Node:
    """Four chips in rings 0-1 and 2-3, all well; container a on chips 0 and 1, b on chip 2."""
    chips = {ChipId(n): Chip(ChipId(n), RingId(n // 2 * 2), n, model="X") for n in range(4)}
    return Node(
        chips=chips,
        rings={RingId(n): Ring(RingId(n), (ChipId(n), ChipId(n + 1)), read=T0) for n in (0, 2)},
        containers={key("a"): running("a", 0, 1), key("b"): running("b", 2)},
        reports={chip: ChipReport(chip) for chip in chips},
        runtimes={"docker": RuntimeState("docker", listed=T0)},
    )


def running(name: str, *chips: int) -> Container:
    return Container(key(name), name, running=True, kept=Kept(frozenset(map(ChipId, chips)), since=T0))


def hold(name: str, state: HoldState, *chips: int) -> Hold:
    return Hold(key(name), name, frozenset(map(ChipId, chips)), 1, T0, state, run="1")


def held(node: Node, promise: Hold) -> Node:
    down = replace(node.containers[promise.key], running=promise.is_to_end)
    return replace(node, containers={**node.containers, promise.key: down}, holds={**node.holds, promise.key: promise})


def decided(node: Node) -> Node:
    """Return the node with the reasons that cmgr leaves on holds."""
    paused = {k: h for k, h in node.holds.items() if h.state is HoldState.DOWN}
    reasons = {k: replace(hold, reason=start_blocker(node, hold).why) for k, hold in paused.items()}
    return replace(node, holds={**node.holds, **reasons})


def faulty(node: Node, chip: int, level: Level = Level.RestartNPU) -> Node:
    fault = Fault(ChipId(chip), CODE, "1.0", level, since=T0, risen=T0, changed=T0, severity=Severity.major, count=2)
    return replace(node, faults={**node.faults, ChipId(chip): {fault.key: fault}})


def isolated(node: Node, chip: int) -> Node:
    return replace(node, isolations={ChipId(chip): Isolation(ChipId(chip), T0, "level", "fault 8C084E00", CODE)})


def in_episode(node: Node, ring: int, phase: Phase = Phase.WAITING) -> Node:
    changed = replace(
        node.rings[RingId(ring)],
        phase=phase,
        since=T0,
        reason="the reset is due in 60 s",
        deadline=T0 + timedelta(minutes=1),
        episode=7,
        began=T0,
    )
    return replace(node, rings={**node.rings, RingId(ring): changed})
