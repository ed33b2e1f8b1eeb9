"""Checks of the units that the configuration names. Nothing is stopped or started."""

from collections.abc import Iterator

from cmgr.cli.check.finding import OK, WARNING, Finding, of_error
from cmgr.config.settings import Systemd
from cmgr.errors import CmgrError


def units(settings: Systemd) -> Iterator[Finding]:
    """Yield how systemd describes each of them."""
    if not settings.units:
        return
    from cmgr.runtimes.systemd.runtime import SystemdRuntime

    try:
        found = {unit.name: unit for unit in SystemdRuntime(settings.bus, settings.units).list()}
    except CmgrError as error:
        yield of_error("runtime systemd", error)
        return
    for unit in settings.units:
        if unit.name not in found:
            text = f"{unit.name} is not there: systemd knows no such unit"
            yield Finding("unit", WARNING, text, "name the unit as systemctl list-units does")
        elif not unit.chips:
            yield Finding("unit", WARNING, f"{unit.name} has no chips: no fault concerns it", "name its chips")
        else:
            yield Finding("unit", OK, f"{unit.name} {'runs' if found[unit.name].running else 'is down'}")
