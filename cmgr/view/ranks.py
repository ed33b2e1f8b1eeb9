"""The rank table of a group over appliances: this one's part, and the machines of all parts. Pure."""

from collections import Counter
from collections.abc import Mapping

from cmgr.errors import CmgrError, DriverError
from cmgr.model.scope import members_of
from cmgr.model.values.chips import ChipId
from cmgr.model.values.messages.documents import Document, Entry, EntryState
from cmgr.model.values.node import Node
from cmgr.model.values.ranks import MOST_DEVICES, MOST_PARTS, Device, Part, Server
from cmgr.view.groups import natural, ranks

Devices = Mapping[ChipId, Device | DriverError]


def shared(node: Node) -> dict[str, list[ChipId]]:
    """Return the groups of whose table the other appliances need a part, and their chips here in their order."""
    known = sorted(name for name, group in node.fleet_groups.items() if group.document is not None)
    return {name: ranks(node, name) for name in known if members_of(node, name)}


def parts(node: Node, host: str, devices: Devices) -> tuple[Part, ...]:
    """Return what the others are told. `host`: how they call this machine; `devices`: of all the chips of `shared`."""
    told = [part(node, name, host, devices) for name in shared(node)]
    return tuple(told[:MOST_PARTS])


def part(node: Node, name: str, host: str, devices: Devices) -> Part:
    """Return this appliance's part in the table of that group."""
    members, chips, known = members_of(node, name), ranks(node, name), node.fleet_groups.get(name)
    round_ = known.document.round if known is not None and known.document is not None else 0
    found = [devices.get(chip) or DriverError(f"chip {chip} was not asked") for chip in chips]
    many = f"more than {MOST_DEVICES} chips are of it" if len(chips) > MOST_DEVICES else ""
    why = why_not(chips) or many or "; ".join(each.message for each in found if isinstance(each, DriverError))
    here = () if why else tuple(device for device in found if isinstance(device, Device))
    return Part(name, round_, len(members), min((c.order for c in members), default=0), Server(host, here), why)


def why_not(chips: list[ChipId]) -> str:
    """Return why the chips of one machine, in the order of their ranks, can be in no table."""
    return "two members have the same chip" if len(set(chips)) < len(chips) else ""


def joined(name: str, document: Document, told: Mapping[str, Part]) -> list[Server]:
    """Return the machines of the table in their order: by the least `cmgr.order` of their members, then by name.

    `told`: the part of each appliance. Raises `CmgrError`, which says everything that lacks: a table that is not of the
    whole group is none.
    """
    if document.known < document.size:
        raise CmgrError(f"{document.known} of {document.size} members are known", hint="cmgr fleet status")
    members = document.members
    lack = {who: why for who, entry in sorted(members.items()) if (why := _lack(document, entry, told.get(who)))}
    if lack:
        out = all(members[who].state is EntryState.OUT for who in lack)
        why = "; ".join(f"{who} {why}" for who, why in lack.items())
        raise CmgrError(why, hint=f"cmgr group restart {name}" if out else "cmgr fleet status")
    whose = sorted(members, key=lambda who: (told[who].order, natural(who), who))
    servers = [told[who].server for who in whose if told[who].server.devices]
    if not servers:
        raise CmgrError("no member has a chip", hint=f"cmgr group {name}")
    if twice := _twice([server.name for server in servers]):
        raise CmgrError(f"two machines of it are called {twice}", hint="export.node names a machine")
    if twice := _twice([device.address for server in servers for device in server.devices]):
        hint = "hccn_tool -i 0 -ip -g shows it, -ip -s sets it"
        raise CmgrError(f"two chips of it have the address {twice}", hint=hint)
    return servers


def _lack(document: Document, entry: Entry, told: Part | None) -> str:
    if entry.state is EntryState.OUT:
        return "was left out of it"
    if told is None:
        return "has not reported its part"
    if told.round != document.round or told.members != len(entry.containers):
        return f"has not reported its part in round {document.round} yet"
    return f"has none: {told.why}" if told.why else ""


def _twice(words: list[str]) -> str:
    return next((word for word, count in Counter(words).items() if count > 1), "")
