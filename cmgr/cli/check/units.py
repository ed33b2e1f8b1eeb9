"""Checks of the units that the configuration names, and of those that run containers. Nothing is stopped or started."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cmgr.cli.check.finding import OK, WARNING, Finding, of_error
from cmgr.config.settings import Config, Unit
from cmgr.errors import CmgrError
from cmgr.model.values.services.containers import Container
from cmgr.sentences.sentence import say
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
        yield of_error(say("check.runtime", name="systemd"), error)
        return
    yield from _covered(config.systemd.units, found)
    for name, driver in stopped.items():
        if name not in found:
            text = say("check.no-stopped-unit", unit=name, driver=driver)
            yield Finding("unit", WARNING, text, say("check.name-unit"))
        elif found[name].running:
            yield Finding("unit", OK, say("check.unit-runs-stopped", unit=name))
        else:
            yield Finding("unit", OK, say("check.unit-down-stopped", unit=name))


def _covered(covered: tuple[Unit, ...], found: Mapping[str, Container]) -> Iterator[Finding]:
    for unit in covered:
        if unit.name not in found:
            yield Finding("unit", WARNING, say("check.no-unit", unit=unit.name), say("check.name-unit"))
        elif not unit.chips:
            yield Finding("unit", WARNING, say("check.unit-no-chips", unit=unit.name), say("check.name-chips"))
        elif found[unit.name].running:
            yield Finding("unit", OK, say("check.unit-runs", unit=unit.name))
        else:
            yield Finding("unit", OK, say("check.unit-down", unit=unit.name))


def clients(config: Config, rows: "Sequence[shapes.Container] | None", running: Running) -> Iterator[Finding]:
    """Yield which units run which containers, and whether they are stopped and started in their place.

    `rows`: the containers that the service knows, None where it does not answer. `running`: the names or ids of those
    that units were found to run, by unit.
    """
    for row in rows or ():
        if row["unit"]:
            yield Finding("unit", OK, say("check.in-place", unit=row["unit"], name=row["name"]))
    for unit, names in sorted(running.items()):
        if rows is None:
            hint = "" if config.systemd.adopt else say("check.if-chips", hint=say("check.adopt", unit=unit))
            yield Finding("unit", OK, say("check.unit-of", unit=unit, names=sorted(names)), hint)
        for row in rows or ():
            if not row["unit"] and not names.isdisjoint((row["name"], row["id"])):
                text = say("check.unit-restarts", unit=unit, name=row["name"])
                yield Finding("unit", WARNING, text, say("check.adopt", unit=unit))
