"""The fleet's engine for the service: its orders, carried out on the workers' threads, and the fleet for who looks."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cmgr.frozen import replace
from cmgr.model.values.messages.commands import ReadGroup, WriteGroup
from cmgr.model.values.messages.fleet_facts import GroupRead, GroupWritten
from cmgr.model.values.node import Node
from cmgr.model.values.presence import Appliance, FleetSeen, Presence
from cmgr.ports import Fleet
from cmgr.view import presence as view

if TYPE_CHECKING:
    from cmgr.fleet.etcd import EtcdFleet
    from cmgr.view import group_shapes


def agree(fleet: Fleet, action: WriteGroup | ReadGroup) -> GroupRead | GroupWritten:
    """Ask the engine, and return its answer. Blocks up to 3 s. Raises `FleetError`."""
    if isinstance(action, ReadGroup):
        return GroupRead(action.id, action.group, fleet.read(action.group))
    written = fleet.write(action.group, action.document, action.revision)
    return GroupWritten(action.id, action.group, written.outcome, written.revision)


def seen(fleet: "EtcdFleet | None", drift: timedelta) -> FleetSeen:
    """Return what is seen of the fleet, with times of cmgr's own clock, which the machine's is `drift` ahead of."""
    if fleet is None:
        return FleetSeen()
    told = fleet.seen()

    def steady(at: datetime | None) -> datetime | None:
        return None if at is None else at - drift

    def known(appliance: Appliance) -> Appliance:
        return replace(appliance, gone=steady(appliance.gone))

    appliances = tuple(map(known, told.appliances))
    return replace(told, appliances=appliances, heard=steady(told.heard), led=steady(told.led))


def picture(
    fleet: "EtcdFleet | None", node: Node, own: Presence, told: FleetSeen, *, nodes: bool
) -> "group_shapes.Fleet":
    """Return the fleet as people are shown it. `nodes`: each node of the engine is asked, which blocks up to 3 s."""
    return view.fleet(node, told, own, fleet.nodes() if fleet is not None and nodes else ())
