"""Calls around orders: when, on whose threads, and what their words do to the answer."""

import threading
from collections.abc import Callable
from dataclasses import replace
from queue import SimpleQueue

import pytest

from cmgr.errors import CmgrError, ResetRefused, RuntimeDown
from cmgr.model.values.chips import ChipReport
from cmgr.model.values.messages.commands import Action, ReadRing, ResetRing, StopContainer
from cmgr.model.values.messages.facts import Answer, ContainerStarted, ContainerStopped, RingRead
from cmgr.model.values.messages.reset_facts import ResetDone, ResetPrepared
from cmgr.service.work.around import Around, Reports
from cmgr.service.work.workers import Workers, failed
from tests.service.work.test_workers import CHIPS, PREPARE, READ, REPORTS, RESET, START, STOP, Edge
from tests.support.waiting import PATIENCE

AFTER = replace(READ, after_reset=True)


class Desk:
    """Workers with something around them."""

    def __init__(self, around: Around, edge: Edge | None = None) -> None:
        self.edge = edge or Edge()
        self.answers: SimpleQueue[Answer] = SimpleQueue()
        self.workers = Workers(
            self.edge, {self.edge.name: self.edge}, self.answers.put, lambda _text, _error: None, around
        )

    def answer(self, action: Action) -> Answer:
        self.workers.submit(action)
        return self.answers.get(timeout=PATIENCE)


def refusing(error: Exception) -> Callable[[StopContainer | ResetRing], None]:
    def refuse(_action: StopContainer | ResetRing) -> None:
        raise error

    return refuse


def test_a_stop_that_must_not_go_out_does_not_and_is_tried_again() -> None:
    desk = Desk(Around(before_stop=refusing(RuntimeDown("cannot stop container one: cmgr ends"))))
    answer = desk.answer(STOP)
    assert isinstance(answer, ContainerStopped)
    assert (answer.error, answer.unreachable) == ("cmgr ends", True)
    assert desk.edge.asked == []
    assert not getattr(desk.answer(START), "error", ""), "only stops are asked about"


def test_a_reset_that_is_refused_does_not_reach_the_driver() -> None:
    desk = Desk(Around(before_reset=refusing(ResetRefused("hook before_reset says no"))))
    assert desk.answer(PREPARE) == ResetDone(RESET.id, RESET.ring, "hook before_reset says no", refused=True)
    assert desk.edge.asked == []


def test_a_bug_before_a_reset_is_no_reset_that_failed() -> None:
    answer = Desk(Around(before_reset=refusing(ZeroDivisionError("by zero")))).answer(PREPARE)
    assert isinstance(answer, ResetDone)
    assert (answer.command, answer.refused) == (RESET.id, True)


def test_what_comes_before_a_reset_does_not_call_the_driver() -> None:
    desk = Desk(Around())
    assert desk.answer(PREPARE) == ResetPrepared(PREPARE.id, RESET)
    assert desk.edge.asked == []


def test_only_a_read_out_after_a_reset_is_shown_around() -> None:
    def doubt(_action: ReadRing, reports: Reports) -> tuple[ChipReport, ...]:
        return tuple(replace(report, unwell="not yet") for report in reports)

    desk = Desk(Around(after_reset=doubt))
    assert desk.answer(READ) == RingRead(READ.id, READ.ring, REPORTS)
    told = desk.answer(AFTER)
    assert isinstance(told, RingRead)
    assert [report.unwell for report in told.reports] == ["not yet"] * len(CHIPS)


def test_a_ring_that_waits_for_a_hook_keeps_no_other_from_the_driver() -> None:
    go_on, waiting = threading.Event(), threading.Barrier(9, timeout=PATIENCE)

    def wait(_action: ResetRing) -> None:
        waiting.wait()
        go_on.wait(PATIENCE)

    desk = Desk(Around(before_reset=wait), Edge(concurrency=1))
    for _ in range(8):
        desk.workers.submit(PREPARE)
    waiting.wait()
    assert isinstance(desk.answer(READ), RingRead)
    assert desk.edge.asked == [("read", CHIPS)]
    go_on.set()
    answers = [desk.answers.get(timeout=PATIENCE) for _ in range(8)]
    assert {type(answer) for answer in answers} == {ResetPrepared}


def test_a_reset_whose_turn_comes_when_cmgr_ends_is_not_begun_and_costs_nothing() -> None:
    desk = Desk(Around())
    desk.workers.close(0, 0)
    assert desk.answer(RESET) == ResetDone(RESET.id, RESET.ring, "cmgr ends", refused=True)
    assert desk.edge.asked == []


@pytest.mark.parametrize(
    ("action", "said", "answered"),
    [
        (STOP, "cannot stop container one: timed out after 30 s", "timed out after 30 s"),
        (START, "cannot start container one: cannot pull its image: no", "cannot pull its image: no"),
        (RESET, "cannot reset chips 0-3: cannot reset the chip: libdcmi says -8015", "libdcmi says -8015"),
        (START, "cannot start container one", "cannot start container one"),
    ],
)
def test_an_answer_says_why_and_not_once_more_what_failed(action: Action, said: str, answered: str) -> None:
    answer = failed(action, CmgrError(said, hint="see: it"))
    assert isinstance(answer, ContainerStopped | ContainerStarted | ResetDone)
    assert answer.error == f"{answered} (hint: see: it)"
