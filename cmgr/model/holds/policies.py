"""The restart policy of a held container: what is seen of it, and what follows where it is not back yet."""

from cmgr.frozen import replace
from cmgr.model.turn import Turn
from cmgr.model.values.holds import Hold, HoldState, entered
from cmgr.model.values.services.containers import NO_RESTART, Container
from cmgr.sentences.sentence import say


def policy_seen(turn: Turn, hold: Hold, container: Container) -> Hold:
    """Take in the policy that a held container has now; return its hold."""
    if container.anew and (not hold.anew or container.restart_policy == hold.restart_policy):
        hold = replace(hold, anew=container.anew)  # While its policy is off, that is missing in them.
        turn.put_hold(hold)
    hold = _with_policy(turn, hold, container)
    if hold.state is HoldState.RETURNING and hold.attempt.retry_at and container.restart_policy == hold.restart_policy:
        hold = replace(hold, attempt=replace(hold.attempt, retry_at=None))  # Somebody else has done it.
        turn.put_hold(hold)
    return hold


def _with_policy(turn: Turn, hold: Hold, container: Container) -> Hold:
    if container.restart_policy not in (NO_RESTART, hold.restart_policy):
        return _policy_changed(turn, hold, container.restart_policy)
    # An order of an earlier life of cmgr to switch it off may be told as somebody else's: then it is not known yet.
    known = hold.disarmed or hold.is_to_end or hold.state is HoldState.SETTLING
    if not (container.switched_off and known and hold.restart_policy != NO_RESTART):
        return hold
    turn.tell(hold, say("hold.policy-switched-off", name=hold.name))
    hold = replace(hold, restart_policy=NO_RESTART)
    turn.put_hold(hold)
    return hold


def _policy_changed(turn: Turn, hold: Hold, policy: str) -> Hold:
    """Take note of a restart policy that is not the one which is to go back."""
    if hold.disarmed:
        # It was off: somebody has set this on purpose. Until the start it is switched off once more.
        turn.tell(hold, say("hold.policy-changed", name=hold.name))
    # Else the books were behind when the hold was made: right after a start, before the policy was back.
    hold = replace(hold, restart_policy=policy, disarmed=hold.disarmed and hold.is_theirs)
    turn.put_hold(hold)
    return hold


def died_without_policy(turn: Turn, hold: Hold, container: Container) -> None:
    """It is started, which its policy would have done."""
    turn.tell(hold, say("hold.died-without-policy", name=hold.name, policy=hold.restart_policy))
    turn.put_hold(replace(entered(hold, HoldState.DOWN), run=container.run, died=True, down=turn.at))
