"""Machines for the tests of the packages. Where none can be made: skipped, but a failure when CI=true."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import pytest

from tests.docs.made import parts
from tests.packages import dists
from tests.packages.machines.emulator import FOREIGN, Emulator
from tests.packages.machines.machine import Machine, Place
from tests.running import reaper
from tests.support.daemons.daemon import CannotRun

Boot = Callable[..., Machine]

MACHINE = "machine for the packages"


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    made = Place(Path(os.environ[reaper.FOLDER], "machines"))
    try:
        made.open()
    except CannotRun as exc:
        made.close()
        cannot(MACHINE, exc)
    yield made
    made.close()


@pytest.fixture(scope="session")
def debian(place: Place) -> Path:
    """A Debian without cmgr."""
    try:
        root = place.once("debian", place.debian)
    except CannotRun as exc:
        cannot(MACHINE, exc)
    parts.TOLD["place"] = parts.version("chroot", str(root), "systemctl", "--version")
    return root


@pytest.fixture(scope="session")
def installed(place: Place, debian: Path) -> Path:
    """The layer that installing the .deb on a running machine leaves, the machine powered off again."""
    return place.once("installed", lambda: _installed(place, debian))


def _installed(place: Place, debian: Path) -> Path:
    upper, root = place.stacked(debian)
    machine = Machine(f"i{os.getpid()}", root, {"/packages": str(dists.DIST)})
    try:
        machine.boot()
    except CannotRun as exc:
        cannot(MACHINE, exc)
    machine.put("/etc/cmgr.test", "")
    done = machine.run("dpkg", "--install", f"/packages/{dists.deb().name}")
    machine.put("/var/tmp/install.log", f"{done.code}\n{done.out}{done.err}")  # noqa: S108  # In the machine.
    machine.stop()
    return upper


@pytest.fixture
def boot(place: Place, debian: Path) -> Iterator[Boot]:
    """Boot machines on a new disk each: Debian, and on it the layers that are named."""
    machines: list[Machine] = []

    def made(*layers: Path, binds: Mapping[str, str] | None = None) -> Machine:
        _, root = place.stacked(*layers, debian)
        machine = Machine(f"m{os.getpid()}-{len(machines)}", root, {"/packages": str(dists.DIST), **(binds or {})})
        machines.append(machine)
        try:
            machine.boot()
        except CannotRun as exc:
            cannot(MACHINE, exc)
        return machine

    yield made
    for machine in machines:
        machine.close()


@pytest.fixture
def machine(boot: Boot, installed: Path) -> Machine:
    """A machine with cmgr installed, as it comes up after a reboot."""
    return boot(installed)


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Emulator:
    try:
        return Emulator(dists.deb(FOREIGN), tmp_path_factory.mktemp("foreign"))
    except CannotRun as why:
        cannot("emulator of the other architecture", why)


def cannot(what: str, why: Exception) -> NoReturn:
    """There is none of what a test needs here, because of that."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"no {what}: {why}")
    pytest.skip(f"no {what}: {why}")
