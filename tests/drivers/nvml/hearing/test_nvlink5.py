"""Errors of NVLink and of memory: what asks for nothing stops nobody, and whoever decides is waited for."""

from pathlib import Path

import pytest

from cmgr.drivers.nvml.hearing.xids import NAME, SETTLE, Xids
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import Remarked
from tests.drivers.contract import Told, reported
from tests.drivers.nvml.test_watch import Open, codes
from tests.drivers.nvml.test_xids import BUS, Clock, asked
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import Standin
from tests.support.waiting import eventually

# Of leptonai/gpud#1160 and #1174, and its nvlink_logs_test.go: for two of them the word says the contrary.
IGNORED = "149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x026001c6 0x00000000 0x00000000 0x00000000)"
RESET = "145, RLW_REMAP Nonfatal XC1 i0 Link 10 (0x00000004 0x00000040 0x00000000 0x00000000)"
ASKED = "145, RLW_REMAP Nonfatal XC0 i0 Link 00 (0x00000004 0x00000001 0x00000000 0x00000000)"
LINK_DOWN = "149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x025001c6 0x00000000 0x00000000 0x00000000)"


@pytest.fixture
def machine(nvidia: Make) -> Standin:
    return nvidia(hosts.host_h100(3))


def line(machine: Standin, gpu: int, words: str) -> str:
    return f"NVRM: Xid (PCI:{machine.gpus[gpu].address.removesuffix('.0')}): {words}"


def remarks(told: Told) -> list[str]:
    return [fact.text for fact in told.facts if isinstance(fact, Remarked)]


def test_the_decode_beats_the_word_and_hides_no_other_error(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.log(line(machine, 1, IGNORED))
    eventually(lambda: remarks(told))
    assert remarks(told) == ["Xid 149 of chip 1 (NETIR_LINK_EVT, link 0): its maker says that it asks for nothing"]
    machine.xid(1, 149)  # The event of the same one, which NVML tells without its words.
    machine.xid(1, 13)
    told.has(ChipId(1), Assertion.ONCE, "Xid 13")  # It waited for its line as long as the other one would have.
    assert (reported(told.facts), codes(driver, 1)) == ([(ChipId(1), "Xid 13", Assertion.ONCE)], [])
    machine.log(line(machine, 1, LINK_DOWN))
    told.has(ChipId(1), Assertion.OCCURRED, "Xid 149")
    machine.log(line(machine, 2, RESET))
    told.has(ChipId(2), Assertion.OCCURRED, "Xid 145")
    assert len(remarks(told)) == 1


def test_where_the_driver_decides_nobody_is_stopped_before_it_has(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    waits = "nothing is done for it before the driver asks for a reset"
    machine.log(line(machine, 1, ASKED))
    machine.xid(2, 150)  # Its line never comes.
    eventually(lambda: len(remarks(told)) == 2)
    assert remarks(told) == [f"Xid 145 of chip 1 (RLW_REMAP, link 0): {waits}", f"Xid 150 of chip 2: {waits}"]
    assert (reported(told.facts), codes(driver, 1), codes(driver, 2)) == ([], [], [])
    machine.act(1, 1)
    told.has(ChipId(1), Assertion.OCCURRED, "E0010001")
    assert codes(driver, 1) == ["E0010001"]
    told.asks(ChipId(2), 2)  # As it begins, and once the driver had its time.
    assert codes(driver, 2) == []


def test_what_asked_for_nothing_before_the_service_began_counts_no_more_than_later(
    machine: Standin, opened: Open
) -> None:
    for gpu, words in ((1, IGNORED), (2, IGNORED), (2, RESET)):
        machine.act(gpu, 1)
        machine.log(line(machine, gpu, words))
    driver = opened(machine)
    driver.watch(Told())
    assert (codes(driver, 1), codes(driver, 2)) == (["E0010001"], ["E0010001", "Xid 145"])


@pytest.mark.parametrize(
    ("action", "at", "counts"), [(None, SETTLE / 2, False), (None, SETTLE, True), (0, SETTLE, False), (3, 60, False)]
)
def test_a_driver_that_says_nothing_is_waited_for_as_long_as_it_has_time(
    tmp_path: Path, action: int | None, at: float, counts: bool
) -> None:
    xids = Xids(580, tmp_path / NAME, clock := Clock(), "one")
    xids.add(BUS, 145, asks=True)
    clock.time = at
    assert xids.codes(BUS, asked(action, at)) == (("Xid 145",) if counts else ())


def test_one_that_asks_for_a_reset_counts_whatever_comes_after_it(tmp_path: Path) -> None:
    xids = Xids(580, tmp_path / NAME, Clock(), "one")
    xids.add(BUS, 145)
    xids.add(BUS, 145, asks=True)
    assert xids.codes(BUS, asked(None)) == ("Xid 145",)
    assert xids.waits_for_line(145)
    assert not xids.waits_for_line(140)


def test_of_a_memory_error_it_is_waited_for_what_the_driver_says_or_what_comes_with_it(
    nvidia: Make, opened: Open
) -> None:
    # The lines: NVIDIA/gpu-operator#1146, stas00/ml-engineering debug/hardware-troubleshooting.md.
    machine = nvidia(hosts.host_h100(3), 535)
    driver, told = opened(machine), Told()
    driver.watch(told)
    double = "48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU"
    machine.log(line(machine, 1, double))
    machine.log(line(machine, 1, "63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate."))
    told.has(ChipId(1), Assertion.ONCE, "Xid 63")
    machine.log(line(machine, 2, double))
    eventually(lambda: len(remarks(told)) == 2)
    waits = "nothing is done for it before it is known what comes with it"
    assert remarks(told) == [f"Xid 48 of chip 1: {waits}", f"Xid 48 of chip 2: {waits}"]
    eventually(lambda: codes(driver, 2) == ["Xid 48"])
    assert codes(driver, 1) == []


def test_an_nvlink_error_that_can_be_ignored_stops_nobody(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    # NVIDIA/NVSentinel, pkg/xid/parser/csv_test.go, with a bit of the fifth register, and with one that nobody ignores.
    words = "74, NVLink: fatal error detected on link 14(0x0, 0x0, {}, 0x0, 0x800000, 0x0, 0x0)"
    machine.log(line(machine, 1, words.format("0x0")))
    machine.log(line(machine, 2, words.format("0x10000")))
    eventually(lambda: len(remarks(told)) == 2)
    assert remarks(told) == [
        "Xid 74 of chip 1 (link 14): its maker says that it asks for nothing",
        "Xid 74 of chip 2 (link 14): nothing is done for it before the driver asks for a reset",
    ]
    machine.act(2, 1)
    told.has(ChipId(2), Assertion.OCCURRED, "E0010001")
    assert (reported(told.facts), codes(driver, 1)) == ([(ChipId(2), "E0010001", Assertion.OCCURRED)], [])
