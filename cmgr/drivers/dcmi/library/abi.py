"""The C interface of Ascend's libdcmi.so: structures, constants, and the functions of its two families.

Nothing here was seen on hardware; docs/dcmi.md says where each line comes from and what nobody could find out. Tests
compare every size and offset with those of a C compiler.
"""

import ctypes
from collections.abc import Mapping
from ctypes import POINTER, Structure, c_char, c_char_p, c_int, c_int32, c_long, c_uint8, c_uint16, c_uint32, c_uint64
from ctypes import c_ulong as ulong
from ctypes import c_void_p as pointer
from typing import Any, NamedTuple

from cmgr.sentences.sentence import say

LIBRARY = "libdcmi.so"

WRONG_PARAMETER = -8001
NOT_PERMITTED = -8002
INNER = -8005
"""Internal error. From a reset it can also mean that this chip is not reset by itself."""

TIMED_OUT = -8006
NO_DEVICE = -8008
"""No such device. From a reset it can also mean that the chip is divided into vNPUs, or that one is booting."""

IOCTL_FAILED = -8009
"""From the health call it means that the chip is in no table of the driver."""

NOT_READY = -8012
"""Not ready, try again. From the health call it means that the chip boots, is in a reset, or has left the bus."""

IN_CONTAINER = -8013
FILE_FAILED = -8014
UPGRADING = -8017
OCCUPIED = -8020
NOT_SET = -8023
UNSUPPORTED = -8255

WORDS: Mapping[int, str] = {
    WRONG_PARAMETER: say("code.wrong-parameter"),
    NOT_PERMITTED: say("code.no-permission"),
    -8003: say("code.memory-failed"),
    -8004: say("code.secure-failed"),
    INNER: say("code.internal"),
    TIMED_OUT: say("code.timed-out"),
    -8007: say("code.bad-device"),
    NO_DEVICE: say("code.no-device"),
    IOCTL_FAILED: say("code.ioctl-failed"),
    -8010: say("code.not-sent"),
    -8011: say("code.not-received"),
    NOT_READY: say("code.not-ready"),
    IN_CONTAINER: say("code.in-container"),
    FILE_FAILED: say("code.file-failed"),
    -8015: say("code.reset-failed"),
    -8016: say("code.reset-cancelled"),
    UPGRADING: say("code.upgrading"),
    OCCUPIED: say("code.occupied"),
    -8022: say("code.inconsistent"),
    NOT_SET: say("code.not-set"),
    UNSUPPORTED: say("code.unsupported"),
}

FAULT_EVENT = 0
CLEARED, OCCURRED, ONCE = 0, 1, 2
EVERY_DEVICE = -1
NOT_THERE = -1
OUT_OF_BAND, IN_BAND = 0, 1
CHANNEL_USABLE = 1
UNREAD = 0xFFFFFFFF
NO_VALUES = (*range(0x7FFD, 0x8000), UNREAD)
"""Numbers that say that there is no value: it is invalid, or cannot be read."""
CARD_DROPPED = "40F84E00"
CONTROLLER = ("8F18", "8F19")
"""The beginnings of the codes of a card's own controller (MCU), part 0x78C: on a 950 they are in a chip's list."""

SEVERITIES = range(4)
GRAVEST = 3

MOST_CARDS = 64
MOST_DEVICES_OF_A_CARD = 4
MOST_CODES = 128
MOST_EVENTS = 128
MOST_NODE_TYPE = 0x7FF
MOST_PROCESSES = 64


class ChipInfo(Structure):
    _fields_ = (
        ("type", c_char * 32),
        ("name", c_char * 32),
        ("ver", c_char * 32),
        ("aicore_cnt", c_uint32),
    )


class ChipInfoV2(Structure):
    _fields_ = (*ChipInfo._fields_, ("npu_name", c_char * 32))


class BoardInfo(Structure):
    _fields_ = tuple((name, c_uint32) for name in ("board_id", "pcb_id", "bom_id", "slot_id"))


class EventFilter(Structure):
    """All zeros: every event."""

    _fields_ = (
        ("flags", c_uint64),
        ("event_id", c_uint32),
        ("severity", c_uint8),
        ("node_type", c_uint8),
        ("reserved", c_uint8 * 32),
    )


class FaultEvent(Structure):
    """Types of nodes have 11 bits: `node_type` has the lowest eight, `node_type_ex` all; 0 with older drivers."""

    _fields_ = (
        ("event_id", c_uint32),
        ("deviceid", c_uint16),
        *((name, c_uint8) for name in ("node_type", "node_id", "sub_node_type", "sub_node_id")),
        ("severity", c_uint8),
        ("assertion", c_uint8),
        ("event_serial_num", c_int32),
        ("notify_serial_num", c_int32),
        ("alarm_raised_time", c_uint64),
        ("event_name", c_char * 256),
        ("additional_info", c_char * 32),
        *((name, c_uint16) for name in ("os_id", "node_type_ex", "sub_node_type_ex")),
        ("resv", c_uint8 * 26),
    )


class _Union(ctypes.Union):
    _fields_ = (("dms", FaultEvent),)


class Event(Structure):
    _fields_ = (("type", c_int32), ("u", _Union))


class ProcMemInfo(Structure):
    """`proc_mem_usage` is in bytes."""

    _fields_ = (("proc_id", c_int32), ("proc_mem_usage", ulong))


class HbmInfo(Structure):
    """Sizes in MB, `freq` in MHz, `temp` in degrees, `bandwidth_util` in percent."""

    _fields_ = (
        ("memory_size", c_uint64),
        ("freq", c_uint32),
        ("memory_usage", c_uint64),
        ("temp", c_int32),
        ("bandwidth_util", c_uint32),
    )


class MemoryInfo(Structure):
    """`memory_info_v3`: sizes in MB. The header's comment says 96 bytes; a compiler makes 112 of it."""

    _fields_ = (
        ("memory_size", c_uint64),
        ("memory_available", c_uint64),
        ("freq", c_uint32),
        ("hugepagesize", ulong),
        ("hugepages_total", ulong),
        ("hugepages_free", ulong),
        ("utiliza", c_uint32),
        ("reserve", c_uint8 * 60),
    )


class EccInfo(Structure):
    _fields_ = (
        ("enable", c_int32),
        *((name, c_uint32) for name in ("single", "double", "total_single", "total_double")),
        *((name, c_uint32) for name in ("isolated_single", "isolated_double", "next_single", "next_double")),
    )


class PcieInfo(Structure):
    _fields_ = (
        *((name, c_uint32) for name in ("vendor", "subvendor", "device", "subdevice")),
        ("domain", c_int32),
        *((name, c_uint32) for name in ("bus", "dev", "func")),
        ("reserve", c_uint8 * 32),
    )


class HccsCounters(Structure):
    """`hccs_statistic_u64`: what each of 16 links between chips has sent and received, and errors, since the boot."""

    _fields_ = (
        *((name, c_uint64 * 16) for name in ("tx", "rx", "crc_err", "retry")),
        ("reserved", c_uint64 * 64),
    )


class OldHccsCounters(Structure):
    """`hccs_statistic`: the same in older drivers, in 32 bits."""

    _fields_ = (
        *((name, c_uint32 * 16) for name in ("tx", "rx", "crc_err", "retry")),
        ("reserved", c_uint32 * 64),
    )


_PRIORITIES = range(8)


class PortCounters(Structure):
    """`dcmi_network_pkt_stats_info`: what the chip's own network port has counted, in the order of the header."""

    _fields_ = (
        *((f"mac_{way}_mac_pause_num", c_uint64) for way in ("tx", "rx")),
        *(
            (f"mac_{way}_pfc_{each}pkt_num", c_uint64)
            for way in ("tx", "rx")
            for each in ("", *(f"pri{number}_" for number in _PRIORITIES))
        ),
        *(
            (f"mac_{way}_{quality}_{unit}_num", c_uint64)
            for way in ("tx", "rx")
            for quality in ("total", "bad")
            for unit in ("pkt", "oct")
        ),
        ("mac_rx_fcs_err_pkt_num", c_uint64),
        *((f"roce_{way}_{kind}_pkt_num", c_uint64) for way in ("rx", "tx") for kind in ("rc", "all", "err")),
        ("roce_cqe_num", c_uint64),
        *((f"roce_{way}_cnp_pkt_num", c_uint64) for way in ("rx", "tx")),
        *((f"roce_{name}_num", c_uint64) for name in ("err_ack", "err_psn", "verification_err", "err_qp_status")),
        *((f"roce_{name}_num", c_uint64) for name in ("new_pkt_rty", "ecn_db")),
        *((f"nic_{way}_all_{unit}_num", c_uint64) for way in ("tx", "rx") for unit in ("pkg", "oct")),
        ("tv_sec", c_long),
        ("tv_usec", c_long),
        ("reserved", c_uint8 * 64),
    )


class SioErrors(Structure):
    """`dcmi_sio_crc_err_statistic_info`: errors between the two dies of a chip that has two."""

    _fields_ = (("tx", c_uint16), ("rx", c_uint16), ("reserved", c_uint8 * 8))


class Label(Structure):
    """`dcmi_elabel_info`: what stands on the board that carries the chip."""

    _fields_ = tuple((name, c_char * 256) for name in ("product", "model", "maker", "date", "serial"))


class IpAddress(Structure):
    """`type`: `V4`, whose address is the first four bytes, or `V6`."""

    _fields_ = (("address", c_uint8 * 16), ("type", c_int32))


class PodInfo(Structure):
    """The chip's place in a SuperPod: `sdid` is its number there."""

    _fields_ = (
        *((name, c_uint32) for name in ("sdid", "scale_type", "super_pod_id", "server_id", "chassis_id")),
        ("super_pod_type", c_uint32),
        ("reserve", c_uint32 * 6),
    )


class DieId(Structure):
    _fields_ = (("words", c_uint32 * 5),)


_RESOURCES = c_uint64 * 27
"""`dcmi_base_resource`, `dcmi_computing_resource` and `dcmi_media_resource` in a row, which nobody here looks at."""


class Vdevices(Structure):
    """`dcmi_soc_total_resource`: which vNPUs a chip has."""

    _fields_ = (
        ("vdev_num", c_uint32),
        ("vdev_id", c_uint32 * 32),
        ("vfg_num", c_uint32),
        ("vfg_bitmap", c_uint32),
        ("resources", _RESOURCES),
    )


class Vdevice(Structure):
    """`dcmi_vdev_query_stru`: one vNPU. `vdev_id` is to be set before; `name` is that of its template."""

    _fields_ = (
        ("vdev_id", c_uint32),
        ("padding", c_uint32),
        ("name", c_char * 16),
        *((name, c_uint32) for name in ("status", "is_container_used", "vfid", "vfg_id")),
        ("container_id", c_uint64),
        ("resources", _RESOURCES),
    )


class VdeviceWish(Structure):
    """`dcmi_create_vdev_res_stru`. An id, or a group, of `UNREAD` leaves it to the driver."""

    _fields_ = (
        ("vdev_id", c_uint32),
        ("vfg_id", c_uint32),
        ("template_name", c_char * 32),
        ("reserved", c_uint8 * 64),
    )


class VdeviceMade(Structure):
    """`dcmi_create_vdev_out`."""

    _fields_ = (
        *((name, c_uint32) for name in ("vdev_id", "pcie_bus", "pcie_device", "pcie_func", "vfg_id")),
        ("reserved", c_uint8 * 32),
    )


FaultCallback = ctypes.CFUNCTYPE(None, POINTER(Event))
"""The function that the library calls, on a thread of its own. The event is valid during the call only."""

Types = tuple[Any, ...]  # A type that ctypes takes in `argtypes`.


class Function(NamedTuple):
    """A function of both families; a family that lacks it has no symbol. `rest`: the arguments after the address.

    The address of a chip is (card, device) in the first family and (logical id) in the second. `older`: the name that
    `one` has in libraries that do not know it by its own.
    """

    what: str
    one: str
    two: str
    rest: Types
    older: str = ""


_INT, _UINT = POINTER(c_int), POINTER(c_uint32)


def _both(what: str, name: str, *rest: Any) -> Function:
    """Return a function whose two names differ by the family alone."""
    return Function(what, f"dcmi_get_device_{name}", f"dcmiv2_get_device_{name}", rest)


ABOUT_CHIP: Mapping[str, Function] = {
    "chip info": Function(
        say("call.chip-name"), "dcmi_get_device_chip_info_v2", "dcmiv2_get_device_chip_info", (POINTER(ChipInfoV2),)
    ),
    "old-info": Function(say("call.chip-name"), "dcmi_get_device_chip_info", "", (POINTER(ChipInfo),)),
    "board": _both(say("call.board"), "board_info", POINTER(BoardInfo)),
    "product": Function(say("call.product"), "dcmi_get_product_type", "", (c_char_p, c_int)),
    "brother": Function(say("call.brother"), "dcmi_get_netdev_brother_device", "", (_INT,)),
    "topology": Function(say("call.topology"), "dcmi_get_topo_info_by_device_id", "", (c_int, c_int, _INT)),
    "codes": Function(
        say("call.codes"),
        "dcmi_get_device_errorcode_v2",
        "dcmiv2_get_device_error_code_list",
        (_INT, _UINT, c_uint32),
    ),
    "present": Function(
        say("call.present"), "", "dcmiv2_get_device_current_fault_event", (POINTER(Event), c_int, _INT)
    ),
    "health": _both(say("call.health"), "health", _UINT),
    "processes": Function(
        say("call.users"),
        "dcmi_get_device_resource_info",
        "dcmiv2_get_device_proc_mem_info",
        (POINTER(ProcMemInfo), _INT),
    ),
    "reset": Function(say("call.reset"), "dcmi_set_device_reset", "dcmiv2_reset_device", (c_int,)),
    "boot": _both(say("call.boot"), "boot_status", _INT),
    "channel": _both(say("call.channel"), "outband_channel_state", _INT),
    "pre-reset": Function(
        say("call.prepare"), "dcmi_set_device_pre_reset", "dcmiv2_pre_reset_device", (), older="dcmi_pre_reset_soc"
    ),
    "rescan": Function(
        say("call.rescan"), "dcmi_set_device_rescan", "dcmiv2_rescan_device", (), older="dcmi_rescan_soc"
    ),
    "bus": Function(
        say("call.bus"), "dcmi_get_device_pcie_info_v2", "dcmiv2_get_device_pcie_info", (POINTER(PcieInfo),)
    ),
    "die": Function(say("call.die"), "dcmi_get_device_die_v2", "dcmiv2_get_device_die_id", (c_int, POINTER(DieId))),
    "label": _both(say("call.label"), "elabel_info", POINTER(Label)),
    "address": Function(
        say("call.address"), "dcmi_get_device_ip", "", (c_int, c_int, POINTER(IpAddress), POINTER(IpAddress))
    ),
    "pod": _both(say("call.pod"), "info", c_int, c_uint32, pointer, _UINT),
    "temperature": _both(say("call.temperature"), "temperature", _INT),
    "power": _both(say("call.power"), "power_info", _INT),
    "hbm": _both(say("call.hbm"), "hbm_info", POINTER(HbmInfo)),
    "memory": Function(say("call.memory"), "dcmi_get_device_memory_info_v3", "", (POINTER(MemoryInfo),)),
    "utilisation": _both(say("call.utilisation"), "utilization_rate", c_int, _UINT),
    "info": _both(say("call.vnpus"), "info", c_int, c_uint32, pointer, _UINT),
    "make vNPU": Function(
        say("call.make-vnpu"), "dcmi_create_vdevice", "", (POINTER(VdeviceWish), POINTER(VdeviceMade))
    ),
    "destroy vNPU": Function(say("call.destroy-vnpu"), "dcmi_set_destroy_vdevice", "", (c_uint32,)),
    "voltage": _both(say("call.voltage"), "voltage", _UINT),
    "frequency": _both(say("call.frequency"), "frequency", c_int, _UINT),
    "network": _both(say("call.network"), "network_health", _INT),
    "port": Function(say("call.port"), "dcmi_get_netdev_pkt_stats_info", "", (c_int, POINTER(PortCounters))),
    "ecc": _both(say("call.ecc"), "ecc_info", c_int, POINTER(EccInfo)),
}
"""Questions to one chip. `dcmiv2_get_device_list` and the rest of the machine's own calls are below."""

ABOUT_MACHINE: Mapping[str, Types] = {
    "dcmi_init": (),
    "dcmiv2_init": (),
    "dcmi_get_card_list": (_INT, _INT, c_int),
    "dcmi_get_device_num_in_card": (c_int, _INT),
    "dcmi_get_device_logic_id": (_INT, c_int, c_int),  # The answer comes first.
    "dcmi_get_device_phyid_from_logicid": (c_uint32, _UINT),
    "dcmi_mcu_get_power_info": (c_int, _INT),
    "dcmi_get_npu_work_mode": (c_int, POINTER(c_uint8)),
    "dcmiv2_get_device_list": (_INT, _INT, c_int),  # The list comes first, unlike in dcmi_get_card_list.
    "dcmiv2_get_all_device_count": (_INT,),
    "dcmiv2_get_chip_phy_id_by_dev_id": (c_uint32, _UINT),
    "dcmi_subscribe_fault_event": (c_int, c_int, EventFilter, FaultCallback),
    "dcmiv2_subscribe_fault_event": (c_int, EventFilter, FaultCallback),
}

HCCS = 3
"""The kind of link between two chips for which they are reset together."""

UTILISATION: Mapping[str, int] = {
    **{"aicore": 2, "hbm": 6, "hbm_bandwidth": 10},
    **{"vector": 12, "overall": 13, "cube": 14},
}
CLOCKS: Mapping[str, int] = {"ddr": 1, "cpu": 2, "hbm": 6, "aicore": 7, "aicore_max": 9, "vector": 12}
ECC_MEMORY: Mapping[str, int] = {"ddr": 0, "hbm": 2}
DIES = {1: 1, 2: 2}
"""The type of die id that chips have, by the family of the library."""

ROCE_PORT, FIRST_PORT = 1, 0
V4, V6 = 0, 1
ABOUT_POD, OF_POD = 12, 1
"""A main command of `dcmi_get_device_info` and its sub command."""

ABOUT_HCCS, OLD_COUNTERS, COUNTERS = 16, 3, 5
"""A main command of `dcmi_get_device_info` and two of its sub commands."""

ABOUT_SIO, CRC_ERRORS = 56, 0
"""A main command of `dcmi_get_device_info` and its sub command."""

REACHES, NOT_TRIED = (0, 6), 8
"""The states of a chip's network that mean nothing bad; and that of one whose test is only just being set up."""

ABOUT_VDEVICES, ONE_VDEVICE, EVERY_VDEVICE = 52, 0, 1
"""A main command of `dcmi_get_device_info` and two of its sub commands."""
