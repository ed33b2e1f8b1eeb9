"""Containers that are asked whether they serve, or are busy: what each is asked, and what follows from its answer.

A life that has not answered yet is `STARTING`, as one whose own check has not said anything: whatever waits for that
check waits for the answer, too.
"""

from datetime import timedelta
from fnmatch import fnmatchcase

from cmgr.frozen import replace
from cmgr.model.containers.steadiness import found_again
from cmgr.model.containers.users import fits
from cmgr.model.turn import Turn
from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.health_facts import Answered, BusySaid
from cmgr.model.values.services.containers import HEALTHY, UNHEALTHY, Container, Veto
from cmgr.sentences.sentence import say

_LATE = timedelta(minutes=2)
"""By so much may it be told later than `retry.ready` that one has not answered: commands are asked once a minute."""


def with_question(policy: Policy, container: Container) -> Container:
    """Return the container with what it is asked, by its label or else the first setting that fits."""
    service = container.composed.service if container.composed is not None else container.name
    settings = (a.question for a in policy.ready if fits(a.name, container) or fnmatchcase(service, a.name))
    asked = container.ready or next(settings, None)
    if asked is None or not container.enabled:
        return replace(container, ready=None)
    return replace(
        container, ready=asked, says_within=max(container.says_within or timedelta(), policy.retry.ready + _LATE)
    )


def with_answer(known: Container | None, container: Container) -> Container:
    """Return the container, as it is told of now, with what has come of its questions in this life."""
    if known is not None and known.run == container.run and known.busy == container.busy:
        container = replace(container, kept=replace(container.kept, veto=known.kept.veto))
    if container.ready is None or not container.running:
        return container
    # Of the last life of cmgr the answer is known and the question is not.
    same = known is not None and known.run == container.run and known.ready in (None, container.ready)
    if known is None or not same or not known.kept.answer:
        return container.in_another_life()
    old = known.kept
    kept = replace(container.kept, answer=old.answer, said=old.said, answered=old.answered, mute=old.mute)
    return replace(container, kept=kept)


def answered(turn: Turn, fact: Answered | BusySaid) -> None:
    """Take in how a container has answered; old news of another life, or of another question, is none."""
    known = turn.node.containers.get(fact.key)
    if known is None or not known.running or known.run != fact.run:
        return
    match fact:
        case Answered() if fact.question == known.ready:
            _has_answered(turn, known, fact)
        case BusySaid() if fact.question == known.busy:
            _has_said(turn, known, fact)
        case _:
            pass


def _has_answered(turn: Turn, known: Container, fact: Answered) -> None:
    kept, first = known.kept, fact.answer == HEALTHY and known.kept.answered is None
    mute = (kept.mute or turn.at) if fact.answer == UNHEALTHY else None
    kept = replace(kept, answer=fact.answer, said=fact.said, mute=mute, answered=turn.at if first else kept.answered)
    now = replace(known, kept=kept)
    turn.put_container(now)
    name, said, length = now.name, fact.said, turn.at - (now.kept.since or turn.at)
    if fact.answer == UNHEALTHY != known.kept.answer:
        never = say("container.is-mute-after", name=name, length=length, said=said)
        text = never if now.kept.answered is None else say("container.is-mute", name=name, said=said)
        turn.tell(now, text, NoteKind.WARNING)
    elif fact.answer == HEALTHY != known.kept.answer:
        after = say("container.answers-after", name=name, length=length, said=said)
        turn.tell(now, after if first else say("container.answers-again", name=name, said=said), NoteKind.RESULT)
    found_again(turn, now)


def _has_said(turn: Turn, known: Container, fact: BusySaid) -> None:
    """Take in whether it is busy."""
    now = replace(known, kept=replace(known.kept, veto=Veto(fact.busy, fact.said, turn.at)))
    turn.put_container(now)
    if fact.mute:
        turn.tell(now, say("container.says-not-whether-busy", name=now.name, said=fact.said), NoteKind.WARNING)
    elif fact.busy:
        turn.tell(now, say("container.is-busy", name=now.name, said=fact.said), NoteKind.RESULT)
    elif known.kept.veto is not None and known.kept.veto.busy:
        turn.tell(now, say("container.is-not-busy", name=now.name, said=fact.said), NoteKind.RESULT)
