"""Giving back what resets had taken away, when cmgr is to go for good: without a service, and without GPUs."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from cmgr.drivers.nvml.resetting.promises import Promised, Promises
from cmgr.drivers.nvml.resetting.tool import DONE, Ended, Tool
from cmgr.drivers.nvml.resetting.units import Units
from cmgr.drivers.nvml.settings import Nvml
from cmgr.errors import DriverError
from cmgr.host.host import Host
from cmgr.vendor import Given, OpenUnits

_UNDER_WAY = "nvidia-smi still resets GPUs"


def give_back(settings: Nvml, state: Path, open_units: OpenUnits, host: Host) -> Iterator[Given]:
    """Do once what the next life of the service would, and yield what came of each promise. Whatever is not given back
    stays promised: a service that is started again goes on with it."""
    promises = Promises(state)
    if promises.trouble:
        yield Given("", "what resets of GPUs had taken away is not given back", promises.trouble, "look at it yourself")
    if promises.all.units:
        yield from _units(promises, open_units)
    if promises.all.persistent:
        yield _persistence(settings, promises, host)
    if not promises.is_under_way():
        promises.keep(Promised(resetting=promises.all.resetting))


def _units(promises: Promises, open_units: OpenUnits) -> Iterator[Given]:
    owed = promises.all.units
    if promises.is_under_way():
        yield from (Given(name, f"{name} is not started", _UNDER_WAY) for name in owed)
        return
    with closing(Units((), open_units, promises)) as units:
        started, failed = units.start_once()
    for name in reversed(owed):
        if name in failed:
            yield Given(name, f"{name} is not started", failed[name])
        else:
            yield Given(name, f"{name} runs" if name in started else f"{name} is not there any more")


def _persistence(settings: Nvml, promises: Promises, host: Host) -> Given:
    owed, seconds = promises.all.persistent, settings.reset_timeout.total_seconds()
    who, typed = f"the persistence mode of {', '.join(owed)}", f"type: nvidia-smi -pm 1 -i {','.join(owed)}"
    why = _UNDER_WAY
    if not promises.is_under_way():
        try:
            ended = Tool(settings.tool, host).persist(owed, seconds, on=True)
        except DriverError as error:
            why = error.message
        else:
            if isinstance(ended, Ended) and ended.status == DONE:
                promises.keep(Promised(persistent=owed))
                return Given(who, f"{who} is on again")
            why = ended.first_line if isinstance(ended, Ended) else f"nvidia-smi has lasted {seconds:g} s"
    return Given(who, f"{who} is not on again", why, typed)
