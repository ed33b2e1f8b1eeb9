"""The orders for the fleet's engine, carried out on the workers' threads."""

from cmgr.model.values.messages.commands import ReadGroup, WriteGroup
from cmgr.model.values.messages.fleet_facts import GroupRead, GroupWritten
from cmgr.ports import Fleet


def agree(fleet: Fleet, action: WriteGroup | ReadGroup) -> GroupRead | GroupWritten:
    """Ask the engine, and return its answer. Blocks up to 3 s. Raises `FleetError`."""
    if isinstance(action, ReadGroup):
        return GroupRead(action.id, action.group, fleet.read(action.group))
    written = fleet.write(action.group, action.document, action.revision)
    return GroupWritten(action.id, action.group, written.outcome, written.revision)
