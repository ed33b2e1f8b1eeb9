"""systemd, through D-Bus: each unit that it is to take care of is a container, stopped and started as `systemctl` does.

All that systemd does by itself stays so: `Restart=`, the order between units, what else stops with a unit. A unit that
was stopped is started by no policy, so that there is none to switch off.
"""

import time
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from cmgr.config.settings import Unit
from cmgr.errors import ContainerError, ContainerGone, RunsAgain, RuntimeAils
from cmgr.host.bus import MANAGER, Bus
from cmgr.model.values.services.containers import Container, ContainerKey, Exit
from cmgr.ports import Halt, RuntimeFact
from cmgr.runtimes.systemd.events import Watcher
from cmgr.runtimes.systemd.looks import Clients, Looks, Named
from cmgr.runtimes.systemd.unit import NAME, Described

_UP = 5.0
"""So many seconds it is waited for that a unit is up. Then it is enough that its life has begun: it is starting."""

_START = 50.0
"""So many seconds more the begin of its life is waited for."""

_KILL = 25.0
"""So many seconds a kill is waited for."""

_JOBS = f"path='{MANAGER}',member='JobRemoved'"
_SIGKILL = 9


class SystemdRuntime:
    """The arguments are those of `Looks`."""

    name = NAME

    def __init__(
        self,
        path: str,
        units: Collection[Unit] = (),
        others: Named = dict,
        clients: Clients = dict,
        adopt: bool = False,
    ) -> None:
        self._looks = Looks(path, units, others, clients, adopt)
        self._watcher: Watcher | None = None

    def list(self) -> tuple[Container, ...]:
        self._looks.find_clients()
        found: dict[str, Described] = {}
        with self._looks.bus("list units") as bus:
            while new := self._looks.names().keys() - found.keys():
                found |= {name: self._looks.unit(bus, name) for name in sorted(new)}
        return tuple(unit.container for unit in found.values() if not unit.gone)

    def watch(self, tell: Callable[[RuntimeFact], None]) -> None:
        self._watcher = Watcher(self._looks, tell)
        self._watcher.start()

    def stop(self, key: ContainerKey, grace: timedelta) -> Halt:
        what = f"stop unit {key.id}"
        with self._looks.bus(what) as bus:
            before = self._there(bus, what, key).container
            if not before.running:
                return Halt(before.run, before.exit or Exit(0, datetime.now(UTC), asked=True))
            self._looks.stopped(before)
            bus.listen(_JOBS)
            job = bus.ask("StopUnit", "ss", key.id, "replace")
            if _result(bus, job, grace.total_seconds()) is None:
                with suppress(ContainerError):  # It may have ended this moment.
                    bus.ask("KillUnit", "ssi", key.id, "all", _SIGKILL)
                _result(bus, job, _KILL)
            unit = self._looks.unit(bus, key.id)
        now = unit.container
        if now.running and now.run != before.run:
            raise RunsAgain(f"cannot {what}: it runs again", now.run)
        if now.running:
            raise ContainerError(f"cannot {what}: {unit.left or 'it runs still'}", hint=f"systemctl status {key.id}")
        return Halt(before.run)

    def start(self, key: ContainerKey, restart_policy: str, *, frozen: bool = False) -> str:
        what = f"start unit {key.id}"
        with self._looks.bus(what) as bus:
            unit = self._there(bus, what, key)
            if unit.left:
                raise RuntimeAils(f"cannot {what}: {unit.left}", hint=f"systemctl status {key.id}")
            if unit.container.running:
                return unit.container.run
            if unit.loaded == "masked":
                raise ContainerError(f"cannot {what}: it is masked", hint=f"systemctl unmask {key.id}")
            if unit.result != "success":
                # Starts that failed before count against its StartLimitBurst=, and this one is none of those.
                with suppress(ContainerError):
                    bus.ask("ResetFailedUnit", "s", key.id)
            bus.listen(_JOBS)
            # "fail": never against somebody who stops it this moment.
            job = bus.ask("StartUnit", "ss", key.id, "fail")
            result = _result(bus, job, _UP)
            now = self._looks.unit(bus, key.id)
            if result is None and not _begun(unit, now):
                result = _result(bus, job, _START)
                now = self._looks.unit(bus, key.id)
        begun = _begun(unit, now)
        if begun and (now.container.running or result in ("canceled", None)):
            return now.container.run  # Of a start that somebody has stopped its end tells.
        if result is None:
            raise RuntimeAils(f"cannot {what}: it still waits for other units", hint="systemctl list-jobs")
        raise ContainerError(f"cannot {what}: {_why(result, now)}", hint=f"journalctl -u {key.id}")

    def set_restart_policy(self, key: ContainerKey, restart_policy: str) -> None:
        what = f"look at unit {key.id}"
        with self._looks.bus(what) as bus:
            self._there(bus, what, key)

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()

    def _there(self, bus: Bus, what: str, key: ContainerKey) -> Described:
        unit = self._looks.unit(bus, key.id)
        if unit.gone:
            raise ContainerGone(f"cannot {what}: there is no such unit")
        return unit


def _begun(before: Described, now: Described) -> bool:
    return now.container.run not in ("", before.container.run)


def _result(bus: Bus, job: str, seconds: float) -> str | None:
    """Wait until the job is over and return how it went; None when it takes longer."""
    until = time.monotonic() + seconds
    while (signal := bus.signal(max(0.0, until - time.monotonic()))) is not None:
        if signal.name == "JobRemoved" and signal.body[1] == job:
            return str(signal.body[3])
    return None


def _why(result: str, unit: Described) -> str:
    if result == "dependency":
        return "a unit that it needs did not start"
    if result == "canceled":
        return "somebody stopped it meanwhile"
    if result == "done":
        return "it ended at once"
    end = unit.container.exit
    code = f" (exit code {end.code})" if end is not None and end.code else ""
    return f"the unit itself failed: {unit.result if unit.result != 'success' else result}{code}"
