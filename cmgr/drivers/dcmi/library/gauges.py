"""The measurements of an Ascend chip: each gauge is asked by itself, and raises `Refused` where the chip has none.

Most of them are a question to the chip's own management, for which the library waits a minute where that is dead.
"""

from collections.abc import Mapping
from ctypes import c_int, c_uint32

from cmgr.drivers.dcmi.library import abi
from cmgr.drivers.dcmi.library.calls import Library, Location, Refused

_COLDEST = -273
_MOST_PERCENT = 100
_MOST = 2**31 - 1

Values = dict[str, float]


def network(library: Library, place: Location) -> Mapping[str, float]:
    """Return whether the chip's own test of its network works. Apart from the rest: it can take long on a sick card."""
    state = c_int(-1)
    try:
        library.measure("network", place, state)
    except Refused:
        return {}
    return {} if state.value == abi.NOT_TRIED else {"network_reachable": float(state.value in abi.REACHES)}


def health(library: Library, place: Location) -> Values:
    """Return how grave the chip's gravest fault is; the host knows that, so it takes no time."""
    return _known("health", library.health(place))


def _known(name: str, value: int, parts: int = 1, least: int = 0) -> Values:
    """Return the value, which the library tells in so many parts of a unit; nothing where that number is none."""
    return {} if value in abi.NO_VALUES or value < least else {name: value / parts if parts > 1 else value}


def _temperature(library: Library, place: Location) -> Values:
    value = c_int()
    library.measure("temperature", place, value)
    # The second family cuts it to a byte without a sign.
    cold = library.family == 2 and 0x80 <= value.value <= 0xFF
    return _known("temperature_celsius", value.value - 0x100 if cold else value.value, least=_COLDEST)


def _power(library: Library, place: Location) -> Values:
    tenths = c_int(-1)
    try:
        library.measure("power", place, tenths)
    except Refused:
        # A 310P leaves it to the controller of its card, which is told once, with the card's first chip.
        tenths = c_int(-1 if place.device else library.card_power(place))
    return _known("power_watts", tenths.value, 10)


def _voltage(library: Library, place: Location) -> Values:
    hundredths = c_uint32()
    library.measure("voltage", place, hundredths)
    return _known("voltage_volts", hundredths.value, 100)


def _clocks(library: Library, place: Location) -> Values:
    values: Values = {}
    for name, number in abi.CLOCKS.items():
        megahertz = c_uint32()
        try:
            library.measure("frequency", place, megahertz, number)
        except Refused:
            continue
        if megahertz.value < _MOST:
            values[f"{name}_megahertz"] = megahertz.value
    return values


def _hbm(library: Library, place: Location) -> Values:
    info = abi.HbmInfo()
    library.measure("hbm", place, info)
    if not info.memory_size:  # Chips without HBM answer with zeros.
        return {}
    return {
        "hbm_megabytes": info.memory_size,
        "hbm_used_megabytes": info.memory_usage,
        **_known("hbm_celsius", info.temp, least=_COLDEST),
    }


def _memory(library: Library, place: Location) -> Values:
    info = abi.MemoryInfo()
    library.measure("memory", place, info)
    if not info.memory_size or info.memory_available > info.memory_size:
        return {}
    return {
        "memory_megabytes": info.memory_size,
        "memory_used_megabytes": info.memory_size - info.memory_available,
    }


def _utilisation(library: Library, place: Location) -> Values:
    values: Values = {}
    for name, number in abi.UTILISATION.items():
        percent = c_uint32()
        try:
            library.measure("utilisation", place, percent, number)
        except Refused:
            continue
        if percent.value <= _MOST_PERCENT:
            values[f"{name}_percent"] = percent.value
    return values


def _ecc(library: Library, place: Location) -> Values:
    values: Values = {}
    for name, number in abi.ECC_MEMORY.items():
        info = abi.EccInfo()
        try:
            library.measure("ecc", place, info, number)
        except Refused:
            continue
        values[f"ecc_{name}_enabled"] = float(info.enable != 0)
        if info.enable:
            values[f"ecc_{name}_recent_single_errors"] = info.single
            values[f"ecc_{name}_recent_double_errors"] = info.double
            values[f"ecc_{name}_single_errors"] = info.total_single
            values[f"ecc_{name}_double_errors"] = info.total_double
            values[f"ecc_{name}_double_isolated_pages"] = info.isolated_double
    return values


def _hccs(library: Library, place: Location) -> Values:
    found: abi.HccsCounters | abi.OldHccsCounters = abi.HccsCounters()
    try:
        library.about(abi.ABOUT_HCCS, abi.COUNTERS, place, found)
    except Refused:
        found = abi.OldHccsCounters()
        library.about(abi.ABOUT_HCCS, abi.OLD_COUNTERS, place, found)
    values: Values = {}
    for link, counts in enumerate(zip(found.tx, found.rx, found.crc_err, found.retry, strict=True)):
        if any(counts):  # Nothing is plugged into the others.
            sent, received, checksum, retry = counts
            values |= {f"hccs{link}_sent_flits": sent, f"hccs{link}_received_flits": received}
            values |= {f"hccs{link}_crc_errors": checksum, f"hccs{link}_retry_errors": retry}
    return values


def _sio(library: Library, place: Location) -> Values:
    found = abi.SioErrors()
    library.about(abi.ABOUT_SIO, abi.CRC_ERRORS, place, found)
    return {"sio_sent_crc_errors": found.tx, "sio_received_crc_errors": found.rx}


_PORT = {
    "network_sent_bytes": "mac_tx_total_oct_num",
    "network_received_bytes": "mac_rx_total_oct_num",
    "network_sent_all_packets": "mac_tx_total_pkt_num",
    "network_received_all_packets": "mac_rx_total_pkt_num",
    "network_sent_pause_packets": "mac_tx_mac_pause_num",
    "network_received_pause_packets": "mac_rx_mac_pause_num",
    "network_sent_pfc_packets": "mac_tx_pfc_pkt_num",
    "network_received_pfc_packets": "mac_rx_pfc_pkt_num",
    "network_sent_roce_packets": "roce_tx_all_pkt_num",
    "network_received_roce_packets": "roce_rx_all_pkt_num",
    "network_sent_cnp_packets": "roce_tx_cnp_pkt_num",
    "network_received_cnp_packets": "roce_rx_cnp_pkt_num",
    "network_received_ecn_packets": "roce_ecn_db_num",
    "network_sent_bad_bytes": "mac_tx_bad_oct_num",
    "network_received_bad_bytes": "mac_rx_bad_oct_num",
    "roce_sent_errors": "roce_tx_err_pkt_num",
    "roce_received_errors": "roce_rx_err_pkt_num",
    "roce_bad_sent_errors": "mac_tx_bad_pkt_num",
    "roce_bad_received_errors": "mac_rx_bad_pkt_num",
    "roce_fcs_errors": "mac_rx_fcs_err_pkt_num",
    "roce_ack_errors": "roce_err_ack_num",
    "roce_order_errors": "roce_err_psn_num",
    "roce_verification_errors": "roce_verification_err_num",
    "roce_queue_errors": "roce_err_qp_status_num",
    "roce_retry_errors": "roce_new_pkt_rty_num",
}
"""The values of a chip's port, each with the counter of the library that has it."""


def _port_traffic(library: Library, place: Location) -> Values:
    found = abi.PortCounters()
    library.measure("port", place, found, abi.FIRST_PORT)
    return {name: getattr(found, counter) for name, counter in _PORT.items()}


GAUGES = (_temperature, _power, _voltage, _clocks, _hbm, _memory, _utilisation, _ecc, _hccs, _sio, _port_traffic)
"""In the order in which they are asked."""
