"""Groups as a person or a program reads them, and what is wrong with them."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cmgr.model.holds.obstacles import Block, group_obstacle
from cmgr.model.scope import blocks_its_group, members_of
from cmgr.model.values.chips import ChipId
from cmgr.model.values.fleet import FleetGroup, gate, is_out, unheard, waited_for, why_waited_for
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.messages.documents import Entry
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container
from cmgr.model.values.services.groups import Group, GroupPhase
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.sentences.hints import order
from cmgr.sentences.sentence import messages, parts, say
from cmgr.view.advice import advised, called
from cmgr.words import one_line, stamp, stamp_or_none

if TYPE_CHECKING:
    from cmgr.view import group_shapes


def groups(node: Node) -> "list[group_shapes.Group]":
    """Return every group, by name."""
    return [_row(node, node.groups.get(name) or Group(name)) for name in names(node)]


def names(node: Node) -> list[str]:
    """Return the names of the groups that have members here, or a round."""
    on = {group.name for group in node.groups.values() if group.in_round}
    return sorted({c.group for c in node.containers.values() if c.group} | on)


def _row(node: Node, group: Group) -> "group_shapes.Group":
    members = members_of(node, group.name)
    why, what = reason(node, group, members), _hint(node, group, members)
    remarks = _remarks(node, members)
    return {
        "name": group.name,
        "phase": group.phase.value,
        "round": group.round,
        "began": stamp_or_none(group.began),
        "cause": one_line(group.cause),
        "since": stamp_or_none(group.since),
        "size": size(members),
        "down": sum(not c.running for c in members),
        "reason": one_line(why),
        "hint": what,
        **advised(what, reason=why, cause=group.cause, remarks=remarks),
        "fleet": _agreement(node.fleet_groups.get(group.name)),
        "members": [_member(node, group, container) for container in members],
        "remarks": remarks,
        "history": [
            {
                "number": each.number,
                "began": stamp(each.began),
                "ended": stamp(each.ended),
                "cause": one_line(each.cause),
                "outcome": each.outcome,
            }
            for each in reversed(group.history)
        ],
    }


def _agreement(known: FleetGroup | None) -> "group_shapes.Agreement | None":
    document = known.document if known is not None else None
    if known is None or document is None:
        return None
    waited = {name for name, _ in waited_for(document)}
    told: group_shapes.Agreement = {
        "phase": document.phase.value,
        "round": document.round,
        "by": document.by,
        "cause": document.cause,
        "size": document.size,
        "known": document.known,
        "appliances": [
            _appliance(known, name, entry, waited=name in waited) for name, entry in sorted(document.members.items())
        ],
    }
    if said := messages(cause=document.cause):
        told["messages"] = said
    return told


def _appliance(known: FleetGroup, name: str, entry: Entry, *, waited: bool) -> "group_shapes.Appliance":
    told: group_shapes.Appliance = {
        "name": name,
        "round": entry.round,
        "state": entry.state.value,
        "waited_for": waited,
        "containers": list(entry.containers),
        "since": stamp_or_none(known.since.get(name)),
        "reason": entry.why,
    }
    if said := messages(reason=entry.why):
        told["messages"] = said
    return told


def _member(node: Node, group: Group, container: Container) -> "group_shapes.Member":
    hold = node.holds.get(container.key)
    held = hold is not None and hold.is_held_down
    why = hold.reason or hold.attempt.error if hold is not None and held else ""
    if hold is not None and hold.is_to_end:
        why = hold.attempt.error or say("group.is-being-stopped")
    if container.key in group.out:
        why = parts([say("group.was-taken"), why])
    return {
        "name": one_line(container.name),
        "called": called(node, container.key),
        "chips": sorted(container.kept.chips),
        "order": container.order,
        "running": container.running,
        "held": held,
        "since": stamp_or_none(container.kept.since),
        "reason": one_line(why),
    }


def ranks(node: Node, name: str) -> list[ChipId]:
    """Return the chips of a group in the order of their ranks: those that its members have, or are to be started on.

    Members go by `cmgr.order`, then by name, in which numbers count as such; the chips of one by their ids.
    """
    members = sorted(members_of(node, name), key=lambda c: (c.order, natural(c.name), c.key))
    return [chip for container in members for chip in sorted(_chips(node, container))]


def natural(name: str) -> list[tuple[int, str]]:
    """Return what sorts names as people do: numbers in them count as such."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"([0-9]+)", name)]


def _chips(node: Node, container: Container) -> frozenset[ChipId]:
    hold = node.holds.get(container.key)
    return hold.chips if hold is not None and not container.running else container.kept.chips


def size(members: list[Container]) -> int:
    """Return how many members there are by their labels, of which the largest number counts; 0: they do not say."""
    return max((c.group_size for c in members), default=0)


def reason(node: Node, group: Group, members: list[Container]) -> str:
    """Return what the group waits for, or why it is not whole; nothing where it is."""
    down = [c.name for c in members if not c.running]
    if group.in_round:
        obstacle = group_obstacle(node, group) if group.phase is GroupPhase.HALTING else None
        held = [node.holds[k].name for k in group.members if k in node.holds and node.holds[k].is_held_down]
        starting = say("group.waits-until-they-run", names=sorted(held)) if held else say("group.waits-for-its-end")
        others = gate(node.engine, node.fleet_groups.get(group.name))
        waits = obstacle.why if obstacle is not None else others or starting
        return say("group.down", down=len(down), all=len(members), why=waits)
    if down and len(down) < len(members):
        return say("group.do-not-run", names=down)
    return elsewhere(node, group.name, members) if members and not down else ""


def elsewhere(node: Node, name: str, members: list[Container]) -> str:
    """Return what is wrong with the group beyond this appliance, all being well here."""
    wanted, known = size(members), node.fleet_groups.get(name)
    if wanted <= len(members):
        return ""
    document = known.document if known is not None else None
    if known is None or document is None:
        if known is not None and known.seen.error:
            return say("group.agreement-cannot-be-read", error=known.seen.error)
        # While the engine is away nothing new is known, and nothing is wrong with the group for that.
        if known is not None and known.whole:
            return ""
        return say("group.members-known-here", known=len(members), all=wanted)
    if document.known < document.size:
        return say("group.of-their-own", known=document.known, all=document.size)
    if is_out(node.engine, known):
        return say("group.appliance-was-left-out")
    waits = why_waited_for(document, waited_for(document))
    return say("group.elsewhere", round=document.round, phase=document.phase, waits=waits) if waits else ""


def _hint(node: Node, group: Group, members: list[Container]) -> str:
    if fleet := _fleet_hint(node, group):
        return fleet
    if group.phase is GroupPhase.HALTING:
        resume, back = order("group-resume", group=group.name), order("group-cancel", group=group.name)
        now = "" if _is_under_way(node, group) else say("hint.start-what-can", order=resume)
        return parts((now, say("hint.cancel-restart", order=back) if group.can_be_taken_back else ""))
    down = [c for c in members if not c.running]
    if not group.in_round and down and len(down) < len(members):
        return say("hint.restart-group", order=order("group-restart", group=group.name))
    return ""


def _fleet_hint(node: Node, group: Group) -> str:
    """Return what to type about other appliances; nothing where the reason for the wait, if there is one, is here."""
    known = node.fleet_groups.get(group.name)
    if known is None or not gate(node.engine, known):
        return ""
    if is_out(node.engine, known):
        return say("hint.take-in-again", order=order("group-restart", group=group.name))
    if group.phase is not GroupPhase.HALTING or group_obstacle(node, group) is not None:
        return ""
    if not node.engine.up:
        return say("hint.start-alone", order=order("group-resume", group=group.name, alone=True))
    waited = [n for n, _ in waited_for(known.document)] if known.document is not None else []
    others = [n for n in (*waited, *unheard(known)) if n != node.engine.name]
    goes = order("group-resume", group=group.name, without=",".join(others))
    return say("hint.go-on-without", others=others, order=goes) if others else ""


def _is_under_way(node: Node, group: Group) -> bool:
    """Return whether something still happens by itself, so that nobody should start a part of the group."""
    held = [node.holds[key] for key in group.members if key in node.holds]
    rings = {node.chips[chip].ring for hold in held for chip in hold.chips if chip in node.chips}
    stopping = any(hold.is_to_end and not hold.attempt.error for hold in held)
    obstacle = group_obstacle(node, group)
    waits = obstacle is None or obstacle.kind is not Block.CHIP
    return stopping or waits or any(node.rings[ring].in_episode for ring in rings)


def _remarks(node: Node, members: list[Container]) -> list[str]:
    sizes = sorted({c.group_size for c in members if c.group_size})
    told: list[str] = [say("group.sizes-differ", sizes=[str(each) for each in sizes])] if len(sizes) > 1 else []
    told += [say("group.of-one")] if len(members) == 1 >= size(members) else []
    if sizes and len(members) > sizes[-1]:
        told.append(say("group.too-many", count=len(members), size=sizes[-1]))
    if node.policy.strategy is Strategy.NEVER and any(c.strategy is None for c in members):
        told.append(say("group.strategy-stops-none", strategy=node.policy.strategy))
    return [*told, *filter(None, map(_left_alone, members))]


def _left_alone(container: Container) -> str:
    name = one_line(container.name)
    if not container.enabled:
        return say("group.hands-off-waits", name=name)
    if container.strategy is Strategy.NEVER:
        return say("group.strategy-waits", name=name, strategy=container.strategy)
    return say("group.rm-waits", name=name) if blocks_its_group(container) else ""


def troubles(node: Node) -> Iterator[Trouble]:
    """Yield each group that is in a round, or is not whole."""
    for name in names(node):
        group, members = node.groups.get(name) or Group(name), members_of(node, name)
        why = reason(node, group, members)
        if why:
            text = say("group.is-in-phase", group=name, phase=group.phase)
            text = text if group.in_round else say("group.is-not-whole", group=name)
            chips = tuple(sorted({chip for c in members for chip in c.kept.chips}))
            told = tuple(c.name for c in members)
            since = group.began if group.in_round else None
            what = _hint(node, group, members)
            yield Trouble(TroubleKind.GROUP, name, text, why, what, since, chips=chips, containers=told)
