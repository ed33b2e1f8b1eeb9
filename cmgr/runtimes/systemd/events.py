"""systemd's signals, followed for ever. A signal says too little of a unit: whoever hears one looks at the unit.

The look may come late, though, and systemd has unloaded the unit by then: its life is noted from the signal.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from cmgr.errors import ContainerError
from cmgr.host.bus import MANAGER, PROPERTIES, Bus, Signal, object_path, values
from cmgr.model.values.messages.facts import ContainerRemoved, ContainerSeen, RuntimeDown, RuntimeUp
from cmgr.ports import RuntimeFact
from cmgr.runtimes.following import Follower
from cmgr.runtimes.systemd.looks import Looks
from cmgr.runtimes.systemd.unit import NAME, key

_RELOADS = f"path='{MANAGER}',member='Reloading'"
_CHANGES = f"interface='{PROPERTIES}',member='PropertiesChanged',path_namespace='{MANAGER}/unit'"


class Watcher(Follower):
    """Tells how each unit is that a signal is about."""

    def __init__(self, looks: Looks, tell: Callable[[RuntimeFact], None]) -> None:
        super().__init__("systemd-events", _Comings(tell), looks.limits)
        self._looks = looks
        self._tell = tell
        self._bus: Bus | None = None

    def _follow(self) -> None:
        with self._looks.bus("follow systemd's signals") as bus:
            self._bus = bus
            bus.listen(_CHANGES, _RELOADS)
            self._flows()
            while not self.closed:
                signal = bus.signal(None)
                if signal is not None and signal.name == "PropertiesChanged":
                    self._heard(signal)
                elif signal is not None and signal.body == (False,):
                    self._look(self._looks.names())  # Reloaded: any of them may be another now, or gone.

    def _heard(self, signal: Signal) -> None:
        names = [name for name in self._looks.names() if object_path(name) == signal.path]
        for name in names:
            self._looks.heard(name, values(signal.body[1]))
        self._look(names)

    def _look(self, units: Iterable[str]) -> None:
        if not (names := tuple(units)):
            return
        with self._looks.bus("look at a unit") as bus:
            for name in names:
                unit = self._looks.unit(bus, name)
                if not self.closed:
                    self._tell(ContainerRemoved(key(name)) if unit.gone else ContainerSeen(unit.container))

    def _cut(self) -> None:
        if self._bus is not None:
            self._bus.cut()

    def _has_died(self, error: ContainerError) -> bool:
        return False  # Units run on whatever becomes of the bus.


class _Comings:
    def __init__(self, tell: Callable[[RuntimeFact], None]) -> None:
        self._tell = tell

    def up(self, restarted: bool, came: datetime | None) -> None:
        self._tell(RuntimeUp(NAME, restarted, came))

    def down(self, why: str) -> None:
        self._tell(RuntimeDown(NAME, why))
