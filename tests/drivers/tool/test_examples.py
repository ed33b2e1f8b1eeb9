"""The two programs that are shipped as examples, over stand-ins of their makers' tools."""

import json
import sys
from pathlib import Path

import pytest

from cmgr.cli.check.trying import tried
from cmgr.drivers.tool.driver import Around, ToolDriver
from cmgr.drivers.tool.settings import Tool
from cmgr.errors import DriverError, ResetRefused
from cmgr.model.values.chips import ChipId
from tests.drivers.contract import HOLDER, HOUR, Told
from tests.drivers.tool.driver import CHILDREN
from tests.fakes.workshop import trusted_folder
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[3]
EXAMPLES, FAKES = ROOT / "docs" / "examples", ROOT / "tests" / "fakes" / "tool"

HABITS = {
    "6.3": [], "7.0": ["data"], "several documents": ["documents"], "warnings": ["warns"], "flat lists": ["flat"],
    "an exit code that lies": ["lies"], "all of it": ["data", "documents", "warns", "flat", "lies"],
}  # fmt: skip


def opened(program: Path) -> ToolDriver:
    return ToolDriver(Tool(program=str(program)), HOUR, HOUR, Around(program.parent, CHILDREN))


def installed(example: str, folder: Path, places: dict[str, str]) -> Path:
    """Return the example with the places that its head names changed to these."""
    text = (EXAMPLES / example).read_text()
    for line, changed in places.items():
        assert f"\n{line}\n" in text
        text = text.replace(f"\n{line}\n", f"\n{changed}\n")
    program = folder / example
    program.write_text(text)
    program.chmod(0o755)
    return program


class Amd:
    """Four GPUs, of which the first two are of one hive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        tool = folder / "amd-smi"
        tool.write_text(f"#!{sys.executable} -SE\n{(FAKES / 'amd_smi.py').read_text()}")
        tool.chmod(0o755)
        self.sys = folder / "sys"
        for number in range(4):
            node = self.sys / f"class/kfd/kfd/topology/nodes/{number + 1}/properties"
            node.parent.mkdir(parents=True)
            node.write_text(f"cpu_cores_count 0\nhive_id {77 if number < 2 else 0}\n")
            place = self.sys / f"bus/pci/devices/0000:{number + 16:02x}:00.0"
            for name in (f"card{number}", f"renderD{128 + number}"):
                (place / "drm" / name).mkdir(parents=True)
            (place / "vendor").write_text("0x1002\n")
        (self.sys / "kernel/debug/dri").mkdir(parents=True)
        gpus = [{"bus": f"0000:{n + 16:02X}:00.0", "uuid": f"{n}0ff-gpu", "hive": 77 if n < 2 else n, "errors": 0,
                 "pending": [], "pids": []} for n in range(4)]  # fmt: skip
        self._write({"habits": [], "gpus": gpus, "resets": [], "fails": False})
        places = {
            'SMI = "/opt/rocm/bin/amd-smi"': f'SMI = "{tool}"',
            'SYS = "/sys"': f'SYS = "{self.sys}"',
            'STATE = "/run/cmgr-amd.json"': f'STATE = "{folder}/state.json"',
            "EVERY = 5.0": "EVERY = 0.05",
        }
        self.program = installed("amd", folder, places)
        self.program.write_text(self.program.read_text().replace("#!/usr/bin/python3", f"#!{sys.executable}", 1))

    @property
    def state(self) -> dict[str, object]:
        found: dict[str, object] = json.loads((self.folder / "amd.json").read_text())
        return found

    def _write(self, state: dict[str, object]) -> None:
        fresh = self.folder / "fresh"
        fresh.write_text(json.dumps(state))
        fresh.replace(self.folder / "amd.json")

    def set(self, **changes: object) -> None:
        self._write({**self.state, **changes})

    def gpu(self, number: int, **changes: object) -> None:
        state = self.state
        state["gpus"][number].update(changes)  # type: ignore[index]
        self._write(state)


@pytest.fixture
def amd() -> Amd:
    return Amd(trusted_folder())


@pytest.mark.parametrize("habit", HABITS)
def test_amd_keeps_what_is_asked_of_a_program_whatever_amd_smi_does(amd: Amd, habit: str) -> None:
    amd.set(habits=HABITS[habit])
    assert [found for found in tried(str(amd.program)) if found.state == "error"] == []
    chips = opened(amd.program).chips()
    assert [(chip.id, chip.ring, chip.bus) for chip in chips] == [
        (n, ring, f"0000:{n + 16:02x}:00.0") for n, ring in enumerate((0, 0, 2, 3))
    ]
    assert chips[1].aliases == {"10ff-gpu", "/dev/dri/card1", "/dev/dri/renderD129"}


@pytest.mark.parametrize("habit", HABITS)
def test_amd_finds_faults_and_users_and_resets_the_hive_once(amd: Amd, habit: str) -> None:
    amd.set(habits=HABITS[habit])
    driver, ring = opened(amd.program), (ChipId(0), ChipId(1))
    assert [(report.faults, report.processes, report.error) for report in driver.read(ring)] == [((), (), "")] * 2
    amd.gpu(1, errors=2, pids=[HOLDER])
    well, ill = driver.read(ring)
    assert (well.faults, [fault.code for fault in ill.faults]) == ((), ["0000AD01"])
    assert [(each.pid, each.memory) for each in ill.processes] == [(HOLDER, 4096)]
    with pytest.raises(ResetRefused):
        driver.reset(ring, [ring[1]], frozenset({"0000AD01"}))
    amd.gpu(1, pids=[])
    driver.reset(ring, [ring[1]], frozenset({"0000AD01"}))
    assert amd.state["resets"] == [0]
    assert all(not report.faults for report in driver.read(ring)), "the counter goes on, and the fault is over"
    amd.gpu(1, errors=3)
    assert driver.read(ring)[1].faults, "and counts from there"


def test_amd_believes_no_exit_code_of_a_reset(amd: Amd) -> None:
    amd.set(fails=True)
    amd.gpu(0, errors=1)
    with pytest.raises(DriverError, match="Failed to reset GPU"):
        opened(amd.program).reset([ChipId(0), ChipId(1)], [ChipId(0)], frozenset({"0000AD01"}))


def test_amd_refuses_a_reset_that_cannot_be(amd: Amd) -> None:
    (amd.sys / "kernel/debug/dri").rmdir()
    amd.gpu(2, pending=[{"page_address": "0x1", "page_size": "4096", "status": "pending"}])
    driver = opened(amd.program)
    assert [fault.code for fault in driver.read([ChipId(2)])[0].faults] == ["0000AD02"]
    with pytest.raises(ResetRefused, match="debugfs"):
        driver.reset([ChipId(2)], [ChipId(2)], frozenset({"0000AD02"}))
    assert amd.state["resets"] == []


def test_amd_on_a_guest_knows_of_no_errors(amd: Amd) -> None:
    amd.set(habits=["guest"])
    assert opened(amd.program).read([ChipId(0)])[0].faults == ()


def test_amd_watches_by_asking_again(amd: Amd) -> None:
    driver, told = opened(amd.program), Told()
    driver.watch(told)
    eventually(lambda: driver.trouble() == ())
    amd.gpu(3, errors=1)
    told.asks(ChipId(3), 2)  # Once because it began.
    driver.close()


def test_amd_has_no_use_of_event(amd: Amd) -> None:
    # It would be the natural thing to follow; without a terminal it ends at once.
    import subprocess

    ran = subprocess.run([amd.folder / "amd-smi", "event"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert "EOFError" in ran.stderr


@pytest.fixture
def gaudi() -> Path:
    folder = trusted_folder()
    tool = folder / "hl-smi"
    tool.write_text((FAKES / "hl_smi.sh").read_text())
    tool.chmod(0o755)
    (folder / "modules").write_text("0 0000:B3:00.0 AN1 HL-325L 0\n1 0000:B4:00.0 AN2 HL-325L 0\n")
    for number in range(2):
        status = folder / f"sys/accel{number}/device/status"
        status.parent.mkdir(parents=True)
        status.write_text("operational\n")
    places = {"SMI=/usr/bin/hl-smi": f"SMI={tool}", "SYS=/sys/class/accel": f"SYS={folder}/sys"}
    return installed("gaudi", folder, places)


def test_gaudi_keeps_what_is_asked_of_a_program(gaudi: Path) -> None:
    assert [found for found in tried(str(gaudi)) if found.state == "error"] == []
    chip = opened(gaudi).chips()[1]
    assert (chip.id, chip.ring, chip.bus, chip.serial, chip.model) == (1, 1, "0000:b4:00.0", "AN2", "HL-325L")
    assert {"/dev/accel/accel1", "/dev/accel/accel_controlD1"} <= chip.aliases


def test_gaudi_tells_a_malfunction_and_errors_and_resets_by_address(gaudi: Path) -> None:
    driver, told = opened(gaudi), Told()
    driver.watch(told)
    eventually(lambda: driver.trouble() == ())
    status = gaudi.parent / "sys/accel1/device/status"
    status.write_text("malfunction\n")
    told.asks(ChipId(1), 2)
    (gaudi.parent / "modules").write_text("0 0000:B3:00.0 AN1 HL-325L 0\n1 0000:B4:00.0 AN2 HL-325L 4\n")
    well, ill = driver.read([ChipId(0), ChipId(1)])
    assert (well.faults, [fault.code for fault in ill.faults]) == ((), ["0000C001", "0000C002"])
    assert well.blind
    driver.reset([ChipId(1)], [ChipId(1)], frozenset({"0000C001"}))
    assert (gaudi.parent / "resets").read_text() == "0000:B4:00.0\n"
    assert not driver.read([ChipId(1)])[0].booted
    (gaudi.parent / "modules").write_text("0 0000:B3:00.0 AN1 HL-325L 0\n1 0000:B4:00.0 AN2 HL-325L 0\n")
    status.write_text("operational\n")
    assert driver.read([ChipId(1)])[0].is_up
    driver.close()


def test_gaudi_that_is_not_there_does_not_answer(gaudi: Path) -> None:
    driver = opened(gaudi)
    (gaudi.parent / "sys/accel0/device/status").unlink()
    gone, there = driver.read([ChipId(0), ChipId(1)])
    assert gone.error
    assert not there.error
