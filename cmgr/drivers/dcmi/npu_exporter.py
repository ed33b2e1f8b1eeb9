"""The metrics of MindCluster's NPU Exporter: its names, labels and units, for dashboards that know them. Pure.

Only what cmgr knows is told: the exporter's -1 for a value that could not be had is no value here, and has no series.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from cmgr.model.index import running_in
from cmgr.model.scope import active_faults
from cmgr.model.values.chips import Chip, ChipId
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container
from cmgr.vendor import Told
from cmgr.words import one_line

Values = Mapping[str, float | str]

MOST_CODES = 128
_MEGABYTE = 1 << 20
_MOST_LETTERS = 64

_PLAIN = {
    "npu_chip_info_utilization": "aicore_percent",
    "npu_chip_info_overall_utilization": "overall_percent",
    "npu_chip_info_vector_utilization": "vector_percent",
    "npu_chip_info_cube_utilization": "cube_percent",
    "npu_chip_info_temperature": "temperature_celsius",
    "npu_chip_info_power": "power_watts",
    "npu_chip_info_voltage": "voltage_volts",
    "npu_chip_info_aicore_current_freq": "aicore_megahertz",
    "npu_chip_info_network_status": "network_reachable",
    "npu_chip_info_link_status": "roce_up",
    "npu_chip_link_speed": "roce_megabits",
    "npu_chip_link_up_num": "roce_ups",
    "npu_chip_info_hbm_total_memory": "hbm_megabytes",
    "npu_chip_info_hbm_used_memory": "hbm_used_megabytes",
    "npu_chip_info_hbm_temperature": "hbm_celsius",
    "npu_chip_info_hbm_utilization": "hbm_percent",
    "npu_chip_info_hbm_bandwidth_utilization": "hbm_bandwidth_percent",
    "npu_chip_info_hbm_ecc_total_single_bit_error_cnt": "ecc_hbm_single_errors",
    "npu_chip_info_hbm_ecc_total_double_bit_error_cnt": "ecc_hbm_double_errors",
    "npu_chip_info_hbm_ecc_double_bit_isolated_pages_cnt": "ecc_hbm_double_isolated_pages",
    "npu_chip_info_hbm_ecc_enable_flag": "ecc_hbm_enabled",
    "npu_chip_info_hbm_ecc_single_bit_error_cnt": "ecc_hbm_recent_single_errors",
    "npu_chip_info_hbm_ecc_double_bit_error_cnt": "ecc_hbm_recent_double_errors",
    "npu_chip_info_total_memory": "memory_megabytes",
    "npu_chip_info_used_memory": "memory_used_megabytes",
    "npu_chip_mac_tx_pause_num": "network_sent_pause_packets",
    "npu_chip_mac_rx_pause_num": "network_received_pause_packets",
    "npu_chip_mac_tx_pfc_pkt_num": "network_sent_pfc_packets",
    "npu_chip_mac_rx_pfc_pkt_num": "network_received_pfc_packets",
    "npu_chip_mac_tx_bad_pkt_num": "roce_bad_sent_errors",
    "npu_chip_mac_rx_bad_pkt_num": "roce_bad_received_errors",
    "npu_chip_mac_tx_bad_oct_num": "network_sent_bad_bytes",
    "npu_chip_mac_rx_bad_oct_num": "network_received_bad_bytes",
    "npu_chip_info_rx_fcs_num": "roce_fcs_errors",
    "npu_chip_info_rx_ecn_num": "network_received_ecn_packets",
    "npu_chip_info_sio_crc_tx_err_cnt": "sio_sent_crc_errors",
    "npu_chip_info_sio_crc_rx_err_cnt": "sio_received_crc_errors",
    "npu_chip_roce_tx_all_pkt_num": "network_sent_roce_packets",
    "npu_chip_roce_rx_all_pkt_num": "network_received_roce_packets",
    "npu_chip_roce_tx_err_pkt_num": "roce_sent_errors",
    "npu_chip_roce_rx_err_pkt_num": "roce_received_errors",
    "npu_chip_roce_tx_cnp_pkt_num": "network_sent_cnp_packets",
    "npu_chip_roce_rx_cnp_pkt_num": "network_received_cnp_packets",
    "npu_chip_roce_new_pkt_rty_num": "roce_retry_errors",
    "npu_chip_roce_unexpected_ack_num": "roce_ack_errors",
    "npu_chip_roce_out_of_order_num": "roce_order_errors",
    "npu_chip_roce_verification_err_num": "roce_verification_errors",
    "npu_chip_roce_qp_status_err_num": "roce_queue_errors",
    "npu_chip_optical_state": "optics_present",
    "npu_chip_optical_temp": "optics_celsius",
    **{
        f"npu_chip_optical_{exporters}_power_{lane}": f"optics_{ours}_{lane}_milliwatts"
        for exporters, ours in (("tx", "sent"), ("rx", "received"))
        for lane in range(4)
    },
    **{
        f"npu_chip_info_hccs_statistic_info_{exporters}_cnt_{link}": f"hccs{link}_{ours}"
        for exporters, ours in (("tx", "sent_flits"), ("rx", "received_flits"), ("crc_err", "crc_errors"))
        for link in range(1, 8)
    },
}
"""The exporter's names, and what is measured in the same unit."""

_MADE: Mapping[str, tuple[str, Callable[[float], float]]] = {
    "npu_chip_info_health_status": ("health", lambda health: float(health == 0)),
    "npu_chip_optical_vcc": ("optics_volts", lambda volts: volts * 1000),
}
"""The names of values that have another unit there."""


def told(node: Node, measured: Mapping[ChipId, Values]) -> Iterable[Told]:
    """Return what NPU Exporter would tell of these chips."""
    yield Told("machine_npu_nums", {}, float(len(node.chips)))
    yield Told("machine_card_nums", {}, float(len({chip.card for chip in node.chips.values()})))
    health = [measured.get(chip, {}).get("health") for chip in node.chips]
    unknown, well = health.count(None), health.count(0)
    for state, chips in (("healthy", well), ("unhealthy", len(health) - well - unknown), ("unknown", unknown)):
        yield Told(f"machine_{state}_npu_nums", {}, float(chips))
    for number, chip in sorted(node.chips.items()):
        users = sorted(
            (c for c in node.containers.values() if c.running and number in c.kept.chips), key=lambda c: c.key
        )
        labels = _labels(chip, users)
        values = {name: value for name, value in measured.get(number, {}).items() if isinstance(value, float | int)}
        yield Told("npu_chip_info_name", _renamed(labels, "model_name", "name"), 1.0)
        if chip.board:
            yield Told("npu_chip_info_serial_number", {**labels, "serial_number": _cut(chip.board)}, 1.0)
        yield from _measured(labels, values)
        codes = sorted({fault.code for fault in active_faults(node, number)})[:MOST_CODES]
        for place, code in enumerate(c for c in codes if _is_hexadecimal(c)):
            yield Told(f"npu_chip_info_error_code{f'_{place}' if place else ''}", labels, float(int(code, 16)))
        yield from _containers(labels, values, users)
        yield from _processes(node, number, labels)


def _labels(chip: Chip, users: list[Container]) -> dict[str, str]:
    return {
        "id": str(chip.id),
        "model_name": _cut(chip.model),
        "vdie_id": _cut(chip.serial),
        "pcie_bus_info": _cut(chip.bus),
        "namespace": "",
        "pod_name": "",
        # Where several share a chip the label could name one of them only.
        "container_name": _cut(users[0].name) if len(users) == 1 else "",
    }


def _cut(text: str) -> str:
    return one_line(text)[:_MOST_LETTERS]


def _renamed(labels: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    return {new if name == old else name: value for name, value in labels.items()}


def _is_hexadecimal(code: str) -> bool:
    return len(code) == 8 and all(letter in "0123456789ABCDEF" for letter in code)


def _measured(labels: Mapping[str, str], values: Mapping[str, float]) -> Iterator[Told]:
    for name, ours in _PLAIN.items():
        if ours in values:
            yield Told(name, labels, float(values[ours]))
    for name, (ours, made) in _MADE.items():
        if ours in values:
            yield Told(name, labels, made(values[ours]))


def _containers(labels: Mapping[str, str], values: Mapping[str, float], users: list[Container]) -> Iterator[Told]:
    for each in users:
        of = _renamed(labels, "id", "npuID") | {"containerID": _cut(each.key.id), "containerName": _cut(each.name)}
        yield Told("npu_container_info", of, 1.0)
    if len(users) != 1:
        return
    kind = "hbm" if "hbm_megabytes" in values else "memory"
    for name, ours in (
        ("container_npu_utilization", "aicore_percent"),
        ("container_npu_total_memory", f"{kind}_megabytes"),
        ("container_npu_used_memory", f"{kind}_used_megabytes"),
    ):
        if ours in values:
            yield Told(name, labels, float(values[ours]))


def _processes(node: Node, chip: ChipId, labels: Mapping[str, str]) -> Iterator[Told]:
    report = node.reports.get(chip)
    if report is None or not report.is_up:
        return
    yield Told("npu_chip_info_process_info_num", labels, float(len(report.processes)))
    for process in report.processes:
        each = next(iter(running_in(node, process)), None)
        own: dict[str, Any] = {"container_name": _cut(each.name) if each is not None else ""}
        own |= {"process_id": str(process.pid), "container_id": _cut(process.container)}
        yield Told("npu_chip_info_process_info", {**labels, **own}, process.memory / _MEGABYTE)
