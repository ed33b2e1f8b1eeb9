"""Recreated: what docker compose makes in the place of a held container (`up` with a new image, `--force-recreate`).

Compose makes the new one, removes the old one, and starts what it has made. The promise to a held container is one to
its heir from the moment in which the old one is gone.
"""

from cmgr.frozen import replace
from cmgr.model.index import project_mates
from cmgr.model.turn import Turn
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.wanted import was_meant
from cmgr.sentences.sentence import say


def passed_on(turn: Turn, hold: Hold) -> bool:
    """Promise to the heir of a held container, which is gone, what was promised to that. Return whether it has one."""
    heir = _heir(turn.node, hold.key)
    if heir is None:
        return _has_namesake(turn, hold)
    if heir.key in turn.node.holds:
        text = say("hold.heir-is-held", name=hold.name)
    elif heir.running:
        text = say("hold.heir-runs", name=hold.name)
    elif was_meant(heir.exit):
        text = say("hold.heir-was-stopped", name=hold.name)
    elif not heir.enabled or heir.strategy is Strategy.NEVER or heir.auto_remove or hold.cause is Cause.HEAL:
        text = say("hold.heir-is-left", name=hold.name)
    else:
        text = say("hold.heir-starts", name=hold.name)
        turn.put_hold(_inherited(turn, hold, heir))
        _take_place(turn, hold.key, heir)
        # Events may have told late of it, and it may have been started and stopped since.
        turn.ask_list(heir.key.runtime, f"has {hold.name} been started meanwhile?", not_older=turn.at)
        _replace_member(turn, hold.key, heir)
    turn.note(NoteKind.HOLD, text, turn.ring_for(hold.chips), container=heir.key)
    return True


def _has_namesake(turn: Turn, hold: Hold) -> bool:
    """Let the hold end without a loss where an updater has renamed its container, and made another of its name.

    That one runs on its chips, or is held itself.
    """
    others = (c for c in turn.node.containers.values() if c.name == hold.name and c.key != hold.key)
    found = [c for c in others if c.key[:2] == hold.key[:2] and not c.kept.chips.isdisjoint(hold.chips)]
    if not any(c.running or c.key in turn.node.holds for c in found):
        return False
    text = say("hold.namesake", name=hold.name)
    turn.note(NoteKind.HOLD, text, turn.ring_for(hold.chips), container=found[0].key)
    return True


def _heir(node: Node, key: ContainerKey) -> Container | None:
    container = node.containers.get(key)
    old = container.composed if container is not None else None
    if container is None or old is None or not old.number or old.made is None:
        return None
    heirs = [
        (new.made, mate)
        for mate in project_mates(node, container)
        if mate.key != key and (new := mate.composed) is not None
        if (new.service, new.number) == (old.service, old.number) and new.made is not None and new.made > old.made
    ]
    return max(heirs, key=lambda heir: (heir[0], heir[1].key))[1] if heirs else None


def _inherited(turn: Turn, hold: Hold, heir: Container) -> Hold:
    # Its name is one for the moment: compose gives it the old one's.
    fresh = Hold(heir.key, hold.name, heir.kept.chips or hold.chips, hold.episode, hold.since, HoldState.DOWN, heir.run)
    return replace(
        fresh,
        order=heir.order,
        grace=heir.grace,
        restart_policy=heir.restart_policy,
        cause=hold.cause,
        down=turn.at,
        inherited=True,
        beside=hold.beside,
        places=hold.places,
        heard=turn.at,
    )


def _take_place(turn: Turn, key: ContainerKey, heir: Container) -> None:
    """Let it be in the place that the old one was in, and those in its own that were in that one's."""
    old = turn.node.containers.get(key)
    turn.put_container(
        replace(heir, kept=replace(heir.kept, instead_of=old.kept.instead_of if old is not None else frozenset()))
    )
    for other in [c for c in turn.node.containers.values() if key in c.kept.instead_of]:
        turn.put_container(replace(other, kept=replace(other.kept, instead_of=other.kept.instead_of | {heir.key})))


def _replace_member(turn: Turn, key: ContainerKey, heir: Container) -> None:
    """Let the round of its group go on with the heir."""
    group = turn.node.groups.get(heir.group)
    if group is not None and key in group.members:
        turn.put_group(replace(group, members=group.members - {key} | {heir.key}, up=group.up - {key}))
