"""The real service with a stopwatch at its ports: `python -m bench.child CONFIG PIPE`, started by `bench.service`.

It is `cmgr run` but for this: what the driver tells and is asked, and what pretended containers are asked, is noted on
the pipe with its times. The line "storm" on standard input lets the storm of `bench.weather` loose on the simulated
chips; every line after it asks how much processor time these took for it.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING

from bench import weather
from bench.records import Call
from cmgr.config.load import load
from cmgr.config.settings import Config
from cmgr.drivers import open_begun
from cmgr.drivers.sim.driver import SimDriver
from cmgr.errors import ConfigError
from cmgr.model.values.chips import Chip, ChipId, ChipReport
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import FaultReported
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.ports import ChipDriver, DriverFact, Halt, Injector, Runtime, RuntimeFact
from cmgr.service.listening import Listening, listen

if TYPE_CHECKING:
    from cmgr.view import shapes

Note = Callable[[Call], None]


BEGINS = 60.0
"""So many seconds a stand-in may take to begin."""


class TimedDriver:
    """The chips, and when they told and were reset."""

    def __init__(self, inner: ChipDriver, note: Note) -> None:
        self._inner = inner
        self._note = note
        self.name = inner.name
        self.concurrency = inner.concurrency
        self.telling = self.told = 0.0
        """Processor time, in seconds, of the thread that tells: in all, and what cmgr did on it."""

    def chips(self) -> tuple[Chip, ...]:
        return self._inner.chips()

    def watch(self, tell: Callable[[DriverFact], None]) -> None:
        def told(fact: DriverFact) -> None:
            at, used = time.monotonic(), time.thread_time()
            tell(fact)
            self.telling = time.thread_time()
            self.told += self.telling - used
            # After the call, so that the noting delays nothing that is measured.
            if (
                isinstance(fact, FaultReported)
                and fact.assertion is Assertion.OCCURRED
                and fact.code in weather.RECORDED
            ):
                self._note(Call(weather.RECORDED[fact.code], str(fact.chip), at, at))

        self._inner.watch(told)
        at = time.monotonic()
        self._note(Call("watch", "", at, at))

    def read(self, chips: Sequence[ChipId]) -> tuple[ChipReport, ...]:
        return self._inner.read(chips)

    def reset(self, chips: Sequence[ChipId], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        begin = time.monotonic()
        self._inner.reset(chips, faulty, codes)
        self._note(Call("reset", str(min(chips)), begin, time.monotonic()))

    def inject(self, chip: ChipId, code: str, assertion: Assertion) -> None:
        assert isinstance(self._inner, Injector)
        self._inner.inject(chip, code, assertion)

    def close(self) -> None:
        self._inner.close()


class TimedRuntime:
    """Containers, and when they were stopped and started. (Those of Docker are timed at its socket.)"""

    def __init__(self, inner: Runtime, note: Note) -> None:
        self._inner = inner
        self._note = note
        self.name = inner.name

    def list(self) -> tuple[Container, ...]:
        return self._inner.list()

    def watch(self, tell: Callable[[RuntimeFact], None]) -> None:
        self._inner.watch(tell)

    def stop(self, key: ContainerKey, grace: timedelta) -> Halt:
        begin = time.monotonic()
        halt = self._inner.stop(key, grace)
        self._note(Call("stop", _name(key), begin, time.monotonic()))
        return halt

    def start(self, key: ContainerKey, restart_policy: str, *, frozen: bool = False) -> str:
        begin = time.monotonic()
        run = self._inner.start(key, restart_policy, frozen=frozen)
        self._note(Call("start", _name(key), begin, time.monotonic()))
        return run

    def set_restart_policy(self, key: ContainerKey, restart_policy: str) -> None:
        self._inner.set_restart_policy(key, restart_policy)

    def close(self) -> None:
        self._inner.close()


def _name(key: ContainerKey) -> str:
    return key.id.partition(".")[0]  # Pretended ones have a number behind their name.


def main() -> int:
    config, pipe = load(sys.argv[1], environ={}), int(sys.argv[2])

    def note(call: Call) -> None:
        os.write(pipe, call.written())

    def opened(config: Config) -> ChipDriver:
        chips = open_begun(config, BEGINS)
        timed = TimedDriver(chips, note)
        if isinstance(chips, SimDriver):
            threading.Thread(target=_weather, args=(chips, timed, note), name="weather", daemon=True).start()
        return timed

    with ExitStack() as stack:
        heard = listen(config, stack, opened)
        _serve(config, heard, stack, note)
    return 0


def _serve(config: Config, heard: Listening, stack: ExitStack, note: Note) -> None:
    # As the command line does it: only now.
    from cmgr.service.daemon import Service
    from cmgr.service.log import setup as logs

    class Timed(Service):
        def __init__(self, config: Config, heard: Listening, log: logs.Log, stack: ExitStack) -> None:
            super().__init__(config, heard, log, stack)
            runtimes = self._opened.all
            runtimes |= {name: TimedRuntime(each, note) for name, each in runtimes.items() if name != "docker"}

    log = logs.set_up(config.log.level, config.log.file)
    stack.callback(log.close)
    Timed(config, heard, log, stack).serve(None, _cannot_look)


def _cannot_look() -> "shapes.Check":
    raise ConfigError("cannot check: a benchmark has no command line", hint="cmgr check")


def _weather(chips: SimDriver, timed: TimedDriver, note: Note) -> None:
    for line in sys.stdin:
        if line == "storm\n":
            weather.storm(chips)
        else:
            note(Call("stand-in", "", 0.0, time.thread_time() + timed.telling - timed.told))


if __name__ == "__main__":
    sys.exit(main())
