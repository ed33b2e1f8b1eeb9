"""Containers that units of a private systemd run on a private Docker daemon: another one in each life, for --rm.

With each unit goes another one, which systemd stops with it and nobody but cmgr starts.
"""

import shlex
from collections.abc import Mapping
from contextlib import closing

from cmgr.runtimes.systemd.unit import key
from tests.crash.worlds import Layout, policy_of
from tests.runtimes.systemd.world import SystemdWorld
from tests.support.daemons.dockerd import IMAGE, OBEYS, Dockerd
from tests.support.daemons.systemd import Systemd
from tests.support.programs import program
from tests.support.service import Service, Setting
from tests.support.waiting import eventually
from tests.system.containers import Containers, Happening, has_begun


class Units:
    """Each container is named as its unit, without the ending. The record of what happens is Docker's own."""

    meddles = False

    def __init__(self, dockerd: Dockerd, systemd: Systemd, layout: Layout, place: int) -> None:
        self.settings: Mapping[str, Setting] = {
            "runtimes": ["docker"],
            "docker.socket": dockerd.socket,
            "systemd.bus": systemd.socket,
        }
        self._containers = Containers(dockerd)
        self._world = SystemdWorld(systemd)
        self._specs = layout.specs(place)

    def furnish(self, service: Service) -> None:
        if not self._containers.names:
            for spec in self._specs:
                restart = "always" if policy_of(spec.name) == "always" else "no"
                command = self._run(spec.name, spec.chips)
                self._world.define(f"{spec.name}.service", ExecStart=command, Restart=restart, RestartSec="0")
                goes_with = {"Unit_BindsTo": f"{spec.name}.service", "Unit_After": f"{spec.name}.service"}
                self._world.define(part_of(spec.name), (), **goes_with)
                for unit in (f"{spec.name}.service", part_of(spec.name)):
                    self._world.start(key(unit))
            self._containers.names = [spec.name for spec in self._specs]
        eventually(lambda: all(self.running(service).values()), why="every unit runs its container")
        self._containers.mark()

    def _run(self, name: str, chips: str) -> str:
        # Doubled, so that systemd does not take it for a variable of its own.
        command = shlex.quote(OBEYS[-1].replace("$", "$$"))
        docker = f"{program('docker')} --host unix://{self._containers.dockerd.socket} run --rm --network none"
        more = f"--env ASCEND_VISIBLE_DEVICES={chips} --label cmgr.unit=%n"
        return f"{docker} --name {name} {more} {IMAGE} /bin/sh -c {command}"

    def happenings(self, service: Service) -> list[Happening]:
        # A unit counts as started before its client has reached Docker.
        eventually(lambda: all(self.running(service).values()), why="every unit runs its container")
        mine = {spec.name for spec in self._specs}
        found = [h for h in self._containers.happenings() if h.name in mine and h.action in ("die", "start")]
        return [Happening(h.at, f"{h.name}.service", h.action, h.detail) for h in found]

    def running(self, service: Service) -> Mapping[str, bool]:
        """Return of each unit whether it runs, and its container has begun its work; and of those that go with them."""
        with closing(self._containers.dockerd.client()) as client:
            rows = client.containers()
            begun = {name.lstrip("/") for row in rows if has_begun(client, row["Id"]) for name in row["Names"]}
        parts = {unit: self._world.running(key(unit)) for unit in (part_of(spec.name) for spec in self._specs)}
        return parts | {
            f"{spec.name}.service": spec.name in begun and self._world.running(key(f"{spec.name}.service"))
            for spec in self._specs
        }

    def is_armed(self, service: Service, name: str) -> bool:
        return True  # A unit's Restart= is never switched off.

    def close(self) -> None:
        for name in self._containers.names:
            self._world.stop(key(f"{name}.service"))
        self._world.close()
        self._containers.close()


def part_of(name: str) -> str:
    return f"part-of-{name}.service"
