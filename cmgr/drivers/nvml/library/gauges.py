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
    161: ("nvlink_replay_errors", 1),
    162: ("nvlink_recovery_errors", 1),
    163: ("nvlink_crc_errors", 1),
}
"""Fields of the library: what each is called here, and by what its value is divided. Errors since the driver began."""


def measure(library: Library, handle: Handle) -> Mapping[str, float]:
    """Return the values by name; the name ends with the unit. Raises what is no answer of the library's."""
    values: Values = {}
    for gauge in (_temperature, _power, _clocks, _memory, _utilisation, _fields):
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
