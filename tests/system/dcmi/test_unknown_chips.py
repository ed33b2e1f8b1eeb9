"""While the library does not begin no chip is known: that is told as trouble, and nothing is decided until it does."""

import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from cmgr.drivers.program.launch import drivers_of
from cmgr.errors import CmgrError, ServiceDown
from cmgr.service.door.client import get, order
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.standin import Purpose
from tests.metrics.scrape import Page, free_port, scrape
from tests.support.receiver import Receiver, receiver
from tests.support.service import NOW, Service
from tests.support.waiting import PATIENCE, eventually
from tests.system.dcmi.conftest import Appliance, Furnish

__all__ = ["receiver"]

TROUBLE = "unknown-chips"


@pytest.fixture
def telling(furnish_alone: Furnish, receiver: Receiver) -> Callable[..., Appliance]:
    """Furnish machines whose services tell the receiver at once."""

    def made(**settings: str) -> Appliance:
        appliance = furnish_alone(hosts.host_910b(8), {"alarms.deaf_after": "0s", **settings})
        appliance.service.more = f'[[alarms.receivers]]\nurl = "{receiver.url}/cmgr"\n'
        appliance.service.pretend("one")
        return appliance

    return made


def refused(service: Service) -> dict[str, str]:
    """Return the trouble of the service, once it tells it."""

    def found() -> dict[str, str] | None:
        try:
            rows = service.status()["troubles"]
        except CmgrError:
            return None
        return next((row for row in rows if row["kind"] == TROUBLE), None)

    trouble = eventually(found, why="the service says that its chips are not known")
    assert trouble is not None
    return trouble


def taken_away(library: Path) -> Path:
    return library.rename(library.with_name("away"))


def test_a_service_in_a_mount_namespace_of_its_own_opens_no_library_and_says_what_to_type(
    telling: Callable[..., Appliance], receiver: Receiver
) -> None:
    service = telling().service
    service.prefix = ("unshare", "--mount", "setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.settimeout(PATIENCE)
        systemd.bind(str(service.folder / "notify"))
        service.launch({"NOTIFY_SOCKET": str(service.folder / "notify"), "WATCHDOG_USEC": "20000000"})
        assert systemd.recv(4096) == b"READY=1"
        assert systemd.recv(4096).startswith(b"STATUS=no chip is watched: cannot open libdcmi.so here: this process is")
        assert systemd.recv(4096) == b"WATCHDOG=1"
    trouble = refused(service)
    assert (trouble["id"], trouble["severity"]) == ("unknown-chips-dcmi", "critical")
    assert "is a container to the Ascend driver, which would take the chips from all others" in trouble["why"]
    assert "systemctl edit UNIT" in trouble["hint"]
    told = service.cmgr("status", "--check")
    assert told.code == 4
    assert "all is well" not in told.out
    assert "no chip known" in told.out
    assert "nsenter --target 1 --mount cmgr check" in " ".join(told.out.split())
    assert told.out.startswith("not well: the chips are not known yet, and none is watched")
    assert json.loads(service.cmgr("status", "--json").out)["service"]["state"] == "starting"
    assert receiver.until_event("deaf")["id"] == "unknown-chips-dcmi"
    service.until_said("no chip is watched: cannot open libdcmi.so here")
    service.until_said("(hint: nsenter --target 1 --mount cmgr check")
    service.terminate()


def test_nothing_is_said_of_chips_and_nothing_ordered_before_they_are_known(telling: Callable[..., Appliance]) -> None:
    appliance = telling()
    away = taken_away(appliance.machine.library)
    appliance.service.launch()
    refused(appliance.service)
    for do, words in (("isolate", {"chip": 0, "reason": "odd"}), ("reset", {"chip": 0}), ("release", {"chip": 0})):
        with pytest.raises(CmgrError, match="the chips are not known yet: cannot load"):
            order(appliance.service.socket, do, **words)
    for what in ("chips", "faults", "containers", "cdi", "slots", "export/deviceinfo", "groups", "fleet"):
        with pytest.raises(CmgrError, match="the chips are not known yet"):
            get(appliance.service.socket, what)
    assert get(appliance.service.socket, "health")["healthy"] is False
    away.rename(appliance.machine.library)


def test_a_machine_that_has_neither_chips_nor_a_runtime_hears_of_both(telling: Callable[..., Appliance]) -> None:
    appliance = telling()
    nowhere = {"docker.socket": "/nowhere/docker", "containerd.address": "/nowhere/containerd"}
    appliance.service.configure({"runtimes": ["auto"], **nowhere})
    taken_away(appliance.machine.library)
    appliance.service.launch()
    eventually(lambda: not appliance.service.running(), why="it ends: nothing can be done for anybody")
    appliance.service.until_said("no chip is watched: cannot load")
    appliance.service.until_said("cannot find a container runtime: there is no socket at /nowhere/docker")


def test_metrics_say_that_no_chip_is_watched(telling: Callable[..., Appliance]) -> None:
    port = free_port()
    appliance = telling(**{"metrics.listen": f"127.0.0.1:{port}"})
    away = taken_away(appliance.machine.library)
    appliance.service.launch()
    refused(appliance.service)

    def served() -> Page | None:
        with suppress(ConnectionRefusedError):  # The socket answers first.
            return scrape(port)
        return None

    page = eventually(served, why="metrics are served")
    assert page is not None
    assert page.value("cmgr_troubles", kind=TROUBLE) == 1
    assert page.value("cmgr_driver_troubles") == 1
    assert page.value("cmgr_service_state", state="starting") == 1
    away.rename(appliance.machine.library)
    eventually(lambda: scrape(port).value("cmgr_service_state", state="ready") == 1)
    assert scrape(port).value("cmgr_troubles", kind=TROUBLE) == 0


def test_a_library_that_comes_is_taken_and_the_alarm_is_over(
    telling: Callable[..., Appliance], receiver: Receiver
) -> None:
    appliance = telling()
    service = appliance.service
    away = taken_away(appliance.machine.library)
    service.launch()
    assert "there is no such file" in refused(service)["why"]
    begun = receiver.until_event("deaf")
    assert (begun["status"], begun["id"]) == ("firing", "unknown-chips-dcmi")
    away.rename(appliance.machine.library)
    eventually(lambda: service.status()["service"]["state"] == "ready")
    assert len(service.status()["chips"]) == 8
    assert receiver.until_event("deaf", 2)["status"] == "resolved"
    assert service.cmgr("status", "--check").code == 0


def test_a_library_that_takes_long_to_begin_is_a_trouble_for_as_long_as_that_lasts(
    telling: Callable[..., Appliance], receiver: Receiver
) -> None:
    appliance = telling()
    service, machine = appliance.service, appliance.machine
    machine.hang(0, Purpose.INIT)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.settimeout(PATIENCE)
        systemd.bind(str(service.folder / "notify"))
        service.launch({"NOTIFY_SOCKET": str(service.folder / "notify")})
        assert systemd.recv(4096) == b"READY=1"
        assert systemd.recv(4096).startswith(
            b"STATUS=no chip is watched: the library of the chips has not begun for 10 s"
        )
    trouble = refused(service)
    assert trouble["why"].startswith("the library of the chips has not begun for ")
    assert "ten minutes where a chip is dead" in trouble["hint"]
    assert receiver.until_event("deaf")["status"] == "firing"
    machine.hang(0, Purpose.INIT, hangs=False)
    eventually(lambda: service.status()["service"]["state"] == "ready")
    assert receiver.until_event("deaf", 2)["status"] == "resolved"


def test_a_service_that_ends_before_its_library_has_begun_leaves_nothing_behind(
    telling: Callable[..., Appliance],
) -> None:
    appliance = telling()
    service = appliance.service
    appliance.machine.hang(0, Purpose.INIT)
    service.launch()
    refused(service)
    (pid,) = drivers_of(service.pid)
    service.terminate()
    eventually(lambda: not os.path.exists(f"/proc/{pid}"))
    with pytest.raises(ServiceDown):
        service.status()
    appliance.machine.hang(0, Purpose.INIT, hangs=False)


def test_a_recovery_goes_on_once_the_chips_are_known_and_until_then_nothing_is_done(
    telling: Callable[..., Appliance],
) -> None:
    appliance = telling()
    service, machine = appliance.service, appliance.machine
    machine.set("boot_by_hand", 1)
    service.start()
    machine.fault(0, NOW)
    service.until_said("the driver took the reset")
    service.kill9()
    away = taken_away(machine.library)
    noted = len(service.notes())
    service.launch()
    refused(service)
    told = service.status()
    assert [(row["phase"], row["episode"]) for row in told["rings"]] == [("verifying", 1)]
    assert [(row["name"], row["status"]) for row in told["containers"]] == [("one", "paused")]
    assert len(service.notes()) == noted
    away.rename(machine.library)
    machine.finish_boots()
    service.until_said("is over: recovered")
    service.until_over()
    assert service.runs("one")
    assert len(machine.resets) == 1
