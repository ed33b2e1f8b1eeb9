"""A program by somebody who knew of cmgr only docs/drivers.md: while this passes the page has been enough once.

It is for Iluvatar's chips, of which little is known. Neither it nor the stand-in of ixsmi was tried on hardware.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmgr.drivers.tool.driver import Around, ToolDriver
from cmgr.drivers.tool.settings import Tool
from cmgr.errors import DriverError, ResetRefused
from cmgr.model.values.chips import ChipId
from cmgr.service.metrics.chips import MEASURED
from tests.cli.conftest import Home, home
from tests.drivers.contract import HOLDER, HOUR, Told
from tests.drivers.tool.driver import CHILDREN
from tests.fakes.workshop import trusted_folder
from tests.running import reaper
from tests.support.waiting import eventually

__all__ = ["home"]

FAULT = frozenset({"11000001"})
ROOT = Path(__file__).parents[3]
WRITTEN, IXSMI = Path(__file__).parent / "iluvatar", ROOT / "tests" / "fakes" / "tool" / "ixsmi.sh"
FILES = ("/dev/full", "/dev/zero")
"""They play the chips' device files: of the first chip the second one, for its minor number is 1."""


class Machine:
    """Two chips. All that the program names at its head lies in a folder that cmgr trusts."""

    def __init__(self) -> None:
        self.folder = trusted_folder()
        self.dev = reaper.outside("/dev/shm", "cmgr-chips-")  # noqa: S108 - device files are in /dev
        (self.folder / "chips").mkdir()
        for chip in range(2):
            (self.dev / f"iluvatar{chip}").symlink_to(FILES[chip])
            self.set(chip)
        (self.folder / "proc" / str(HOLDER) / "fd").mkdir(parents=True)
        ixsmi = self._put("ixsmi", IXSMI.read_text())
        text = WRITTEN.read_text()
        for line, changed in {
            "#!/usr/bin/python3 -IS": f"#!{sys.executable} -IS",
            'IXSMI = "/usr/local/corex/bin/ixsmi"': f'IXSMI = "{ixsmi}"',
            'DEV = "/dev/iluvatar"': f'DEV = "{self.dev}/iluvatar"',
            'PROC = "/proc"': f'PROC = "{self.folder}/proc"',
            "EVERY = 5.0": "EVERY = 0.05",
        }.items():
            assert text.count(f"{line}\n") == 1
            text = text.replace(f"{line}\n", f"{changed}\n")
        self.program = self._put("iluvatar", text)

    def _put(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def set(self, chip: int, *, errors: object = 0, used: str = "", fails: str = "") -> None:
        values = {"bus": f"00000000:{chip + 3}B:00.0", "uuid": f"GPU-{chip}", "name": "Iluvatar BI", "minor": 1 - chip,
                  "errors": errors, "used": used, "fails": fails}  # fmt: skip
        fresh = self.folder / "fresh"
        fresh.write_text("".join(f"{name}='{value}'\n" for name, value in values.items()))
        fresh.replace(self.folder / "chips" / str(chip))

    def hold(self, chip: int) -> Path:
        """Have a process hold it, and return its open file."""
        file = self.folder / "proc" / str(HOLDER) / "fd" / "3"
        file.symlink_to(self.dev / f"iluvatar{1 - chip}")
        return file

    def resets(self) -> list[str]:
        path = self.folder / "resets"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def driver(machine: Machine) -> Iterator[ToolDriver]:
    opened = ToolDriver(Tool(program=str(machine.program)), HOUR, HOUR, Around(machine.folder, CHILDREN))
    yield opened
    opened.close()


def test_check_is_content_with_it(home: Home, machine: Machine) -> None:
    told = home.here("check", "--tool", str(machine.program), "--json")
    found = json.loads(told.out)["findings"]
    assert [each for each in found if each["state"] != "ok"] == []
    assert {each["what"] for each in found} == {
        "program", "describe", "codes", "read", "processes", "measure", "reset", "watch"
    }  # fmt: skip
    assert (told.code, machine.resets()) == (0, [])


def test_its_chips_are_known_by_the_files_of_their_minor_numbers(machine: Machine, driver: ToolDriver) -> None:
    chip = driver.chips()[0]
    status = os.stat(FILES[1])
    numbers = f"/dev/char/{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    assert (chip.id, chip.ring, chip.bus, chip.serial) == (0, 0, "0000:3b:00.0", "")
    assert chip.aliases == {"GPU-0", f"{machine.dev}/iluvatar1", numbers}
    measured = {"temperature_celsius": 41.0, "power_watts": 57.25, "memory_used_megabytes": 120.0}
    assert driver.measure([chip.id]) == {chip.id: measured}


def test_a_fault_is_heard_read_and_reset(machine: Machine, driver: ToolDriver) -> None:
    told, ill = Told(), ChipId(1)
    driver.watch(told)
    eventually(lambda: driver.trouble() == ())
    machine.set(1, errors=2)
    told.asks(ill, 2)  # Once because it began.
    well, report = driver.read([ChipId(0), ill])
    assert well.faults == ()
    assert {fault.code for fault in report.faults} == FAULT
    driver.reset([ill], [ill], FAULT)
    assert machine.resets() == ["1"]
    assert driver.read([ill])[0].is_up
    assert driver.read([ill])[0].faults == ()


def test_a_chip_in_use_is_not_reset(machine: Machine, driver: ToolDriver) -> None:
    ill = ChipId(1)
    machine.set(1, errors=1, used="yes")
    file = machine.hold(1)
    assert [each.pid for each in driver.read([ill])[0].processes] == [HOLDER]
    with pytest.raises(ResetRefused, match=str(HOLDER)):
        driver.reset([ill], [ill], FAULT)
    file.unlink()
    with pytest.raises(ResetRefused, match="currently in use by another process"):
        driver.reset([ill], [ill], FAULT)
    assert machine.resets() == []


def test_a_count_that_cannot_be_read_is_a_fault_of_its_own_and_a_chip_that_is_gone_an_error(
    machine: Machine, driver: ToolDriver
) -> None:
    machine.set(0, errors="ERR!")
    machine.set(1, errors="[N/A]")
    assert [[fault.code for fault in each.faults] for each in driver.read([ChipId(0), ChipId(1)])] == [["11000002"], []]
    (machine.folder / "chips" / "1").unlink()
    assert driver.read([ChipId(1)])[0].error == "ixsmi does not list it"


def test_a_reset_that_ixsmi_fails_is_told_in_its_words(machine: Machine, driver: ToolDriver) -> None:
    machine.set(0, errors=1, fails="the firmware says no")
    with pytest.raises(DriverError, match="the firmware says no") as failed:
        driver.reset([ChipId(0)], [ChipId(0)], FAULT)
    assert not isinstance(failed.value, ResetRefused)


def test_each_name_that_the_page_calls_a_metric_is_one() -> None:
    page = (ROOT / "docs" / "drivers.md").read_text()
    named = re.findall(r"`([a-z_]+)`", page.split("these become [metrics]")[1].split("A megabyte has")[0])
    assert len(named) > 10
    unknown = [name for name in named if not any(re.fullmatch(each.of.form, name) for each in MEASURED)]  # type: ignore[attr-defined]
    assert unknown == []
