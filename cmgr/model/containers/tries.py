"""Tries at a hold's start or stop that did not work: what follows, and when the next one is due."""

from cmgr.frozen import replace
from cmgr.model.turn import Turn
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.holds import Hold, HoldState, entered
from cmgr.model.values.messages.commands import NoteKind


def retried(turn: Turn, hold: Hold, error: str, *, counts: bool) -> Hold:
    retry = turn.node.policy.retry
    tries, delays = (hold.tries + 1, 0) if counts else (hold.tries, hold.delays + 1)
    wait = backed_off(retry.backoff, retry.backoff_max, tries + delays)
    return replace(hold, command=None, tries=tries, delays=delays, retry_at=turn.at + wait, error=error)


def failed_start(turn: Turn, hold: Hold, error: str) -> Hold:
    hold = retried(turn, hold, error, counts=True)
    failed = hold.tries >= turn.node.policy.retry.starts
    ring = turn.ring_for(hold.chips)
    text = f"cannot start {hold.name}, try {hold.tries}: {error}"
    turn.note(NoteKind.WARNING, text, ring, container=hold.key)
    if failed:
        text = f"{hold.name} is given up after {hold.tries} tries: cmgr resume {hold.to_type}"
        turn.note(NoteKind.WARNING, text, ring, container=hold.key)
    return replace(entered(hold, HoldState.STOPPED), failed=failed, retry_at=None if failed else hold.retry_at)


def unsure_start(turn: Turn, hold: Hold, error: str) -> Hold:
    """Try again as long as it takes: the container is not to blame. The start stays ours, for it may have worked."""
    if error != hold.error:
        text = f"cannot start {hold.name}, and it is tried until the runtime is well: {error}"
        turn.note(NoteKind.WARNING, text, turn.ring_for(hold.chips), container=hold.key)
    return retried(turn, hold, error, counts=False)
