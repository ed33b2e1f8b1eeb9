"""Tries at a hold's start or stop that did not work: what follows, and when the next one is due."""

from cmgr.frozen import replace
from cmgr.model.turn import Turn
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.holds import Hold, HoldState, entered
from cmgr.model.values.messages.commands import NoteKind


def retried(turn: Turn, hold: Hold, error: str, *, counts: bool) -> Hold:
    retry = turn.node.policy.retry
    tries, delays = (hold.attempt.tries + 1, 0) if counts else (hold.attempt.tries, hold.attempt.delays + 1)
    wait = backed_off(retry.backoff, retry.backoff_max, tries + delays)
    attempt = replace(hold.attempt, command=None, tries=tries, delays=delays, retry_at=turn.at + wait, error=error)
    again = replace(hold, attempt=attempt)
    # Of a stop that reached nobody nothing is under way.
    return entered(again, HoldState.TO_STOP) if again.state is HoldState.STOPPING and not tries else again


def failed_start(turn: Turn, hold: Hold, error: str) -> Hold:
    hold = retried(turn, hold, error, counts=True)
    failed = hold.attempt.tries >= turn.node.policy.retry.starts
    ring = turn.ring_for(hold.chips)
    text = f"cannot start {hold.name}, try {hold.attempt.tries}: {error}"
    turn.note(NoteKind.WARNING, text, ring, container=hold.key)
    if failed:
        text = f"{hold.name} is given up after {hold.attempt.tries} tries: cmgr resume {hold.to_type}"
        turn.note(NoteKind.WARNING, text, ring, container=hold.key)
    if not failed:
        return entered(hold, HoldState.DOWN)
    return replace(entered(hold, HoldState.FAILED), attempt=replace(hold.attempt, retry_at=None))


def unsure_start(turn: Turn, hold: Hold, error: str) -> Hold:
    """Try again as long as it takes: the container is not to blame. The start stays ours, for it may have worked."""
    if error != hold.attempt.error:
        text = f"cannot start {hold.name}, and it is tried until the runtime is well: {error}"
        turn.note(NoteKind.WARNING, text, turn.ring_for(hold.chips), container=hold.key)
    return retried(turn, hold, error, counts=False)


def try_anew(turn: Turn, hold: Hold) -> None:
    """Forget the failures of the hold: what is due of it is due now.

    That a stop was tried is not forgotten: one that is down then was stopped by us, not by a person.
    """
    tries = hold.attempt.tries if hold.state is HoldState.STOPPING else 0
    attempt = replace(hold.attempt, tries=tries, delays=0, retry_at=None, error="")
    failed = hold.state is HoldState.FAILED
    turn.put_hold(entered(hold, HoldState.DOWN) if failed else replace(hold, attempt=attempt))
