"""A private systemd, and what people do to its units without cmgr."""

from cmgr.config.settings import Unit
from cmgr.model.values.services.containers import NO_RESTART, Container, ContainerKey
from cmgr.runtimes.systemd.runtime import SystemdRuntime
from cmgr.runtimes.systemd.unit import key
from tests.support.daemons.systemd import Systemd

OBEYS = "/bin/sleep infinity"
IGNORES = {"Type": "forking", "ExecStart": """/bin/sh -c "trap '' TERM; sleep infinity &" """}
"""Its start ends when the signal is ignored already."""


class SystemdWorld:
    always = NO_RESTART
    blames = False
    blames_again = False
    outlives = True

    def __init__(self, systemd: Systemd) -> None:
        self.systemd = systemd
        self.units: dict[str, Unit] = {}
        self._made: set[str] = set()
        self.naming: dict[str, tuple[Container, ...]] = {}
        self.runtime = SystemdRuntime(systemd.socket, (), lambda: {**dict.fromkeys(self.units, ()), **self.naming})

    def close(self) -> None:
        self.runtime.close()
        for unit in tuple(self._made):
            if "@." not in unit:
                # One with Restart= lives on beyond its file, and becomes an instance of a template of its name.
                self.stop(key(unit))
            self.remove(key(unit))

    def define(self, unit: str, chips: tuple[int, ...] = (0,), **settings: str) -> ContainerKey:
        """Write a unit's file and have cmgr take care of it."""
        self.systemd.define(unit, **{"ExecStart": OBEYS, **settings})
        self._made.add(unit)
        if chips:
            self.units[unit] = Unit(unit, chips)
        return key(unit)

    def create(
        self,
        name: str,
        *,
        chips: str = "0",
        policy: str = NO_RESTART,
        ignores_term: bool = False,
        auto_remove: bool = False,
        labels: bool = False,
    ) -> ContainerKey:
        numbers = tuple(map(int, chips.split(","))) if chips else ()
        made = self.define(f"{name}.service", numbers, **(IGNORES if ignores_term else {}))
        self.start(made)
        return made

    def start(self, key: ContainerKey) -> None:
        self.systemd.systemctl("start", key.id)

    def stop(self, key: ContainerKey) -> None:
        self.systemd.systemctl("stop", key.id)

    def pause(self, key: ContainerKey) -> None:
        raise NotImplementedError

    def resume(self, key: ContainerKey) -> None:
        raise NotImplementedError

    def die(self, key: ContainerKey) -> None:
        self.systemd.systemctl("kill", "--signal=KILL", key.id)

    def remove(self, key: ContainerKey) -> None:
        if key.id in self._made:
            self._made.discard(key.id)
            self.systemd.systemctl("kill", "--signal=KILL", key.id) if self.running(key) else None
            self.systemd.undefine(key.id)

    def running(self, key: ContainerKey) -> bool:
        return self.systemd.property(key.id, "ActiveState") not in ("inactive", "failed")

    def restart_daemon(self) -> None:
        raise NotImplementedError
