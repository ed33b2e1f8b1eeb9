"""All that a reset puts aside is given back: at its end, when it fails, and by the next life."""

import json
import subprocess
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.drivers.nvml.library import abi
from cmgr.drivers.nvml.resetting.promises import NAME, Promised, Promises
from cmgr.errors import DriverError, ResetRefused, chain
from cmgr.model.values.chips import ChipId
from cmgr.model.values.messages.facts import Remarked
from tests.drivers.contract import Told
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import FakeReset, Standin
from tests.runtimes.sim.by_hand import RuntimeByHand, pretended
from tests.support.waiting import PATIENCE, eventually

Open = Callable[..., NvmlDriver]

NO_CODES: frozenset[str] = frozenset()
FIRST, SECOND = ChipId(0), ChipId(1)

DCGM, NVSM, IDLE = "nvidia-dcgm.service", "nvsm.service", "dcgm-exporter.service"
NAMES = (NVSM, DCGM, IDLE)


@pytest.fixture
def machine(nvidia: Make) -> Standin:
    return nvidia(hosts.host_h100(2))


def units() -> RuntimeByHand:
    """Two that run and one that does not."""
    return RuntimeByHand([pretended(name, "all", running=name != IDLE) for name in NAMES])


def running(systemd: RuntimeByHand) -> set[str]:
    return {unit.name for unit in systemd.list() if unit.running}


def done(systemd: RuntimeByHand) -> list[tuple[str, str]]:
    return [(call.operation, call.name) for call in systemd.calls if call.operation in ("stop", "start")]


def promised(machine: Standin) -> dict[str, list[str]]:
    read: dict[str, list[str]] = json.loads(machine.library.with_name(NAME).read_text())
    return read


def test_units_that_run_are_stopped_before_a_reset_and_started_after_it(machine: Standin, opened: Open) -> None:
    systemd, told = units(), Told()
    driver = opened(machine, systemd=systemd, stop_units=NAMES, managed=True)
    driver.watch(told)
    driver.reset([FIRST], [FIRST], NO_CODES)
    assert machine.resets == (FakeReset(frozenset({0}), abi.OK),)
    said = [f"{NVSM}, {DCGM} is stopped for the reset of chip 0", f"{DCGM}, {NVSM} is started again"]
    eventually(lambda: [fact.text for fact in told.facts if isinstance(fact, Remarked)] == said)
    assert done(systemd) == [("stop", NVSM), ("stop", DCGM), ("start", DCGM), ("start", NVSM)]
    assert promised(machine)["units"] == []


@pytest.mark.parametrize("answer", [15, 19])
def test_they_are_started_after_a_reset_that_failed_or_was_refused(machine: Standin, opened: Open, answer: int) -> None:
    systemd = units()
    driver = opened(machine, systemd=systemd, stop_units=NAMES)
    machine.set("reset_answer", answer)
    with pytest.raises(DriverError):
        driver.reset([FIRST], [FIRST], NO_CODES)
    eventually(lambda: promised(machine) == {"units": [], "persistent": [], "resetting": [], "settings": []})
    assert running(systemd) == {DCGM, NVSM}


def test_one_that_cannot_be_stopped_is_in_the_way_and_the_others_run_again(machine: Standin, opened: Open) -> None:
    systemd = units()
    systemd.fail_next("stop", name=DCGM)
    driver = opened(machine, systemd=systemd, stop_units=NAMES)
    with pytest.raises(ResetRefused, match=r"a unit of nvml\.stop_units is in its way") as caught:
        driver.reset([FIRST], [FIRST], NO_CODES)
    assert DCGM in chain(caught.value)
    assert machine.resets == ()
    eventually(lambda: running(systemd) == {DCGM, NVSM})


def test_one_that_does_not_start_is_a_trouble_until_it_does(machine: Standin, opened: Open) -> None:
    systemd = units()
    systemd.fail_next("start", times=1, name=DCGM)
    driver = opened(machine, systemd=systemd, stop_units=NAMES)
    driver.reset([FIRST], [FIRST], NO_CODES)
    (trouble,) = eventually(driver.trouble)
    assert trouble.startswith(f"{DCGM}, stopped for a reset, does not start again: ")
    assert promised(machine)["units"] == [DCGM]
    eventually(lambda: driver.trouble() == ())
    assert running(systemd) == {DCGM, NVSM}


def test_of_two_resets_the_second_waits_for_its_turn_and_the_last_starts_them(machine: Standin, opened: Open) -> None:
    systemd = units()
    driver = opened(machine, systemd=systemd, stop_units=NAMES)
    machine.hang_resets(1 << 0)
    both = [threading.Thread(target=driver.reset, args=([chip], [chip], NO_CODES)) for chip in (FIRST, SECOND)]
    both[0].start()
    eventually(lambda: machine.get("hanging_resets"))
    both[1].start()
    eventually(lambda: not driver.read([SECOND])[0].booted)
    assert (machine.resets, running(systemd)) == ((), set())
    machine.hang_resets(0)
    for each in both:
        each.join()
    assert [reset.answer for reset in machine.resets] == [abi.OK, abi.OK]
    eventually(lambda: running(systemd) == {DCGM, NVSM})


def test_one_that_hangs_keeps_the_turn_for_so_long_only(machine: Standin, opened: Open) -> None:
    driver = opened(machine, reset_timeout=timedelta(seconds=1))
    machine.hang_resets(1 << 0)
    with pytest.raises(DriverError, match="cannot tell how the reset of chip 0 went"):
        driver.reset([FIRST], [FIRST], NO_CODES)
    driver.reset([SECOND], [SECOND], NO_CODES)
    assert [sorted(reset.gpus) for reset in machine.resets] == [[1]]
    machine.hang_resets(0)
    eventually(lambda: driver.read([FIRST])[0].booted)


def test_the_turn_is_the_programs_whatever_becomes_of_cmgr(tmp_path: Path) -> None:
    with Promises(tmp_path).handed_on(0.0) as lock:
        program = subprocess.Popen(["/bin/sleep", "300"], stdin=lock)
    began = threading.Event()

    def next_one() -> None:
        with Promises(tmp_path).handed_on(PATIENCE):
            began.set()

    thread = threading.Thread(target=next_one)
    thread.start()
    assert not began.wait(0.2)
    program.kill()
    program.wait()
    thread.join()
    assert began.is_set()


def test_the_next_life_starts_what_was_stopped_also_when_no_setting_names_it(machine: Standin, opened: Open) -> None:
    systemd = units()
    Promises(machine.library.parent).make(Promised((NVSM, DCGM, "gone.service"), (machine.gpus[1].address,)))
    for name in (NVSM, DCGM):
        systemd.kill(name)
    assert running(systemd) == set()
    driver = opened(machine, systemd=systemd)
    # Whoever only looks, as cmgr check does, gives nothing back.
    assert running(systemd) == set()
    driver.watch(Told())
    eventually(lambda: promised(machine) == {"units": [], "persistent": [], "resetting": [], "settings": []})
    assert running(systemd) == {DCGM, NVSM}
    assert machine.get("persistent", gpu=1) == 1


@pytest.mark.parametrize("tools", ["children", "by_systemd"])
def test_a_reset_that_an_earlier_life_began_is_waited_for(
    machine: Standin, opened: Open, tools: str, request: pytest.FixtureRequest
) -> None:
    systemd, host = units(), request.getfixturevalue(tools)
    machine.set("persistent", 1)
    machine.set("reset_hangs", 1)
    former = opened(machine, systemd=systemd, stop_units=NAMES, host=host, reset_timeout=timedelta(milliseconds=200))
    with pytest.raises(DriverError, match="cannot tell how the reset of chip 0 went"):
        former.reset([FIRST], [FIRST], NO_CODES)
    assert any("stays stopped until the reset of chip 0 ends" in text for text in former.trouble())
    driver = opened(machine, systemd=systemd, stop_units=NAMES, host=host)
    driver.watch(Told())
    first, second = driver.read([FIRST, SECOND])
    assert (first.booted, first.error) == (False, "")
    assert (second.booted, second.error) == (True, "")
    with pytest.raises(ResetRefused, match="an earlier reset is under way"):
        driver.reset([FIRST], [FIRST], NO_CODES)
    assert running(systemd) == set()
    machine.set("reset_hangs", 0)
    eventually(lambda: driver.read([FIRST])[0].booted)
    eventually(lambda: running(systemd) == {DCGM, NVSM})
    eventually(lambda: machine.get("persistent") == 1)


def test_a_persistence_mode_that_cannot_be_put_back_is_told_with_what_to_type(machine: Standin, opened: Open) -> None:
    machine.set("persistent", 1)
    tool = machine.library.with_name("smi")
    tool.write_text(f'#!/bin/sh\n[ "$1" = -pm ] && {{ echo Unknown Error; exit 255; }}\nexec {machine.tool} "$@"\n')
    tool.chmod(0o755)
    driver = opened(machine, tool=str(tool))
    driver.reset([FIRST], [FIRST], NO_CODES)
    address = machine.gpus[0].address
    said = f"the persistence mode of {address} is not as it was: Unknown Error"
    assert driver.trouble() == (f"{said} (hint: type: nvidia-smi -pm 1 -i {address})",)
    assert promised(machine)["persistent"] == [address]


SET = {"power_limit": 500_000, "compute_mode": 3, "accounting_mode": 1, "persistent": 1}


def test_what_was_set_on_a_gpu_is_set_again_after_its_reset_also_when_it_cannot_say_any_more(
    machine: Standin, opened: Open
) -> None:
    for name, value in SET.items():
        machine.set(name, value)
    driver = opened(machine)
    machine.crash_gsp(0)
    driver.reset([FIRST], [FIRST], frozenset({"E0010001"}))
    assert {name: machine.get(name) for name in SET} == SET
    assert promised(machine)["settings"] == promised(machine)["persistent"] == []
    assert driver.trouble() == ()


def test_a_setting_that_cannot_be_set_again_is_told_and_the_next_life_sets_it(machine: Standin, opened: Open) -> None:
    machine.set("power_limit", 500_000)
    tool = machine.library.with_name("smi")
    tool.write_text(f'#!/bin/sh\n[ "$1" = -pl ] && {{ echo Unknown Error; exit 255; }}\nexec {machine.tool} "$@"\n')
    tool.chmod(0o755)
    driver, address = opened(machine, tool=str(tool)), machine.gpus[0].address
    driver.reset([FIRST], [FIRST], NO_CODES)
    said = f"the power limit of {address} is not as it was: Unknown Error"
    assert driver.trouble() == (f"{said} (hint: type: nvidia-smi -pl 500 -i {address})",)
    assert promised(machine)["settings"] == [f"{address} -pl 500"]
    opened(machine).watch(Told())
    eventually(lambda: machine.get("power_limit") == 500_000)
    eventually(lambda: promised(machine)["settings"] == [])


def test_nothing_is_taken_away_that_cannot_be_promised(machine: Standin, opened: Open) -> None:
    systemd = units()
    driver = opened(machine, systemd=systemd, stop_units=NAMES)
    machine.library.with_name(NAME).mkdir()
    with pytest.raises(ResetRefused, match="nothing is taken away that is not promised") as caught:
        driver.reset([FIRST], [FIRST], NO_CODES)
    assert "Is a directory" in chain(caught.value)
    assert (machine.resets, done(systemd)) == ((), [])
    assert not driver.read([FIRST])[0].error


@pytest.mark.parametrize("text", ["", "[]", "{", '{"units": 7}'])
def test_a_file_that_cannot_be_read_is_told_and_used_again(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    promises = Promises(tmp_path)
    assert promises.trouble.startswith("what resets had taken away is not known: ")
    promises.make(Promised(units=(DCGM,)))
    assert promises.trouble == ""
    assert Promises(tmp_path).all == Promised(units=(DCGM,))
