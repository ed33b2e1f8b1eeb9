"""`cmgr drill --real`: the driver raises a fault by itself, and it is over afterwards, whatever happens to cmgr."""

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.build import Workshop
from tests.support.service import Service
from tests.support.waiting import PATIENCE, eventually
from tests.system import checks
from tests.system.containers import Containers, Spec
from tests.system.dcmi.conftest import Appliance, Furnish

CODE = "4C4BA00C"
LEVELS = {"RestartNPUCodes": [CODE]}
"""The built-in table isolates the chip."""

SLOW = {"levels.RestartNPU.reset_after": "10m"}
"""The reset does not come as long as a test lasts."""


def give_levels(service: Service) -> None:
    table = service.folder / "faults.json"
    table.write_text(json.dumps(LEVELS))
    table.chmod(0o640)
    service.configure({"faults.file": str(table)})


@pytest.fixture(params=["freed", "left"])
def equipped(furnish_alone: Furnish, workshop: Workshop, request: pytest.FixtureRequest) -> Callable[..., Appliance]:
    """Furnish a machine whose driver can raise faults, and ends or leaves those of a process that has gone."""

    def made(settings: Any = None) -> Appliance:
        appliance = furnish_alone(hosts.host_910b(8), settings)
        give_levels(appliance.service)
        workshop.place_hal(appliance.machine.library)
        appliance.machine.set("sensors_leave", request.param == "left")
        appliance.service.pretend("chat")
        appliance.service.start()
        eventually(lambda: appliance.service.container("chat"))
        return appliance

    return made


@pytest.fixture
def typed() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Type commands that last."""
    ran: list[subprocess.Popen[str]] = []

    def begin(service: Service, *words: str) -> subprocess.Popen[str]:
        ran.append(
            subprocess.Popen(
                [*service.python, *service.program, *words, "--config", str(service.config)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=service.environment(),
            )
        )  # fmt: skip
        return ran[-1]

    yield begin
    for process in ran:
        process.kill()
        process.communicate()


def codes(service: Service) -> list[str]:
    return [fault["code"] for fault in json.loads(service.cmgr("faults", "-o", "json").out)["faults"]]


def test_a_drill_stops_resets_starts_and_leaves_nothing(equipped: Callable[..., Appliance]) -> None:
    appliance = equipped()
    service, machine = appliance.service, appliance.machine
    told = service.cmgr("drill", "1", "--real", "--yes")
    assert told.code == 0, told.err
    assert " ".join(told.out.split()) == (
        f"the driver itself raises fault {CODE} on chip 1, for 60 s at most; it breaks nothing "
        "whoever listens to this driver hears it: its maker's own agents, and all who have subscribed to faults "
        f"{CODE} is of level RestartNPU here (operator's file {appliance.service.folder}/faults.json): "
        "stops the containers on any chip of its ring at once (strategy ringRecover); "
        "resets the chip's ring as soon as nobody uses it; "
        "isolates the chip instead when 3 resets in 6 h did not cure it; "
        "starts the containers again once the ring is healthy "
        "of those that run on chips 0-7 are stopped: chat "
        "the fault is over when its reset begins, its time is up, somebody ends it, or cmgr ends "
        f"chip 1: {CODE} is raised; Ctrl-C ends it "
        "chip 1: the fault is over; cmgr status shows how it goes on, and cmgr history what was done"
    )
    service.until_said("is over: recovered")
    service.until_over()
    assert [(reset.chip, reset.answer) for reset in machine.resets] == [(1, 0)]
    assert machine.get("resumed") == 1
    assert codes(service) == []
    notes = [note.text for note in service.notes()]
    assert any("ordered a drill: the driver itself raises 4C4BA00C on chip 1, for 60 s at most" in n for n in notes)
    assert "the drill on chip 1 is over: the reset of its ring begins" in notes
    eventually(lambda: service.runs("chat"))


@pytest.mark.docker
def test_a_drill_stops_each_container_of_the_ring_once(
    furnish: Furnish, workshop: Workshop, containers: Containers
) -> None:
    appliance = furnish(hosts.host_910b(8))
    give_levels(appliance.service)
    workshop.place_hal(appliance.machine.library)
    containers.run(*(Spec(f"c{n}", str(n)) for n in range(8)))
    for number in range(8):
        appliance.machine.process(number, containers.pid(f"c{number}"))
    appliance.service.start()
    assert appliance.service.cmgr("drill", "6", "--real", "--yes").code == 0
    appliance.service.until_said("is over: recovered")
    appliance.service.until_over()
    assert [reset.chip for reset in appliance.machine.resets] == [6]
    checks.each_was_stopped_once(containers, [f"c{n}" for n in range(8)])


def test_killed_in_the_middle_cmgr_leaves_no_fault(
    equipped: Callable[..., Appliance], typed: Callable[..., subprocess.Popen[str]]
) -> None:
    appliance = equipped(SLOW)
    service, machine = appliance.service, appliance.machine
    typed(service, "drill", "1", "--real", "--yes", "--for", "10m")
    eventually(lambda: codes(service) == [CODE])
    service.kill9()
    eventually(lambda: machine.get("resumed"))
    service.start()
    service.until_over()
    eventually(lambda: codes(service) == [])
    assert machine.resets == ()
    assert machine.get("resumed") == 1


def test_the_end_of_the_service_ends_it_too(
    equipped: Callable[..., Appliance], typed: Callable[..., subprocess.Popen[str]]
) -> None:
    appliance = equipped(SLOW)
    typed(appliance.service, "drill", "1", "--real", "--yes")
    eventually(lambda: codes(appliance.service) == [CODE])
    appliance.service.terminate()
    eventually(lambda: appliance.machine.get("resumed"))


@pytest.mark.parametrize("way", ["Ctrl-C", "its time"])
def test_without_a_reset_it_ends_too(
    equipped: Callable[..., Appliance], typed: Callable[..., subprocess.Popen[str]], way: str
) -> None:
    appliance = equipped(SLOW)
    service, machine = appliance.service, appliance.machine
    drill = typed(service, "drill", "1", "--real", "--yes", "--for", "60s" if way == "Ctrl-C" else "2s")
    if way == "Ctrl-C":
        eventually(lambda: codes(service) == [CODE])
        drill.send_signal(signal.SIGINT)
    drill.communicate(timeout=PATIENCE)
    assert drill.returncode == (130 if way == "Ctrl-C" else 0)
    why = "ended it" if way == "Ctrl-C" else "its time was up"
    eventually(lambda: any(why in note.text for note in service.notes()))
    service.until_said("is over: cleared")
    service.until_over()
    assert codes(service) == []
    assert machine.resets == ()
    assert json.loads(service.cmgr("status", "-o", "json").out)["troubles"] == []


def test_a_reset_for_another_fault_ends_it_too(
    equipped: Callable[..., Appliance], typed: Callable[..., subprocess.Popen[str]]
) -> None:
    appliance = equipped(SLOW)
    service, machine = appliance.service, appliance.machine
    typed(service, "drill", "1", "--real", "--yes")
    eventually(lambda: codes(service) == [CODE])
    service.cmgr("reset", "2", "--stop", "--yes")
    eventually(lambda: machine.resets)
    service.until_over()
    eventually(lambda: codes(service) == [])
    assert machine.get("resumed") == 1


def test_one_drill_at_a_time(equipped: Callable[..., Appliance], typed: Callable[..., subprocess.Popen[str]]) -> None:
    appliance = equipped({"levels.RestartNPU.stop": False, "levels.RestartNPU.reset": False, **SLOW})
    service = appliance.service
    typed(service, "drill", "1", "--real", "--yes")
    eventually(lambda: codes(service) == [CODE])
    told = service.cmgr("drill", "2", "--real", "--yes")
    assert told.code == 1
    assert "cannot drill chip 2: " in told.err


def test_by_the_built_in_table_it_isolates_and_that_is_said_before(furnish_alone: Furnish, workshop: Workshop) -> None:
    appliance = furnish_alone(hosts.host_910b(8))
    service = appliance.service
    workshop.place_hal(appliance.machine.library)
    service.pretend("chat")
    service.start()
    told = service.cmgr("drill", "0", "--real", "--yes", "--for", "1s")
    assert told.code == 0
    said = " ".join(told.out.split())
    assert f"{CODE} is of level SeparateNPU here (built-in table ascend): isolates the chip: it is never reset" in said
    assert (
        "of those that run on chips 0-7 are stopped: none nothing is reset; for a drill of a whole recovery give"
        in said
    )
    assert f"give {CODE} the level RestartNPU in faults.file, and type cmgr reload" in said
    eventually(lambda: codes(service) == [])
    assert [c["id"] for c in service.status()["chips"] if c["isolated"]] == [0]
    assert appliance.machine.resets == ()


@pytest.mark.parametrize(
    ("library", "why"),
    [("none", "has no function halSensorNodeRegister"), ("", "cannot find libascend_hal.so in")],
)
def test_a_driver_that_cannot_is_told_with_what_else_there_is(
    furnish_alone: Furnish, workshop: Workshop, library: str, why: str
) -> None:
    appliance = furnish_alone(hosts.host_910b(8))
    if library:
        workshop.place_hal(appliance.machine.library, library)
    appliance.service.start()
    told = appliance.service.cmgr("drill", "1", "--real", "--yes")
    assert told.code == 1
    first, hint = told.err.splitlines()
    assert first.startswith("cmgr: cannot drill chip 1: this driver cannot raise a fault by itself: ")
    assert why in first
    assert hint == "hint: cmgr inject CHIP CODE simulates one; on real chips with allow_injection = true"


def test_nothing_is_raised_where_nobody_has_said_yes(equipped: Callable[..., Appliance]) -> None:
    appliance = equipped()
    service = appliance.service
    assert service.cmgr("drill", "1").err.splitlines()[-1] == "hint: --yes says yes"
    assert service.cmgr("drill", "1", "--real").err.splitlines() == [
        "cmgr: cannot drill chip 1: nobody can be asked",
        "hint: --yes says yes",
    ]
    told = service.cmgr("drill", "1", "--real", "--dry-run")
    assert told.code == 0
    assert told.out.splitlines()[-1] == "nothing was done: --dry-run"
    assert appliance.machine.get("resumed") == 0
    assert service.cmgr("drill", "1", "--real", "--yes", "--for", "11m").code == 1
    assert service.cmgr("drill", "9", "--real", "--yes").code == 1
