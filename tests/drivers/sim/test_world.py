"""The file that keeps simulated chips while no cmgr runs."""

import json
import signal
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.config.sim import Sim, SimDivided, SimEvent
from cmgr.errors import DriverError
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from tests.drivers.contract import CODE, OTHER_CODE, Told, reported
from tests.drivers.sim.driver import DriverByHand

OCCURRED = Assertion.OCCURRED
CODES = frozenset({CODE})
RING = tuple(ChipId(number) for number in range(4))


class Times:
    """A monotonic clock, begun anew in each life, and the wall clock, which goes on."""

    def __init__(self, world: Path) -> None:
        self.monotonic = 50.0
        self.wall = 1_800_000_000.0
        self.world = world

    def pass_by(self, seconds: float) -> None:
        self.monotonic += seconds
        self.wall += seconds

    def life(self, **changes: object) -> DriverByHand:
        """Return the driver of a new life of the process."""
        self.monotonic = 7.0
        values = {"chips": 8, "ring": 4, "reset_time": timedelta(), "boot_time": timedelta(seconds=30), **changes}
        sim = Sim(world=str(self.world), **values)  # type: ignore[arg-type]
        return DriverByHand(sim, now=lambda: self.monotonic, wall=lambda: self.wall)


@pytest.fixture
def times(tmp_path: Path) -> Times:
    return Times(tmp_path / "world.json")


def codes(driver: DriverByHand, chip: int) -> list[str]:
    return [fault.code for fault in driver.read([ChipId(chip)])[0].faults]


def test_faults_outlive_the_process(times: Times) -> None:
    first = times.life()
    first.inject(ChipId(3), CODE, OCCURRED)
    first.occur(SimEvent(3, OTHER_CODE, module="9.9", severity=1))
    first.inject(ChipId(4), CODE, OCCURRED)
    first.inject(ChipId(4), CODE, Assertion.CLEARED)
    second = times.life()
    assert codes(second, 3) == [OTHER_CODE, CODE]
    assert [fault.severity for fault in second.read([ChipId(3)])[0].faults] == [1, 2]
    assert codes(second, 4) == []


def test_a_boot_goes_on_while_no_process_runs(times: Times) -> None:
    first = times.life()
    first.inject(ChipId(1), CODE, OCCURRED)
    first.reset(RING, [ChipId(1)], CODES)
    times.pass_by(29)
    second = times.life()
    assert [report.booted for report in second.read([*RING, ChipId(4)])] == [False] * 4 + [True]
    times.pass_by(1)
    assert all(report.booted and not report.faults for report in second.read(RING))
    assert all(report.booted and not report.faults for report in times.life().read(RING))


def test_a_boot_that_ended_while_no_process_ran_has_cured(times: Times) -> None:
    first = times.life()
    first.inject(ChipId(1), CODE, OCCURRED)
    first.reset(RING, [ChipId(1)], CODES)
    times.pass_by(3600)
    second = times.life()
    assert all(report.booted and not report.faults for report in second.read(RING))


def test_a_boot_that_never_ends_goes_on_so(times: Times) -> None:
    first = times.life(boots=False)
    first.inject(ChipId(1), CODE, OCCURRED)
    first.reset(RING, [ChipId(1)], CODES)
    times.pass_by(10**6)
    assert not times.life().read([ChipId(0)])[0].booted


def test_what_resets_did_and_how_many_still_fail_is_kept(times: Times) -> None:
    first = times.life(fail_resets=2)
    first.inject(ChipId(1), CODE, OCCURRED)
    with pytest.raises(DriverError):
        first.reset(RING, [ChipId(1)], CODES)
    second = times.life(fail_resets=2)
    with pytest.raises(DriverError):
        second.reset(RING, [ChipId(1)], CODES)
    second.reset(RING, [ChipId(1)], CODES)
    assert [reset.outcome for reset in times.life().resets] == ["failed", "failed", "taken"]
    assert times.life().resets[0].chips == RING


def test_shares_that_a_reset_took_are_gone_in_the_next_life_too(times: Times) -> None:
    settings = {"divided": (SimDivided(1),), "fail_shares": 2}
    first = times.life(**settings)
    shares = first.chips()[1].shares
    first.inject(ChipId(1), CODE, OCCURRED)
    first.reset(RING, [ChipId(1)], CODES)
    with pytest.raises(DriverError):
        first.make_shares({ChipId(1): shares})
    second = times.life(**settings)
    with pytest.raises(DriverError):
        second.make_shares({ChipId(1): shares})
    third = times.life(**settings)
    assert third.read([ChipId(1)])[0].shares == ()
    third.make_shares({ChipId(1): shares})
    assert times.life(**settings).chips()[1].shares == shares


def test_the_script_goes_on_where_it_was(times: Times) -> None:
    script = tuple(SimEvent(chip, CODE, timedelta(seconds=10 * chip)) for chip in range(3))
    first = times.life(script=script)
    told = Told()
    first.watch(told)
    told.wait(1)
    first.close()
    times.pass_by(15)
    second = times.life(script=script)
    told = Told()
    second.watch(told)
    assert reported(told.wait(1)) == [(1, CODE, OCCURRED)]
    times.pass_by(5)
    second.wake()
    assert reported(told.wait(2)) == [(1, CODE, OCCURRED), (2, CODE, OCCURRED)]
    second.close()


def test_faults_of_chips_that_are_gone_are_forgotten(times: Times) -> None:
    times.life().inject(ChipId(7), CODE, OCCURRED)
    assert len(times.life(chips=4).chips()) == 4


def test_the_file_is_its_owners_alone_and_nothing_is_left_beside_it(times: Times) -> None:
    times.life().inject(ChipId(0), CODE, OCCURRED)
    assert stat.S_IMODE(times.world.stat().st_mode) == 0o600
    assert list(times.world.parent.iterdir()) == [times.world]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"version": 2}', "\xff", '{"version": 1, "chips": {"0": {"faults": [{"code": "x"}]}}}'],
)
def test_a_damaged_file_is_an_error_with_a_hint(times: Times, text: str) -> None:
    times.world.write_bytes(text.encode("latin-1"))
    with pytest.raises(DriverError, match="world of the simulated chips") as caught:
        times.life()
    assert caught.value.hint.startswith(f"remove {times.world}")


def test_a_file_that_cannot_be_written_is_told_by_an_injection_and_does_not_stop_a_reset(times: Times) -> None:
    driver = times.life()
    driver.inject(ChipId(1), CODE, OCCURRED)
    times.world.unlink()
    times.world.mkdir()
    with pytest.raises(DriverError, match="cannot write the world"):
        driver.inject(ChipId(1), OTHER_CODE, OCCURRED)
    driver.reset(RING, [ChipId(1)], CODES)
    assert not driver.read([ChipId(1)])[0].booted


KILLED_IN_A_RESET = """
import sys
from datetime import timedelta
from cmgr.config.sim import Sim
from cmgr.drivers.sim.driver import SimDriver
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
driver = SimDriver(Sim(world=sys.argv[1], ring=4, reset_time=timedelta(hours=1), boot_time=timedelta(hours=1)))
driver.inject(ChipId(1), "80E24E00", Assertion.OCCURRED)
driver.reset([ChipId(n) for n in range(4)], [ChipId(1)], frozenset({"80E24E00"}))
"""


def test_a_reset_goes_on_when_the_process_is_killed_in_it(tmp_path: Path) -> None:
    world = tmp_path / "world.json"
    process = subprocess.Popen([sys.executable, "-c", KILLED_IN_A_RESET, str(world)])
    while not (world.exists() and json.loads(world.read_text())["resets"]):
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.02)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    driver = DriverByHand(Sim(world=str(world), ring=4))
    assert [report.booted for report in driver.read([ChipId(0), ChipId(4)])] == [False, True]
    assert [reset.outcome for reset in driver.resets] == ["taken"]


def test_a_piece_keeps_its_faults_whatever_its_number_in_a_later_life(times: Times) -> None:
    times.life().inject(ChipId(3), CODE, OCCURRED)
    second = times.life(pieces=(0, 3, 4, 5, 6, 7))
    assert [(chip.id, chip.serial, chip.ring) for chip in second.chips()][:3] == [
        (0, "SIM0000", 0), (1, "SIM0003", 0), (2, "SIM0004", 2),
    ]  # fmt: skip
    assert (codes(second, 1), codes(second, 3)) == ([CODE], [])
    assert codes(times.life(), 3) == [CODE]
