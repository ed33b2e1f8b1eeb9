"""Settling: whether a container that cmgr has started stays up, and what follows where it does not."""

from datetime import datetime

from cmgr.frozen import replace
from cmgr.model.holds.endings import end_hold, hand_back, lose
from cmgr.model.holds.news import How, News, classify
from cmgr.model.holds.tries import failed_start, has_failed, put_off, retried
from cmgr.model.turn import Turn
from cmgr.model.values.holds import Cause, Hold, HoldState, entered
from cmgr.model.values.messages.commands import NoteKind, ReadOutput
from cmgr.model.values.messages.facts import OutputRead
from cmgr.model.values.services.containers import HEALTHY, UNHEALTHY, Container
from cmgr.model.values.services.healing import Healing
from cmgr.sentences.sentence import Sentence, say
from cmgr.words import one_line

_MUTE_AFTER = say("hold.mute-after-start")


def let_settle(turn: Turn, hold: Hold, run: str, container: Container | None) -> None:
    """Keep the promise until the container has shown that it stays up. A healed container has limits of its own."""
    _is_up(turn, hold, turn.at)
    length = turn.node.policy.retry.settle
    starts = container is not None and container.starting
    asked = container is not None and container.ready is not None
    if not (length or starts or asked) or hold.cause is Cause.HEAL:
        return
    settling = replace(entered(hold, HoldState.SETTLING), run=run, disarmed=False)
    turn.put_hold(replace(settling, attempt=replace(hold.attempt, delays=0, error="", retry_at=turn.at + length)))


def _is_up(turn: Turn, hold: Hold, since: datetime) -> None:
    for ring in turn.rings_of(hold.chips):
        if ring.in_episode:
            turn.put_ring(replace(ring, up=max(since, ring.up or since)))


def _has_answered(turn: Turn, hold: Hold, at: datetime) -> None:
    for ring in turn.rings_of(hold.chips):
        if ring.in_episode:
            turn.put_ring(replace(ring, answered=max(at, ring.answered or at)))


def settle(turn: Turn, hold: Hold) -> None:
    """Look whether the container that cmgr has started stays up."""
    container, state = turn.node.containers.get(hold.key), turn.node.runtimes.get(hold.key.runtime)
    if container is None or state is None:
        turn.drop_hold(hold.key)  # Its runtime is not managed any more: nobody will ever say.
        return
    news = classify(turn.node, hold, container, How.LISTED, turn.at)
    if not hold.run and container.running and not container.restarting:
        hold = replace(hold, run=container.run)
        turn.put_hold(hold)
    if not container.running:
        _ended_settling(turn, hold, container, news)
    elif news is News.BY_PERSON:
        hand_back(turn, hold, say("hold.somebody-started-again"))
    elif news is News.BY_POLICY or (container.restarting and hold.run):
        _lives_again(turn, hold, container)
    elif container.restarting or container.starting:
        pass  # It takes as long as its runtime gives it.
    elif turn.at >= (due := _due(turn, hold, container)):
        # An event can be lost, or late: only a list made after that time says that it stayed up, or is unhealthy.
        if state.listed is None or state.listed < due:
            turn.ask_list(state.name, f"does {hold.name} still run?", not_older=due)
        elif container.says == UNHEALTHY:
            _ails(turn, hold, container)
        else:
            _has_settled(turn, hold, container)


def _due(turn: Turn, hold: Hold, container: Container) -> datetime:
    """Return when it is decided whether the container stays up, and remember it; its own check can move that."""
    due = before = hold.attempt.retry_at or turn.at
    if container.says == UNHEALTHY:
        due = min(due, turn.at)
    elif container.says_within is not None and container.kept.since is not None and not container.frozen:
        settled = container.kept.since + turn.node.policy.retry.settle
        said = container.says == HEALTHY
        due = min(due, max(settled, turn.at)) if said else max(due, settled + container.says_within)
    if container.kept.up is not None:
        due = max(due, container.kept.up + turn.node.policy.retry.settle)
    if due != before:
        put_off(turn, hold, due)
    return due


def _has_settled(turn: Turn, hold: Hold, container: Container) -> None:
    turn.drop_hold(hold.key)
    if container.kept.up is not None:
        _is_up(turn, hold, container.kept.up)
        turn.tell(hold, say("hold.is-up", name=hold.name), NoteKind.RESULT)
    if container.kept.answered is not None:
        _has_answered(turn, hold, container.kept.answered)
    if has_failed(turn.node, hold):
        turn.tell(hold, say("hold.stays-up", name=hold.name, count=hold.attempt.tries), NoteKind.RESULT)
    if container.says_within is not None and container.says != HEALTHY and not container.frozen:
        text = say("hold.check-is-silent", name=hold.name, length=container.says_within)
        turn.tell(hold, text, NoteKind.WARNING)


def why_sick(container: Container | None) -> str:
    """Return in words why the start of a container that runs has not worked."""
    mute = container is not None and container.health != UNHEALTHY == container.kept.answer
    return _MUTE_AFTER if mute else say("hold.unhealthy-after-start")


def _ails(turn: Turn, hold: Hold, container: Container) -> None:
    """Its own check says that this start has not worked, or it does not answer: it is started once more, or left."""
    sick, why = hold.sick + 1, why_sick(container)
    turn.tell(hold, say("hold.try-failed", name=hold.name, number=sick, why=why), NoteKind.WARNING)
    # It took as long as a model may take to load: a second time is tried where it wishes to be healed, and no third.
    mute = why == _MUTE_AFTER
    if sick >= (1 + (container.heal is not None) if mute else turn.node.policy.retry.starts):
        # An unhealthy container is better than none: the next start could be one that does not work at all.
        turn.drop_hold(hold.key)
        unhealthy = say("hold.left-unhealthy", count=sick)
        lose(turn, hold, say("hold.left-mute", said=container.kept.said, count=sick) if mute else unhealthy)
        if mute and container.heal is not None:
            turn.put_healing(Healing(hold.key, life=container.run, since=turn.at, given_up=turn.at))
        return
    turn.put_hold(replace(entered(hold, HoldState.TO_STOP), sick=sick))


def _ended_settling(turn: Turn, hold: Hold, container: Container, news: News) -> None:
    end = container.exit
    if news is News.DIED and end is not None:
        turn.put_hold(failed_start(turn, hold, say("hold.exited-soon", code=end.code)))
        if not has_failed(turn.node, hold):
            turn.commands.append(ReadOutput(turn.command_id("output"), "it did not stay up", hold.key, hold.name))
    elif news is News.ENDED_BY_PERSON:
        well = end is not None and end.code == 0
        end_hold(turn, hold, say("hold.ended-well") if well else say("hold.somebody-has-stopped"))
    else:
        turn.drop_hold(hold.key)
        lose(turn, hold, say("hold.ended-by-nobody-known"))


def _lives_again(turn: Turn, hold: Hold, container: Container) -> None:
    """Its restart policy has begun another life, or is about to: that one is to settle."""
    again = retried(turn, hold, say("hold.policy-starts-again"), counts=True)
    if again.attempt.tries >= turn.node.policy.retry.starts:
        kept = replace(container.kept, unsteady=container.kept.unsteady or turn.at)
        turn.put_container(replace(container, kept=kept))
        lose(turn, hold, say("hold.policy-goes-on", count=again.attempt.tries))
        turn.drop_hold(hold.key)
        return
    until = turn.at + turn.node.policy.retry.settle
    run = "" if container.restarting else container.run  # Whichever life comes next is the one.
    turn.put_hold(replace(again, run=run, attempt=replace(again.attempt, retry_at=until)))
    turn.tell(hold, say("word.because", what=hold.name, why=again.attempt.error), NoteKind.WARNING)


def output_read(turn: Turn, fact: OutputRead) -> None:
    """Take in what a container wrote last that did not stay up."""
    hold, container = turn.node.holds.get(fact.key), turn.node.containers.get(fact.key)
    if fact.error or fact.gone or container is None:
        return  # It says nothing; that it died is told without.
    written = one_line(fact.text.strip().replace("\n", " | ")) or say("hold.nothing")
    turn.tell(container, say("hold.wrote-last", name=container.name, words=written), NoteKind.RESULT)
    if hold is not None and hold.attempt.tries and hold.attempt.error and hold.is_down:
        error = say("hold.failed-and-wrote", error=_bare(hold.attempt.error), words=written)
        turn.put_hold(replace(hold, attempt=replace(hold.attempt, error=error)))


def _bare(error: str) -> str:
    """Return the error without what was written before."""
    if isinstance(error, Sentence) and error.id == "hold.failed-and-wrote":
        before = error.args["error"]
        assert isinstance(before, str)
        return before
    return error
