"""The answers to the orders that holds have given."""

from cmgr.frozen import replace
from cmgr.model.holds.endings import hand_back, left_to_its_unit, rearmed
from cmgr.model.holds.news import How, News, classify
from cmgr.model.holds.seen import started_in_stop
from cmgr.model.holds.settling import let_settle
from cmgr.model.holds.tries import failed_start, has_failed, retried, unsure_start
from cmgr.model.own_chips import as_placed
from cmgr.model.scope import in_round
from cmgr.model.turn import Turn
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.holds import Hold, HoldState, entered
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.facts import ContainerStarted, ContainerStopped, RestartPolicySet
from cmgr.model.values.services.containers import NO_RESTART, Container, ContainerKey, Exit
from cmgr.model.values.services.slots import can_be_placed
from cmgr.model.wanted import was_meant
from cmgr.sentences.sentence import say


def _take_answer(turn: Turn, fact: ContainerStopped | ContainerStarted | RestartPolicySet) -> Hold | None:
    """Return the hold that waits for this answer, and does so no more. Of one that is gone a list has to tell."""
    hold = turn.node.holds.get(fact.key)
    if hold is None or hold.attempt.command != fact.command:
        return None
    if fact.gone:
        _is_gone(turn, hold)
        return None
    return replace(hold, attempt=replace(hold.attempt, command=None))


def _is_gone(turn: Turn, hold: Hold) -> None:
    # Perhaps an engine with other books says so. Or compose has made it anew, and nobody heard: the list has its heir.
    hold = entered(hold, HoldState.RETURNING) if hold.is_theirs else hold
    turn.put_hold(retried(turn, hold, hold.attempt.error, counts=False))
    turn.ask_list(hold.key.runtime, f"{hold.name} is gone: what is there?", not_older=turn.at)


def container_stopped(turn: Turn, fact: ContainerStopped) -> None:
    """Take in the answer to our stop."""
    hold = _take_answer(turn, fact)
    if hold is None:
        return
    _tell_stop(turn, hold, fact)
    if fact.again and hold.key in turn.node.containers:
        started_in_stop(turn, hold, fact.again)
    elif fact.error:
        text = say("hold.cannot-stop", name=hold.name, error=fact.error)
        turn.put_hold(retried(turn, hold, fact.error, counts=not fact.unreachable, text=text))
    else:
        _is_down(turn, hold, fact)


def _is_down(turn: Turn, hold: Hold, fact: ContainerStopped) -> None:
    end = Exit(0, turn.at, asked=True) if fact.ordered else fact.before
    seen = Container(hold.key, hold.name, run=fact.run, exit=end)
    news = classify(turn.node, hold, seen, How.ANSWERED, turn.at)
    if news is not News.ENDED_BY_PERSON:
        died = end is not None and news is News.DIED
        had_died = say("hold.had-died", name=hold.name, code=end.code) if end is not None else ""
        turn.tell(hold, had_died if died else say("hold.is-stopped", name=hold.name), NoteKind.RESULT)
        _stopped(turn, hold, fact.run)
        return
    assert end is not None
    _had_ended(turn, hold.key, end)
    if hold.disarmed:
        hand_back(turn, hold, say("hold.was-being-stopped") if fact.ordered else say("hold.had-been-stopped"))
        return
    stopped = say("hold.not-held-stopped", name=hold.name)
    turn.tell(hold, say("hold.not-held-being-stopped", name=hold.name) if fact.ordered else stopped)
    turn.drop_hold(hold.key)


def _tell_stop(turn: Turn, hold: Hold, fact: ContainerStopped) -> None:
    """Tell what the container's own command came to, and once of one that does not hear its stop signal."""
    container = turn.node.containers.get(hold.key)
    if fact.words and fact.before is None:
        turn.tell(hold, say("hold.before-its-stop", name=hold.name, words=fact.words), NoteKind.RESULT)
    if fact.deaf and container is not None and not container.kept.deaf:
        turn.put_container(replace(container, kept=replace(container.kept, deaf=True)))
        turn.tell(hold, say("hold.was-killed", name=hold.name, grace=hold.grace, why=fact.deaf), NoteKind.RESULT)


def container_started(turn: Turn, fact: ContainerStarted) -> None:
    """Take in the answer to our start."""
    hold = _take_answer(turn, fact)
    if hold is None:
        return
    if hold.state is HoldState.FORGOTTEN:
        _started_for_nobody(turn, hold, fact)
    elif fact.error:
        _not_started(turn, hold, fact)
    else:
        known = turn.node.containers.get(hold.key)
        starts = known is not None and known.starting and known.run == fact.run
        text = say("hold.is-starting", name=hold.name) if starts else say("hold.runs-again", name=hold.name)
        if not has_failed(turn.node, hold):
            turn.tell(hold, say("hold.is-there-paused", name=hold.name) if hold.frozen else text, NoteKind.RESULT)
        _started(turn, hold, fact.run)
        let_settle(turn, hold, fact.run, turn.node.containers.get(hold.key))


def _not_started(turn: Turn, hold: Hold, fact: ContainerStarted) -> None:
    if fact.unreachable or fact.runtime_ails:
        hold = replace(hold, disarmed=False)  # It may have its policy back by now, and not run.
    if fact.unreachable:
        turn.put_hold(retried(turn, entered(hold, HoldState.DOWN), fact.error, counts=False))
        return
    fail = unsure_start if fact.runtime_ails else failed_start
    turn.look_at_files()  # Somebody may have removed the one that its slot needs.
    turn.put_hold(replace(fail(turn, hold, fact.error), unsure=turn.at))
    known = turn.node.containers.get(fact.key)
    if (known is not None and known.running) or in_round(turn.node, hold.key) is not None:
        turn.ask_list(fact.key.runtime, f"does {hold.name} run all the same?", not_older=turn.at)


def _started_for_nobody(turn: Turn, hold: Hold, fact: ContainerStarted) -> None:
    """Let go of a container that was forgotten while it was started."""
    if not fact.error:
        _started(turn, hold, fact.run)
        return
    turn.ask_list(fact.key.runtime, f"does {hold.name} run all the same?", not_older=turn.at)
    if hold.restart_policy == NO_RESTART:
        turn.drop_hold(hold.key)
    else:
        turn.put_hold(entered(hold, HoldState.RETURNING))


def restart_policy_set(turn: Turn, fact: RestartPolicySet) -> None:
    """Take in the answer to a change of a restart policy."""
    hold = _take_answer(turn, fact)
    if hold is None:
        return
    if fact.error and not hold.disarmed and hold.is_to_end:
        turn.put_hold(hold)  # It runs again: first comes the stop, which is due.
    elif hold.disarmed and hold.state is not HoldState.RETURNING:
        turn.put_hold(replace(hold, disarmed=bool(fact.error)))  # It was to go back, and the container has died.
    elif fact.error:
        name, error = hold.name, fact.error
        text = say("hold.cannot-switch-policy-off", name=name, error=error)
        if hold.disarmed:
            text = say("hold.cannot-put-policy-back", policy=hold.restart_policy, name=name, error=error)
        turn.put_hold(retried(turn, hold, fact.error, counts=False, text=text))
    elif hold.disarmed:
        rearmed(turn, hold)
        turn.drop_hold(hold.key)
    else:
        turn.put_hold(replace(hold, disarmed=True, attempt=replace(hold.attempt, delays=0, error="")))


def _started(turn: Turn, hold: Hold, run: str) -> None:
    """Our start has worked: the promise is kept."""
    turn.drop_hold(hold.key)
    container = turn.node.containers.get(hold.key)
    if container is not None and not (container.running and container.run == run):
        # It may have ended again by now: then its event is still to come, or came, and the next list tells.
        ended = container.run == run and container.exit is not None
        exit_ = container.exit if ended else None
        now = replace(container, running=not ended, run=run, exit=exit_, health="", cut_off="")
        now = replace(now, frozen=hold.frozen and not ended).in_another_life()
        kept = replace(now.kept, since=turn.at, seen=turn.at, wanted=not was_meant(exit_))
        turn.put_container(replace(now, kept=kept))
        if can_be_placed(container) and not ended:
            turn.put_container(as_placed(turn.node, turn.node.containers[hold.key], hold.chips))
    if container is not None:
        container = turn.node.containers[hold.key]
        turn.put_container(replace(container, kept=replace(container.kept, places=hold.places)))
    rearmed(turn, hold)


def _had_ended(turn: Turn, key: ContainerKey, exit_: Exit) -> None:
    """Its life was over before our stop."""
    container = turn.node.containers[key]  # A hold that was made in this life has its container in the books.
    kept = replace(container.kept, since=turn.at, wanted=container.kept.wanted and not was_meant(exit_))
    turn.put_container(replace(container, running=False, exit=exit_, kept=kept))


def _stopped(turn: Turn, hold: Hold, run: str) -> None:
    """Our stop has worked, and ended the life `run`: what is still said of that life is old news.

    Where the runtime does not know the life any more, the next list says which it was.
    """
    container = turn.node.containers.get(hold.key)
    if container is not None:
        halted = (hold.attempt.told or hold.since, turn.at)
        kept = replace(container.kept, since=turn.at, seen=turn.at, halted=halted)
        turn.put_container(replace(container, running=False, run=run or container.run, kept=kept))
    down = replace(entered(hold, HoldState.DOWN), run=run, down=turn.at, died=False)
    if hold.sick:
        retry = turn.node.policy.retry
        due = turn.at + backed_off(retry.backoff, retry.backoff_max, hold.sick)
        down = replace(down, attempt=replace(down.attempt, retry_at=due))
    turn.put_hold(down)
    left_to_its_unit(turn, down)
