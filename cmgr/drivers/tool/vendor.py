"""Chips of any maker, as the rest of cmgr knows them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr.drivers.tool.settings import Tool
from cmgr.vendor import Notation, OpenUnits, Place, Vendor

if TYPE_CHECKING:
    from cmgr.config.settings import Config
    from cmgr.drivers.tool.driver import ToolDriver
    from cmgr.model.values.faults import FaultCode
    from cmgr.model.values.handling.catalog import Entry

# Every service loads this module, most for another driver's sake: what only this one needs is loaded where it is used.


def _open(config: "Config", _units: OpenUnits | None) -> "ToolDriver":
    from cmgr.drivers.tool import driver
    from cmgr.host.host import host_of

    place = driver.Around(Path(config.state_dir), host_of(config.systemd.bus))
    return driver.ToolDriver(config.drivers.tool, config.sweep, config.resync, place)


def _places(config: "Config") -> Iterable[Place]:
    from cmgr.drivers.asked import trusted
    from cmgr.errors import DriverError

    path = config.drivers.tool.program
    if path:
        try:
            trusted(path, "tool.program")
        except DriverError as error:
            yield Place(path, "tool.program", error.message, error.hint)
        else:
            yield Place(path, "tool.program")


def _codes(config: "Config") -> "Mapping[FaultCode, Entry]":
    from cmgr.drivers.tool import kept

    return kept.codes(Path(config.state_dir))


def _notations(config: "Config") -> tuple[Notation, ...]:
    from cmgr.drivers.tool import kept

    return kept.notations(Path(config.state_dir))


VENDOR = Vendor(
    name="tool",
    chips="tool",
    library="program",
    tables=None,
    settings=Tool,
    sentence="The driver of any maker's chips, by a program that speaks for them: docs/drivers.md.",
    open=_open,
    places=_places,
    page="drivers",
    codes=_codes,
    notations=_notations,
)
