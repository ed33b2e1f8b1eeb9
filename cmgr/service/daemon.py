"""The service from start to end: build everything from the configuration, serve, take it down in reverse order."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Collection
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from cmgr import __version__, frozen
from cmgr.config.settings import Config
from cmgr.config.sources import wanted
from cmgr.config.tables.catalog import load_catalog
from cmgr.drivers.machine.pretended import Pretended
from cmgr.errors import CmgrError, ConfigError, DriverError, StoreError, bare, chain, sentence
from cmgr.frozen import replace
from cmgr.host.host import host_of
from cmgr.model.containers.moving.cdi import specs_of
from cmgr.model.values.handling.catalog import Catalog
from cmgr.model.values.messages.facts import (
    CalendarRead,
    Event,
    Fact,
    Reconfigured,
    Restarted,
    Resync,
    RuntimeFound,
    TroubleMet,
)
from cmgr.model.values.node import SYSTEMD, Node, known_runtimes, only_covers, units_known
from cmgr.model.values.presence import FleetSeen, Presence
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.ports import Runtime
from cmgr.runtimes import appeared, open_runtimes, open_systemd
from cmgr.service.desk import Desk
from cmgr.service.door.answers import Answers
from cmgr.service.door.api import routes
from cmgr.service.door.control import ControlServer
from cmgr.service.door.orders.chips import Orders
from cmgr.service.door.pages import GROUP as PAGE_GROUP
from cmgr.service.door.pages import Pages, for_the_page
from cmgr.service.door.routes import Route
from cmgr.service.door.scrapes import MetricsServer
from cmgr.service.door.sessions import Sessions
from cmgr.service.door.unready import refusing
from cmgr.service.extras import bundle_parts
from cmgr.service.extras.surroundings import Surroundings
from cmgr.service.listening import Listening, ailing, of_driver, refusal, watched
from cmgr.service.log import setup as logs
from cmgr.service.loop import Loop, Step
from cmgr.service.metrics.chips import Measuring
from cmgr.service.metrics.page import Metrics, Sources
from cmgr.service.parts.agreement import agree, picture, seen
from cmgr.service.parts.cdi_files import CdiFiles
from cmgr.service.parts.exports import Exports
from cmgr.service.parts.hangs import Hangs
from cmgr.service.parts.ranks import Ranks
from cmgr.service.reloading import Reload, Reloader
from cmgr.service.systemd import Notifier
from cmgr.service.timing.clock import history_ends, steadied
from cmgr.service.timing.jobs import Jobs
from cmgr.service.timing.timetable import Timetable
from cmgr.service.work.drilling import Drills
from cmgr.service.work.workers import Workers
from cmgr.store import open_store
from cmgr.store.files import NAME, Lock
from cmgr.vendor import giving, told_too
from cmgr.view import status as view
from cmgr.view.presence import presence, refusal_troubles
from cmgr.view.troubles import troubles as all_troubles
from cmgr.words import one_line

if TYPE_CHECKING:
    from cmgr.drivers.machine.watch import MachineWatch
    from cmgr.fleet.etcd import EtcdFleet
    from cmgr.store.sqlite import SqliteStore
    from cmgr.view import group_shapes, shapes

TICK = timedelta(seconds=5)
"""How often the deciding thread shows that it lives, at the least."""

CLOSE_SECONDS = 5.0


def serve(
    config: Config, heard: Listening, stack: ExitStack, reload: Reload, look: "Callable[[], shapes.Check]"
) -> None:
    """Serve as `start.run` says, with what listens already. `stack` closes what is opened."""
    try:
        log = logs.set_up(config.log.level, config.log.file)
    except OSError as error:
        raise ConfigError(f"cannot log to {config.log.file}", hint="check its directory and mode") from error
    stack.callback(log.close)
    sys.unraisablehook = lambda lost: log.bug("an error was lost in a callback", lost.exc_value or RuntimeError())
    Service(config, heard, log, stack).serve(reload, look)


class Service:
    """One life of the service. Everything that it opens is closed by `stack`, the last first."""

    def __init__(self, config: Config, heard: Listening, log: logs.Log, stack: ExitStack) -> None:
        self._config = config
        self._heard = heard
        self._clock, self._inbox, self._driver = heard.clock, heard.inbox, heard.driver
        # All that was heard comes after that.
        self._since = self._clock.began
        self._log = log
        self._stack = stack
        self._notifier = Notifier()
        self._state: shapes.ServiceState = "starting"
        self._ails: tuple[str, ...] = ()
        self._looked: tuple[Node, object, Presence] | None = None
        self._jobs = Jobs(self._resync, config.resync, self._clock.drift())
        self._pages = Pages(Sessions(), self._clock.now, config.web.orders)
        self._shut = ""
        catalog = load_catalog(config, log.warn)
        self._timetable = Timetable(config, lambda: datetime.now(UTC), self._clock.drift)
        self._store = self._open_store(heard.right)
        node = replace(self._store.load(), policy=config.policy(), catalog=catalog)
        if (why := refusal(self._driver)) is not None:
            self._tell_of_no_chips(why)  # Whoever has no runtime either is told of both.
        self._runtimes = {r.name: r for r in self._open_runtimes(known_runtimes(node))}
        self._appeared = partial(appeared, config, self._runtimes)
        stack.callback(self._close_runtimes)
        self._machine = self._open_machine()
        self._pretend = Pretended(self._inbox.put).inject
        self._around = self._surroundings()
        self._exports = Exports(config.export, lambda: self._loop.node, lambda: self._clock.now() + self._clock.drift())
        self._fleet = self._open_fleet()
        self._ranks = Ranks(self._driver, self._exports.host, lambda: self._loop.node, self._fleet)
        self._drills = Drills(self._driver, host_of(config.systemd.bus), self._inbox.put, self._clock.now)
        stack.callback(self._drills.close)
        self._loop = Loop(node, self._inbox, self._store, lambda action: self._workers.submit(action), self._log)
        self._loop.observers += [self._around.observe, self._meet_units]
        self._metrics = self._open_metrics()

    def _know_chips(self) -> None:
        """Make what depends on whose chips these are."""
        name, cdi = self._driver.name, self._config.cdi
        self._loop.node = replace(self._loop.node, policy=self._config.policy(name))
        self._cdi = files = CdiFiles(Path(cdi.dir), giving(name), cdi.give)
        around = self._around.around
        around = replace(around, write_cdi=lambda order: files.write(order.specs), codes=self._drills.codes)
        if self._fleet is not None:
            around = replace(around, agree=partial(agree, self._fleet))
        self._workers = Workers(self._driver, self._runtimes, self._take, self._log.bug, around)

    def _open_store(self, right: Lock) -> "SqliteStore":
        store = open_store(Path(self._config.state_dir) / NAME, right)
        self._stack.callback(store.close)
        self._damage = store.damage
        return store

    def _open_machine(self) -> "MachineWatch | None":
        """Return who asks the machine's sources; None where there is nobody to ask."""
        names = wanted(self._config.machine, self._config.driver)
        if not names:
            return None
        # Code that nobody asks for is not loaded.
        from cmgr.drivers.machine.watch import MachineWatch, sources

        machine = MachineWatch(sources(self._config.machine, names), self._config.machine)
        self._stack.callback(machine.close)
        return machine

    def _open_runtimes(self, known: Collection[str]) -> tuple[Runtime, ...]:
        return open_runtimes(self._config, known, lambda: units_known(self._loop.node))

    def _meet_units(self, step: Step) -> None:
        """Take systemd on when a container first names a unit. An observer of the loop."""
        node = step.after
        if node.containers is step.before.containers or SYSTEMD in self._runtimes or SYSTEMD in node.gone:
            return
        if units_known(node):
            runtime = open_systemd(self._config, lambda: units_known(self._loop.node))
            self._runtimes[SYSTEMD] = runtime
            self._inbox.put(RuntimeFound(SYSTEMD, covering=True))
            runtime.watch(self._take)

    def _watch(self, opened: Collection[Runtime]) -> None:
        """Be told of everything from now on. `opened`: the runtimes that there were before the first fact."""
        if self._machine is not None:
            self._machine.start(self._inbox.put)
        for runtime in opened:
            runtime.watch(self._take)
        if self._fleet is not None:
            self._fleet.show(lambda: replace(self._presence(), parts=self._ranks.told()))
            self._fleet.watch(self._inbox.put)

    def _restarted(self) -> Restarted:
        covering = () if self._config.systemd.units or not only_covers(self._loop.node) else (SYSTEMD,)
        sources = self._machine.names if self._machine is not None else ()
        openings, runtimes = self._timetable.read(), tuple(self._runtimes)
        name = self._fleet.name if self._fleet is not None else ""
        return Restarted(self._driver.chips(), runtimes, openings, name, covering, sources)

    def _open_fleet(self) -> "EtcdFleet | None":
        """Return this appliance in its fleet, if there is one. Nobody is asked yet."""
        if not self._config.fleet.engine:
            return None
        from cmgr.fleet import open_fleet  # Without a fleet nothing of it is loaded.

        fleet = open_fleet(self._config.fleet)
        self._stack.callback(fleet.close)
        return fleet

    def _close_runtimes(self) -> None:
        for runtime in tuple(self._runtimes.values()):
            runtime.close()

    def _find_runtimes(self) -> None:
        """Open what has come since. On the thread of the jobs."""
        for runtime in self._appeared():
            self._runtimes[runtime.name] = runtime  # Before anything can be asked of it.
            self._inbox.put(RuntimeFound(runtime.name))
            runtime.watch(self._take)

    def _resync(self, fact: Resync) -> None:
        self._find_runtimes()
        self._inbox.put(fact)

    def _open_metrics(self) -> MetricsServer | None:
        """Count from now on, to tell it later; not even that when metrics are switched off."""
        listen = self._config.metrics.listen
        if not listen:
            return None
        told = partial(told_too, self._config)
        sources = Sources(self._loop, self._inbox, self._driver, self.own, self._clock, told, self._fleet_seen)
        metrics = Metrics(sources, self._store.outcomes())
        self._loop.observers.append(metrics.after_step)
        return MetricsServer(listen, metrics.page, self._log.bug, self._log.warn)

    def _surroundings(self) -> Surroundings:
        database = Path(self._config.state_dir) / NAME
        sources = bundle_parts.Sources(self._driver, self._runtimes, database, lambda: self._loop.node, self._clock.now)
        return Surroundings(self._config, sources, self._inbox.put, self._log)

    def serve(self, reload: Reload | None, look: "Callable[[], shapes.Check]") -> None:
        """Begin, serve, and end."""
        reloader = Reloader(reload, self._accept, self._log, self._notifier)
        table = self._routes(reloader, look)
        control = ControlServer(self._config.socket, table, self._log.bug)
        self._loop.observers.append(lambda step: control.tell(step.notes))
        self._signals(reloader)
        opened = tuple(self._runtimes.values())
        # Before any event can come: everything else is decided against what this sets up.
        self._around.begin(self._clock.now())
        self._stack.callback(self._around.close)
        if not self._heard.watched:
            self._open_doors(control, table)
            self._notifier.tell("READY=1")  # It can be asked, and tells alarms.
        since = self._since if self._heard.watched else watched(self._heard, self._without_chips)
        if since is None:
            self._log.say("cmgr ends: no chip was known, and nothing was decided")
            return
        self._know_chips()
        first: list[Fact] = [self._restarted(), *([_damaged(self._damage)] if self._damage else [])]
        self._loop.step([Event(since, fact) for fact in first])
        self._tidy_cdi()
        self._watch(opened)
        if self._heard.watched:
            self._open_doors(control, table)
        self._stack.callback(self._jobs.close)
        self._look_for_hangs()
        self._exports.start()
        self._stack.callback(self._exports.close)
        self._loop.observers.append(lambda step: self._exports.nudge() if step.notes else None)
        self._stack.callback(self._end)
        self._state = "ready"
        chips, names = len(self._loop.node.chips), ", ".join(self._runtimes)
        self._log.say(f"cmgr {__version__} is ready: {chips} chips ({self._driver.name}), containers of {names}")
        self._notifier.tell("READY=1", f"STATUS={chips} chips, strategy {self._config.strategy}")
        settle = partial(_settle, self._jobs, self._store, self._inbox.put, self._log)
        Thread(target=settle, name="settle", daemon=True).start()
        self._loop.run(self._clock, self._tick(), lambda: self._after_each(reloader), self._prune)

    def _without_chips(self, why: DriverError) -> None:
        """Serve for a moment while the chips are not known: tell of that, and decide nothing."""
        self._tell_of_no_chips(why)
        self._notifier.alive()
        self._around.look(self._loop.node, self._troubles(), self._clock.now())

    def _tell_of_no_chips(self, why: DriverError) -> None:
        text = one_line(f"no chip is watched: {sentence(why)}")
        if self._ails != (text,):
            self._ails = (text,)
            self._log.warn(text)
            self._notifier.tell(f"STATUS={text}")

    def _open_doors(self, control: ControlServer, table: tuple[Route, ...]) -> None:
        control.start()
        self._stack.callback(control.close)
        self._open_door(table)
        if self._metrics is not None:
            self._metrics.start()
            self._stack.callback(self._metrics.close)

    def _look_for_hangs(self) -> None:
        hangs = Hangs(lambda: self._loop.node, Measuring(self._driver), self._inbox.put, self._clock.now)
        hangs.start()
        self._stack.callback(hangs.close)

    def _tidy_cdi(self) -> None:
        """Take away files of an earlier life that nothing decides on any more."""
        # With its database slots are forgotten that containers still ask for.
        if self._config.observe or self._damage or specs_of(self._loop.node):
            return
        try:
            self._cdi.write(())
        except CmgrError as error:
            self._log.warn(chain(error))

    def _take(self, fact: Fact) -> None:
        """Take in what a runtime told."""
        self._inbox.put(steadied(fact, self._clock.drift()))

    def _tick(self) -> timedelta:
        watchdog = timedelta(seconds=self._notifier.watchdog_seconds)
        return min(TICK, watchdog / 2) if watchdog else TICK

    def _routes(self, reloader: Reloader, look: "Callable[[], shapes.Check]") -> tuple[Route, ...]:
        def node() -> Node:
            return self._loop.node

        now, desk = self._clock.now, Desk(self._inbox)
        self._loop.observers.append(desk.observe)

        def read_anew(who: str) -> "shapes.Reloaded":
            return reloader.ask(who, self._inbox.nudge)

        orders = Orders(
            node, now, desk.give, read_anew, self._driver, self._drills, lambda: self._config.reports, self._pretend
        )
        database = Path(self._config.state_dir) / NAME
        seen, exports = self._fleet_told, self._exports
        files = lambda: self._cdi  # noqa: E731 - there is none before the chips are known
        answers = Answers(self._driver, node, self.own, now, database, look, files, exports, seen, self._ranks)
        return refusing(routes(answers, orders, self._pages), lambda: refusal(self._driver))

    def _open_door(self, table: tuple[Route, ...]) -> None:
        """Let the page's process in where there is a place for it. No recovery depends on that."""
        path = Path(self._config.web.door)
        if not self._config.web.door or not path.parent.is_dir():
            return
        door = ControlServer(path, for_the_page(self._pages, table), self._log.bug, group=PAGE_GROUP)
        try:
            door.start()
        except ConfigError as error:
            self._shut = chain(error)
            self._log.warn(f"there is no page: {self._shut}")
            return
        self._stack.callback(door.close)
        self._loop.observers.append(lambda step: door.tell(step.notes))

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

    def _presence(self) -> Presence:
        """Return what the other appliances of the fleet are shown. Any thread."""
        node, beside = self._loop.node, (self._state, self._troubles())
        # It is asked for every 2 s, and mostly nothing is new: the node is the same one then.
        if self._looked is None or self._looked[0] is not node or self._looked[1] != beside:
            own = self.own()
            self._looked = node, beside, presence(node, own.state, self._since, all_troubles(node, own.troubles))
        return self._looked[2]

    def _fleet_seen(self) -> FleetSeen:
        return seen(self._fleet, self._clock.drift())

    def _fleet_told(self, nodes: bool) -> "group_shapes.Fleet":
        return picture(self._fleet, self._loop.node, self._presence(), self._fleet_seen(), nodes=nodes)

    def _after_each(self, reloader: Reloader) -> None:
        self._notifier.alive()
        drift = self._clock.drift()
        self._jobs.look(drift)
        self._tell_ails()
        if self._store.damage != self._damage:
            self._damage = self._store.damage
            self._inbox.put(_damaged(self._damage))
        self._around.look(self._loop.node, self._troubles(), self._clock.now())
        self._correct_history(drift)
        if (openings := self._timetable.changed()) is not None:
            self._inbox.put(CalendarRead(openings))
        reloader.serve()

    def _correct_history(self, drift: timedelta) -> None:
        try:
            self._store.correct(drift)
        except StoreError as error:
            self._log.warn(chain(error))

    def _tell_ails(self) -> None:
        ails = ailing(self._driver)
        for new in (a for a in ails if a not in self._ails):
            self._log.warn(f"{self._driver.name}: {new}")
        if self._ails and not ails:
            self._log.say(f"{self._driver.name} is well again")
        self._ails = ails

    def _accept(self, config: Config, catalog: Catalog, who: str) -> Config:
        self._timetable.configure(config)
        self._inbox.put(Reconfigured(config.policy(self._driver.name), catalog, who))
        self._inbox.put(CalendarRead(self._timetable.read()))
        self._around.configure(config, self._clock.now())
        before, self._config = self._config, config
        return before

    def _prune(self) -> None:
        history = self._config.history
        try:
            system = self._clock.now() + self._clock.drift()
            ends = history_ends(system, self._store.noted, self._clock.now() - self._since)
            gone = self._store.prune(ends - history.keep, history.max_notes)
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
        self._workers.close(CLOSE_SECONDS, self._loop.node.policy.reset.boot.total_seconds())
        self._loop.drain()
        self._around.look(self._loop.node, self._troubles(), self._clock.now())

    def _troubles(self) -> tuple[Trouble, ...]:
        """Return what is wrong with the service and is not in the node. Any thread."""
        found, unwritten = [*self._loop.hang(self._clock.now())], bare(self._loop.trouble, "save")
        if unwritten:
            hint = f"df -h {self._config.state_dir}; dmesg"
            text = "the database cannot be written"
            found.append(Trouble(TroubleKind.DATABASE, "", text, unwritten, hint))
        found += of_driver(self._driver)
        for source in (each for each in self._sources() if each["on"] and each["why"]):
            text = f"source {source['name']} tells nothing of the machine"
            found.append(Trouble(TroubleKind.SOURCE, source["name"], text, source["why"], "cmgr check"))
        found += (
            refusal_troubles(*self._fleet.refusal()) if self._fleet is not None and self._loop.node.engine.up else ()
        )
        degraded = (
            ("metrics", "metrics are not served", self._metrics.trouble() if self._metrics else "", "cmgr check"),
            ("web", "there is no page", self._shut, "cmgr check"),
            ("alarms", "alarms are not sent", "; ".join(self._around.troubles()), "cmgr check"),
            ("cdi", "CDI files are not written", self._loop.node.cdi.error, f"look at {self._config.cdi.dir}"),
            ("export", "exported files are not written", self._exports.trouble, f"look at {self._config.export.dir}"),
            ("jobs", "what events did not tell is not looked for", self._jobs.trouble, "journalctl -u cmgr"),
        )
        found += [Trouble(TroubleKind.DEGRADED, name, text, why, hint) for name, text, why, hint in degraded if why]
        if self._loop.bugs:
            text = f"{self._loop.bugs} decisions met a bug"
            found.append(Trouble(TroubleKind.BUG, "", text, "please report it", "journalctl -u cmgr -p err"))
        return tuple(found)

    def own(self) -> view.Own:
        """Return what the service knows of itself. Any thread."""
        node, ails = self._loop.node, self._troubles()
        state = view.state_of_service(node, ails) if self._state == "ready" else self._state
        return view.Own(
            state, self._driver.name, tuple(node.runtimes), __version__, os.getpid(), self._since, ails, self._sources()
        )

    def _sources(self) -> "tuple[shapes.Source, ...]":
        states = self._machine.states() if self._machine is not None else ()
        return tuple({"name": each.name, "on": not each.off, "why": each.off or each.deaf} for each in states)


def _settle(jobs: Jobs, store: "SqliteStore", put: Callable[[TroubleMet], None], log: logs.Log) -> None:
    """Do what nobody has to wait for when the service begins."""
    jobs.start(log.warn)
    # The first fault has to wait for no compiler.
    frozen.finish()
    # Objects that live now live to the end: the collector need not look at them again and again.
    gc.freeze()
    if damage := store.examine():
        put(_damaged(damage))  # That is saved, and so begins the file anew.


def _damaged(what: str) -> TroubleMet:
    hint = "look at cmgr status and at your containers"
    return TroubleMet(Trouble(TroubleKind.DAMAGE, "database", "the database was damaged", what, hint, stays=True))
