"""The threads that carry actions out. Each action is answered by exactly one fact, whatever happens."""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import assert_never

from cmgr import redact
from cmgr.errors import (
    CmgrError,
    ContainerGone,
    DriverError,
    ResetRefused,
    RunsAgain,
    RuntimeAils,
    RuntimeDown,
)
from cmgr.frozen import replace
from cmgr.model.values.chips import ChipReport
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.commands import (
    Action,
    ListContainers,
    MakeShares,
    PrepareReset,
    PretendFault,
    ReadGroup,
    ReadOutput,
    ReadRing,
    ResetRing,
    RunTest,
    ScheduleReboot,
    SetRestartPolicy,
    StartContainer,
    StopContainer,
    WriteCdi,
    WriteGroup,
)
from cmgr.model.values.messages.facts import (
    Answer,
    CdiWritten,
    ContainersListed,
    ContainerStarted,
    ContainerStopped,
    FaultPretended,
    OutputRead,
    RestartPolicySet,
    RingRead,
)
from cmgr.model.values.messages.fleet_facts import GroupRead, GroupWritten
from cmgr.model.values.messages.reboot_facts import RebootScheduled
from cmgr.model.values.messages.reset_facts import ChipsTested, ResetDone, ResetPrepared, SharesMade
from cmgr.ports import ChipDriver, Diagnosing, Dividing, Injector, Originating, Placing, Runtime
from cmgr.sentences.sentence import reason
from cmgr.service.work.around import Around
from cmgr.service.work.last_words import last_words
from cmgr.service.work.pool import Pool

RUNTIME_THREADS = 128
"""A stop may take its whole grace and none may wait for another's: a thread for each container of a large machine."""

FIRST_STOPS = 2
"""So many threads stay for them: none of a recovery waits until one is begun."""

FEW_READS = 4
"""So many rings are read at once, unless they hang: all are due at the same moment, and each takes milliseconds."""

RING_THREADS = 64
"""A reset, and the look afterwards, may have to wait for an operator's hook: no other ring's may wait with it."""

FLEET_THREADS = 8
"""As many groups are written at once; an engine that is slow keeps nobody else waiting."""

OUTPUT_LINES = 5
"""How many lines of a container that did not stay up are told."""

Report = Callable[[str, BaseException], None]


class _Closing(Exception):
    """The service ends: what has not begun is left to the next life, which asks anew."""


class Workers:
    """Carries actions out on threads and puts the answers with `put`. `runtimes`, by name, may become more."""

    def __init__(
        self,
        driver: ChipDriver,
        runtimes: Mapping[str, Runtime],
        put: Callable[[Answer], None],
        report: Report,
        around: Around | None = None,
    ) -> None:
        self._driver = driver
        self._runtimes = runtimes
        self._put = put
        self._report = report
        self._around = around or Around()
        self._closing = False
        self._lock = threading.Lock()
        self._under_way: dict[Future[None], Action] = {}
        self._turns = threading.BoundedSemaphore(driver.concurrency)
        self._chips = Pool(driver.concurrency, "chips", few=FEW_READS)
        self._rings = Pool(RING_THREADS, "rings")
        self._containers = Pool(RUNTIME_THREADS, "containers", kept=FIRST_STOPS)
        self._fleet = Pool(FLEET_THREADS, "fleet")
        self._machine = Pool(1, "machine")  # The last order is carried out last.

    def submit(self, action: Action) -> None:
        """Have the action carried out soon. Does not block."""
        future = self._pool(action).submit(partial(self._work, action))
        with self._lock:
            self._under_way[future] = action
        future.add_done_callback(self._forget)

    def _pool(self, action: Action) -> Pool:
        match action:
            case ReadRing(after_reset=False):
                return self._chips
            case ReadRing() | PrepareReset() | ResetRing() | RunTest() | MakeShares():
                return self._rings
            case WriteGroup() | ReadGroup():
                return self._fleet
            case ScheduleReboot():
                return self._machine
            case _:
                return self._containers

    def _forget(self, future: Future[None]) -> None:
        with self._lock:
            self._under_way.pop(future, None)

    def _work(self, action: Action) -> None:
        try:
            answer = self._carry_out(action)
        except _Closing:
            if not isinstance(action, ResetRing):
                return
            # Nothing was reset, and that is known: it costs no budget.
            answer = failed(action, ResetRefused("cmgr ends"))
        except CmgrError as error:
            answer = failed(action, error)
        except Exception as error:
            # A bug at the edge must not leave the model waiting for an answer for ever.
            self._report(f"{type(action).__name__} {action.id} met a bug: please report it", error)
            answer = failed(action, error)
        self._put(answer)

    def _carry_out(self, action: Action) -> Answer:  # noqa: C901 - a flat table, a line a command
        match action:
            case ListContainers():
                return self._list(action)
            case ReadRing():
                return RingRead(action.id, action.ring, self._read(action))
            case PrepareReset():
                return self._prepare(action)
            case ResetRing():
                with self._turn():
                    self._driver.reset(action.chips, action.faulty, self._around.codes(action))
                return ResetDone(action.id, action.ring)
            case RunTest():
                return ChipsTested(action.id, action.ring, *self._around.test(action))
            case MakeShares():
                self._make_shares(action)
                return SharesMade(action.id, action.ring)
            case StopContainer():
                self._around.before_stop(action)
                return self._stop(action)
            case StartContainer():
                return self._start(action)
            case SetRestartPolicy():
                self._runtimes[action.key.runtime].set_restart_policy(action.key, action.restart_policy)
                return RestartPolicySet(action.id, action.key)
            case ReadOutput():
                return OutputRead(action.id, action.key, self._output(action))
            case PretendFault():
                return self._pretend(action)
            case ScheduleReboot():
                self._around.reboot(action)
                return RebootScheduled(action.id)
            case WriteCdi():
                return CdiWritten(action.id, mended=self._around.write_cdi(action))
            case WriteGroup() | ReadGroup():
                return self._around.agree(action)
            case _:
                assert_never(action)

    def _prepare(self, action: PrepareReset) -> ResetPrepared:
        self._around.before_reset(action.order)
        return ResetPrepared(action.id, action.order)

    def _start(self, action: StartContainer) -> ContainerStarted:
        self._around.before_start(action)
        runtime = self._runtimes[action.key.runtime]
        if action.placing:
            # The model gives such an order only to a runtime whose containers say that it can do this.
            assert isinstance(runtime, Placing)
            runtime.place(action.key, action.placing)
        run = runtime.start(action.key, action.restart_policy, frozen=action.frozen)
        return ContainerStarted(action.id, action.key, run)

    def _stop(self, action: StopContainer) -> ContainerStopped:
        runtime = self._runtimes[action.key.runtime]
        words, grace = last_words(runtime, action) if action.before else ("", action.grace)
        halt = runtime.stop(action.key, grace)
        return ContainerStopped(
            action.id, action.key, halt.run, before=halt.before, words=words, deaf=halt.deaf, ordered=halt.ordered
        )

    def _make_shares(self, action: MakeShares) -> None:
        if not isinstance(self._driver, Dividing):
            raise DriverError("cannot make shares of chips again: this driver knows none")
        with self._turn():
            self._driver.make_shares(action.shares)

    def _pretend(self, action: PretendFault) -> FaultPretended:
        if not isinstance(self._driver, Injector):
            raise DriverError("cannot simulate a fault on real chips: allow_injection = false")
        self._driver.inject(action.chip, action.code, Assertion.OCCURRED)
        return FaultPretended(action.id, action.chip, action.drill)

    def _output(self, action: ReadOutput) -> str:
        runtime = self._runtimes[action.key.runtime]
        return redact.text(runtime.output(action.key, OUTPUT_LINES)) if isinstance(runtime, Diagnosing) else ""

    def _read(self, action: ReadRing) -> tuple[ChipReport, ...]:
        with self._turn():
            reports = self._driver.read(action.chips)
        return self._around.after_reset(action, reports) if action.after_reset else reports

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for one of the calls that the driver bears at once."""
        with self._turns:
            if self._closing:
                raise _Closing
            yield

    def _list(self, action: ListContainers) -> ContainersListed:
        runtime = self._runtimes[action.runtime]
        found = runtime.list()
        origin = runtime.origin() if isinstance(runtime, Originating) else None
        return ContainersListed(action.id, action.runtime, found, origin=origin)

    def close(self, seconds: float, reset_seconds: float) -> None:
        """Begin nothing more, and wait for what is under way: what must not be cut longer than the rest."""
        self._closing = True
        with self._lock:
            sent = dict(self._under_way)
        under_way = {future: action for future, action in sent.items() if not future.cancel()}
        wait([f for f, a in under_way.items() if isinstance(a, ResetRing | MakeShares)], timeout=reset_seconds)
        wait(under_way, timeout=seconds)


_VERB: Mapping[type[Action], str] = MappingProxyType(
    {
        ListContainers: "list",
        PrepareReset: "prepare",
        ResetRing: "reset",
        RunTest: "test",
        MakeShares: "make",
        StopContainer: "stop",
        StartContainer: "start",
        SetRestartPolicy: "set",
        ReadOutput: "read",
        ScheduleReboot: "schedule",
        WriteCdi: "write",
        PretendFault: "simulate",
        WriteGroup: "write",
        ReadGroup: "read",
    }
)
"""The words for each action in errors: "cannot …"."""


def failed(action: Action, error: BaseException) -> Answer:  # noqa: C901 - a flat table, a line a command
    """Return the answer that says why the action could not be carried out; that it could not, whoever tells it says."""
    why = reason(error, _VERB.get(type(action), ""))
    match action:
        case ListContainers():
            return ContainersListed(action.id, action.runtime, error=why)
        case ReadRing():
            return RingRead(action.id, action.ring, tuple(ChipReport(c, error=why) for c in action.chips))
        case PrepareReset(order=order):
            return ResetDone(order.id, order.ring, why, refused=True)
        case ResetRing():
            return ResetDone(action.id, action.ring, why, refused=isinstance(error, ResetRefused))
        case RunTest():
            return ChipsTested(action.id, action.ring, error=why)
        case MakeShares():
            return SharesMade(action.id, action.ring, why)
        case PretendFault():
            return FaultPretended(action.id, action.chip, action.drill, why)
        case ScheduleReboot():
            return RebootScheduled(action.id, why, refused=isinstance(error, RuntimeDown))
        case WriteCdi():
            return CdiWritten(action.id, why)
        case WriteGroup():
            return GroupWritten(action.id, action.group, error=why)
        case ReadGroup():
            return GroupRead(action.id, action.group, error=why)
        case _:
            return _failed_at_container(action, error, why)


def _failed_at_container(
    action: StopContainer | StartContainer | SetRestartPolicy | ReadOutput, error: BaseException, why: str
) -> Answer:
    match action:
        case StopContainer():
            again = error.run if isinstance(error, RunsAgain) else ""
            answer: ContainerStopped | ContainerStarted | RestartPolicySet | OutputRead = ContainerStopped(
                action.id, action.key, again=again
            )
        case StartContainer():
            answer = ContainerStarted(action.id, action.key, runtime_ails=isinstance(error, RuntimeAils))
        case SetRestartPolicy():
            answer = RestartPolicySet(action.id, action.key)
        case ReadOutput():
            answer = OutputRead(action.id, action.key)
        case _:
            assert_never(action)
    if isinstance(error, ContainerGone):
        return replace(answer, gone=True)
    return replace(answer, error=why, unreachable=isinstance(error, RuntimeDown))
