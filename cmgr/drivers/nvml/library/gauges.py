"""The measurements of an NVIDIA GPU. Those that a GPU does not offer are left out."""

import ctypes
from collections.abc import Mapping
from contextlib import suppress

from cmgr.drivers.nvml.library import abi
from cmgr.drivers.nvml.library.calls import Handle, Library, Refused

Values = dict[str, float]

_MEGABYTE = 1 << 20

_FIELDS: Mapping[int, tuple[str, float]] = {
    3: ("ecc_single_errors", 1),
    4: ("ecc_double_errors", 1),
    82: ("memory_celsius", 1),
    83: ("energy_joules", 1000),
    94: ("pcie_replay_errors", 1),
    142: ("correctable_remapped_rows", 1),
    143: ("uncorrectable_remapped_rows", 1),
}
"""Fields of the library: what each is called here, and by what its value is divided. Errors since the driver began."""

_LINK_COUNTERS: Mapping[int, str] = {
    161: "nvlink_replay_errors",
    162: "nvlink_recovery_errors",
    163: "nvlink_crc_errors",
    # The others are those of NVLink 5 (Blackwell; R560), which has none of the three above.
    206: "nvlink_malformed_errors",
    207: "nvlink_overrun_errors",
    208: "nvlink_receive_errors",
    209: "nvlink_remote_errors",
    210: "nvlink_general_errors",
    211: "nvlink_integrity_errors",
    212: "nvlink_discard_errors",
    214: "nvlink_failed_recovery_errors",
    215: "nvlink_recovery_errors",
    219: "nvlink_effective_errors",
    221: "nvlink_symbol_errors",
}
"""Fields that each link has: errors since the driver began, of all links together. The others of 206 to 222 are the
difference of two of these, rates, or deprecated."""

_LINK_RATES: Mapping[int, str] = {
    220: "nvlink_effective_bit_error_ratio",
    222: "nvlink_symbol_bit_error_ratio",
}
"""Rates of NVLink 5, of the worst link."""


def measure(library: Library, handle: Handle) -> Mapping[str, float]:
    """Return the values by name; the name ends with the unit. Raises what is no answer of the library's."""
    values: Values = {}
    for gauge in (_temperature, _power, _clocks, _memory, _utilisation, _fields, _links):
        with suppress(Refused):
            values.update(gauge(library, handle))
    return values


def _temperature(library: Library, handle: Handle) -> Values:
    value = ctypes.c_uint()
    library.measure("nvmlDeviceGetTemperature", handle, value, 0)
    return {"temperature_celsius": value.value}


def _power(library: Library, handle: Handle) -> Values:
    milliwatts = ctypes.c_uint()
    library.measure("nvmlDeviceGetPowerUsage", handle, milliwatts)
    return {"power_watts": milliwatts.value / 1000}


def _clocks(library: Library, handle: Handle) -> Values:
    values: Values = {}
    for name, which in (("sm_megahertz", abi.SM_CLOCK), ("memory_megahertz", abi.MEMORY_CLOCK)):
        megahertz = ctypes.c_uint()
        library.measure("nvmlDeviceGetClockInfo", handle, megahertz, which)
        values[name] = megahertz.value
    return values


def _memory(library: Library, handle: Handle) -> Values:
    info = abi.versioned(abi.MemoryV2)
    library.measure("nvmlDeviceGetMemoryInfo_v2", handle, info)
    return {"fb_megabytes": info.total // _MEGABYTE, "fb_used_megabytes": info.used // _MEGABYTE}


def _utilisation(library: Library, handle: Handle) -> Values:
    rates = abi.Utilization()
    library.measure("nvmlDeviceGetUtilizationRates", handle, rates)
    return {"gpu_percent": rates.gpu, "memory_bandwidth_percent": rates.memory}


def _fields(library: Library, handle: Handle) -> Values:
    told = library.fields(handle, tuple(_FIELDS))
    return {name: told[field] / by for field, (name, by) in _FIELDS.items() if field in told}


def _links(library: Library, handle: Handle) -> Values:
    told = library.link_fields(handle, (*_LINK_COUNTERS, *_LINK_RATES))
    counted = {name: float(sum(told[field])) for field, name in _LINK_COUNTERS.items() if told[field]}
    return counted | {name: max(map(_rate, told[field])) for field, name in _LINK_RATES.items() if told[field]}


def _rate(told: float) -> float:
    """Return the errors for each bit: in decimal floating point, its mantissa in bits 8 to 11, its exponent below."""
    return (int(told) >> 8 & 0xF) * 10.0 ** -(int(told) & 0xFF)
