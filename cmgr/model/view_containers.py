"""Containers as a person sees them: the status word, what each waits for, and what to type."""

from cmgr.model.scope import down_since_reset, grave_faults, why_idle
from cmgr.model.values.chips import ChipId
from cmgr.model.values.containers import Container, ContainerKey
from cmgr.model.values.holds import Hold, HoldState
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.view.advice import called, idle_hint, isolation_hint
from cmgr.view.heals import heal, health, of_held, of_running
from cmgr.words import Json, joined, one_line, stamp, stamp_or_none, times

STATUS_OF_HOLD = {
    HoldState.STOPPING: "pausing",
    HoldState.STOPPED: "paused",
    HoldState.STARTING: "resuming",
    HoldState.RETURNING: "running",
}


def containers(node: Node) -> list[Json]:
    """Return the running containers that use chips and the held ones, by name."""
    shown = {key for key, c in node.containers.items() if c.running and (c.chips or c.warnings)}
    rows = [_row(node, key) for key in sorted(shown | set(node.holds))]
    return sorted(rows, key=lambda row: (str(row["name"]), str(row["runtime"]), str(row["namespace"]), str(row["id"])))


def ours(hold: Hold | None) -> Hold | None:
    """Return the hold while it entitles cmgr to a start."""
    return None if hold is None or hold.state is HoldState.RETURNING else hold


def chips_of(node: Node, key: ContainerKey) -> frozenset[ChipId]:
    """Return the chips that the container uses, or will use when it is started again."""
    container, hold = node.containers.get(key), ours(node.holds.get(key))
    used = container.chips if container is not None and (container.running or hold is not None) else frozenset()
    return used | (hold.chips if hold is not None else frozenset())


def _row(node: Node, key: ContainerKey) -> Json:
    container, hold = node.containers.get(key), node.holds.get(key)
    status = _status(hold)
    reason, hint = _running(node, container) if status == "running" else _held(node, node.holds[key], status)
    since = container.since if container is not None else None
    if hold is not None and status != "running":
        since = hold.since
    strategy = node.policy.strategy if container is None or container.strategy is None else container.strategy
    return {
        "runtime": key.runtime,
        "namespace": key.namespace,
        "id": key.id,
        "name": one_line(_name(container, hold)),
        "called": called(node, key),
        "chips": sorted(chips_of(node, key)) or sorted(hold.chips if hold is not None else ()),
        "status": status,
        "since": stamp_or_none(since),
        "strategy": str(strategy),
        "held": ours(hold) is not None,
        "health": health(container),
        "heal": heal(node, key),
        "reason": one_line(reason),
        "hint": hint,
        "warnings": [one_line(w) for w in container.warnings] if container is not None else [],
    }


def _name(container: Container | None, hold: Hold | None) -> str:
    if container is not None and container.name:
        return container.name
    return hold.name if hold is not None else ""


def _status(hold: Hold | None) -> str:
    if hold is None:
        return "running"
    return "failed" if hold.failed else STATUS_OF_HOLD[hold.state]


def _running(node: Node, container: Container | None) -> tuple[str, str]:
    """Return what there is to say of a container that runs: mostly nothing."""
    if container is None:
        return "", ""
    if not container.enabled:
        return "has the label cmgr.enable=false: cmgr leaves it alone", ""
    rings = _rings(node, container.chips)
    theirs = next((r for r in rings if r.in_episode and container.key in r.theirs), None)
    if theirs is not None:
        return (
            f"was started by hand, or forgotten, in the episode of ring {theirs.id}, which waits for it",
            f"stop it to let ring {theirs.id} be reset",
        )
    troubles = [t for chip in sorted(container.chips) if (t := _trouble(node, chip))]
    ailing, hint = of_running(node, container)
    return joined([f"runs, but {troubles[0]}" if troubles else "", ailing]), hint


def _held(node: Node, hold: Hold, status: str) -> tuple[str, str]:
    name = called(node, hold.key)
    verb = "stop" if hold.state is HoldState.STOPPING else "start"
    ailing = of_held(node, hold)
    if status == "failed" and not hold.tries:
        return ailing or one_line(hold.error), f"mend the cause, then type: cmgr resume {name}"
    if status == "failed":
        tail = f": {one_line(hold.error)}" if hold.error else ""
        return f"start failed {times(hold.tries)}{tail}", f"mend the cause, then type: cmgr resume {name}"
    parts = [ailing] if status == "resuming" else [ailing, _waits_for(node, hold, status)]
    if hold.tries or hold.error:
        parts.append(_tries(hold, verb))
    hint = _hint(node, hold) if status == "paused" else ""
    return joined(parts) or ("is being started" if status == "resuming" else "waits to be started"), hint


def _tries(hold: Hold, verb: str) -> str:
    error = f": {one_line(hold.error)}" if hold.error else ""
    again = f", next try at {stamp(hold.retry_at)}" if hold.retry_at is not None else ""
    # What was not sent at all, or reached nobody, is no try.
    told = f"{verb} failed {times(hold.tries)}" if hold.tries else f"cannot {verb} it yet"
    return f"{told}{error}{again}"


def _waits_for(node: Node, hold: Hold, status: str) -> str:
    """Return what keeps the container from being started, or why it is being stopped."""
    isolated = next((c for c in sorted(hold.chips) if c in node.isolations), None)
    if isolated is not None and status == "paused":
        return f"chip {isolated} is isolated: {node.isolations[isolated].reason}"
    for ring in _rings(node, hold.chips):
        if ring.in_episode:
            return f"ring {ring.id} is in an episode ({ring.phase})"
    troubles = [t for chip in sorted(hold.chips) if (t := _trouble(node, chip))]
    if troubles:
        return troubles[0]
    runtime = node.runtimes.get(hold.key.runtime)
    if runtime is not None and runtime.why_down:
        return f"runtime {runtime.name} is down: {runtime.why_down}"
    return f"{why_idle(node)}: nothing is started" if why_idle(node) else ""


def _hint(node: Node, hold: Hold) -> str:
    isolated = [c for c in sorted(hold.chips) if c in node.isolations]
    return isolation_hint(node, isolated) or idle_hint(node)


def _trouble(node: Node, chip: ChipId) -> str:
    if chip in node.isolations:
        return f"chip {chip} is isolated: {node.isolations[chip].reason}"
    grave = grave_faults(node, chip)
    if grave:
        return f"chip {chip} has fault {grave[0].code} ({grave[0].level.name})"
    return down_since_reset(node, chip) if chip in node.chips else ""


def _rings(node: Node, chips: frozenset[ChipId]) -> list[Ring]:
    ids = {node.chips[chip].ring for chip in chips if chip in node.chips}
    return [node.rings[ring] for ring in sorted(ids) if ring in node.rings]
