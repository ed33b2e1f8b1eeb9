"""Checks of the units that the configuration names, and of those that run containers. Nothing is stopped or started."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cmgr.cli.check.finding import OK, WARNING, Finding, of_error
from cmgr.config.settings import Config, Unit
from cmgr.errors import CmgrError
from cmgr.model.values.services.containers import Container
from cmgr.vendor import vendors

if TYPE_CHECKING:
    from cmgr.view import shapes

Running = Mapping[str, frozenset[str]]


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


def clients(config: Config, rows: "Sequence[shapes.Container] | None", running: Running) -> Iterator[Finding]:
    """Yield which units run which containers, and whether they are stopped and started in their place.

    `rows`: the containers that the service knows, None where it does not answer. `running`: the names or ids of those
    that units were found to run, by unit.
    """
    for row in rows or ():
        if row["unit"]:
            yield Finding("unit", OK, f"{row['unit']} is stopped and started in the place of {row['name']}")
    for unit, names in sorted(running.items()):
        if rows is None:
            text = f"{unit} runs {', '.join(sorted(names))}"
            yield Finding("unit", OK, text, "" if config.systemd.adopt else f"if that uses chips: {_hint(unit)}")
        for row in rows or ():
            if not row["unit"] and not names.isdisjoint((row["name"], row["id"])):
                text = f"{unit} runs {row['name']} and starts it again when cmgr stops it"
                yield Finding("unit", WARNING, text, _hint(unit))


def _hint(unit: str) -> str:
    return f"give the container the label cmgr.unit={unit}; or set systemd.adopt = true"
