"""The names of NPU Exporter: those that its own examples have, with its labels and units."""

from dataclasses import replace

from cmgr.config.settings import Config
from cmgr.config.sim import Sim
from cmgr.drivers.dcmi.npu_exporter import told
from cmgr.drivers.dcmi.settings import Dcmi
from cmgr.drivers.sim.gauges import MeasuredSim
from cmgr.model.values.chips import ChipId, ChipReport, Process
from cmgr.model.values.node import Node
from cmgr.vendor import told_too
from tests.support.picture import faulty, machine, running

STATES = ("healthy", "unhealthy", "unknown")
LABELS = ["id", "model_name", "vdie_id", "pcie_bus_info", "namespace", "pod_name", "container_name"]


def measured() -> dict[ChipId, dict[str, float | str]]:
    driver = MeasuredSim(Sim(chips=4, ring=2))
    found = {chip: dict(values) for chip, values in driver.measure([ChipId(n) for n in range(4)]).items()}
    driver.close()
    return found


def values(node: Node, name: str) -> dict[str, float]:
    """Return the values by chip of the metric of this name."""
    return {t.labels.get("id", t.labels.get("npuID", "")): t.value for t in told(node, measured()) if t.name == name}


def test_a_chips_values_have_the_exporters_names_labels_and_units() -> None:
    known = measured()
    known[ChipId(2)] |= {"voltage_volts": 0.85, "optics_volts": 3.3, "health": 1, "hccs1_sent_flits": 7}
    known[ChipId(2)] |= {"ecc_hbm_enabled": 1, "ecc_hbm_recent_single_errors": 3, "sio_received_crc_errors": 6}
    known[ChipId(2)] |= {"ecc_hbm_double_isolated_pages": 1, "hbm_percent": 11, "hbm_bandwidth_percent": 77}
    found = {t.name: t for t in told(machine(), known) if t.labels.get("id") == "2"}
    assert list(found["npu_chip_info_voltage"].labels) == LABELS
    assert found["npu_chip_info_voltage"].value == 0.85
    assert found["npu_chip_info_voltage"].labels["container_name"] == "b"
    assert found["npu_chip_optical_vcc"].value == 3300
    assert found["npu_chip_info_health_status"].value == 0
    assert found["npu_chip_info_hbm_total_memory"].value == 65536
    assert found["npu_chip_info_hccs_statistic_info_tx_cnt_1"].value == 7
    assert found["npu_chip_info_hbm_ecc_double_bit_isolated_pages_cnt"].value == 1
    assert found["npu_chip_info_hbm_ecc_enable_flag"].value == 1
    assert found["npu_chip_info_hbm_ecc_single_bit_error_cnt"].value == 3
    assert found["npu_chip_info_sio_crc_rx_err_cnt"].value == 6
    assert found["npu_chip_info_hbm_utilization"].value == 11
    assert found["npu_chip_info_hbm_bandwidth_utilization"].value == 77
    assert "name" in found["npu_chip_info_name"].labels
    assert values(machine(), "machine_npu_nums") == {"": 4}
    assert "npu_chip_info_serial_number" not in found
    node = machine()
    node = replace(node, chips={c: replace(chip, board="02" * 40, card=c // 2) for c, chip in node.chips.items()})
    serial = next(t for t in told(node, known) if t.name == "npu_chip_info_serial_number")
    assert list(serial.labels) == [*LABELS, "serial_number"]
    assert serial.labels["serial_number"] == "02" * 32
    assert values(node, "machine_card_nums") == {"": 2}


def test_chips_are_counted_by_their_health_and_all_of_them_once() -> None:
    known = {ChipId(0): {"health": 0.0}, ChipId(1): {"health": 3.0}, ChipId(2): {"temperature_celsius": 40.0}}
    counts = {t.name: t.value for t in told(machine(), known) if t.name.startswith("machine_")}
    assert counts == {
        "machine_npu_nums": 4, "machine_card_nums": 1, "machine_healthy_npu_nums": 1, "machine_unhealthy_npu_nums": 1,
        "machine_unknown_npu_nums": 2,
    }  # fmt: skip


def test_what_was_not_measured_is_not_told() -> None:
    names = {t.name for t in told(machine(), {})}
    counts = {"machine_npu_nums", "machine_card_nums", *(f"machine_{s}_npu_nums" for s in STATES)}
    assert names == counts | {"npu_chip_info_name", "npu_container_info", "npu_chip_info_process_info_num"}


def test_faults_are_told_as_numbers() -> None:
    assert values(faulty(machine(), 1), "npu_chip_info_error_code") == {"1": float(0x80E24E00)}
    assert values(machine(), "npu_chip_info_error_code") == {}


def test_containers_and_processes_are_told_and_of_several_on_a_chip_no_one_is_named() -> None:
    assert set(values(machine(), "container_npu_utilization")) == {"0", "1", "2"}
    other = running("c", 2)
    node = machine()
    node = replace(node, containers={**node.containers, other.key: other})
    assert set(values(node, "container_npu_utilization")) == {"0", "1"}
    assert sorted(t.labels["containerName"] for t in told(node, {}) if t.name == "npu_container_info") == [*"aabc"]
    report = ChipReport(ChipId(2), processes=(Process(7, "python", 3 << 20, "c"),))
    node = replace(node, reports={**node.reports, ChipId(2): report})
    (process,) = (t for t in told(node, {}) if t.name == "npu_chip_info_process_info")
    assert (process.value, process.labels["process_id"], process.labels["container_name"]) == (3, "7", "c")


def test_all_values_of_one_name_have_the_same_labels() -> None:
    labels: dict[str, list[str]] = {}
    for each in told(machine(), measured()):
        assert labels.setdefault(each.name, list(each.labels)) == list(each.labels), each.name


def test_they_are_off_unless_the_configuration_wishes_them() -> None:
    config = Config()
    assert list(told_too(config, machine(), {})) == []
    drivers = replace(config.drivers, dcmi=Dcmi(npu_exporter_names=True))
    assert list(told_too(replace(config, drivers=drivers), machine(), {})) != []
