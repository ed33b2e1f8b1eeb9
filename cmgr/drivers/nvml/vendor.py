"""NVIDIA GPUs, as the rest of cmgr knows them."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr.drivers.nvml.settings import Nvml
from cmgr.sentences.sentence import say
from cmgr.vendor import Given, OpenUnits, Place, Vendor

if TYPE_CHECKING:
    from cmgr.config.settings import Config
    from cmgr.drivers.nvml.driver import NvmlDriver


def _open(config: "Config", units: OpenUnits | None) -> "NvmlDriver":
    from cmgr.drivers.nvml import driver
    from cmgr.host.host import host_of  # Not before: every service loads this module, most for another driver's sake.

    place = driver.Place(Path(config.state_dir), units, host_of(config.systemd.bus))
    boot = config.policy().reset.boot
    return driver.NvmlDriver(config.drivers.nvml, config.sweep, config.resync, place, boot)


def _places(config: "Config") -> Iterable[Place]:
    from cmgr.drivers.libraries import Where, search
    from cmgr.drivers.nvml.library.load import WANTED

    return search(Where(WANTED, config.drivers.nvml.library))


def _give_back(config: "Config", units: OpenUnits) -> Iterable[Given]:
    from cmgr.drivers.nvml.resetting.giving_back import give_back
    from cmgr.host.host import host_of

    return give_back(config.drivers.nvml, Path(config.state_dir), units, host_of(config.systemd.bus))


VENDOR = Vendor(
    name="nvml",
    chips="nvidia",
    library="libnvidia-ml",
    tables=Path(__file__).parent / "tables",
    settings=Nvml,
    sentence="The driver of NVIDIA GPUs.",
    former={"settle": say("config.believed-at-once", chips="GPUs")},
    open=_open,
    places=_places,
    stopped=lambda config: config.drivers.nvml.stop_units,
    give_back=_give_back,
)
