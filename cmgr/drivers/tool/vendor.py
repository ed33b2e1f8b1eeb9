"""Chips of any maker, as the rest of cmgr knows them."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr.drivers.tool import kept
from cmgr.drivers.tool.settings import Tool
from cmgr.host.host import host_of
from cmgr.vendor import OpenUnits, Place, Vendor

if TYPE_CHECKING:
    from cmgr.config.settings import Config
    from cmgr.drivers.tool.driver import ToolDriver


def _open(config: "Config", _units: OpenUnits | None) -> "ToolDriver":
    from cmgr.drivers.tool import driver

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
    codes=lambda config: kept.codes(Path(config.state_dir)),
    notations=lambda config: kept.notations(Path(config.state_dir)),
)
