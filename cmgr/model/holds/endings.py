"""The ends of a hold: it is given back, it is lost, or its promise is kept."""

from cmgr.frozen import replace
from cmgr.model.holds.consequences import wait_for_their_removal
from cmgr.model.holds.recreated import passed_on
from cmgr.model.holds.restarters import taken
from cmgr.model.scope import halting
from cmgr.model.turn import Turn
from cmgr.model.units import unit_of
from cmgr.model.values.holds import Cause, Hold, HoldState, entered
from cmgr.model.values.services.containers import NO_RESTART, ContainerKey, full_name
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.sentences.sentence import say


def end_hold(turn: Turn, hold: Hold, why: str) -> None:
    """End the hold at once: there is nothing to put right."""
    turn.tell(hold, say("hold.no-longer", name=hold.name, why=why))
    turn.drop_hold(hold.key)


def hand_back(turn: Turn, hold: Hold, why: str) -> None:
    """End the hold; an order to start it is answered first, and a restart policy that was switched off goes back."""
    turn.tell(hold, say("hold.no-longer", name=hold.name, why=why))
    if hold.is_being_started:
        turn.put_hold(replace(entered(hold, HoldState.FORGOTTEN), disarmed=True))
    elif hold.restart_policy != NO_RESTART and hold.state is not HoldState.SETTLING:
        # Switching it off may be under way, and then comes first; or it worked in a life that could not book that.
        run = "" if hold.is_to_end else hold.run  # That life goes on: news of it are not old.
        turn.put_hold(replace(entered(hold, HoldState.RETURNING), run=run, disarmed=hold.attempt.command is None))
    else:
        turn.drop_hold(hold.key)


def leave(turn: Turn, hold: Hold, why: str) -> None:
    """End the hold, and leave its container as it is: a person wants that. Our orders under way take their course."""
    container = turn.node.containers.get(hold.key)
    if container is not None and not container.running:
        turn.put_container(replace(container, kept=replace(container.kept, wanted=False, forgotten=container.run)))
    taken(turn, hold.key)
    # A container that was to move is on other rings by its definition: no ring has it from now on.
    for ring in list(turn.node.rings.values()):
        if ring.in_episode:
            turn.put_ring(replace(ring, theirs=ring.theirs | {hold.key}))
    if hold.state is HoldState.STOPPING:
        # Its answer is nobody's any more; one to a start, or to a change of its restart policy, comes first.
        hold = replace(hold, attempt=replace(hold.attempt, command=None))
    hand_back(turn, hold, why)


def lose(turn: Turn, hold: Hold, why: str, lines: tuple[str, ...] = ()) -> None:
    """Tell loudly that a promise cannot be kept any more, and make that the outcome of the episodes it is about.

    `lines`: what makes the container again in a shell.
    """
    ring_told = turn.ring_for(hold.chips)
    for ring in turn.rings_of(hold.chips):
        if ring.in_episode:
            turn.put_ring(replace(ring, lost=ring.lost | {full_name(hold.key, hold.name)}))
    turn.remember_trouble(
        Trouble(
            TroubleKind.LOST,
            full_name(hold.key, hold.name),
            say("hold.is-lost", name=hold.name),
            why,
            say("hold.make-it-again", count=len(lines)) if lines else say("hold.see-to-it"),
            stays=True,
            ring=ring_told.id if ring_told is not None else None,
            chips=tuple(sorted(hold.chips)),
            containers=(hold.name,),
            lines=lines,
        )
    )


def rearmed(turn: Turn, hold: Hold) -> None:
    """The container has its restart policy back."""
    container = turn.node.containers.get(hold.key)
    if container is not None and container.restart_policy != hold.restart_policy:
        turn.put_container(replace(container, restart_policy=hold.restart_policy))


def left_to_its_unit(turn: Turn, hold: Hold) -> bool:
    """End the hold on a container, which is down, if its unit is held, or it has an owner.

    That one starts it again, or another like it. Return whether it did.
    """
    container = turn.node.containers.get(hold.key)
    if container is not None and container.owner:
        end_hold(turn, hold, say("hold.owner-starts-another", owner=container.owner))
        return True
    unit = unit_of(turn.node, container) if container is not None else None
    of_unit = turn.node.holds.get(unit.key) if unit is not None else None
    if of_unit is None or not of_unit.is_held_down:
        return False
    end_hold(turn, hold, say("hold.down-like-its-unit"))
    return True


def container_removed(turn: Turn, key: ContainerKey, by: str) -> None:
    """The container exists no more: what was promised cannot be kept. `by`: whose word that is."""
    hold = turn.node.holds.get(key)
    if hold is not None and not hold.is_held_down:
        # It ran, and was theirs already but for a formality.
        turn.tell(hold, say("hold.is-forgotten", name=hold.name, why=say("hold.was-removed")))
    elif hold is not None and left_to_its_unit(turn, hold):
        pass
    elif hold is not None and not passed_on(turn, hold):
        _wait_for_another(turn, hold)
        container = turn.node.containers.get(key)
        removed = container is not None and container.auto_remove
        why = say("hold.end-removed-it") if removed else say("hold.was-removed")
        lines = () if removed else hold.anew or (container.anew if container is not None else ())
        if hold.cause is Cause.HEAL and hold.died:  # Not by cmgr it is down: who clears it away has seen that.
            turn.tell(hold, say("hold.is-forgotten", name=hold.name, why=why))
        else:
            told = say("hold.says", why=why, by=by) if lines else why
            lose(turn, hold, say("hold.cannot-start-again", why=told), lines)
    turn.drop_hold(key)
    turn.drop_container(key)
    wait_for_their_removal(turn, key)


def _wait_for_another(turn: Turn, hold: Hold) -> None:
    """Let the round wait for another one of this name: the group is of no use without it.

    A container that its runtime removes at its end (`--rm`) is its owner's to bring back, and nobody waits for it.
    """
    container, group = turn.node.containers.get(hold.key), halting(turn.node, hold.key)
    if group is not None and container is not None and not container.auto_remove:
        turn.put_group(replace(group, missing=group.missing | {full_name(hold.key, hold.name)}))
