"""Looking at units, and what systemd forgets of them."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from cmgr.config.settings import Unit
from cmgr.host.bus import Bus
from cmgr.model.values.services.containers import Container, Exit
from cmgr.runtimes.following import Limits
from cmgr.runtimes.systemd.clients import Call, commands, names_of, tells_of
from cmgr.runtimes.systemd.unit import DOWN, Described, described

Clients = Callable[[], Mapping[str, Sequence[Call]]]
Named = Callable[[], Mapping[str, Collection[Container]]]


class Looks:
    """Says how units are. Any thread.

    `units`: those of the configuration. `others`: returns the names of more, of those that are held, say, each with the
    containers that name it. `clients`: returns the clients that are found in units; `adopt`: a unit with a client is
    one of these, too, and runs what that names.
    """

    def __init__(
        self,
        path: str,
        units: Collection[Unit],
        others: Named,
        clients: Clients = dict,
        adopt: bool = False,
    ) -> None:
        self.limits = Limits()
        self._path = path
        self._units = {unit.name: unit for unit in units}
        self._others = others
        self._clients = clients
        self._adopt = adopt
        self._running: Mapping[str, Sequence[Call]] = {}
        self._lock = threading.Lock()
        self._told: dict[str, Mapping[str, Any]] = {}
        self._takes: dict[str, frozenset[str]] = {}
        self._last: dict[str, Described] = {}
        self._stopped: dict[str, str] = {}
        self._ordered: dict[str, str] = {}

    def names(self) -> Mapping[str, Unit]:
        """Return the units that are taken care of, and those that systemd stops with them."""
        found = {unit for unit, calls in self._running.items() if self._adopt and names_of(calls)}
        names = new = {*found, *self._others(), *self._units}
        with self._lock:
            while new := {unit for name in new for unit in self._takes.get(name, ())} - names:
                names = names | new
        return {**{name: Unit(name) for name in names}, **self._units}

    def find_clients(self) -> None:
        """Look which units run containers, where that matters."""
        self._running = self._clients() if self._adopt or any(self._others().values()) else {}

    def bus(self, what: str) -> Bus:
        """Return a new connection. Raises `RuntimeDown`."""
        return Bus(self._path, what, self.limits.look)

    def unit(self, bus: Bus, name: str) -> Described:
        """Return the unit as it is now."""
        wish = self._units.get(name, Unit(name))
        told = bus.properties(bus.ask("LoadUnit", "s", name))
        found = described(name, told, wish, _left(bus, name, told))
        with self._lock:
            unit = self._completed(found)
            self._note(unit)
            # Systemd forgets a unit, and so that it goes with this one, as soon as it is down: before this one is.
            takes = unit.container.takes if unit.settled else unit.container.takes | self._takes.get(name, frozenset())
            self._takes[name] = takes
        calls = self._running.get(name, ()) if unit.container.running else ()
        runs = names_of(calls) if self._adopt else frozenset()
        named = self._others().get(name, ())
        calls = (*calls, *commands(told)) if named else ()
        vouches = frozenset(c.key for c in named if any(tells_of(call, c) for call in calls))
        return replace(unit, container=replace(unit.container, runs=runs, vouches=vouches, takes=takes))

    def heard(self, name: str, told: Mapping[str, Any]) -> None:
        """Note the life of the unit from a signal, `told`: it may be over and forgotten before anybody looks.

        Its processes have a signal of their own, which comes before that of its state.
        """
        with self._lock:
            self._told[name] = {**self._told.get(name, {}), **told}
            found, last = described(name, self._told[name], Unit(name)), self._last.get(name)
            # A life has its word before it begins.
            over = last is not None and last.container.run == found.container.run
            if "ActiveState" in told and found.container.run and (found.container.running or over):
                self._note(found)

    def stopped(self, unit: Container) -> None:
        """Note that the life in which it is ends because cmgr wants that."""
        with self._lock:
            self._stopped[unit.name] = unit.run

    def _note(self, unit: Described) -> None:
        # Signals and other threads' looks come late: a life gives way to none before it, an end not to its beginning.
        last = self._last.get(unit.container.name)
        if unit.ordered:
            self._ordered[unit.container.name] = unit.container.run
        if last is None or (unit.began, not unit.container.running) >= (last.began, not last.container.running):
            self._last[unit.container.name] = unit

    def _completed(self, found: Described) -> Described:
        """Add what systemd forgets: it unloads a unit that has ended well, and then knows no life of it any more."""
        now, began = found.container, found.began
        last = self._last.get(now.name)
        if not now.running and not now.run and last is not None and last.container.run:
            # Of an end that was not told yet a signal is on its way, which says how it went.
            ours = self._stopped.get(now.name) == last.container.run
            end = last.container.exit or (Exit(0, datetime.now(UTC), asked=True) if ours else None)
            now, began = replace(now, run=last.container.run, exit=end), last.began
        if now.exit is not None and now.run in (self._stopped.get(now.name), self._ordered.get(now.name)):
            now = replace(now, exit=replace(now.exit, asked=True))
        return replace(found, container=now, began=began)


def _left(bus: Bus, name: str, told: Mapping[str, Any]) -> int:
    """Return the main process of a unit that is down, if it lives all the same: systemd has not seen its end."""
    pid = told.get("ExecMainPID", 0)
    if told.get("ActiveState") not in DOWN or not pid or told.get("ExecMainExitTimestampMonotonic"):
        return 0
    return pid if pid in {number for _, number, _ in bus.ask("GetUnitProcesses", "s", name)} else 0
