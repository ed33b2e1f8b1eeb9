"""The service from start to end: build everything from the configuration, serve, take it down in reverse order."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr import __version__
from cmgr.config.catalog import load_catalog
from cmgr.config.settings import Config
from cmgr.drivers import open_driver
from cmgr.errors import CmgrError, ConfigError, StoreError, chain
from cmgr.model.facts import Reconfigured, Restarted
from cmgr.ports import Ailing, ChipDriver, Runtime
from cmgr.runtimes import open_runtimes
from cmgr.runtimes.sim_world import pretended
from cmgr.service import logs
from cmgr.service.answers import Answers
from cmgr.service.claim import claim
from cmgr.service.clock import SteadyClock
from cmgr.service.control import ControlServer, refuse_if_live
from cmgr.service.inbox import Inbox
from cmgr.service.jobs import Jobs
from cmgr.service.loop import Loop
from cmgr.service.systemd import Notifier
from cmgr.service.workers import Workers
from cmgr.store import open_store
from cmgr.store.files import NAME

if TYPE_CHECKING:
    from cmgr.store.sqlite import SqliteStore

TICK = timedelta(seconds=5)
"""How often the deciding thread shows that it lives, at the least."""

CLOSE_SECONDS = 5.0

Reload = Callable[[], Config]


def run(config: Config, reload: Reload | None = None) -> int:
    """Serve until SIGTERM or SIGINT, on this thread, which must be the main one. Return the exit code.

    SIGHUP calls `reload` for a new configuration; one that is refused changes nothing. Raises `CmgrError` when the
    service cannot start.
    """
    try:
        log = logs.set_up(config.log.level, config.log.file)
    except OSError as error:
        raise ConfigError(f"cannot log to {config.log.file}", hint="check its directory and mode") from error
    sys.unraisablehook = lambda lost: log.bug("an error was lost in a callback", lost.exc_value or RuntimeError())
    os.umask(0o027)
    with ExitStack() as stack:
        service = Service(config, log, stack)
        service.serve(reload)
        return 0


class Service:
    """One life of the service. Everything that it opens is closed by `stack`, the last first."""

    def __init__(self, config: Config, log: logs.Log, stack: ExitStack) -> None:
        self._config = config
        self._log = log
        self._stack = stack
        self._notifier = Notifier()
        self._clock = SteadyClock()
        self._since = self._clock.now()
        self._state = "starting"
        self._hung_up = False
        self._ails: tuple[str, ...] = ()
        # Before anything is opened: a second service on the same state or socket must change nothing.
        refuse_if_live(Path(config.socket))
        stack.callback(claim(Path(config.socket)).release)
        catalog = load_catalog(config, log.warn)
        self._store = self._open_store()
        self._driver = self._open_driver()
        self._runtimes = self._open_runtimes()
        self._inbox = Inbox(self._clock)
        self._workers = Workers(self._driver, self._runtimes, self._inbox.put, log.bug)
        node = replace(self._store.load(), policy=config.policy(), catalog=catalog)
        self._loop = Loop(node, self._inbox, self._store, self._workers.submit, log)

    def _open_store(self) -> "SqliteStore":
        store = open_store(Path(self._config.state_dir) / NAME)
        self._stack.callback(store.close)
        if store.damage:
            self._log.warn(f"{store.damage}: what was held before is not known any more, look at cmgr status")
        return store

    def _open_driver(self) -> ChipDriver:
        driver = open_driver(self._config)
        self._stack.callback(driver.close)
        return driver

    def _open_runtimes(self) -> tuple[Runtime, ...]:
        config = self._config
        runtimes = open_runtimes(
            config.runtimes,
            docker_socket=config.docker.socket,
            containerd=(config.containerd.address, config.containerd.skip_namespaces),
            pretended=tuple(map(pretended, config.sim.containers)),
            sim_file=Path(config.sim.world + ".containers") if config.sim.world else None,
        )
        for runtime in runtimes:
            self._stack.callback(runtime.close)
        return runtimes

    def serve(self, reload: Reload | None) -> None:
        """Begin, serve, and end."""
        answers = Answers(
            self._config, self._driver, lambda: self._loop.node, self.describe, self._clock.now, self._inbox.put
        )
        control = ControlServer(self._config.socket, answers.answer, report=self._log.bug)
        jobs = Jobs(self._inbox.put, self._config.resync, self._tick())
        self._signals()
        # Before any event can come: everything else is decided against what this sets up.
        self._inbox.put(Restarted(self._driver.chips(), tuple(r.name for r in self._runtimes)))
        self._loop.step(self._inbox.take(None))
        self._driver.watch(self._inbox.put)
        for runtime in self._runtimes:
            runtime.watch(self._inbox.put)
        control.start()
        self._stack.callback(control.close)
        jobs.start()
        self._stack.callback(jobs.close)
        self._stack.callback(self._end)
        self._state = "ready"
        # What lives now lives to the end: the collector need not look at it again and again.
        gc.freeze()
        chips, names = len(self._loop.node.chips), ", ".join(r.name for r in self._runtimes)
        self._log.say(f"cmgr {__version__} is ready: {chips} chips ({self._driver.name}), containers of {names}")
        self._notifier.tell("READY=1", f"STATUS={chips} chips, strategy {self._config.strategy}")
        self._loop.run(self._clock, lambda: self._after_each(reload), self._prune)

    def _tick(self) -> timedelta:
        watchdog = timedelta(seconds=self._notifier.watchdog_seconds)
        return min(TICK, watchdog / 2) if watchdog else TICK

    def _signals(self) -> None:
        def end(_number: int, _frame: object) -> None:
            self._inbox.stop()

        def hang_up(_number: int, _frame: object) -> None:
            self._hung_up = True
            self._inbox.nudge()

        # No logging and no lock in here: a signal may come in the middle of either.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        signal.signal(signal.SIGHUP, hang_up)

    def _after_each(self, reload: Reload | None) -> None:
        self._notifier.tell("WATCHDOG=1")
        self._tell_ails()
        if self._hung_up:
            self._hung_up = False
            self._reload(reload)

    def _driver_troubles(self) -> tuple[str, ...]:
        return self._driver.trouble() if isinstance(self._driver, Ailing) else ()

    def _tell_ails(self) -> None:
        ails = self._driver_troubles()
        for new in (a for a in ails if a not in self._ails):
            self._log.warn(f"{self._driver.name}: {new}")
        if self._ails and not ails:
            self._log.say(f"{self._driver.name} is well again")
        self._ails = ails

    def _reload(self, reload: Reload | None) -> None:
        if reload is None:
            return
        self._notifier.tell("RELOADING=1")
        try:
            config = reload()
            catalog = load_catalog(config, self._log.warn)
        except CmgrError as error:
            mistakes = "; ".join(error.mistakes) if isinstance(error, ConfigError) else ""
            self._log.warn(f"{chain(error)}: the configuration stays as it was {mistakes}".rstrip())
        else:
            self._inbox.put(Reconfigured(config.policy(), catalog))
            self._config = config
            self._log.say("the configuration was read again: policy and fault tables are in force")
        self._notifier.tell("READY=1")

    def _prune(self) -> None:
        history = self._config.history
        try:
            gone = self._store.prune(self._clock.now() - history.keep, history.max_notes)
        except StoreError as error:
            self._log.warn(chain(error))
            return
        if gone:
            self._log.say(f"{gone} rows of old history were dropped")

    def _end(self) -> None:
        """Finish what is under way and book it; the next life goes on from there."""
        self._state = "stopping"
        self._notifier.tell("STOPPING=1")
        self._log.say("cmgr ends: containers are left as they are, and what is held is remembered")
        self._workers.close(CLOSE_SECONDS, self._config.reset.boot_timeout.total_seconds())
        self._loop.drain()

    def describe(self) -> Mapping[str, object]:
        """Return what `cmgr status` says of the service itself. Any thread."""
        node = self._loop.node
        troubles = [f"the database cannot be written: {self._loop.trouble}"] if self._loop.trouble else []
        troubles += [f"cannot reach {r.name}: {r.why_down}" for r in node.runtimes.values() if r.why_down]
        troubles += [f"{self._driver.name}: {ails}" for ails in self._driver_troubles()]
        if self._store.damage:
            troubles.append(self._store.damage)
        if self._loop.bugs:
            troubles.append(f"{self._loop.bugs} decisions met a bug: see the log, and please report it")
        state = "degraded" if troubles and self._state == "ready" else self._state
        return {
            "state": state,
            "version": __version__,
            "pid": os.getpid(),
            "since": self._since,
            "driver": self._driver.name,
            "runtimes": [r.name for r in self._runtimes],
            "strategy": str(node.policy.strategy),
            "observe": node.policy.observe,
            "maintenance": False,
            "troubles": troubles,
        }
