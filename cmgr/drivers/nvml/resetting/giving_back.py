"""Giving back what resets had taken away, when cmgr is to go for good: without a service, and without GPUs."""

from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path

from cmgr.drivers import libraries
from cmgr.drivers.nvml.library.load import WANTED
from cmgr.drivers.nvml.resetting.promises import Promised, Promises
from cmgr.drivers.nvml.resetting.set_again import NAMES, set_again
from cmgr.drivers.nvml.resetting.tool import Tool, done, in_its_root
from cmgr.drivers.nvml.resetting.units import Units
from cmgr.drivers.nvml.settings import Nvml
from cmgr.errors import DriverMissing
from cmgr.host.host import Host
from cmgr.sentences.sentence import say
from cmgr.vendor import Given, OpenUnits

_UNDER_WAY = say("back.under-way", tool="nvidia-smi", chips="GPUs")


def give_back(settings: Nvml, state: Path, open_units: OpenUnits, host: Host) -> Iterator[Given]:
    """Do once what the next life of the service would, and yield what came of each promise. Whatever is not given back
    stays promised: a service that is started again goes on with it."""
    promises = Promises(state)
    with suppress(DriverMissing):  # The driver is gone; its tool is perhaps not.
        settings = in_its_root(settings, libraries.find(libraries.Where(WANTED, settings.library)))
    if promises.trouble:
        text = say("back.not-given-back", chips="GPUs")
        yield Given(text, promises.trouble, say("back.look-at-it"))
    if promises.all.units:
        yield from _units(promises, open_units)
    if promises.all.persistent:
        yield _persistence(settings, promises, host)
    if promises.all.settings:
        yield from _settings(settings, promises, host)
    if not promises.is_under_way():
        promises.keep(Promised(resetting=promises.all.resetting))


def _units(promises: Promises, open_units: OpenUnits) -> Iterator[Given]:
    owed = promises.all.units
    if promises.is_under_way():
        yield from (Given(say("back.not-started", name=name), _UNDER_WAY) for name in owed)
        return
    with closing(Units((), open_units, promises)) as units:
        started, failed = units.start_once()
    for name in reversed(owed):
        if name in failed:
            yield Given(say("back.not-started", name=name), failed[name])
        else:
            is_there = name in started
            yield Given(say("back.runs", name=name) if is_there else say("back.not-there", name=name))


def _persistence(settings: Nvml, promises: Promises, host: Host) -> Given:
    owed, seconds = promises.all.persistent, settings.reset_timeout.total_seconds()
    typed = say("back.type", command=f"nvidia-smi -pm 1 -i {','.join(owed)}")
    why: str = _UNDER_WAY
    if not promises.is_under_way():
        tool = Tool(settings.tool, host)
        why = done(lambda: tool.persist(owed, seconds, on=True), seconds)
    if not why:
        promises.keep(Promised(persistent=owed))
        return Given(say("back.persistence-on", names=owed))
    return Given(say("back.persistence-off", names=owed), why, typed)


def _settings(settings: Nvml, promises: Promises, host: Host) -> Iterator[Given]:
    owed, seconds = promises.all.settings, settings.reset_timeout.total_seconds()
    failed: Mapping[str, str] = dict.fromkeys(owed, _UNDER_WAY)
    if not promises.is_under_way():
        buses = {promise.split()[0] for promise in owed}
        failed = set_again(Tool(settings.tool, host), promises, buses, seconds)
    for promise in owed:
        bus, option, value = promise.split()
        if promise in failed:
            typed = say("back.type", command=f"nvidia-smi {option} {value} -i {bus}")
            text = say("back.not-as-it-was", setting=NAMES[option], name=bus)
            yield Given(text, failed[promise], typed)
        else:
            yield Given(say("back.as-it-was", setting=NAMES[option], name=bus))
