"""Groups over appliances: the part of this appliance in the agreement, and what it writes of it.

Rules:
1. The reason to write is what is, never what happened: a member is held while the document says that all run.
2. The engine's word starts and resets nothing: it lets wait, and it lets the members of one group be stopped.
3. An entry says `READY` only for a round of which every member here is held, down, and could be started this moment.
4. An appliance that is absent stops nothing. A round waits for it, and says so.
"""

from collections.abc import Mapping
from datetime import datetime

from cmgr.frozen import replace
from cmgr.model.holds.obstacles import group_obstacle
from cmgr.model.scope import members_of, observing, why_idle
from cmgr.model.turn import Turn
from cmgr.model.values.fleet import NEVER, FleetGroup, is_behind, is_out, is_over, starts_here, unheard
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages.commands import ReadGroup, WriteGroup
from cmgr.model.values.messages.documents import LONGEST_WHY, Document, Entry, EntryState
from cmgr.model.values.node import Node
from cmgr.model.values.services.groups import Group, GroupPhase
from cmgr.sentences.sentence import say
from cmgr.words import one_line, stamp

LONGEST_NAME = 128


def call(node: Node, name: str) -> Document | None:
    """Return the document by which the members here are to be stopped, for a round that they are not held for yet."""
    group = node.fleet_groups.get(name)
    document = group.document if group is not None else None
    if group is None or document is None or document.phase is not GroupPhase.HALTING or document.round == group.held:
        return None
    if is_out(node.engine, group) or is_behind(document, group) or not members_of(node, name):
        return None
    # A person has ordered another one here meanwhile, which comes after it and takes in more.
    return None if document.round < group.restart or (group.restart and not document.ordered) else document


def agree(turn: Turn) -> None:
    """Ask and write what the groups over appliances need now."""
    if not turn.node.engine.name:
        return
    for name, size in sorted(_sizes(turn.node).items()):
        if name not in turn.node.fleet_groups and size > len(members_of(turn.node, name)):
            turn.put_fleet_group(FleetGroup(name))
    for group in sorted(turn.node.fleet_groups.values(), key=lambda g: g.name):
        due = group.retry_at is None or turn.at >= group.retry_at
        if turn.node.engine.up and group.asked is None and due:
            _agree(turn, group)


def _sizes(node: Node) -> Mapping[str, int]:
    sizes: dict[str, int] = {}
    for container in node.containers.values():
        if container.group:
            sizes[container.group] = max(sizes.get(container.group, 0), container.group_size)
    return sizes


def _agree(turn: Turn, group: FleetGroup) -> None:
    if group.seen.revision == NEVER.revision:
        _read(turn, group, f"on what have the appliances of group {group.name} agreed?")
        return
    if group.seen.error and not group.restart:
        return  # A newer cmgr may have written it, or a person's hand: a person writes it anew.
    here = _stays(turn.node, group)
    if not here and (group.document is None or turn.node.engine.name not in group.document.members):
        turn.drop_fleet_group(group.name)
        return
    if _is_about_to_start(turn, group):
        _read(turn, group, f"the last look before round {group.held} of group {group.name} starts")
        return
    if here and group.document is None and not _sizes(turn.node).get(group.name):
        return  # Its containers have not been listed yet in this life.
    document = wanted(turn.node, group, turn.at) if here else _without(group.document, turn.node.engine.name)
    if document is not None and document != group.document:
        reason = f"round {document.round} of group {group.name}: {document.phase}"
        command = WriteGroup(turn.command_id("group"), reason, group.name, document, group.seen.revision)
        turn.put_fleet_group(replace(group, asked=(command.id, document)))
        turn.commands.append(command)


def _read(turn: Turn, group: FleetGroup, reason: str) -> None:
    command = ReadGroup(turn.command_id("group"), reason, group.name)
    turn.put_fleet_group(replace(group, asked=(command.id, None)))
    turn.commands.append(command)


def _stays(node: Node, group: FleetGroup) -> bool:
    """Return whether this appliance has a part in the group: members, more of which are elsewhere, or a round."""
    members, local = members_of(node, group.name), node.groups.get(group.name)
    if (local is not None and local.in_round) or any(c.kept.seen is None for c in members):
        return True
    return bool(members) and _sizes(node)[group.name] > len(members)


def _without(document: Document | None, name: str) -> Document | None:
    if document is None:
        return None
    return replace(document, members={n: e for n, e in document.members.items() if n != name})


def _is_about_to_start(turn: Turn, group: FleetGroup) -> bool:
    if not starts_here(group) or group.looked == group.held or observing(turn.node):
        return False
    local, document = turn.node.groups.get(group.name), group.document
    entry = document.members.get(turn.node.engine.name) if document is not None else None
    return local is not None and local.in_round and entry is not None and entry.state is EntryState.READY


def wanted(node: Node, group: FleetGroup, at: datetime) -> Document:
    """Return the document as this appliance would have it now; the one that is there where that is right."""
    document = _remembered(group, max(_sizes(node).get(group.name, 0), group.document.size if group.document else 0))
    members = dict(document.members)
    members[node.engine.name] = _mine(node, group, document, at)
    for name in group.without & members.keys() - {node.engine.name}:
        if document.phase is not GroupPhase.RUNNING:
            members[name] = replace(members[name], state=EntryState.OUT)
    document = replace(document, members=members)
    if begun := _begun(node, group, document, at):
        return begun
    if not is_over(document):
        return document
    after = GroupPhase.STARTING if document.phase is GroupPhase.HALTING else GroupPhase.RUNNING
    return replace(document, phase=after)


def _remembered(group: FleetGroup, size: int) -> Document:
    """Return the document, or what is known of it here where the engine has forgotten more than this appliance."""
    document = group.document
    if document is None:
        return Document(size, group.round)
    if is_behind(document, group):
        # Nobody is stopped for it: should a member be held, the next round begins, as ever.
        return replace(document, size=size, round=group.round, phase=GroupPhase.RUNNING, ordered=False)
    return replace(document, size=size)


def _begun(node: Node, group: FleetGroup, document: Document, at: datetime) -> Document | None:
    """Return the document with the next round begun, if there is a reason for one."""
    local = node.groups.get(group.name)
    ordered = bool(group.restart) and not (document.ordered and document.round >= group.restart)
    if local is None or observing(node) or not (ordered or _is_held_anew(node, group, local, document)):
        return None
    members = {n: _back(e) for n, e in document.members.items()} if ordered else document.members
    return replace(
        document,
        round=document.round + 1,
        phase=GroupPhase.HALTING,
        by=node.engine.name,
        cause=_line(local.cause or say("group.part-was-started-alone")),
        at=stamp(at),
        ordered=ordered,
        members=members,
    )


def _is_held_anew(node: Node, group: FleetGroup, local: Group, document: Document) -> bool:
    """Return whether members here are held for no round of the fleet, or run although all others start."""
    if is_out(node.engine, group):
        return False
    if document.known < document.size and (not group.held or unheard(group)):
        return False  # The members here are a group of their own; or the others of the round are yet to write.
    starting = document.phase is GroupPhase.STARTING
    if group.alone:
        # A person had them started after this appliance had written that they could be.
        return starting and document.round == group.held
    other = document.phase is GroupPhase.RUNNING or (starting and document.round != group.held)
    return local.in_round and other and not _is_started(node, local)


def _is_started(node: Node, local: Group) -> bool:
    """Return whether each member here has been let start, which no memory that the engine has lost takes back."""
    holds = [node.holds[key] for key in local.members if key in node.holds]
    return all(hold.state in (HoldState.STARTING, HoldState.SETTLING) for hold in holds)


def _back(entry: Entry) -> Entry:
    return replace(entry, state=EntryState.RUNNING) if entry.state is EntryState.OUT else entry


def _mine(node: Node, group: FleetGroup, document: Document, at: datetime) -> Entry:
    """Return this appliance's entry, as it is now."""
    names = tuple(_line(c.name, LONGEST_NAME) for c in members_of(node, group.name))
    was = document.members.get(node.engine.name)
    if was is not None and was.state is EntryState.OUT:
        return replace(was, containers=names)
    local = node.groups.get(group.name) or Group(group.name)
    if document.phase is not GroupPhase.RUNNING and group.held == document.round:
        state, why = _part(node, group, local, document, at)
        return Entry(document.round, state, _line(why), names)
    why = why_idle(node) if observing(node) else local.cause if local.in_round else ""
    state = EntryState.HALTING if local.in_round and not group.alone else EntryState.RUNNING
    if document.phase is GroupPhase.HALTING or (document.phase is GroupPhase.STARTING and local.in_round):
        # It has not followed this round yet, or is about to begin the next.
        return Entry(was.round if was is not None else max(document.round - 1, 0), state, _line(why), names)
    return Entry(document.round, state, _line(why), names)


def _part(node: Node, group: FleetGroup, local: Group, document: Document, at: datetime) -> tuple[EntryState, str]:
    """Return how far the members here are in the round of the document, for which they are or were held."""
    if group.alone:
        return EntryState.RUNNING, say("group.members-were-started-alone")
    if document.phase is GroupPhase.STARTING:
        held = sorted(node.holds[key].name for key in local.members if key in node.holds)
        return (EntryState.READY, say("ring.starting", names=held)) if local.in_round else (EntryState.RUNNING, "")
    if observing(node):
        return EntryState.HALTED, why_idle(node)
    if not local.in_round:
        return EntryState.READY, ""
    obstacle = group_obstacle(node, local, at)
    if obstacle is None:
        return EntryState.READY, ""
    holds = [node.holds[key] for key in local.members if key in node.holds]
    if any(hold.state is HoldState.FAILED for hold in holds):
        return EntryState.FAILED, obstacle.why
    stopping = any(hold.is_to_end for hold in holds)
    return (EntryState.HALTING if stopping else EntryState.HALTED), obstacle.why


def _line(text: str, most: int = LONGEST_WHY) -> str:
    line = one_line(text)
    return line if len(line) <= most else line[: most - 1] + "…"
