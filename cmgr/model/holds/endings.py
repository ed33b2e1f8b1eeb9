"""The ends of a hold: it is given back, it is lost, or its promise is kept."""

from cmgr.frozen import replace
from cmgr.model.turn import Turn
from cmgr.model.values.holds import Hold, HoldState, entered
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.services.containers import NO_RESTART, full_name
from cmgr.model.values.troubles import Trouble, TroubleKind


def hand_back(turn: Turn, hold: Hold, why: str) -> None:
    """End the hold; an order to start it is answered first, and a restart policy that was switched off goes back."""
    turn.note(NoteKind.HOLD, f"{hold.name} is no longer held: {why}", turn.ring_for(hold.chips), container=hold.key)
    if hold.is_being_started:
        turn.put_hold(replace(entered(hold, HoldState.FORGOTTEN), disarmed=True))
    elif hold.restart_policy != NO_RESTART and hold.state is not HoldState.SETTLING:
        # Switching it off may be under way, and then comes first; or it worked in a life that could not book that.
        run = "" if hold.is_to_end else hold.run  # That life goes on: news of it are not old.
        turn.put_hold(replace(entered(hold, HoldState.RETURNING), run=run, disarmed=hold.attempt.command is None))
    else:
        turn.drop_hold(hold.key)


def lose(turn: Turn, hold: Hold, why: str) -> None:
    """Tell loudly that a promise cannot be kept any more, and make that the outcome of the episodes it is about."""
    ring_told = turn.ring_for(hold.chips)
    for ring in turn.rings_of(hold.chips):
        if ring.in_episode:
            turn.put_ring(replace(ring, lost=ring.lost | {full_name(hold.key, hold.name)}))
    turn.remember_trouble(
        Trouble(
            TroubleKind.LOST,
            full_name(hold.key, hold.name),
            f"{hold.name} is lost",
            why,
            "see to it that it runs, if it is still needed",
            stays=True,
            ring=ring_told.id if ring_told is not None else None,
            chips=tuple(sorted(hold.chips)),
            containers=(hold.name,),
        )
    )


def rearmed(turn: Turn, hold: Hold) -> None:
    """The container has its restart policy back."""
    container = turn.node.containers.get(hold.key)
    if container is not None and container.restart_policy != hold.restart_policy:
        turn.put_container(replace(container, restart_policy=hold.restart_policy))
