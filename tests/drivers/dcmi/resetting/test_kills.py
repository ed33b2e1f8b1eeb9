"""Processes that the driver kills itself for a reset: shown, and in nobody's way."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.drivers.dcmi.resetting import kills
from cmgr.errors import ResetRefused
from cmgr.model.values.chips import ChipId
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import FakeChip, Standin
from tests.support.waiting import PATIENCE

Open = Callable[..., DcmiDriver]


@pytest.fixture
def agent() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


def allow(machine: Standin, *lines: str) -> Path:
    file = machine.custom_processes
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def ring_of(driver: DcmiDriver, chip: int) -> list[ChipId]:
    return [c.id for c in driver.chips() if c.ring == driver.chips()[chip].ring]


@pytest.mark.parametrize("host", [hosts.host_910b, hosts.host_a3])
def test_whom_the_driver_kills_is_shown_and_not_in_the_way_and_check_warns(
    ascend: Make, opened: Open, host: Callable[[], tuple[FakeChip, ...]], agent: subprocess.Popen[bytes]
) -> None:
    machine = ascend(host())
    file = allow(machine, "# a comment", f"AllowKilledWhenResetNPU:sleep:{agent.pid}")
    driver = opened(machine)
    machine.process(1, agent.pid)
    (process,) = driver.read([ChipId(1)])[0].processes
    assert (process.pid, process.name, process.yields) == (agent.pid, "sleep", True)
    (doubt,) = driver.doubts()
    assert doubt.text.startswith(f"process {agent.pid} (sleep) is killed by the driver for a reset of any chip")
    assert str(file) in doubt.hint
    driver.reset(ring_of(driver, 1), [ChipId(1)], frozenset())
    assert [r.answer for r in machine.resets] == [0]
    assert agent.wait(PATIENCE) == -9


@pytest.mark.parametrize(
    "line", ["AllowKilledWhenResetNPU:other:{pid}", "AllowKilledWhenResetNPU:sleep:1", "sleep:{pid}"]
)
def test_another_process_than_the_file_names_is_in_the_way(
    ascend: Make, opened: Open, line: str, agent: subprocess.Popen[bytes]
) -> None:
    machine = ascend(hosts.host_910b(8))
    allow(machine, line.format(pid=agent.pid))
    driver = opened(machine)
    machine.process(1, agent.pid)
    with pytest.raises(ResetRefused, match=f"process {agent.pid} .* is on chip 1"):
        driver.reset(ring_of(driver, 1), [ChipId(1)], frozenset())
    assert not driver.read([ChipId(1)])[0].processes[0].yields


def test_of_other_chips_the_driver_kills_nobody(ascend: Make, opened: Open, agent: subprocess.Popen[bytes]) -> None:
    machine = ascend(hosts.host_single("310P3", 2))
    allow(machine, f"AllowKilledWhenResetNPU:sleep:{agent.pid}")
    driver = opened(machine)
    machine.process(1, agent.pid)
    assert driver.doubts() == ()
    with pytest.raises(ResetRefused, match="is on chip 1"):
        driver.reset([ChipId(1)], [ChipId(1)], frozenset())


def test_only_the_first_ten_count(tmp_path: Path) -> None:
    file = tmp_path / "custom_process.cfg"
    file.write_text("".join(f"AllowKilledWhenResetNPU:agent:{1000 + n}\n" for n in range(12)))
    assert sorted(kills.named(file)) == list(range(1000, 1010))
    assert not kills.kills(file, os.getpid())
