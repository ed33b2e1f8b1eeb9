"""Ascend NPUs, as the rest of cmgr knows them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr.drivers.dcmi import ranktable
from cmgr.drivers.dcmi.settings import Dcmi
from cmgr.drivers.dcmi.support import support
from cmgr.sentences.sentence import say
from cmgr.vendor import OpenUnits, Place, Told, Vendor

if TYPE_CHECKING:
    from cmgr.config.settings import Config
    from cmgr.drivers.dcmi.driver import DcmiDriver
    from cmgr.model.values.chips import ChipId
    from cmgr.model.values.node import Node


def _open(config: "Config", _units: OpenUnits | None) -> "DcmiDriver":
    from cmgr.drivers.dcmi.driver import DcmiDriver, Files

    return DcmiDriver(config.drivers.dcmi, config.sweep, config.resync, files=Files(state=Path(config.state_dir)))


def _places(config: "Config") -> Iterable[Place]:
    from cmgr.drivers.dcmi.library.load import WANTED
    from cmgr.drivers.libraries import Where, search

    return search(Where(WANTED, config.drivers.dcmi.library))


def _told_too(config: "Config", node: "Node", measured: "Mapping[ChipId, Mapping[str, float | str]]") -> Iterable[Told]:
    if not config.drivers.dcmi.npu_exporter_names:
        return ()
    from cmgr.drivers.dcmi import npu_exporter

    return npu_exporter.told(node, measured)


VENDOR = Vendor(
    name="dcmi",
    chips="ascend",
    library="libdcmi",
    tables=Path(__file__).parent / "tables",
    settings=Dcmi,
    sentence="The driver of Ascend chips.",
    open=_open,
    places=_places,
    told_too=_told_too,
    rank_table=ranktable.table,
    former={"subscribe": say("config.subscribes"), "settle": say("config.believed-at-once", chips="NPUs")},
    support=support,
)
