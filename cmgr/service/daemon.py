"""The service from start to end: build everything from the configuration, serve, take it down in reverse order."""

import os
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from socket import gethostname
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from cmgr import __version__
from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_catalog
from cmgr.drivers.machine.pretended import Pretended
from cmgr.errors import ConfigError, DriverError
from cmgr.frozen import replace
from cmgr.host.host import host_of, unstarted
from cmgr.loading import settled
from cmgr.model.values.handling.catalog import Catalog
from cmgr.model.values.messages.facts import CalendarRead, Event, Fact, Reconfigured, Restarted
from cmgr.model.values.node import SYSTEMD, only_covers
from cmgr.model.values.troubles import Trouble
from cmgr.sentences.sentence import say
from cmgr.service.desk import Desk
from cmgr.service.door.answers import Answers
from cmgr.service.door.api import routes
from cmgr.service.door.control import ControlServer
from cmgr.service.door.http.peer_roles import Roles
from cmgr.service.door.orders.chips import Orders
from cmgr.service.door.pages import PageDoor, Pages
from cmgr.service.door.scrapes import MetricsServer
from cmgr.service.door.sessions import Sessions
from cmgr.service.door.shown import Shown
from cmgr.service.door.unready import refusing
from cmgr.service.extras import bundle_parts
from cmgr.service.extras.surroundings import Surroundings
from cmgr.service.listening import Listening, watched
from cmgr.service.log import setup as logs
from cmgr.service.loop import Loop
from cmgr.service.metrics.page import Metrics, Sources
from cmgr.service.part import Part
from cmgr.service.parts.agreement import Agreement, open_fleet
from cmgr.service.parts.cdi_files import Cdi
from cmgr.service.parts.core import Core
from cmgr.service.parts.database import Database
from cmgr.service.parts.exports import Exports
from cmgr.service.parts.looking import Looks, looks
from cmgr.service.parts.quarter import Quarter
from cmgr.service.parts.ranks import Ranks
from cmgr.service.parts.ready import Ready
from cmgr.service.parts.rebooting import Reboots, this_boot
from cmgr.service.parts.tellers import Drives, MachineSources, Opened, Summary, refusal
from cmgr.service.reloading import Reload, Reloader
from cmgr.service.systemd import Notifier
from cmgr.service.timing.jobs import Resyncs
from cmgr.service.timing.timetable import Timetable
from cmgr.service.work.drilling import Drills
from cmgr.service.work.workers import Workers
from cmgr.store import open_store
from cmgr.store.files import NAME
from cmgr.store.moved import take_along
from cmgr.vendor import told_too, vendors
from cmgr.view import status as view

if TYPE_CHECKING:
    from cmgr.view import shapes

P = TypeVar("P", bound=Part)

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
        hint = say("start.directory-and-mode")
        raise ConfigError(say("start.cannot-log", path=config.log.file), hint=hint) from error
    stack.callback(log.close)
    sys.unraisablehook = lambda lost: log.bug("an error was lost in a callback", lost.exc_value or RuntimeError())
    Service(config, heard, log, stack).serve(reload, look)


class Service:
    """One life of the service, which decides, and its parts. All is closed by `stack`, what was made last first."""

    def __init__(self, config: Config, heard: Listening, log: logs.Log, stack: ExitStack) -> None:
        self._config, self._heard, self._log, self._stack = config, heard, log, stack
        self._clock, self._inbox, self._driver = heard.clock, heard.inbox, heard.driver
        self._notifier = Notifier()
        self._state: shapes.ServiceState = "starting"
        self._parts: list[Part] = []
        clock, put, database = self._clock, self._inbox.put, Path(config.state_dir) / NAME
        catalog = load_catalog(config, log.warn)
        add = self._add
        self._timetable = add(Timetable(config, lambda: datetime.now(UTC), clock.drift, put, log.say))
        if told := take_along(database):
            log.warn(told)
        store = self._store = open_store(database, heard.right)
        stack.callback(store.close)
        first = replace(store.load(), policy=config.policy(), catalog=catalog, alive=store.alive)
        self._loop = Loop(first, self._inbox, store, lambda action: self._workers.submit(action), log)
        node = lambda: self._loop.node  # noqa: E731 - it is another one after each decision
        core = Core(config, self._driver, clock, log, put, node, self.own)
        self._database = add(Database(core, store, lambda: self._loop.trouble))
        self._drives = add(Drives(core, self._notifier))
        self._opened = add(Opened(core, self._drives.no_chips))
        self._machine = add(MachineSources(core))
        self._exports = add(Exports(config.export, node, lambda: clock.now() + clock.drift()))
        fleet = open_fleet(core)
        self._ranks = Ranks(self._driver, self._exports.host, node, fleet)
        self._agreement = add(Agreement(core, fleet, self._ranks.told))
        host, bus = host_of(config.systemd.bus), config.systemd.bus
        self._reboots = add(Reboots(core, host, self._opened.all, partial(unstarted, bus, os.getpid())))
        self._drills = add(Drills(self._driver, host, put, clock.now))
        sources = bundle_parts.Sources(self._driver, self._opened.all, database, node, clock.now)
        self._around = add(Surroundings(config, sources, put, log))
        self._cdi = add(Cdi(core, lambda: bool(self._database.damage)))
        self._resyncs = add(Resyncs(put, config.resync, clock.now))
        add(Summary(core, self._notifier))
        add(Looks(node, looks(core)))
        add(Ready(node, self._opened.all, put, clock.now, config))
        self._quarter = add(Quarter(database))

    def _add(self, part: P) -> P:
        """Have this part started, told, asked and closed with the others: in this order, and closed in reverse."""
        self._parts.append(part)
        self._stack.callback(part.close)
        return part

    def _doors(self, reload: Reload | None, look: "Callable[[], shapes.Check]") -> tuple[Part, ...]:
        """Make the parts that others ask, which can be there before the chips are known."""
        node, now, log = self._loop.booked, self._clock.now, self._log
        roles = Roles(self._config)
        desk, reloader = Desk(self._inbox), Reloader(reload, self._accept, self._inbox.nudge, log, self._notifier)
        self._signals(reloader.hang_up)
        orders = Orders(
            node, now, desk.give, reloader.ask, self._driver, self._drills,
            lambda: self._config.reports, Pretended(self._inbox.put).inject, roles,
        )  # fmt: skip
        answers = Answers(
            self._driver, node, self.own, now, Path(self._config.state_dir) / NAME, look, lambda: self._cdi.files,
            self._exports, self._agreement.told, self._ranks, lambda: self._config.downtime.reaction, self._opened.all,
        )  # fmt: skip
        pages = Pages(Sessions(roles.of_user), now, self._config.web.orders)
        shown = Shown(answers, lambda: datetime.now(UTC))
        table = refusing(routes(answers, shown, orders, pages), lambda: refusal(self._driver))
        control, web = ControlServer(self._config.socket, table, log), self._config.web.door
        control.admit(roles, self._heard.place)
        page = (PageDoor(Path(web), pages, table, log),) if web and Path(web).parent.is_dir() else ()
        # An order is counted before it is answered; nothing is read anew before all else was looked at.
        doors: tuple[Part, ...] = (*self._metrics(), desk, control, *page, reloader)
        return tuple(map(self._add, doors))

    def _metrics(self) -> tuple[Part, ...]:
        """Return who counts from now on, and who tells it; nobody when metrics are switched off."""
        if not self._config.metrics.listen:
            return ()
        told = partial(told_too, self._config)
        sources = Sources(self._loop, self._inbox, self._driver, self.own, self._clock, told, self._agreement.seen)
        metrics = Metrics(sources, self._store.outcomes())
        return metrics, MetricsServer(self._config.metrics, metrics.page, self._log.bug, self._log.warn)

    def _know_chips(self) -> None:
        """Make what depends on whose chips these are."""
        name = self._driver.name
        if any(vendor.name == name and not vendor.tables for vendor in vendors()):
            # Only now it has learned the meaning of its codes.
            self._loop.node = replace(self._loop.node, catalog=load_catalog(self._config, self._log.warn))
        self._cdi.know(name)
        write = lambda order: self._cdi.files.write(order.specs)  # noqa: E731
        around = replace(
            self._agreement.around(self._around.around),
            write_cdi=write,
            codes=self._drills.codes,
            reboot=self._reboots.schedule,
        )
        self._workers = Workers(self._driver, self._opened.all, self._opened.take, self._log.bug, around)

    def _restarted(self) -> Restarted:
        covering = () if self._config.systemd.units or not only_covers(self._loop.node) else (SYSTEMD,)
        openings, runtimes = self._timetable.read(), tuple(self._opened.all)
        told = self._driver.chips(), runtimes, openings, self._agreement.name, covering
        return Restarted(*told, self._machine.names, this_boot())

    def serve(self, reload: Reload | None, look: "Callable[[], shapes.Check]") -> None:
        """Begin, serve, and end."""
        others, doors = tuple(self._parts), self._doors(reload, look)
        self._loop.observers += [part.observe for part in self._parts]
        # Before any event can come: everything else is decided against what this sets up.
        self._around.begin(self._troubles)
        if not self._heard.watched:
            _start(doors)
            self._notifier.tell("READY=1")  # It can be asked, and tells alarms.
        since = self._clock.began if self._heard.watched else watched(self._heard, self._without_chips)
        if since is None:
            self._log.say("cmgr ends: no chip was known, and nothing was decided")
            return
        self._know_chips()
        first: list[Fact] = [self._restarted(), *self._database.found()]
        self._loop.step([Event(since, fact) for fact in first])
        _start(others)
        if self._heard.watched:
            _start(doors)
        self._stack.callback(self._end)
        self._state = "ready"
        chips, names = len(self._loop.node.chips), ", ".join(self._opened.all)
        self._log.say(f"cmgr {__version__} is ready: {chips} chips ({self._driver.name}), containers of {names}")
        self._notifier.tell("READY=1")
        Thread(target=self._settle, name="settle", daemon=True).start()
        self._loop.run(self._clock, self._tick, self._after_each, self._database.prune)

    def _without_chips(self, why: DriverError) -> None:
        """Serve for a moment while the chips are not known: tell of that, and decide nothing."""
        self._drives.no_chips(why)
        self._notifier.alive()
        self._around.look()

    def _settle(self) -> None:
        """Do what nobody has to wait for when the service begins."""
        settled()
        self._database.examine()

    def _tick(self) -> timedelta:
        watchdog = timedelta(seconds=self._notifier.watchdog_seconds)
        return min(self._resyncs.left(), TICK, watchdog / 2 if watchdog else TICK)

    def _signals(self, hang_up: Callable[[], None]) -> None:
        # No logging and no lock in here: a signal may come in the middle of either.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._inbox.stop())
        signal.signal(signal.SIGHUP, lambda *_: hang_up())

    def _after_each(self) -> None:
        self._notifier.alive()
        for part in self._parts:
            part.look()

    def _accept(self, config: Config, catalog: Catalog, who: str) -> Config:
        for part in self._parts:
            part.configure(config)  # The timetable alone can refuse, and it is the first.
        self._inbox.put(Reconfigured(config.policy(), catalog, who))
        self._inbox.put(CalendarRead(self._timetable.read()))
        before, self._config = self._config, config
        return before

    def _end(self) -> None:
        """Finish what is under way and book it; the next life goes on from there."""
        self._state = "stopping"
        self._notifier.tell("STOPPING=1")
        self._log.say("cmgr ends: containers are left as they are, and what is held is remembered")
        self._around.close_hooks()
        self._workers.close(CLOSE_SECONDS, self._loop.node.policy.reset.boot.total_seconds())
        self._loop.drain()
        self._around.look()

    def _troubles(self) -> tuple[Trouble, ...]:
        """Return what is wrong with the service and is not in the node. Any thread."""
        return (*self._loop.troubles(self._clock.now()), *(found for part in self._parts for found in part.troubles()))

    def own(self) -> view.Own:
        """Return what the service knows of itself. Any thread."""
        node, ails = self._loop.node, self._troubles()
        state = view.state_of_service(node, ails) if self._state == "ready" else self._state
        driver, since, told = self._driver.name, self._clock.began, self._machine.told()
        name, down = self._agreement.name or gethostname(), self._quarter.told()
        return view.Own(state, driver, tuple(node.runtimes), __version__, os.getpid(), since, ails, told, name, down)


def _start(parts: Iterable[Part]) -> None:
    for part in parts:
        part.start()
