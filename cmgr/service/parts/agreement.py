"""The fleet's engine for the service: its orders, carried out on the workers' threads, and the fleet for who looks."""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from cmgr.frozen import replace
from cmgr.model.values.messages.commands import ReadGroup, WriteGroup
from cmgr.model.values.messages.fleet_facts import GroupRead, GroupWritten
from cmgr.model.values.node import Node
from cmgr.model.values.presence import FleetSeen, Presence
from cmgr.model.values.ranks import Part as Rank
from cmgr.model.values.troubles import Trouble
from cmgr.ports import Fleet
from cmgr.service.part import Part
from cmgr.service.parts.core import Core
from cmgr.service.work.around import Around
from cmgr.view import presence as view
from cmgr.view.status import Own
from cmgr.view.troubles import troubles as all_troubles

if TYPE_CHECKING:
    from cmgr.fleet.etcd import EtcdFleet
    from cmgr.view import group_shapes


def agree(fleet: Fleet, action: WriteGroup | ReadGroup) -> GroupRead | GroupWritten:
    """Ask the engine, and return its answer. Blocks up to 3 s. Raises `FleetError`."""
    if isinstance(action, ReadGroup):
        return GroupRead(action.id, action.group, fleet.read(action.group))
    written = fleet.write(action.group, action.document, action.revision)
    return GroupWritten(action.id, action.group, written.outcome, written.revision)


def open_fleet(core: Core) -> "EtcdFleet | None":
    """Return this appliance in its fleet, if there is one. Nobody is asked yet."""
    if not core.config.fleet.engine:
        return None
    from cmgr import fleet  # Without a fleet nothing of it is loaded.

    return fleet.open_fleet(core.config.fleet)


class Agreement(Part):
    """This appliance in its fleet, if there is one. `ranks` returns its parts of rank tables."""

    def __init__(self, core: Core, fleet: "EtcdFleet | None", ranks: Callable[[], tuple[Rank, ...]]) -> None:
        self._core, self._fleet, self._ranks = core, fleet, ranks
        self._shown: tuple[Node, Own, Presence] | None = None
        self.name = fleet.name if fleet is not None else ""

    def start(self) -> None:
        if self._fleet is not None:
            self._fleet.show(lambda: replace(self._presence(), parts=self._ranks()))
            self._fleet.watch(self._core.put)

    def around(self, around: Around) -> Around:
        """Return the same, by which the workers ask the engine, too."""
        return around if self._fleet is None else replace(around, agree=partial(agree, self._fleet))

    def seen(self) -> FleetSeen:
        """Return what is seen of the fleet, with times of cmgr's own clock. Any thread."""
        if self._fleet is None:
            return FleetSeen()
        drift, told = self._core.clock.drift(), self._fleet.seen()

        def steady(at: datetime | None) -> datetime | None:
            return None if at is None else at - drift

        appliances = tuple(replace(appliance, gone=steady(appliance.gone)) for appliance in told.appliances)
        return replace(told, appliances=appliances, heard=steady(told.heard), led=steady(told.led))

    def told(self, nodes: bool) -> "group_shapes.Fleet":
        """Return the fleet as people are shown it. `nodes`: the engine's nodes are asked, which blocks up to 3 s."""
        asked = self._fleet.nodes() if self._fleet is not None and nodes else ()
        return view.fleet(self._core.node(), self.seen(), self._presence(), asked)

    def troubles(self) -> Iterable[Trouble]:
        if self._fleet is None or not self._core.node().engine.up:
            return ()
        return view.refusal_troubles(*self._fleet.refusal())

    def close(self) -> None:
        if self._fleet is not None:
            self._fleet.close()

    def _presence(self) -> Presence:
        """Return what the other appliances of the fleet are shown. Any thread."""
        node, own = self._core.node(), self._core.own()
        # It is asked for every 2 s, and mostly nothing is new: the node is the same one then.
        if self._shown is None or self._shown[0] is not node or self._shown[1] != own:
            found = all_troubles(node, own.troubles)
            self._shown = node, own, view.presence(node, own.state, self._core.clock.began, found)
        return self._shown[2]
