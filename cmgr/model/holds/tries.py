"""Tries at a hold's start or stop that did not work: what follows, and when the next one is due."""

from datetime import datetime

from cmgr.frozen import replace
from cmgr.model.turn import Turn
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.holds import Hold, HoldState, entered
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import say


def retried(turn: Turn, hold: Hold, error: str, *, counts: bool, text: str = "") -> Hold:
    """Return the hold as it is tried again later. `text`: that it could not be done, told once of each error."""
    if text and error != hold.attempt.error:
        turn.tell(hold, text, NoteKind.WARNING)
    retry = turn.node.policy.retry
    tries, delays = (hold.attempt.tries + 1, 0) if counts else (hold.attempt.tries, hold.attempt.delays + 1)
    wait = backed_off(retry.backoff, retry.backoff_max, tries + delays)
    attempt = replace(hold.attempt, command=None, tries=tries, delays=delays, retry_at=turn.at + wait, error=error)
    again = replace(hold, attempt=attempt)
    # Of a stop that reached nobody nothing is under way.
    return entered(again, HoldState.TO_STOP) if again.state is HoldState.STOPPING and not tries else again


def failed_start(turn: Turn, hold: Hold, error: str) -> Hold:
    """Try again later each time. After `retry.starts` tries a person is told, once, and it is tried on for ever."""
    retry = turn.node.policy.retry
    told, before = has_failed(turn.node, hold), hold.attempt.error
    hold = retried(turn, hold, error, counts=True)
    if not told or before not in ("", error):
        text = say("hold.try-failed", name=hold.name, number=hold.attempt.tries, why=error)
        turn.tell(hold, text, NoteKind.WARNING)
    if hold.attempt.tries < retry.starts:
        return entered(hold, HoldState.DOWN)
    if not told:
        text = say("hold.has-failed", name=hold.name, every=retry.backoff_max, typed=hold.to_type)
        turn.tell(hold, text, NoteKind.WARNING)
    return replace(entered(hold, HoldState.FAILED), attempt=replace(hold.attempt, retry_at=turn.at + retry.backoff_max))


def has_failed(node: Node, hold: Hold) -> bool:
    """Return whether it is told as failed: no start has worked for so long, be it that one is tried this moment."""
    spent = hold.attempt.tries >= node.policy.retry.starts and not (hold.is_to_end or hold.is_theirs)
    return spent or hold.state is HoldState.FAILED


def unsure_start(turn: Turn, hold: Hold, error: str) -> Hold:
    """Try again as long as it takes: the container is not to blame. The start stays ours, for it may have worked."""
    text = say("hold.start-is-unsure", name=hold.name, error=error)
    return retried(turn, hold, error, counts=False, text=text)


def try_anew(turn: Turn, hold: Hold) -> None:
    """Forget the failures of the hold: what is due of it is due now.

    That a stop was tried is not forgotten: one that is down then was stopped by us, not by a person.
    """
    tries = hold.attempt.tries if hold.state is HoldState.STOPPING else 0
    attempt = replace(hold.attempt, tries=tries, delays=0, retry_at=None, error="")
    failed = hold.state is HoldState.FAILED
    turn.put_hold(entered(hold, HoldState.DOWN) if failed else replace(hold, attempt=attempt))


def put_off(turn: Turn, hold: Hold, until: datetime | None) -> None:
    """Do nothing about the hold before that time; None: it is due."""
    turn.put_hold(replace(hold, attempt=replace(hold.attempt, retry_at=until)))


def wait_no_longer(turn: Turn, runtime: str) -> None:
    """Try at once what only the runtime's absence had put off."""
    for hold in list(turn.node.holds.values()):
        if hold.attempt.delays and hold.key.runtime == runtime:
            turn.put_hold(replace(hold, attempt=replace(hold.attempt, delays=0, retry_at=None)))


def try_with_new_daemon(turn: Turn, runtime: str) -> None:
    """Try again what the last daemon could not start: the new one perhaps can."""
    for hold in list(turn.node.holds.values()):
        # Of one that is healed the limit counts, and not the daemon.
        given_up = (h := turn.node.healings.get(hold.key)) is not None and h.given_up is not None
        if hold.state is HoldState.FAILED and hold.key.runtime == runtime and not given_up:
            try_anew(turn, hold)
            turn.tell(hold, say("hold.new-daemon", name=hold.name, runtime=runtime))
