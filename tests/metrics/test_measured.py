"""The driver's measurements: of the stand-in for Ascend's library, and of a driver whose calls can be counted."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from cmgr.config.sim import Sim
from cmgr.drivers.nvml.library import abi
from cmgr.drivers.sim.driver import SimDriver
from cmgr.drivers.sim.gauges import DEAD_LINK, MeasuredSim
from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.rings import Phase
from cmgr.service.metrics.chips import MEASURED, OLD_SECONDS, Measuring
from cmgr.service.metrics.look import Look
from cmgr.service.metrics.totals import Spread
from tests.drivers.dcmi.driver import open_dcmi
from tests.drivers.nvml.driver import open_nvml
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import Purpose
from tests.fakes.nvml import hosts as nvidia_hosts
from tests.fakes.nvml.fixtures import Make as MakeGpus
from tests.fakes.nvml.standin import Standin as GpuStandin
from tests.metrics.conftest import Install
from tests.metrics.scrape import Page, get, scrape
from tests.support.picture import machine
from tests.support.promtool import promtool
from tests.support.waiting import PATIENCE, eventually

MEBIBYTE = 1024 * 1024

NO_METRIC = {"type", "board", "product", "uuid"}
"""Texts of a driver about a chip, which are no metric."""


def first_scrape(port: int) -> Page:
    """Wait until metrics are served, and return them."""

    def page() -> Page | None:
        try:
            return scrape(port)
        except OSError:
            return None

    found = eventually(page, why="metrics are served")
    assert found is not None
    return found


def test_what_the_chips_measure_is_served_in_base_units(install: Install, ascend: Make, port: int) -> None:
    stand_in = ascend(hosts.host_910b(4))
    service = install({"driver": "dcmi", "dcmi.library": str(stand_in.library)})
    service.start()
    page = first_scrape(port)
    for name, labels, value in (
        ("cmgr_chip_temperature_celsius", {"sensor": "chip"}, 41),
        ("cmgr_chip_temperature_celsius", {"sensor": "hbm"}, 45),
        ("cmgr_chip_power_watts", {}, 65.5),
        ("cmgr_chip_memory_bytes", {"memory": "hbm"}, 65536 * MEBIBYTE),
        ("cmgr_chip_memory_used_bytes", {"memory": "hbm"}, 4096 * MEBIBYTE),
        ("cmgr_chip_utilisation_ratio", {"part": "aicore"}, 0.06),
        ("cmgr_chip_utilisation_ratio", {"part": "hbm"}, 0.18),
        ("cmgr_chip_utilisation_ratio", {"part": "hbm_bandwidth"}, 0.3),
        ("cmgr_chip_ecc_errors_total", {"memory": "hbm", "bits": "single"}, 30),
        ("cmgr_chip_ecc_errors_total", {"memory": "hbm", "bits": "double"}, 10),
        ("cmgr_chip_ecc_isolated_pages", {"memory": "hbm", "bits": "double"}, 1),
        ("cmgr_chip_voltage_volts", {"sensor": "chip"}, 0.85),
        ("cmgr_chip_clock_hertz", {"part": "aicore"}, 700e6),
        ("cmgr_chip_clock_hertz", {"part": "aicore_max"}, 900e6),
        ("cmgr_chip_health", {}, 0),
        ("cmgr_chip_network_reachable", {}, 1),
        ("cmgr_chip_link_flits_total", {"link": "hccs7", "direction": "sent"}, (1 << 40) + 7),
        ("cmgr_chip_link_errors_total", {"link": "hccs7", "kind": "crc"}, 7),
        ("cmgr_chip_network_bytes_total", {"direction": "received"}, 25),
        ("cmgr_chip_network_packets_total", {"direction": "sent", "kind": "roce"}, 33),
        ("cmgr_chip_link_errors_total", {"link": "roce", "kind": "bad_received"}, 26),
    ):
        assert page.value(name, chip="1", **labels) == value, name
    assert len(page.all("cmgr_chip_power_watts")) == 4
    assert len(page.all("cmgr_chip_link_flits_total")) == 4 * 7 * 2, "links that nothing is plugged into are left out"
    assert promtool("check", "metrics", given=get(port).body.encode()) == ""


def test_a_chip_that_hangs_costs_a_scrape_its_values_and_no_more(install: Install, ascend: Make, port: int) -> None:
    stand_in = ascend(hosts.host_910b(2))
    stand_in.hang(0, Purpose.GAUGE)
    stand_in.set("refuse_subscriptions", 1_000_000)
    service = install({"driver": "dcmi", "dcmi.library": str(stand_in.library)})
    try:
        service.start()
        page = first_scrape(port)
        assert {dict(labels)["chip"] for labels in page.all("cmgr_chip_power_watts")} == {"1"}
        assert page.value("cmgr_chip_healthy", chip="1") == 1
        eventually(lambda: scrape(port).value("cmgr_driver_troubles") > 0, why="the driver tells of no faults")
        assert scrape(port).value("cmgr_service_state", state="degraded") == 1
    finally:
        stand_in.hang(0, Purpose.GAUGE, hangs=False)


def test_the_names_of_the_makers_exporter_are_served_beside_where_they_are_wished_for(
    install: Install, ascend: Make, port: int
) -> None:
    stand_in = ascend(hosts.host_910b(2))
    service = install({"driver": "dcmi", "dcmi.library": str(stand_in.library), "dcmi.npu_exporter_names": True})
    service.start()
    page = first_scrape(port)
    found = {dict(labels)["id"]: value for labels, value in page.all("npu_chip_info_temperature").items()}
    assert found == {"0": 40, "1": 41}
    assert page.value("machine_npu_nums") == 2
    assert page.value("cmgr_chip_temperature_celsius", chip="1", sensor="chip") == 41


def test_every_value_that_a_driver_measures_has_its_metric(ascend: Make) -> None:
    measured: set[str] = set()
    exported: set[str] = set()
    for host in (hosts.host_910b(2), hosts.host_duo(1), hosts.host_a3(2), hosts.host_950(2)):
        driver = open_dcmi(ascend(host, "both"))
        for values in driver.measure([chip.id for chip in driver.chips()]).values():
            measured |= values.keys()
            exported |= {name for name, value in values.items() if of_a_driver(ChipId(0), {name: value})}
        driver.close()
    assert measured - NO_METRIC == exported
    assert {"temperature_celsius", "hbm_megabytes", "memory_megabytes"} <= measured


def test_every_value_that_a_gpu_measures_has_its_metric(nvidia: MakeGpus) -> None:
    machine = nvidia(nvidia_hosts.host_h100(1))
    for field in (3, 142, 143):
        machine.field(0, field, field)
    link_fields(machine, (161, 162, 163))
    values = measured_by(machine)
    found = {name: of_a_driver(ChipId(0), {name: value}) for name, value in values.items() if name not in NO_METRIC}
    assert [name for name, samples in found.items() if len(samples) != 1] == []
    samples = {key: value for of in found.values() for key, value in of.items()}
    assert samples[("cmgr_chip_clock_hertz", "0", "sm")] == 1.98e9
    assert samples[("cmgr_chip_memory_used_bytes", "0", "fb")] == 2048 * MEBIBYTE
    assert samples[("cmgr_chip_remapped_rows", "0", "uncorrectable")] == 143
    assert samples[("cmgr_chip_link_errors_total", "0", "pcie", "replay")] == 0
    assert samples[("cmgr_chip_link_errors_total", "0", "nvlink", "crc")] == 2 * 163
    assert samples[("cmgr_chip_ecc_errors_total", "0", "all", "single")] == 3
    assert samples[("cmgr_chip_energy_joules_total", "0")] == 123


@pytest.mark.parametrize("release", [535, 580])
def test_links_of_nvlink_5_have_counters_of_their_own_which_newer_drivers_tell(nvidia: MakeGpus, release: int) -> None:
    machine = nvidia(nvidia_hosts.host_b200(1), release=release)
    counters = (*range(206, 213), 214, 215, 219, 221)
    # The older counters are there, and a GPU of this kind answers nothing when it is asked for them.
    link_fields(machine, (161, 162, 163, *counters))
    for link, rate in enumerate((0x30F, 0x10C)):
        for field in (220, 222):
            machine.field(0, field, rate, link=link)
    values = {name: value for name, value in measured_by(machine).items() if name.startswith("nvlink_")}
    samples = {key: value for name in values for key, value in of_a_driver(ChipId(0), {name: values[name]}).items()}
    if release < 560:
        assert samples == {}
        return
    assert len(samples) == len(counters) + 2 == len(values)
    assert samples[("cmgr_chip_link_errors_total", "0", "nvlink", "recovery")] == 2 * 215
    assert samples[("cmgr_chip_link_errors_total", "0", "nvlink", "failed_recovery")] == 2 * 214
    assert samples[("cmgr_chip_link_bit_error_ratio", "0", "nvlink", "symbol")] == pytest.approx(1e-12)


def link_fields(machine: GpuStandin, fields: Iterable[int]) -> None:
    """Let each field of both of its links have its own number as the value."""
    machine.field(0, abi.LINK_COUNT_FIELD, 2)
    for field in fields:
        for link in range(2):
            machine.field(0, field, field, link=link)


def measured_by(machine: GpuStandin) -> Mapping[str, float | str]:
    driver = open_nvml(machine)
    values = driver.measure([ChipId(0)])[ChipId(0)]
    driver.close()
    return values


def test_everything_that_the_simulator_measures_has_its_metric_and_a_dead_link_is_seen() -> None:
    driver = MeasuredSim(Sim(chips=2, ring=2))
    driver.inject(ChipId(1), DEAD_LINK, Assertion.OCCURRED)
    measured = driver.measure([ChipId(0), ChipId(1)])
    driver.close()
    assert [name for name, value in measured[ChipId(0)].items() if not of_a_driver(ChipId(0), {name: value})] == []
    assert [measured[ChipId(chip)]["roce_up"] for chip in (0, 1)] == [1, 0]
    assert of_a_driver(ChipId(0), measured[ChipId(0)])["cmgr_chip_link_speed_bytes", "0", "roce"] == 25e9


def of_a_driver(chip: ChipId, values: Mapping[str, float | str]) -> dict[tuple[str, ...], float | Spread]:
    """Return the samples of a chip of which its driver says this: name and labels, and the value."""
    look = cast("Look", SimpleNamespace(measured={chip: values}))
    return {(m.name, *labels): value for m in MEASURED for labels, value in m.of(look)}


def test_a_driver_of_any_make_has_its_measurements_served_by_their_names_alone() -> None:
    values: dict[str, float | str] = {"power_watts": 3, "gddr_celsius": 60, "tensor_core_percent": 50}
    values |= {"gddr_used_megabytes": 2, "memory_used_megabytes": 1}
    values |= {"ecc_l2_double_errors": 1, "ecc_l2_double_isolated_pages": 4, "board": "7", "serial": 9}
    values |= {"udie0port4_up": 1, "roce_up": 0}
    assert of_a_driver(ChipId(5), values) == {
        ("cmgr_chip_temperature_celsius", "5", "gddr"): 60,
        ("cmgr_chip_power_watts", "5"): 3,
        ("cmgr_chip_memory_used_bytes", "5", "gddr"): 2 * MEBIBYTE,
        ("cmgr_chip_memory_used_bytes", "5", "ddr"): MEBIBYTE,
        ("cmgr_chip_utilisation_ratio", "5", "tensor_core"): 0.5,
        ("cmgr_chip_ecc_errors_total", "5", "l2", "double"): 1,
        ("cmgr_chip_ecc_isolated_pages", "5", "l2", "double"): 4,
        ("cmgr_chip_link_up", "5", "udie0port4"): 1,
        ("cmgr_chip_link_up", "5", "roce"): 0,
    }


class Gauged(SimDriver):
    """Simulated chips with a thermometer, whose readings can be held up."""

    def __init__(self) -> None:
        super().__init__(Sim(chips=4, ring=2))
        self.asked: list[tuple[ChipId, ...]] = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    def measure(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Mapping[str, float | str]]:
        self.asked.append(tuple(chips))
        self.begun.set()
        self.go_on.wait(PATIENCE)
        return {chip: {"temperature_celsius": len(self.asked)} for chip in chips}


def test_the_driver_is_not_asked_again_for_a_while() -> None:
    driver = Gauged()
    patient = Measuring(driver, fresh_seconds=3600)
    first = patient.values(machine())
    assert patient.values(machine()) is first
    assert len(driver.asked) == 1
    eager = Measuring(driver, fresh_seconds=0)
    assert eager.values(machine()) != eager.values(machine())
    driver.close()


def test_one_scrape_does_not_wait_for_the_driver_that_another_is_asking() -> None:
    driver = Gauged()
    measuring = Measuring(driver)
    driver.go_on.clear()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(measuring.values, machine())
        assert driver.begun.wait(PATIENCE)
        assert measuring.values(machine()) == {}, "there is nothing yet, and nobody waits"
        driver.go_on.set()
        assert len(first.result(PATIENCE)) == 4
    driver.close()


def test_what_was_measured_long_ago_is_not_told_while_another_scrape_asks_the_driver() -> None:
    driver = Gauged()
    soon, late = Measuring(driver, fresh_seconds=0), Measuring(driver, fresh_seconds=-OLD_SECONDS)
    for measuring, told in ((soon, 4), (late, 0)):
        measuring.values(machine())
        driver.begun.clear()
        driver.go_on.clear()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(measuring.values, machine())
            assert driver.begun.wait(PATIENCE)
            assert len(measuring.values(machine())) == told
            driver.go_on.set()
    driver.close()


def test_chips_that_are_in_a_reset_are_left_in_peace() -> None:
    driver = Gauged()
    node = machine()
    ring = replace(node.rings[RingId(0)], phase=Phase.VERIFYING)
    Measuring(driver).values(replace(node, rings={**node.rings, ring.id: ring}))
    assert driver.asked == [(2, 3)]
    driver.close()


def test_a_driver_without_gauges_has_no_values() -> None:
    driver = SimDriver(Sim(chips=2, ring=2))
    assert Measuring(driver).values(machine()) == {}
    driver.close()
