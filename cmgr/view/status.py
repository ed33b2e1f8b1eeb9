"""The state as a person or a program reads it: plain JSON types, sorted, the same for the same state.

The shapes are documented for users and are stable: keys are added, never renamed. Times are ISO 8601 in UTC.
"""

from collections.abc import Mapping
from datetime import datetime

from cmgr.model.faults.isolation import release_at
from cmgr.model.scope import active_faults, grave_faults
from cmgr.model.values.chips import ChipId, Process
from cmgr.model.values.faults import Fault
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.model.view_containers import chips_of, containers, ours
from cmgr.view.advice import isolation_hint, overdue, ring_hint
from cmgr.view.explain import explain
from cmgr.view.rules import raised_by
from cmgr.words import Json, one_line, span, stamp, stamp_or_none

__all__ = ["Json", "available", "chips", "containers", "explain", "faults", "rings", "span", "stamp", "status"]


def status(node: Node, service: Mapping[str, object], now: datetime) -> Json:
    """Return the whole picture; `service` is taken over as it is, with times in it made text."""
    told = {key: stamp(value) if isinstance(value, datetime) else value for key, value in service.items()}
    return {
        "at": stamp(now),
        "service": told,
        "restraint": restraint(node),
        "warnings": [] if service.get("state") == "stopped" else overdue(node, now),
        "rings": rings(node),
        "containers": containers(node),
        "chips": chips(node),
        "runtimes": [
            {"name": r.name, "why_down": one_line(r.why_down), "listed": stamp_or_none(r.listed)}
            for _, r in sorted(node.runtimes.items())
        ],
    }


def restraint(node: Node) -> Json | None:
    """Return since when and why rings are kept back, and which; None while none is."""
    now = node.restraint
    return {"since": stamp_or_none(now.since), "reason": now.reason, "rings": sorted(now.kept)} if now.kept else None


def maintenance(node: Node) -> Json:
    """Return whether a person works on the machine, until when, and who."""
    known = node.maintenance
    return {
        "maintenance": known is not None,
        "maintenance_until": stamp_or_none(known.until) if known is not None else None,
        "maintenance_by": one_line(known.who) if known is not None else None,
    }


def rings(node: Node) -> list[Json]:
    """Return every ring, those in an episode with its number and what they wait for.

    One that is remembered, but whose chips are all gone, is not worth a row.
    """
    return [_ring(node, ring) for _, ring in sorted(node.rings.items()) if ring.chips or ring.in_episode]


def _ring(node: Node, ring: Ring) -> Json:
    order = node.reset_orders.get(ring.id)
    return {
        "id": ring.id,
        "chips": sorted(ring.chips),
        "phase": str(ring.phase),
        "reason": one_line(ring.reason),
        "episode": ring.episode if ring.in_episode else None,
        "since": stamp_or_none(ring.since),
        "deadline": stamp_or_none(ring.deadline),
        "began": stamp_or_none(ring.began) if ring.in_episode else None,
        "resets": len(ring.resets),
        "ordered_by": None if order is None else one_line(order.who),
        "hint": ring_hint(node, ring),
    }


def chips(node: Node) -> list[Json]:
    """Return every chip with its health, its active faults, and who uses it."""
    users: dict[ChipId, list[str]] = {}
    for row in containers(node):
        used = row["chips"]
        assert isinstance(used, list), "a container's chips are a list"
        for chip in used:
            users.setdefault(chip, []).append(str(row["name"]))
    free = set(available(node))
    return [_chip(node, chip, users.get(chip, []), chip in free) for chip in sorted(node.chips)]


def _chip(node: Node, chip: ChipId, users: list[str], free: bool) -> Json:
    known, report, isolation = node.chips[chip], node.reports.get(chip), node.isolations.get(chip)
    processes = report.processes if report is not None and not report.error else ()
    return {
        "id": chip,
        "logical": known.logical,
        "ring": known.ring,
        "model": known.model,
        "healthy": healthy(node, chip),
        "isolated": isolation is not None,
        "isolated_by": isolation.by if isolation is not None else None,
        "isolated_since": stamp_or_none(isolation.since) if isolation is not None else None,
        "release_at": stamp_or_none(release_at(node, isolation)) if isolation is not None else None,
        "reason": _why(node, chip),
        "faults": [_fault(node, f) for f in active_faults(node, chip)],
        "containers": sorted(users),
        "processes": [_process(p) for p in processes],
        "available": free,
        "hint": isolation_hint(node, [chip]) if isolation is not None else "",
    }


def _process(process: Process) -> Json:
    row: Json = {"pid": process.pid, "name": one_line(process.name), "memory": process.memory}
    # Only some drivers can tell.
    return {**row, "container": one_line(process.container)} if process.container else row


def healthy(node: Node, chip: ChipId) -> bool:
    """Return whether nothing known speaks against the chip.

    One that was not asked yet in this life is judged by what is stored.
    """
    return not _why(node, chip)


def _why(node: Node, chip: ChipId) -> str:
    isolation, report = node.isolations.get(chip), node.reports.get(chip)
    if isolation is not None:
        return one_line(isolation.reason) or "isolated"
    if report is not None and report.error:
        return f"does not answer: {one_line(report.error)}"
    if report is not None and not report.booted:
        return "has not booted"
    if report is not None and report.unwell:
        return one_line(report.unwell)
    grave = grave_faults(node, chip)
    return f"fault {grave[0].code} ({grave[0].level.name})" if grave else ""


def _fault(node: Node, fault: Fault) -> Json:
    return {
        "code": fault.code,
        "level": fault.level.name,
        "since": stamp(fault.since),
        "count": fault.count,
        "module": one_line(fault.module),
        "severity": None if fault.severity is None else fault.severity.name,
        "momentary": fault.momentary,
        "raised": raised_by(node, fault.chip, fault.code) if fault.active else "",
    }


def faults(node: Node) -> list[Json]:
    """Return the active faults of all chips, chip by chip, the gravest first."""
    return [fault_of_chip(node, fault) for chip in sorted(node.faults) for fault in active_faults(node, chip)]


def fault_of_chip(node: Node, fault: Fault) -> Json:
    """Return a fault, active or past, with its chip."""
    told: Json = {"chip": fault.chip, **_fault(node, fault), "changed": stamp(fault.changed)}
    return {**told, "cleared": stamp_or_none(fault.cleared)}


def available(node: Node, count: int | None = None) -> list[int]:
    """Return at most `count` chips that are healthy and used by nobody, the lowest ids first.

    Only a chip that answered in this life counts: who is on it is not known otherwise. A chip whose ring is in an
    episode may be reset at any time, and one with a held container is about to be used; neither counts.
    """
    used = {chip for key in node.containers for chip in chips_of(node, key)}
    used |= {chip for hold in node.holds.values() if ours(hold) for chip in hold.chips}
    found = [chip for chip in sorted(node.chips) if chip not in used and _free(node, chip)]
    return list(found if count is None else found[:count])


def _free(node: Node, chip: ChipId) -> bool:
    report, ring = node.reports.get(chip), node.rings.get(node.chips[chip].ring)
    in_episode = ring is not None and ring.in_episode
    return report is not None and not report.processes and not in_episode and healthy(node, chip)
