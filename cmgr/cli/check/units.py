"""Checks of the units that the configuration names. Nothing is stopped or started."""

from collections.abc import Iterator, Mapping

from cmgr.cli.check.finding import OK, WARNING, Finding, of_error
from cmgr.config.settings import Config, Unit
from cmgr.errors import CmgrError
from cmgr.model.values.containers import Container
from cmgr.vendor import vendors


def units(config: Config) -> Iterator[Finding]:
    """Yield how systemd describes each of them."""
    stopped = {name: vendor.name for vendor in vendors() for name in vendor.stopped(config)}
    names = (*(unit.name for unit in config.systemd.units), *stopped)
    if not names:
        return
    from cmgr.runtimes import open_units

    try:
        found = {unit.name: unit for unit in open_units(config, names).list()}
    except CmgrError as error:
        yield of_error("runtime systemd", error)
        return
    yield from _covered(config.systemd.units, found)
    for name, driver in stopped.items():
        if name not in found:
            text = f"{name} ({driver}.stop_units) is not there: systemd knows no such unit"
            yield Finding("unit", WARNING, text, "name the unit as systemctl list-units does")
        else:
            how = "runs" if found[name].running else "is down"
            yield Finding("unit", OK, f"{name} {how}, and is stopped for each reset while it runs")


def _covered(covered: tuple[Unit, ...], found: Mapping[str, Container]) -> Iterator[Finding]:
    for unit in covered:
        if unit.name not in found:
            text = f"{unit.name} is not there: systemd knows no such unit"
            yield Finding("unit", WARNING, text, "name the unit as systemctl list-units does")
        elif not unit.chips:
            yield Finding("unit", WARNING, f"{unit.name} has no chips: no fault concerns it", "name its chips")
        else:
            yield Finding("unit", OK, f"{unit.name} {'runs' if found[unit.name].running else 'is down'}")
