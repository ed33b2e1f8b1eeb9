"""Reading a chip: silence, hangs, dropped cards, processes, and what can be measured."""

from collections.abc import Callable

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.model.values.chips import ChipId
from tests.drivers.contract import CODE, OTHER_CODE
from tests.drivers.dcmi.driver import HANGS
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import SILENT, FakeChip, Purpose, Standin
from tests.support.waiting import eventually

Open = Callable[..., DcmiDriver]
ALL = [ChipId(n) for n in range(8)]


@pytest.fixture
def machine(ascend: Make) -> Standin:
    return ascend(hosts.host_910b(8))


def codes(driver: DcmiDriver, chip: int) -> list[str]:
    return sorted(fault.code for fault in driver.read([ChipId(chip)])[0].faults)


@pytest.mark.parametrize("purpose", [Purpose.CODES, Purpose.BOOT, Purpose.PROCESS])
def test_a_question_without_an_answer_is_an_error_of_that_chip_alone(
    machine: Standin, opened: Open, purpose: Purpose
) -> None:
    machine.answer(2, purpose, -8009)
    reports = opened(machine).read(ALL)
    assert [r.chip for r in reports if r.error] == [2]
    assert "libdcmi says -8009 (ioctl failed)" in reports[2].error


def test_a_health_that_cannot_be_told_speaks_not_against_the_chip(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.answer(2, Purpose.HEALTH, -8005)
    report = driver.read([ChipId(2)])[0]
    assert (report.error, report.booted, report.faults) == ("", True, ())


@pytest.mark.parametrize("purpose", [Purpose.BOOT, Purpose.PROCESS])
def test_what_a_chip_does_not_support_speaks_not_against_it(machine: Standin, opened: Open, purpose: Purpose) -> None:
    machine.answer(2, purpose, -8255)
    report = opened(machine).read([ChipId(2)])[0]
    assert (report.error, report.booted, report.processes) == ("", True, ())
    assert report.blind is (purpose is Purpose.PROCESS)


def test_all_codes_are_read_and_each_once(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.fault(0, CODE, module="1.1.1.1")
    machine.fault(0, CODE, module="1.1.1.2")
    machine.fault(0, OTHER_CODE)
    assert codes(driver, 0) == sorted([CODE, OTHER_CODE])


@pytest.mark.parametrize("purpose", SILENT)
def test_a_call_that_hangs_costs_its_chip_and_nobody_else(machine: Standin, opened: Open, purpose: Purpose) -> None:
    driver = opened(machine, call_timeout=HANGS)
    machine.hang(2, purpose)
    reports = driver.read(ALL)
    assert [r.chip for r in reports if r.error] == [2]
    assert reports[2].error == "cannot wait for libdcmi: it has not answered for 1 s"
    # From now on it fails at once, and still costs nobody else.
    again = driver.read(ALL)
    assert [r.chip for r in again if r.error] == [2]
    assert "an earlier call" in again[2].error
    machine.hang(2, purpose, hangs=False)
    eventually(lambda: not driver.read([ChipId(2)])[0].error)


def test_every_chip_hanging_is_bounded_and_so_is_closing(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910b(2))
    driver = opened(machine, call_timeout=HANGS)
    for chip in (0, 1):
        machine.hang(chip, Purpose.HEALTH)
    assert all(report.error for report in driver.read([ChipId(0), ChipId(1)]))
    driver.close()
    assert "closed" in driver.read([ChipId(0)])[0].error
    for chip in (0, 1):
        machine.hang(chip, Purpose.HEALTH, hangs=False)


def test_processes_have_memory(machine: Standin, opened: Open) -> None:
    import os

    driver = opened(machine)
    machine.process(1, os.getpid(), 123456)
    (process,) = driver.read([ChipId(1)])[0].processes
    assert (process.pid, process.memory, bool(process.name)) == (os.getpid(), 123456, True)
    machine.process(1, os.getpid(), 0)
    assert driver.read([ChipId(1)])[0].processes == ()


def test_another_boot_status_can_be_the_one_that_means_booted(machine: Standin, opened: Open) -> None:
    machine.set("finished", 3)
    assert not opened(machine).read([ChipId(0)])[0].booted
    assert opened(machine, booted=3).read([ChipId(0)])[0].booted


def test_what_can_be_measured_is_measured(machine: Standin, opened: Open) -> None:
    told = opened(machine).measure([ChipId(1)])
    carried = {name: value for name, value in told[ChipId(1)].items() if name.startswith(("hccs", "network_", "roce"))}
    assert {1: {name: value for name, value in told[ChipId(1)].items() if name not in carried}} == {
        1: {
            "type": "Ascend910B",
            "board": "0x1",
            "health": 0,
            "temperature_celsius": 41,
            "power_watts": 65.5,
            "voltage_volts": 0.85,
            "cpu_megahertz": 200,
            "hbm_megahertz": 600,
            "aicore_megahertz": 700,
            "aicore_max_megahertz": 900,
            "hbm_megabytes": 65536,
            "hbm_used_megabytes": 4096,
            "hbm_celsius": 45,
            "aicore_percent": 6,
            "hbm_percent": 18,
            "hbm_bandwidth_percent": 30,
            "vector_percent": 36,
            "overall_percent": 39,
            "ecc_hbm_enabled": 1,
            "ecc_hbm_recent_single_errors": 3,
            "ecc_hbm_recent_double_errors": 1,
            "ecc_hbm_single_errors": 30,
            "ecc_hbm_double_errors": 10,
            "ecc_hbm_double_isolated_pages": 1,
        }
    }
    links = {name.partition("_")[0] for name in carried if name.startswith("hccs")}
    assert links == {f"hccs{number}" for number in range(1, 8)}, "nothing is plugged into the others"
    assert carried["hccs3_sent_flits"] == (1 << 40) + 3
    # The stand-in's counters are their places in the header's structure.
    assert (carried["network_sent_bytes"], carried["network_received_bytes"]) == (21, 25)
    assert (carried["network_received_roce_packets"], carried["network_sent_cnp_packets"]) == (30, 37)
    assert (carried["roce_fcs_errors"], carried["roce_retry_errors"]) == (28, 42)
    assert carried["network_reachable"] == 1


def test_bad_bytes_and_marks_of_congestion_are_counted(machine: Standin, opened: Open) -> None:
    carried = opened(machine).measure([ChipId(1)])[ChipId(1)]
    assert (carried["network_sent_bad_bytes"], carried["network_received_bad_bytes"]) == (23, 27)
    assert carried["network_received_ecn_packets"] == 43


def test_a_chip_of_two_dies_counts_the_errors_between_them(ascend: Make, opened: Open) -> None:
    told = opened(ascend(hosts.host_a3())).measure([ChipId(1)])[ChipId(1)]
    assert (told["sio_sent_crc_errors"], told["sio_received_crc_errors"]) == (5, 6)


def test_older_drivers_count_links_in_fewer_bits(machine: Standin, opened: Open) -> None:
    machine.set("old_counters", 1)
    told = opened(machine).measure([ChipId(0)])[ChipId(0)]
    assert (told["hccs3_sent_flits"], told["hccs3_retry_errors"]) == (103, 3)


def test_a_network_that_does_not_answer_costs_its_own_value_only(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.hang(0, Purpose.NETWORK)
    told = driver.measure([ChipId(0)])[ChipId(0)]
    assert "network_reachable" not in told
    assert told["temperature_celsius"] == 40
    assert driver.read([ChipId(0)])[0].is_up, "nobody takes the chip for silent"
    assert not driver.trouble()
    machine.hang(0, Purpose.NETWORK, hangs=False)


def test_what_a_chip_does_not_measure_is_left_out(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_duo(1))
    told = opened(machine).measure([ChipId(0), ChipId(1), ChipId(9)])
    assert set(told) == {0, 1}
    assert told[ChipId(0)]["product"] == "Atlas 300I Duo"
    assert told[ChipId(0)]["memory_used_megabytes"] == 4576
    assert "hbm_megabytes" not in told[ChipId(0)]
    machine.answer(0, Purpose.GAUGE, -8255)
    assert set(opened(machine).measure([ChipId(0)])[ChipId(0)]) == {"type", "board", "product", "health"}


def test_the_second_family_measures_too(ascend: Make, opened: Open) -> None:
    told = opened(ascend(hosts.host_950(), "two")).measure([ChipId(0)])[ChipId(0)]
    assert (told["type"], told["temperature_celsius"], told["cube_percent"]) == ("Ascend950", 40, 42)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *(("temperature", number) for number in (0x7FFD, 0x7FFE, 0x7FFF, -300)),
        *(("power", number) for number in (0x7FFD, 0x7FFF, -1)),
        *(("voltage", number) for number in (0x7FFD, 0x7FFF, -1)),
        ("network", 8),
    ],
)
def test_a_number_that_says_that_there_is_no_value_is_none(
    machine: Standin, opened: Open, name: str, number: int
) -> None:
    driver = opened(machine)
    before = driver.measure([ChipId(1)])[ChipId(1)]
    machine.gauge(1, **{name: number})
    now = driver.measure([ChipId(1)])[ChipId(1)]
    assert [each.partition("_")[0] for each in before.keys() - now.keys()] == [name]
    assert now == {each: value for each, value in before.items() if each in now}


@pytest.mark.parametrize(("state", "reachable"), [(0, 1), (6, 1), (1, 0), (3, 0)])
def test_any_other_state_of_the_network_is_told(machine: Standin, opened: Open, state: int, reachable: int) -> None:
    machine.gauge(0, network=state)
    assert opened(machine).measure([ChipId(0)])[ChipId(0)]["network_reachable"] == reachable


@pytest.mark.parametrize("celsius", [-40, -1, 0, 127])
def test_frost_is_no_heat_in_either_family(ascend: Make, opened: Open, celsius: int) -> None:
    for chips, family in ((hosts.host_910b(1), "one"), (hosts.host_950(1), "two")):
        machine = ascend(chips, family)
        machine.gauge(0, temperature=celsius)
        assert opened(machine).measure([ChipId(0)])[ChipId(0)]["temperature_celsius"] == celsius


@pytest.mark.parametrize("chips", [hosts.host_a3(2), hosts.host_duo(2)])
def test_the_power_of_a_card_of_two_chips_is_told_once(ascend: Make, opened: Open, chips: tuple[FakeChip, ...]) -> None:
    driver = opened(ascend(chips))
    told = driver.measure([chip.id for chip in driver.chips()])
    assert [values.get("power_watts") for values in told.values()] == [65.5, None, 65.5, None]


@pytest.mark.parametrize("number", [0x7FFD, 0x7FFF])
def test_a_card_whose_controller_cannot_read_its_power_has_none(ascend: Make, opened: Open, number: int) -> None:
    machine = ascend(hosts.host_duo(1))
    machine.gauge(0, card_power=number)
    assert "power_watts" not in opened(machine).measure([ChipId(0)])[ChipId(0)]


@pytest.mark.parametrize(
    ("chips", "memories"),
    [(hosts.host_910b(1), {"hbm"}), (hosts.host_910a(1), {"ddr", "hbm"}), (hosts.host_duo(1), {"ddr"})],
)
def test_errors_of_the_memories_that_a_product_has_are_told(
    ascend: Make, opened: Open, chips: tuple[FakeChip, ...], memories: set[str]
) -> None:
    told = opened(ascend(chips)).measure([ChipId(0)])[ChipId(0)]
    assert {name.split("_")[1] for name in told if name.startswith("ecc_")} == memories


@pytest.mark.parametrize(
    ("chips", "family"), [(hosts.host_910b(2), "one"), (hosts.host_duo(1), "one"), (hosts.host_950(2), "two")]
)
def test_what_a_chip_does_not_support_is_asked_for_once(
    ascend: Make, opened: Open, chips: tuple[FakeChip, ...], family: str
) -> None:
    machine = ascend(chips, family)
    driver, both = opened(machine), [ChipId(0), ChipId(1)]
    first = driver.measure(both), driver.read(both)
    lines = machine.get("unsupported")
    assert lines
    assert (driver.measure(both), driver.read(both)) == first
    assert machine.get("unsupported") == lines, "each is a line in the vendor's log"


def test_what_is_refused_for_another_reason_is_asked_for_again(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.answer(1, Purpose.GAUGE, -8012)
    assert "power_watts" not in driver.measure([ChipId(1)])[ChipId(1)]
    machine.answer(1, Purpose.GAUGE, 0)
    assert driver.measure([ChipId(1)])[ChipId(1)]["power_watts"] == 65.5


@pytest.mark.parametrize("purpose", [Purpose.GAUGE, Purpose.NETWORK])
def test_a_gauge_that_hangs_costs_itself_and_no_more(machine: Standin, opened: Open, purpose: Purpose) -> None:
    driver = opened(machine, call_timeout=HANGS)
    machine.hang(0, purpose)
    both = driver.measure([ChipId(0), ChipId(1)])
    assert ("voltage_volts" in both[ChipId(0)]) is (purpose is Purpose.NETWORK)
    assert both[ChipId(1)]["voltage_volts"] == 0.85
    # Neither the questions that decisions need nor the reset wait for a gauge.
    assert driver.read([ChipId(0)])[0].is_up
    assert driver.stale() == ""
    machine.fault(0, CODE)
    driver.reset(ALL, [ChipId(0)], frozenset({CODE}))
    assert [reset.answer for reset in machine.resets] == [0]
    machine.hang(0, purpose, hangs=False)


def test_a_chip_that_is_none_of_the_living_measures_nothing(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.gauge(1, health=-1)
    assert set(driver.measure([ChipId(1)])[ChipId(1)]) == {"type", "board"}


def test_a_chip_with_a_fault_or_in_a_reset_is_asked_for_no_gauge(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.fault(0, CODE, severity=2)
    before = machine.get("calls")
    assert set(driver.measure([ChipId(0)])[ChipId(0)]) == {"type", "board", "health"}
    assert machine.get("calls") == before + 1, "its health, which the host knows"
    machine.set("boot_by_hand", 1)
    driver.reset(ALL, [ChipId(0)], frozenset())
    before = machine.get("calls")
    assert set(driver.measure([ChipId(1)])[ChipId(1)]) == {"type", "board"}
    assert machine.get("calls") == before
    machine.finish_boots()
    assert driver.read(ALL)[1].is_up
    assert driver.measure([ChipId(1)])[ChipId(1)]["voltage_volts"] == 0.85
