"""The threads that carry actions out: every action is answered exactly once, whatever happens."""

import _thread
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue

import pytest

from cmgr.errors import (
    CmgrError,
    ContainerError,
    ContainerGone,
    DriverError,
    ResetRefused,
    RuntimeDown,
)
from cmgr.model.values.chips import Chip, ChipId, ChipReport, RingId
from cmgr.model.values.messages.commands import (
    Action,
    CommandId,
    ListContainers,
    PrepareReset,
    ReadRing,
    ResetRing,
    SetRestartPolicy,
    StartContainer,
    StopContainer,
)
from cmgr.model.values.messages.facts import (
    Answer,
    ContainersListed,
    ContainerStarted,
    ContainerStopped,
    RestartPolicySet,
    RingRead,
)
from cmgr.model.values.messages.reset_facts import ResetDone, ResetPrepared
from cmgr.model.values.services.containers import Container, ContainerKey, Exit
from cmgr.ports import DriverFact, Halt, RuntimeFact
from cmgr.service.work.pool import Pool
from cmgr.service.work.workers import RUNTIME_THREADS, Workers
from tests.support.waiting import PATIENCE, eventually

KEY = ContainerKey("docker", "", "c0ffee")
ONE = Container(KEY, "one")
CHIPS = (ChipId(0), ChipId(1))
REPORTS = tuple(ChipReport(chip) for chip in CHIPS)
GRACE = timedelta(seconds=3)
BEFORE = Exit(0, datetime(2026, 3, 1, tzinfo=UTC), asked=True)


def nothing() -> None:
    return None


@dataclass
class Edge:
    """A driver and a runtime that do `then` whenever they are called, and remember what was asked of them."""

    name: str = "docker"
    concurrency: int = 2
    then: Callable[[], None] = nothing
    asked: list[tuple[object, ...]] = field(default_factory=list)

    def _ask(self, *words: object) -> None:
        self.asked.append(words)
        self.then()

    def list(self) -> tuple[Container, ...]:
        self._ask("list")
        return (ONE,)

    def stop(self, key: ContainerKey, grace: timedelta) -> Halt:
        self._ask("stop", key, grace)
        return Halt("life 1", BEFORE)

    def start(self, key: ContainerKey, restart_policy: str, *, frozen: bool = False) -> str:
        self._ask("start", key, restart_policy, frozen)
        return "life 2"

    def set_restart_policy(self, key: ContainerKey, restart_policy: str) -> None:
        self._ask("policy", key, restart_policy)

    def chips(self) -> tuple[Chip, ...]:
        return ()

    def read(self, chips: Sequence[ChipId]) -> tuple[ChipReport, ...]:
        self._ask("read", chips)
        return REPORTS

    def reset(self, chips: Sequence[ChipId], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        self._ask("reset", chips, faulty, codes)

    def watch(self, tell: Callable[[DriverFact], None] | Callable[[RuntimeFact], None]) -> None:
        raise AssertionError("workers do not watch")

    def close(self) -> None:
        raise AssertionError("workers close nothing that is not theirs")


LIST = ListContainers(CommandId("list-1"), "why", "docker")
READ = ReadRing(CommandId("read-2"), "why", RingId(0), CHIPS)
RESET = ResetRing(CommandId("reset-3"), "why", RingId(0), CHIPS, CHIPS[:1], frozenset({"80E24E00"}))
PREPARE = PrepareReset(CommandId("prepare-3"), "why", RESET)
STOP = StopContainer(CommandId("stop-4"), "why", KEY, "one", GRACE)
START = StartContainer(CommandId("start-5"), "why", KEY, "one", "always:0", frozen=True)
POLICY = SetRestartPolicy(CommandId("policy-6"), "why", KEY, "one", "")
ACTIONS: tuple[Action, ...] = (LIST, READ, RESET, STOP, START, POLICY)


class Desk:
    """Workers at an edge, the answers that they gave and the bugs that they reported."""

    def __init__(self, edge: Edge) -> None:
        self.edge = edge
        self.answers: SimpleQueue[Answer] = SimpleQueue()
        self.bugs: list[tuple[str, BaseException]] = []
        self.workers = Workers(
            edge, {edge.name: edge}, self.answers.put, lambda text, error: self.bugs.append((text, error))
        )

    def answer(self, action: Action) -> Answer:
        self.workers.submit(action)
        return self.answers.get(timeout=PATIENCE)


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk(Edge())
    yield made
    made.workers.close(5, 5)


@pytest.mark.parametrize(
    ("action", "asked", "answer"),
    [
        (LIST, ("list",), ContainersListed(LIST.id, "docker", (ONE,))),
        (READ, ("read", CHIPS), RingRead(READ.id, RingId(0), REPORTS)),
        (RESET, ("reset", CHIPS, CHIPS[:1], frozenset({"80E24E00"})), ResetDone(RESET.id, RingId(0))),
        (STOP, ("stop", KEY, GRACE), ContainerStopped(STOP.id, KEY, "life 1", before=BEFORE)),
        (START, ("start", KEY, "always:0", True), ContainerStarted(START.id, KEY, "life 2")),
        (POLICY, ("policy", KEY, ""), RestartPolicySet(POLICY.id, KEY)),
    ],
)
def test_an_action_is_carried_out_and_answered(
    desk: Desk, action: Action, asked: tuple[object, ...], answer: Answer
) -> None:
    assert desk.answer(action) == answer
    assert desk.edge.asked == [asked]


def raising(error: Exception) -> Callable[[], None]:
    def then() -> None:
        raise error

    return then


def why_of(answer: Answer) -> str:
    assert not isinstance(answer, ResetPrepared)
    return answer.reports[0].error if isinstance(answer, RingRead) else answer.error


BUGS: tuple[Exception, ...] = (ZeroDivisionError("by zero"), KeyError("x"), MemoryError(), OSError(5, "io"))


@pytest.mark.parametrize("error", [ContainerError("cannot: no"), DriverError("cannot: no"), CmgrError("cannot: no")])
@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: type(action).__name__)
def test_an_error_is_answered_with_its_words(desk: Desk, action: Action, error: CmgrError) -> None:
    error.hint = "try this"
    desk.edge.then = raising(error)
    answer = desk.answer(action)
    assert answer.command == action.id
    assert why_of(answer) == "cannot: no (hint: try this)"
    assert desk.bugs == []
    if isinstance(answer, RingRead):
        assert [report.chip for report in answer.reports] == list(CHIPS)


@pytest.mark.parametrize("error", BUGS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: type(action).__name__)
def test_a_bug_is_answered_too_and_reported(desk: Desk, action: Action, error: Exception) -> None:
    desk.edge.then = raising(error)
    answer = desk.answer(action)
    assert answer.command == action.id
    assert why_of(answer)
    ((text, reported),) = desk.bugs
    assert action.id in text
    assert reported is error
    desk.edge.then = nothing
    assert not why_of(desk.answer(action)), "the thread has outlived it"


@pytest.mark.parametrize("action", [STOP, START, POLICY], ids=lambda action: type(action).__name__)
def test_what_is_gone_or_out_of_reach_is_told_apart(desk: Desk, action: Action) -> None:
    desk.edge.then = raising(ContainerGone("cannot: no such container"))
    gone = desk.answer(action)
    assert isinstance(gone, ContainerStopped | ContainerStarted | RestartPolicySet)
    assert (gone.gone, gone.error, gone.unreachable) == (True, "", False)
    desk.edge.then = raising(RuntimeDown("cannot: nobody there"))
    away = desk.answer(action)
    assert isinstance(away, ContainerStopped | ContainerStarted | RestartPolicySet)
    assert (away.gone, away.error, away.unreachable) == (False, "cannot: nobody there", True)


def test_a_refused_reset_is_told_from_one_that_failed(desk: Desk) -> None:
    desk.edge.then = raising(ResetRefused("cannot: somebody is on it"))
    assert desk.answer(RESET) == ResetDone(RESET.id, RingId(0), "cannot: somebody is on it", refused=True)
    desk.edge.then = raising(DriverError("cannot: no"))
    assert desk.answer(RESET) == ResetDone(RESET.id, RingId(0), "cannot: no")


def test_a_container_of_a_runtime_that_is_not_there_is_answered(desk: Desk) -> None:
    other = StopContainer(STOP.id, "why", ContainerKey("podman", "", "x"), "x", GRACE)
    answer = desk.answer(other)
    assert isinstance(answer, ContainerStopped)
    assert "podman" in answer.error


def test_no_stop_waits_for_another(desk: Desk) -> None:
    together = threading.Barrier(RUNTIME_THREADS, timeout=PATIENCE)

    def then() -> None:
        together.wait()

    desk.edge.then = then
    for _ in range(RUNTIME_THREADS):
        desk.workers.submit(STOP)
    answers = [desk.answers.get(timeout=PATIENCE) for _ in range(RUNTIME_THREADS)]
    assert {why_of(answer) for answer in answers} == {""}


def test_a_driver_is_called_on_no_more_threads_than_it_bears(desk: Desk) -> None:
    threads = set()
    desk.edge.then = lambda: threads.add(threading.current_thread())
    for _ in range(50):
        desk.workers.submit(READ)
    for _ in range(50):
        desk.answers.get(timeout=PATIENCE)
    assert 1 <= len(threads) <= desk.edge.concurrency


def test_closing_waits_for_a_reset_and_begins_nothing_more() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def then() -> None:
        begun.set()
        assert go_on.wait(PATIENCE)

    desk = Desk(Edge(concurrency=1, then=then))
    desk.workers.submit(RESET)
    assert begun.wait(PATIENCE)
    desk.workers.submit(READ)
    closing = threading.Thread(target=desk.workers.close, args=(0.01, 10))
    closing.start()
    go_on.set()
    closing.join(PATIENCE)
    assert not closing.is_alive()
    assert desk.answers.get(timeout=PATIENCE) == ResetDone(RESET.id, RingId(0))
    assert [asked[0] for asked in desk.edge.asked] == ["reset"]


def test_closing_waits_for_a_call_that_hangs_no_longer_than_it_is_told() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def then() -> None:
        begun.set()
        go_on.wait(PATIENCE)

    desk = Desk(Edge(then=then))
    desk.workers.submit(STOP)
    assert begun.wait(PATIENCE)
    desk.workers.close(0.01, 0.01)
    assert desk.answers.empty()
    hung = [t for t in threading.enumerate() if t.name.startswith("containers-") and t.is_alive()]
    assert hung
    assert all(thread.daemon for thread in hung), "the interpreter waits for no daemon thread"
    go_on.set()
    eventually(lambda: not desk.answers.empty())


def test_a_pool_makes_a_thread_only_when_all_others_are_busy() -> None:
    pool, names, turn = Pool(4, "few"), set(), threading.Event()

    def job() -> None:
        names.add(threading.current_thread().name)

    def long_job() -> None:
        turn.wait(PATIENCE)

    for _ in range(20):
        pool.submit(job).result(PATIENCE)
        # It counts as idle a moment after its job is done.
        eventually(lambda: len(pool._idle) == 1)
    assert names == {"few-1"}
    waiting = [pool.submit(long_job) for _ in range(6)]
    cancelled = [future.cancel() for future in waiting]
    assert sum(cancelled) >= 2, "no more than 4 were begun"
    turn.set()
    for future, gone in zip(waiting, cancelled, strict=True):
        assert gone or future.result(PATIENCE) is None


@pytest.mark.parametrize("kept", [0, 2])
def test_threads_of_a_pool_that_nobody_needs_end_but_for_those_that_are_kept(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cmgr.service.work.pool.IDLE", 0.01)
    pool = Pool(8, "ends", kept)
    for most in (8, 1, 8):
        met = threading.Barrier(most)

        def job(met: threading.Barrier = met) -> None:
            met.wait(PATIENCE)

        for future in [pool.submit(job) for _ in range(most)]:
            future.result(PATIENCE)
        eventually(lambda: pool._made == len(pool._idle) == kept)


def test_where_no_thread_can_be_begun_a_job_waits_for_the_others_and_is_refused_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    pool, go_on, met = Pool(4, "none"), threading.Event(), list[bool]()
    monkeypatch.setattr("_thread.start_new_thread", none)
    with pytest.raises(RuntimeError):
        pool.submit(go_on.set)
    monkeypatch.undo()
    first = pool.submit(lambda: met.append(go_on.wait(PATIENCE)))
    monkeypatch.setattr("_thread.start_new_thread", none)
    second = pool.submit(lambda: None)
    assert not second.done()
    go_on.set()
    first.result(PATIENCE)
    second.result(PATIENCE)
    assert met == [True]
    assert pool._made == 1


def test_a_job_is_given_to_the_last_thread_that_has_become_idle_so_that_the_others_can_end() -> None:
    pool, names, met = Pool(4, "last"), set(), threading.Barrier(4)

    def meet() -> None:
        met.wait(PATIENCE)

    def note() -> None:
        names.add(threading.current_thread().name)

    for future in [pool.submit(meet) for _ in range(4)]:
        future.result(PATIENCE)
    for _ in range(20):
        eventually(lambda: len(pool._idle) == 4)
        pool.submit(note).result(PATIENCE)
    assert len(names) == 1


def test_short_jobs_that_come_at_once_share_a_few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cmgr.service.work.pool.PATIENCE", PATIENCE)  # On a busy machine they take their time.
    pool, gate = Pool(16, "shares", few=4), threading.Event()

    def wait() -> None:
        gate.wait(PATIENCE)

    pool.submit(wait)
    jobs = [pool.submit(lambda: None) for _ in range(15)]
    for future in jobs:
        future.result(PATIENCE)
    assert pool._made <= 5, "four, and one that looks whether those hang"
    gate.set()


def test_jobs_behind_those_that_hang_are_done_beside_them_up_to_the_bound() -> None:
    pool, all_hang = Pool(8, "hang", few=2), threading.Barrier(8)

    def hang() -> None:
        all_hang.wait(PATIENCE)

    for future in [pool.submit(hang) for _ in range(8)]:
        future.result(PATIENCE)
    assert not all_hang.broken, "all eight hung at the same time"
    assert pool._made == 8


def test_where_none_can_be_begun_jobs_behind_a_hang_are_done_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cmgr.service.work.pool.PATIENCE", 0.01)
    pool, hangs = Pool(4, "after", few=1), threading.Event()
    begin, begun = _thread.start_new_thread, list[object]()

    def wait() -> None:
        hangs.wait(PATIENCE)

    def two(function: Callable[..., object], args: tuple[object, ...]) -> int:
        if len(begun) == 2:
            raise RuntimeError("can't start new thread")
        begun.append(function)
        return begin(function, args)

    monkeypatch.setattr("_thread.start_new_thread", two)
    jobs = [pool.submit(wait) for _ in range(6)]
    eventually(lambda: not pool._late)
    hangs.set()
    for future in jobs:
        future.result(PATIENCE)
    eventually(lambda: pool._made == len(pool._idle))
