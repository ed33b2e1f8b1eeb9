"""Rank tables: made for who asks, and the parts in those of other appliances, asked of the driver at a bounded cost."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from cmgr.errors import CmgrError, DriverError
from cmgr.model.scope import members_of
from cmgr.model.values.chips import ChipId
from cmgr.model.values.node import Node
from cmgr.model.values.ranks import Device, Part, Server
from cmgr.ports import ChipDriver, Ranking
from cmgr.vendor import rank_table
from cmgr.view.groups import ranks, size
from cmgr.view.ranks import joined, part, parts, shared, why_not

if TYPE_CHECKING:
    from cmgr.fleet.etcd import EtcdFleet

_KEEPS = 30.0
"""So many seconds the address of a chip is told that the driver has said once."""


class Ranks:
    """Any thread. `host`: how a table calls this machine."""

    def __init__(self, driver: ChipDriver, host: str, node: Callable[[], Node], fleet: "EtcdFleet | None") -> None:
        self._driver = driver
        self._host = host
        self._node = node
        self._fleet = fleet
        self._lock = threading.Lock()
        self._known: dict[ChipId, tuple[float, Device]] = {}

    def told(self) -> tuple[Part, ...]:
        """Return the parts that the other appliances are told. Blocks up to 3 s, and rarely; does not raise."""
        if rank_table(self._driver.name) is None or not isinstance(self._driver, Ranking):
            return ()
        node = self._node()
        chips = sorted({chip for each in shared(node).values() for chip in each})
        return parts(node, self._host, self._asked(self._driver, chips))

    def table(self, name: str) -> Mapping[str, object]:
        """Return the whole table of the group. Blocks up to 9 s. Raises `CmgrError`."""
        what = f"cannot make the rank table of group {name}"
        table = rank_table(self._driver.name)
        if table is None or not isinstance(self._driver, Ranking):
            raise CmgrError(f"{what}: chips of {self._driver.name} need none")
        try:
            return table(self._servers(self._driver, name))
        except CmgrError as error:
            raise CmgrError(f"{what}: {error.message}", hint=error.hint) from error

    def _servers(self, driver: Ranking, name: str) -> list[Server]:
        node = self._node()
        members, chips = members_of(node, name), ranks(node, name)
        if why := why_not(chips):
            raise CmgrError(why, hint=f"cmgr group {name}")
        devices = driver.devices(chips)
        for lost in (each for each in devices.values() if isinstance(each, DriverError)):
            raise lost
        here = part(node, name, self._host, devices)
        if len(members) < size(members):
            return self._of_all(self._fleet, name, here, f"{len(members)} of {size(members)} members are known here")
        if not chips:
            raise CmgrError("no member has a chip", hint=f"cmgr group {name}")
        return [here.server]

    def _of_all(self, fleet: "EtcdFleet | None", name: str, here: Part, few: str) -> list[Server]:
        if fleet is None:
            raise CmgrError(few, hint="cmgr group")
        # First the document, then the parts: an appliance has told its own before it wrote that it is ready.
        seen = fleet.read(name)
        if seen.document is None:
            raise CmgrError(seen.error or few, hint=f"cmgr group {name}")
        shown = {who: told for who, presence in fleet.shown().items() for told in presence.parts if told.group == name}
        return joined(name, seen.document, {**shown, fleet.name: here})

    def _asked(self, driver: Ranking, chips: list[ChipId]) -> Mapping[ChipId, Device | DriverError]:
        """Return what the driver says of them, or has said a while ago. It is asked again for those it did not say."""
        with self._lock:
            now = time.monotonic()
            known = {chip: old for chip, old in self._known.items() if chip in chips and now - old[0] < _KEEPS}
            missing = [chip for chip in chips if chip not in known]
            fresh = driver.devices(missing) if missing else {}
            new = {chip: (now, device) for chip, device in fresh.items() if isinstance(device, Device)}
            self._known = known | new
            return {**{chip: device for chip, (_, device) in known.items()}, **fresh}
