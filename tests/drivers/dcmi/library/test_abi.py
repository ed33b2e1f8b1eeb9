"""The interface's sizes and offsets on Python's side. The C side asserts the same numbers when it is compiled."""

import ctypes
import re
import subprocess
from pathlib import Path

import pytest

from cmgr.drivers.dcmi.library import abi
from tests.fakes.dcmi.build import SOURCE, Workshop

LAYOUT: dict[type[ctypes.Structure], tuple[int, int, dict[str, int]]] = {
    abi.ChipInfo: (100, 1, {"type": 0, "name": 32, "ver": 64, "aicore_cnt": 96}),
    abi.ChipInfoV2: (132, 1, {"type": 0, "name": 32, "ver": 64, "aicore_cnt": 96, "npu_name": 100}),
    abi.IpAddress: (20, 4, {"address": 0, "type": 16}),
    abi.PodInfo: (
        48,
        4,
        {
            "sdid": 0,
            "scale_type": 4,
            "super_pod_id": 8,
            "server_id": 12,
            "chassis_id": 16,
            "super_pod_type": 20,
            "reserve": 24,
        },
    ),
    abi.BoardInfo: (16, 4, {"board_id": 0, "pcb_id": 4, "bom_id": 8, "slot_id": 12}),
    abi.EventFilter: (48, 8, {"flags": 0, "event_id": 8, "severity": 12, "node_type": 13, "reserved": 14}),
    abi.FaultEvent: (
        352,
        8,
        {
            "event_id": 0, "deviceid": 4, "node_type": 6, "node_id": 7, "sub_node_type": 8, "sub_node_id": 9,
            "severity": 10, "assertion": 11, "event_serial_num": 12, "notify_serial_num": 16,
            "alarm_raised_time": 24, "event_name": 32, "additional_info": 288, "os_id": 320,
            "node_type_ex": 322, "sub_node_type_ex": 324, "resv": 326,
        },
    ),
    abi.Event: (360, 8, {"type": 0, "u": 8}),
    abi.ProcMemInfo: (16, 8, {"proc_id": 0, "proc_mem_usage": 8}),
    abi.HbmInfo: (32, 8, {"memory_size": 0, "freq": 8, "memory_usage": 16, "temp": 24, "bandwidth_util": 28}),
    abi.MemoryInfo: (
        112,
        8,
        {
            "memory_size": 0, "memory_available": 8, "freq": 16, "hugepagesize": 24, "hugepages_total": 32,
            "hugepages_free": 40, "utiliza": 48, "reserve": 52,
        },
    ),
    abi.EccInfo: (
        36,
        4,
        {
            "enable": 0, "single": 4, "double": 8, "total_single": 12, "total_double": 16, "isolated_single": 20,
            "isolated_double": 24, "next_single": 28, "next_double": 32,
        },
    ),
    abi.PcieInfo: (
        64,
        4,
        {
            "vendor": 0, "subvendor": 4, "device": 8, "subdevice": 12, "domain": 16, "bus": 20, "dev": 24, "func": 28,
            "reserve": 32,
        },
    ),
    abi.HccsCounters: (1024, 8, {"tx": 0, "rx": 128, "crc_err": 256, "retry": 384, "reserved": 512}),
    abi.OldHccsCounters: (512, 4, {"tx": 0, "rx": 64, "crc_err": 128, "retry": 192, "reserved": 256}),
    abi.SioErrors: (12, 2, {"tx": 0, "rx": 2, "reserved": 4}),
    abi.PortCounters: (
        464,
        8,
        {name: 8 * place for place, (name, *_) in enumerate(abi.PortCounters._fields_[:50])} | {"reserved": 400},
    ),
    abi.DieId: (20, 4, {"words": 0}),
    abi.Label: (1280, 1, {"product": 0, "model": 256, "maker": 512, "date": 768, "serial": 1024}),
    abi.Vdevices: (360, 8, {"vdev_num": 0, "vdev_id": 4, "vfg_num": 132, "vfg_bitmap": 136, "resources": 144}),
    abi.Vdevice: (
        264,
        8,
        {
            "vdev_id": 0, "padding": 4, "name": 8, "status": 24, "is_container_used": 28, "vfid": 32, "vfg_id": 36,
            "container_id": 40, "resources": 48,
        },
    ),
    abi.VdeviceWish: (104, 4, {"vdev_id": 0, "vfg_id": 4, "template_name": 8, "reserved": 40}),
    abi.VdeviceMade: (
        52,
        4,
        {"vdev_id": 0, "pcie_bus": 4, "pcie_device": 8, "pcie_func": 12, "vfg_id": 16, "reserved": 20},
    ),
}  # fmt: skip


def test_the_counters_of_a_port_stand_in_the_order_of_the_header() -> None:
    places = {name: place for place, (name, *_) in enumerate(abi.PortCounters._fields_)}
    assert places["mac_tx_pfc_pri7_pkt_num"] == 10
    assert places["mac_rx_pfc_pkt_num"] == 11
    assert places["mac_tx_total_pkt_num"] == 20
    assert places["mac_rx_bad_oct_num"] == 27
    assert places["roce_rx_rc_pkt_num"] == 29
    assert places["roce_cqe_num"] == 35
    assert places["roce_ecn_db_num"] == 43
    assert places["nic_rx_all_oct_num"] == 47
    assert places["tv_sec"] == 48


@pytest.mark.parametrize("structure", LAYOUT, ids=lambda s: s.__name__)
def test_a_structure_has_the_size_and_the_offsets_of_the_interface(structure: type[ctypes.Structure]) -> None:
    size, align, offsets = LAYOUT[structure]
    assert ctypes.sizeof(structure) == size
    assert ctypes.alignment(structure) >= align
    assert {field[0]: getattr(structure, field[0]).offset for field in structure._fields_} == offsets


def test_the_c_side_asserts_every_structure_that_the_driver_uses() -> None:
    header = SOURCE.with_name("libdcmi.h").read_text()
    sizes = {int(size) for size in re.findall(r"^SIZE\(\w+, (\d+),", header, re.MULTILINE)}
    assert {size for size, _, _ in LAYOUT.values()} <= sizes


def test_a_wrong_size_does_not_compile(tmp_path: Path, workshop: Workshop) -> None:
    assert workshop.folder.exists()
    header = SOURCE.with_name("libdcmi.h").read_text().replace("SIZE(event, 360, 8)", "SIZE(event, 352, 8)")
    (tmp_path / "x.c").write_text(header)
    ran = subprocess.run(
        ["gcc", "-std=gnu11", "-fsyntax-only", "x.c"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode != 0
    assert "size of event" in ran.stderr


def test_the_stand_in_has_every_function_that_the_driver_calls(workshop: Workshop) -> None:
    one, two = ctypes.CDLL(str(workshop.library("one"))), ctypes.CDLL(str(workshop.library("two")))
    asked = abi.ABOUT_CHIP.values()
    missing = {f.one for f in asked if f.one and not hasattr(one, f.one)}
    missing |= {f.two for f in asked if f.two and not hasattr(two, f.two)}
    # Functions that old libraries lack, or that only some cards have: the driver does without.
    assert missing == {"dcmi_get_device_chip_info"}
    for symbol in abi.ABOUT_MACHINE:
        assert hasattr(two if symbol.startswith("dcmiv2") else one, symbol), symbol


@pytest.mark.parametrize("family", ["one", "two"])
def test_a_filter_by_value_and_a_callback_reach_the_library(workshop: Workshop, family: str) -> None:
    """48 bytes by value go over the stack on x86-64 and by reference on aarch64: the library checks that all are 0."""
    from cmgr.drivers.dcmi.library.calls import Library
    from tests.fakes.dcmi.hosts import host_910b, host_950
    from tests.fakes.dcmi.standin import Standin

    machine = Standin(workshop.place(family)).create(host_910b() if family == "one" else host_950())
    library = Library(str(machine.library))
    library.subscribe(lambda _: None)
    assert machine.get("subscriptions") == 1
    assert library.family == {"one": 1, "two": 2}[family]
