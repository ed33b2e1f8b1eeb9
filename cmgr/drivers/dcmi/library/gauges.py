"""The measurements of an Ascend chip. Those that a chip does not offer are left out."""

from collections.abc import Mapping
from contextlib import suppress
from ctypes import c_int, c_uint32

from cmgr.drivers.dcmi.library import abi
from cmgr.drivers.dcmi.library.calls import Library, Location, Refused

_COLDEST = -275
_MOST_PERCENT = 100

Values = dict[str, float]


def measure(library: Library, place: Location) -> Mapping[str, float]:
    """Return the values by name; the name ends with the unit. Raises what is no answer of the library's."""
    values: Values = {}
    for gauge in (_health, _temperature, _power, _hbm, _memory, _utilisation, _ecc):
        with suppress(Refused):
            values.update(gauge(library, place))
    return values


def _health(library: Library, place: Location) -> Values:
    return {"health": library.health(place)}


def _temperature(library: Library, place: Location) -> Values:
    value = c_int()
    library.measure("temperature", place, value)
    return {"temperature_celsius": value.value} if value.value > _COLDEST else {}


def _power(library: Library, place: Location) -> Values:
    tenths = c_int(-1)
    try:
        library.measure("power", place, tenths)
    except Refused:
        # A 310P leaves it to the controller of its card.
        tenths = c_int(library.card_power(place))
    return {"power_watts": tenths.value / 10} if tenths.value >= 0 else {}


def _hbm(library: Library, place: Location) -> Values:
    info = abi.HbmInfo()
    library.measure("hbm", place, info)
    if not info.memory_size:  # Chips without HBM answer with zeros.
        return {}
    return {
        "hbm_megabytes": info.memory_size,
        "hbm_used_megabytes": info.memory_usage,
        "hbm_celsius": info.temp,
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
        if info.enable:
            values[f"ecc_{name}_single_errors"] = info.total_single
            values[f"ecc_{name}_double_errors"] = info.total_double
            values[f"ecc_{name}_isolated_pages"] = info.isolated_single + info.isolated_double
    return values
