"""The service from start to end: build everything from the configuration, serve, take it down in reverse order."""

import gc
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr import __version__
from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_catalog
from cmgr.drivers import open_driver
from cmgr.errors import ConfigError, StoreError, bare, chain
from cmgr.model.values.catalog import Catalog
from cmgr.model.values.facts import Fact, Reconfigured, Restarted
from cmgr.model.values.node import Node
from cmgr.ports import Ailing, ChipDriver, Runtime
from cmgr.runtimes import open_runtimes
from cmgr.runtimes.sim.world import pretended
from cmgr.service.answers import Answers
from cmgr.service.clock import SteadyClock, steadied
from cmgr.service.control import ControlServer, refuse_if_live
from cmgr.service.door.claim import claim
from cmgr.service.door.orders import Orders
from cmgr.service.extras import bundle_parts
from cmgr.service.extras.surroundings import Surroundings
from cmgr.service.handover import Handover
from cmgr.service.inbox import Inbox
from cmgr.service.jobs import Jobs
from cmgr.service.log import setup as logs
from cmgr.service.log_file import Keep
from cmgr.service.loop import Loop
from cmgr.service.metrics.page import Metrics, Sources
from cmgr.service.metrics_http import MetricsServer
from cmgr.service.reloading import Reload, Reloader
from cmgr.service.systemd import Notifier
from cmgr.service.workers import Workers
from cmgr.store import open_store
from cmgr.store.files import NAME
from cmgr.view import status as view

if TYPE_CHECKING:
    from cmgr.store.sqlite import SqliteStore

TICK = timedelta(seconds=5)
"""How often the deciding thread shows that it lives, at the least."""

CLOSE_SECONDS = 5.0


def run(config: Config, reload: Reload | None = None) -> int:
    """Serve until SIGTERM or SIGINT, on this thread, which must be the main one. Return the exit code.

    SIGHUP calls `reload` for a new configuration; one that is refused changes nothing. Raises `CmgrError` when the
    service cannot start.
    """
    # Before the first file or directory is made.
    os.umask(0o027)
    keep = Keep(config.log.max_size, config.log.max_age, config.log.max_files)
    try:
        log = logs.set_up(config.log.level, config.log.file, keep)
    except OSError as error:
        raise ConfigError(f"cannot log to {config.log.file}", hint="check its directory and mode") from error
    sys.unraisablehook = lambda lost: log.bug("an error was lost in a callback", lost.exc_value or RuntimeError())
    with ExitStack() as stack:
        stack.callback(log.close)
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
        self._ails: tuple[str, ...] = ()
        # Before anything is opened: a second service on the same state or socket must change nothing.
        refuse_if_live(Path(config.socket))
        stack.callback(claim(Path(config.socket)).release)
        catalog = load_catalog(config, log.warn)
        self._store = self._open_store()
        self._driver = self._open_driver()
        self._runtimes = self._open_runtimes()
        self._inbox = Inbox(self._clock)
        self._around = self._surroundings()
        self._workers = Workers(self._driver, self._runtimes, self._take, log.bug, self._around.around)
        node = replace(self._store.load(), policy=config.policy(), catalog=catalog)
        self._loop = Loop(node, self._inbox, self._store, self._workers.submit, self._around.log)
        self._metrics = self._open_metrics()

    def _open_store(self) -> "SqliteStore":
        store = open_store(Path(self._config.state_dir) / NAME)
        self._stack.callback(store.close)
        self._damage = store.damage
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
            docker=config.docker,
            containerd=config.containerd,
            pretended=tuple(map(pretended, config.sim.containers)),
            sim_file=Path(config.sim.world + ".containers") if config.sim.world else None,
        )
        for runtime in runtimes:
            self._stack.callback(runtime.close)
        return runtimes

    def _open_metrics(self) -> MetricsServer | None:
        """Count from now on, to tell it later; not even that when metrics are switched off."""
        listen = self._config.metrics.listen
        if not listen:
            return None
        sources = Sources(self._loop, self._inbox, self._driver, self.describe, self._clock)
        metrics = Metrics(sources, self._store.outcomes())
        self._loop.after_step = metrics.after_step
        return MetricsServer(listen, metrics.page, self._log.bug, self._log.warn)

    def _surroundings(self) -> Surroundings:
        runtimes = {runtime.name: runtime for runtime in self._runtimes}
        database = Path(self._config.state_dir) / NAME
        sources = bundle_parts.Sources(self._driver, runtimes, database, lambda: self._loop.node, self._clock.now)
        return Surroundings(self._config, sources, self._inbox.put, self._log)

    def serve(self, reload: Reload | None) -> None:
        """Begin, serve, and end."""
        reloader = Reloader(reload, self._accept, self._log, self._notifier)
        answers = self._answers(reloader)
        control = ControlServer(self._config.socket, answers.answer, report=self._log.bug)
        jobs = Jobs(self._inbox.put, self._config.resync, self._tick(), self._clock.drift)
        self._signals(reloader)
        # Before any event can come: everything else is decided against what this sets up.
        self._around.begin(self._clock.now())
        self._stack.callback(self._around.close)
        self._inbox.put(Restarted(self._driver.chips(), tuple(r.name for r in self._runtimes)))
        self._loop.step(self._inbox.take(None))
        self._driver.watch(self._inbox.put)
        for runtime in self._runtimes:
            runtime.watch(self._take)
        control.start()
        self._stack.callback(control.close)
        jobs.start()
        self._stack.callback(jobs.close)
        if self._metrics is not None:
            self._metrics.start()
            self._stack.callback(self._metrics.close)
        self._stack.callback(self._end)
        self._state = "ready"
        # What lives now lives to the end: the collector need not look at it again and again.
        gc.freeze()
        chips, names = len(self._loop.node.chips), ", ".join(r.name for r in self._runtimes)
        self._log.say(f"cmgr {__version__} is ready: {chips} chips ({self._driver.name}), containers of {names}")
        self._notifier.tell("READY=1", f"STATUS={chips} chips, strategy {self._config.strategy}")
        self._loop.run(self._clock, lambda: self._after_each(reloader), self._prune)

    def _take(self, fact: Fact) -> None:
        """Take in what a runtime told."""
        self._inbox.put(steadied(fact, self._clock.drift()))

    def _tick(self) -> timedelta:
        watchdog = timedelta(seconds=self._notifier.watchdog_seconds)
        return min(TICK, watchdog / 2) if watchdog else TICK

    def _answers(self, reloader: Reloader) -> Answers:
        def node() -> Node:
            return self._loop.node

        handover = Handover(self._inbox, self._clock, lambda: self._loop.taken)
        orders = Orders(node, self._clock.now, handover.give, lambda who: reloader.ask(who, self._inbox.nudge))
        return Answers(self._config, self._driver, node, self.describe, self._clock.now, orders)

    def _signals(self, reloader: Reloader) -> None:
        def end(_number: int, _frame: object) -> None:
            self._inbox.stop()

        def hang_up(_number: int, _frame: object) -> None:
            reloader.hang_up()
            self._inbox.nudge()

        # No logging and no lock in here: a signal may come in the middle of either.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        signal.signal(signal.SIGHUP, hang_up)

    def _after_each(self, reloader: Reloader) -> None:
        self._notifier.tell("WATCHDOG=1")
        self._tell_ails()
        if self._store.damage != self._damage:
            self._damage = self._store.damage
            self._log.warn(self._damage)
        self._around.look(self._loop.node, self._ails, self._clock.now())
        reloader.serve()

    def _driver_troubles(self) -> tuple[str, ...]:
        return self._driver.trouble() if isinstance(self._driver, Ailing) else ()

    def _tell_ails(self) -> None:
        ails = self._driver_troubles()
        for new in (a for a in ails if a not in self._ails):
            self._log.warn(f"{self._driver.name}: {new}")
        if self._ails and not ails:
            self._log.say(f"{self._driver.name} is well again")
        self._ails = ails

    def _accept(self, config: Config, catalog: Catalog, who: str) -> Config:
        self._inbox.put(Reconfigured(config.policy(), catalog, who))
        self._around.configure(config, self._clock.now())
        before, self._config = self._config, config
        return before

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
        self._around.close_hooks()
        self._workers.close(CLOSE_SECONDS, self._config.reset.boot_timeout.total_seconds())
        self._loop.drain()
        self._around.look(self._loop.node, self._ails, self._clock.now())

    def describe(self) -> Mapping[str, object]:
        """Return what `cmgr status` says of the service itself. Any thread."""
        node = self._loop.node
        unwritten = bare(self._loop.trouble, "save")
        troubles = [f"the database cannot be written: {unwritten}"] if unwritten else []
        troubles += [f"cannot reach {r.name}: {r.why_down}" for r in node.runtimes.values() if r.why_down]
        troubles += [f"{self._driver.name}: {ails}" for ails in self._driver_troubles()]
        if self._metrics is not None and self._metrics.trouble():
            troubles.append(self._metrics.trouble())
        troubles += self._around.troubles()
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
            **view.maintenance(node),
            "troubles": troubles,
        }
