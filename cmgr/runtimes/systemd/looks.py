"""Looking at units, and what systemd forgets of them."""

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from cmgr.config.settings import Unit
from cmgr.model.values.containers import Container, Exit
from cmgr.runtimes.following import Limits
from cmgr.runtimes.systemd.bus import Bus
from cmgr.runtimes.systemd.unit import Described, described


class Looks:
    """Says how units are. Any thread.

    `units`: those of the configuration. `others`: returns the names of more, of those that are held, say.
    """

    def __init__(
        self, path: str, units: Collection[Unit], others: Callable[[], Collection[str]], limits: Limits
    ) -> None:
        self.limits = limits
        self._path = path
        self._units = {unit.name: unit for unit in units}
        self._others = others
        self._lock = threading.Lock()
        self._last: dict[str, Container] = {}
        self._stopped: dict[str, str] = {}

    def names(self) -> Mapping[str, Unit]:
        """Return the units that are taken care of."""
        return {**{name: Unit(name) for name in self._others()}, **self._units}

    def bus(self, what: str) -> Bus:
        """Return a new connection. Raises `RuntimeDown`."""
        return Bus(self._path, what, self.limits.look)

    def unit(self, bus: Bus, name: str) -> Described:
        """Return the unit as it is now."""
        wish = self._units.get(name, Unit(name))
        found = described(name, bus.properties(bus.ask("LoadUnit", "s", name)), wish)
        with self._lock:
            unit = replace(found, container=self._completed(found.container))
            self._last[name] = unit.container
        return unit

    def stopped(self, unit: Container) -> None:
        """Note that the life in which it is ends because cmgr wants that."""
        with self._lock:
            self._stopped[unit.name] = unit.run

    def _completed(self, now: Container) -> Container:
        """Add what systemd forgets: it unloads a unit that has ended well, and then knows no life of it any more."""
        last = self._last.get(now.name)
        if not now.running and not now.run and last is not None and last.run:
            now = replace(now, run=last.run, exit=last.exit or Exit(0, datetime.now(UTC), asked=True))
        if now.exit is not None and self._stopped.get(now.name) == now.run:
            now = replace(now, exit=replace(now.exit, asked=True))
        return now
