"""Healing: restarting containers that fail though their chips do not.

Rules:
1. Only a container that wishes it is healed, and only while no chip of it speaks against a start. An ailment in an
   episode is the episode's business.
2. A hint is enough to wait, not to act: a container is stopped or started for it when a list made after the wait
   still says that it ails.
3. A restart counts when its start is ordered, once, so that no crash of cmgr adds one to the limit.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model.holds.making import hold_on, hold_to_heal
from cmgr.model.holds.obstacles import Block, start_blocker
from cmgr.model.holds.tries import put_off
from cmgr.model.scope import hang_of, is_ill, why_idle
from cmgr.model.turn import Turn
from cmgr.model.units import is_covered, unit_of
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import NO_RESTART, UNHEALTHY, Container, ContainerKey
from cmgr.model.values.services.healing import Hang, Healing, ailment, limit_of, not_ahead, wait_of, worded
from cmgr.sentences.sentence import say


def tend(turn: Turn) -> None:
    """Let every container that ails go one step on towards its restart."""
    for container in list(turn.node.containers.values()):
        if container.heal is not None and container.kept.seen is not None and unit_of(turn.node, container) is None:
            _tend(turn, container)
    for healing in list(turn.node.healings.values()):
        if healing.key not in turn.node.containers and healing.key not in turn.node.holds:
            turn.put_healing(Healing(healing.key))


def _tend(turn: Turn, container: Container) -> None:
    hold = turn.node.holds.get(container.key)
    healing = _within(turn, turn.node.healings.get(container.key, Healing(container.key)))
    what = ailment(container, healing, hangs=hang_of(turn.node, container) is not None)
    if hold is not None and not (container.running and hold.state is HoldState.RETURNING):
        turn.put_healing(healing)
        return
    if not what:
        turn.put_healing(healing if healing.spared and healing.life == container.run else healing.over(container.run))
        return
    if not healing.ails or healing.life != container.run:
        healing = healing.begun(container.run, turn.at)
    turn.put_healing(healing)
    if _is_ours(turn.node, container):
        _go_on(turn, container, healing, what)


def hangs_seen(turn: Turn, hangs: Sequence[Hang]) -> None:
    """Take in which containers hang now; `tend` restarts those that wish to be healed."""
    before = turn.node.hangs
    turn.node = replace(turn.node, hangs={hang.key: hang for hang in hangs})
    for hang in hangs:
        container, known = turn.node.containers.get(hang.key), before.get(hang.key)
        is_new = known is None or known.run != hang.run
        if container is not None and is_new and hang_of(turn.node, container) is not None:
            turn.tell(container, say("heal.container-hangs", name=container.name, words=hang.words), NoteKind.WARNING)


def _within(turn: Turn, healing: Healing) -> Healing:
    """Return it without the restarts that do not count any more."""
    window = turn.node.policy.heal.window
    if not healing.times or turn.at - healing.times[0] < window:
        return healing
    return replace(healing, times=tuple(t for t in healing.times if turn.at - t < window))


def _is_ours(node: Node, container: Container) -> bool:
    """Return whether restarting the container is up to cmgr now."""
    if not container.enabled or container.auto_remove or is_covered(node, container):
        return False
    if container.claims and not container.kept.chips:
        return False  # It asks for chips that are not here.
    if container.key.runtime not in node.runtimes:
        return False
    # Its runtime restarts what exits, if it does, and nobody else what is unhealthy.
    left = container.exit is not None and container.exit.left
    if not container.running and container.restart_policy != NO_RESTART and not left:
        return False
    return not any(node.rings[node.chips[c].ring].keeps_others for c in container.kept.chips)


def _go_on(turn: Turn, container: Container, healing: Healing, what: str) -> None:
    policy = turn.node.policy.heal
    limit, spent = limit_of(policy, container.heal), len(healing.times)
    idle = why_idle(turn.node, chips=bool(container.kept.chips))
    if healing.due is None and healing.given_up is None:
        if spent < limit or idle:
            wait = wait_of(policy, container.heal, spent)
            healing = turn.put_healing(replace(healing, due=turn.at + wait))
            turn.tell(container, _will_restart(turn.node, container, worded(what), wait, idle))
        else:
            healing = turn.put_healing(replace(healing, given_up=turn.at))
            text = say("heal.gives-up", name=container.name, what=worded(what), count=spent, window=policy.window)
            turn.tell(container, text, NoteKind.WARNING)
    if idle:
        return
    if not container.running:
        hold_to_heal(turn, container, healing, what)
    elif healing.given_up is None and healing.due is not None and turn.at >= healing.due:
        _stop_when_sure(turn, container, healing, what)


def _will_restart(node: Node, container: Container, what: str, wait: timedelta, idle: str) -> str:
    name, window, limit = container.name, node.policy.heal.window, limit_of(node.policy.heal, container.heal)
    number = 1 + len(node.healings[container.key].times)
    if not idle:
        return say("heal.is-restarted", name=name, what=what, wait=wait, number=number, limit=limit, window=window)
    return say(
        "heal.would-be-restarted",
        name=name, what=what, wait=wait, idle=idle, number=number, limit=limit, window=window,
    )  # fmt: skip


def _stop_when_sure(turn: Turn, container: Container, healing: Healing, what: str) -> None:
    probe = hold_on(turn.node, container, turn.at, Cause.HEAL)
    # An unhealthy container is better than one that cannot be started again.
    if start_blocker(turn.node, probe).kind is Block.NOTHING and confirm(turn, probe):
        hold_to_heal(turn, container, healing, what)


def confirm(turn: Turn, hold: Hold) -> bool:
    """Return whether a list made after the wait bears out that the container is to be healed; ask for one if not."""
    due = _unconfirmed(turn.node, hold)
    if due is None:
        return True
    if turn.at < due:  # The clock was set back between two lives.
        put_off(turn, hold, due)
    else:
        turn.ask_list(hold.key.runtime, f"is {hold.name} still unhealthy?", not_older=due)
    return False


def _unconfirmed(node: Node, hold: Hold) -> datetime | None:
    """Return after when a list has to bear out that the container is to be healed; None: one has, or need not."""
    healing, state = node.healings.get(hold.key), node.runtimes[hold.key.runtime]
    if hold.cause is not Cause.HEAL or healing is None or healing.due is None or healing.counted:
        return None
    return healing.due if state.listed is None or state.listed < healing.due else None


def why_unconfirmed(turn: Turn, hold: Hold) -> str | None:
    """Return in words why a start that heals waits for a list: none while it waits for its time. None: it does not."""
    due = _unconfirmed(turn.node, hold)
    if due is None:
        return None
    return say("heal.list-has-to-confirm") if turn.at >= due else ""


def needs_restart(turn: Turn, hold: Hold) -> bool | None:
    """Return whether one that is to be stopped to be healed still needs that; None for any other."""
    container = turn.node.containers.get(hold.key)
    return None if hold.cause is not Cause.HEAL or container is None else is_ill(turn.node, container)


def count(turn: Turn, hold: Hold) -> None:
    """Book that the start of a container is ordered."""
    healing = turn.node.healings.get(hold.key, Healing(hold.key))
    if hold.cause is Cause.HEAL and not healing.counted:
        turn.put_healing(replace(healing, times=(*healing.times, turn.at), counted=True))


def why_restarted(turn: Turn, hold: Hold) -> str:
    """Return the reason of a stop or start that heals; nothing for any other."""
    if hold.cause is not Cause.HEAL:
        return ""
    healing, container = turn.node.healings.get(hold.key), turn.node.containers.get(hold.key)
    spent = len(healing.times) if healing is not None else 0
    limit = limit_of(turn.node.policy.heal, container.heal if container is not None else None)
    before = spent - (healing is not None and healing.counted)
    hangs = container is not None and hang_of(turn.node, container) is not None
    ill = ailment(container, Healing(hold.key), hangs=hangs) if container is not None else ""
    what = say("heal.exited-by-itself") if hold.died else worded(ill or UNHEALTHY)
    return say("heal.restart", what=what, number=before + 1, limit=limit)


def begin_anew(turn: Turn, key: ContainerKey) -> None:
    """Forget how often the container was restarted, and wait no longer: a person has seen to it."""
    healing = turn.node.healings.get(key)
    if healing is not None and not healing.spared:
        due = turn.at if healing.ails else None
        turn.put_healing(replace(healing, times=(), counted=False, given_up=None, due=due))


def spare(turn: Turn, key: ContainerKey) -> None:
    """Leave the container as it is, unhealthy or down, for as long as that lasts: a person wants that."""
    container, healing = turn.node.containers.get(key), turn.node.healings.get(key)
    ails = healing is not None and healing.ails
    if container is not None and container.heal is not None and (ails or not container.running):
        turn.put_healing(Healing(key, life=container.run, spared=True))


def notice_death(turn: Turn, known: Container | None, container: Container) -> None:
    """Book that the container has died by itself, if that is news: `known` is how it was.

    Where it is not known whether somebody asked for its end, it must have been seen to run in this life of cmgr: what
    happened while nobody looked may be a person's doing.
    """
    end = container.exit
    if container.heal is None or container.running or end is None or not end.by_itself:
        return
    if unit_of(turn.node, container) is not None:
        return
    healing = turn.node.healings.get(container.key, Healing(container.key))
    ran = known is not None and known.running and known.run == container.run
    if healing.life == container.run and not (healing.spared and ran):
        return
    hold = turn.node.holds.get(container.key)
    ours = hold is not None and hold.state is HoldState.STARTING
    went_on = known is not None and known.kept.seen is not None and ran
    if went_on or ours or end.asked is False:
        turn.put_healing(healing.begun(container.run, turn.at))


def after_restart(node: Node, at: datetime) -> Node:
    """Return the node with the waits that a new life of cmgr keeps to."""
    healings = {k: not_ahead(h, at, node.policy.heal.backoff_max) for k, h in node.healings.items()}
    holds = dict(node.holds)
    for key, hold in node.holds.items():
        healing, attempt = healings.get(key), hold.attempt
        waits = hold.cause is Cause.HEAL and hold.state is HoldState.DOWN and attempt.tries == 0
        if waits and healing is not None:
            holds[key] = replace(hold, attempt=replace(attempt, retry_at=None if healing.counted else healing.due))
    return replace(node, healings=healings, holds=holds)
