"""The state as a person or a program reads it: plain JSON types, sorted, the same for the same state.

The shapes are documented for users and are stable: keys are added, never renamed. Times are ISO 8601 in UTC.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cmgr.frozen import dataclass
from cmgr.model.containers.moving.spares import free_chips
from cmgr.model.faults.isolation import release_at
from cmgr.model.index import running_in
from cmgr.model.scope import active_faults, pre_isolating
from cmgr.model.values.chips import Chip, ChipId, Process, Share, lost_names
from cmgr.model.values.faults import Fault
from cmgr.model.values.handling.calendar import DRILLS, Drill
from cmgr.model.values.lookup import grouped, kept
from cmgr.model.values.node import Node, RuntimeState
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.values.services.outages import Spent
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.sentences.sentence import say
from cmgr.view import troubles as wrong
from cmgr.view.advice import advised, called, isolation_hint, overdue, ring_hint, runtime_hint
from cmgr.view.containers import DOWN, Down, containers, down
from cmgr.view.explain import explain
from cmgr.view.machine import machine_faults
from cmgr.view.rules import raised_by
from cmgr.words import one_line, stamp, stamp_or_none

if TYPE_CHECKING:
    from cmgr.view import shapes, slot_shapes

__all__ = ["available", "chips", "containers", "explain", "faults", "rings", "status"]


AWAY: "tuple[shapes.ServiceState, ...]" = ("stopped", "hangs", "not to be reached")


@dataclass(frozen=True, slots=True)
class Own:
    """The part of a status that the service knows of itself. `troubles`: what is wrong beside the node.

    A service that does not answer is in one of the states `AWAY`, and has none of `version`, `since` and `name`.
    """

    state: "shapes.ServiceState"
    driver: str
    runtimes: tuple[str, ...]
    version: str = ""
    pid: int | None = None
    since: datetime | None = None
    troubles: tuple[Trouble, ...] = ()
    sources: "tuple[shapes.Source, ...]" = ()
    name: str = ""
    downtime: "shapes.Quarter | None" = None


def status(node: Node, own: Own, now: datetime) -> "shapes.Status":
    """Return the whole picture."""
    found = [wrong.row(trouble) for trouble in wrong.once(troubles(node, own))]
    return {
        "at": stamp(now),
        "service": service(node, own),
        "headline": wrong.in_few_words(found),
        "troubles": found,
        "restraint": restraint(node),
        "warnings": [] if own.state in AWAY and not own.version else overdue(node, now),
        "rings": rings(node),
        "containers": containers(node),
        "down": [_down(node, each) for each in down(node)],
        "chips": chips(node),
        "runtimes": [_runtime(node, state) for _, state in sorted(node.runtimes.items())],
        "windows": [
            {"name": opening.name, "open": opening.open, "until": stamp_or_none(opening.wall)}
            for _, opening in sorted(node.calendar.items())
            if not opening.name.startswith(DRILLS)
        ],
        "drills": [_drill(node, drill) for drill in node.policy.drills],
        "downtime": own.downtime,
    }


def _runtime(node: Node, state: RuntimeState) -> "shapes.Runtime":
    what = runtime_hint(node, state.name) if state.why_down else ""
    return {
        "name": state.name,
        "why_down": one_line(state.why_down),
        "listed": stamp_or_none(state.listed),
        "hint": what,
        **advised(what),
    }


def quarter(name: str, spent: Spent) -> "shapes.Quarter":
    """Return what a status says of the downtime of a quarter."""
    minutes, recovered, unseen = (round(length / timedelta(minutes=1), 1) for length in spent)
    return {"quarter": name, "minutes": minutes, "recovery_minutes": recovered, "unseen_minutes": unseen}


def _drill(node: Node, drill: Drill) -> "shapes.Drill":
    opening, last = node.calendar.get(drill.occasion), node.occasions.get(drill.occasion)
    following = opening.wall if opening is not None else None
    return {
        "name": drill.name,
        "next": stamp_or_none(following),
        "last": stamp_or_none(last.due if last is not None else None),
    }


def troubles(node: Node, own: Own) -> list[Trouble]:
    """Return everything that is wrong, the worst first."""
    # Why it is not ready stands there already.
    known = all(trouble.kind is not TroubleKind.UNKNOWN_CHIPS for trouble in own.troubles)
    return wrong.troubles(node, [*(wrong.not_ready(own.state, node) if known else ()), *own.troubles])


def service(node: Node, own: Own) -> "shapes.Service":
    """Return what there is to say of the service itself; of one that runs with its version, and what ails it."""
    known = node.maintenance
    told: shapes.Service = {
        "name": one_line(own.name),
        "state": own.state,
        "version": own.version,
        "pid": own.pid,
        "since": stamp_or_none(own.since),
        "driver": own.driver,
        "runtimes": list(own.runtimes),
        "strategy": str(node.policy.strategy),
        "observe": node.policy.observe,
        "maintenance": known is not None,
        "maintenance_until": stamp_or_none(known.until) if known is not None else None,
        "maintenance_by": one_line(known.who) if known is not None else None,
        "troubles": wrong.of_service(troubles(node, own)),
        "sources": list(own.sources),
    }
    if not own.version:
        del told["name"], told["version"], told["troubles"], told["sources"]
    return told


def health(node: Node, own: Own) -> "slot_shapes.Wellbeing":
    """Return whether the service itself is well, and what ails it."""
    return {
        "healthy": own.state == "ready",
        "state": own.state,
        "troubles": wrong.of_service(troubles(node, own)),
    }


def _down(node: Node, each: Down) -> "shapes.Down":
    return {
        "runtime": each.key.runtime,
        "namespace": each.key.namespace,
        "id": each.key.id,
        "name": each.name,
        "called": called(node, each.key),
        "chips": list(each.chips),
        "since": stamp_or_none(each.since),
        "reason": each.reason,
        "hint": each.hint,
        **advised(each.hint, reason=each.reason),
    }


def state_of_service(node: Node, own: Iterable[Trouble]) -> "shapes.ServiceState":
    """Return how a service that serves does: starting until all were heard, then ready; degraded while it ails.

    `own`: what is wrong beside the node.
    """
    own = tuple(own)
    if any(trouble.kind is TroubleKind.SERVICE for trouble in own):
        return "hangs"
    if wrong.unheard(node):
        return "starting"
    return "degraded" if wrong.of_service(wrong.troubles(node, own)) else "ready"


def restraint(node: Node) -> "shapes.Restraint | None":
    """Return since when and why rings are kept back, and which; None while none is."""
    now = node.restraint
    return {"since": stamp_or_none(now.since), "reason": now.reason, "rings": sorted(now.kept)} if now.kept else None


def rings(node: Node) -> "list[shapes.Ring]":
    """Return every ring, those in an episode with its number and what they wait for.

    A ring that is remembered, but whose chips are all gone, is not worth a row.
    """
    return [_ring(node, ring) for _, ring in sorted(node.rings.items()) if ring.chips or ring.in_episode]


def _ring(node: Node, ring: Ring) -> "shapes.Ring":
    order, what = node.reset_orders.get(ring.id), ring_hint(node, ring)
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
        "hint": what,
        **advised(what, reason=ring.reason),
    }


def chips(node: Node) -> "list[shapes.Chip]":
    """Return every chip with its health, its active faults, and who uses it."""
    return [*_chips(node)]


@kept
def _chips(node: Node) -> "Sequence[shapes.Chip]":
    users: dict[ChipId, list[str]] = {}
    for row in (row for row in containers(node) if row["status"] != DOWN):
        for chip in row["chips"]:
            users.setdefault(ChipId(chip), []).append(row["name"])
    free = set(available(node))
    return [_chip(node, chip, users.get(chip, []), chip in free) for chip in sorted(node.chips)]


def _chip(node: Node, chip: ChipId, users: list[str], free: bool) -> "shapes.Chip":
    known, report, isolation = node.chips[chip], node.reports.get(chip), node.isolations.get(chip)
    processes = report.processes if report is not None and not report.error else ()
    what = isolation_hint(node, [chip]) if isolation is not None else ""
    kept_free = [
        say("word.because", what=code, why=wrong.pre_isolated_words(node, code)) for code in pre_isolating(node, chip)
    ]
    reason = wrong.unfit(node, chip) or (say("trouble.kept-free", parts=kept_free) if kept_free else "")
    return {
        "id": chip,
        "number": known.asked_as,
        "tool_name": one_line(known.tool_name),
        "bus": one_line(known.bus),
        "serial": one_line(known.serial),
        "logical": known.logical,
        "ring": known.ring,
        "model": known.model,
        "healthy": healthy(node, chip),
        "isolated": isolation is not None,
        "isolated_by": isolation.by if isolation is not None else None,
        "isolated_since": stamp_or_none(isolation.since) if isolation is not None else None,
        "release_at": stamp_or_none(release_at(node, isolation)) if isolation is not None else None,
        "pre_isolated": bool(kept_free),
        "reason": reason,
        "faults": [_fault(node, f) for f in active_faults(node, chip)],
        "containers": sorted(users),
        "processes": [_process(p) for p in processes],
        "shares": [_share(node, share, known, processes) for share in known.shares],
        "available": free,
        "hint": what,
        **advised(what, reason=reason),  # type: ignore[typeddict-item]  # `measured` comes later.
    }


def _process(process: Process) -> "shapes.Process":
    told: shapes.Process = {"pid": process.pid, "name": one_line(process.name), "memory": process.memory}
    if process.container:  # Only some drivers can tell.
        told["container"] = one_line(process.container)
    if process.share:
        told["share"] = one_line(process.share)
    if process.gone:
        told["gone"] = True
    return told


def _share(node: Node, share: Share, chip: Chip, processes: Iterable[Process]) -> "shapes.Share":
    users = {c.name for process in processes if process.share == share.id for c in running_in(node, process)}
    lost = not share.there and any(name in share.aliases for name in lost_names(chip))
    users |= {c.name for alias in share.aliases for c in _asking(node.containers).get(alias, ())}
    return {
        "id": one_line(share.id),
        "template": one_line(share.template),
        "there": share.there,
        "containers": sorted(map(one_line, users)),
        "why": one_line(share.why),
        "hint": one_line(share.by_hand) if lost else "",
    }


@kept
def _asking(known: Mapping[ContainerKey, Container]) -> Mapping[str, Sequence[Container]]:
    return grouped(
        (claim, container) for container in known.values() if container.kept.wanted for claim in container.claims
    )


def healthy(node: Node, chip: ChipId) -> bool:
    """Return whether nothing known speaks against the chip."""
    return not wrong.unfit(node, chip)


def _fault(node: Node, fault: Fault) -> "shapes.Fault":
    return {
        "code": fault.code,
        "level": fault.level.name,
        "handling": fault.handling.name,
        "fault_class": fault.fault_class.value,
        "since": stamp(fault.since),
        "count": fault.count,
        "module": one_line(fault.module),
        "severity": None if fault.severity is None else fault.severity.name,
        "momentary": fault.momentary,
        "raised": raised_by(node, fault.chip, fault.code) if fault.active else "",
    }


def faults(node: Node) -> "shapes.Faults":
    """Return the active faults of all chips, and of the machine."""
    rows = [fault_of_chip(node, fault) for chip in sorted(node.faults) for fault in active_faults(node, chip)]
    return {"faults": rows, "machine": machine_faults(node)}


def fault_of_chip(node: Node, fault: Fault) -> "shapes.ChipFault":
    """Return a fault, active or past, with its chip."""
    cleared = stamp_or_none(fault.cleared)
    return {"chip": fault.chip, **_fault(node, fault), "changed": stamp(fault.changed), "cleared": cleared}


def available(node: Node, count: int | None = None) -> list[int]:
    """Return at most `count` chips on which something new can be started, the lowest ids first."""
    found = free_chips(node)
    return list(found if count is None else found[:count])
