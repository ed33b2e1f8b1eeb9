"""The rank table of a group over appliances: this one's part, and the machines of all parts. Pure."""

from collections import Counter
from collections.abc import Mapping

from cmgr.errors import CmgrError, DriverError
from cmgr.model.scope import members_of
from cmgr.model.values.chips import ChipId
from cmgr.model.values.messages.documents import Document, EntryState
from cmgr.model.values.node import Node
from cmgr.model.values.ranks import MOST_DEVICES, MOST_PARTS, Device, Part, Server
from cmgr.sentences.sentence import parts as joined_words
from cmgr.sentences.sentence import say
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
    found = [devices.get(chip) or DriverError(say("rank.not-asked", chip=chip)) for chip in chips]
    many = say("rank.too-many", count=MOST_DEVICES) if len(chips) > MOST_DEVICES else ""
    why = why_not(chips) or many or joined_words(each.message for each in found if isinstance(each, DriverError))
    here = () if why else tuple(device for device in found if isinstance(device, Device))
    return Part(name, round_, len(members), min((c.order for c in members), default=0), Server(host, here), why)


def why_not(chips: list[ChipId]) -> str:
    """Return why the chips of one machine, in the order of their ranks, can be in no table."""
    return say("rank.same-chip") if len(set(chips)) < len(chips) else ""


def joined(name: str, document: Document, told: Mapping[str, Part]) -> list[Server]:
    """Return the machines of the table in their order: by the least `cmgr.order` of their members, then by name.

    `told`: the part of each appliance. Raises `CmgrError`, which says everything that lacks: a table that is not of the
    whole group is none.
    """
    if document.known < document.size:
        told_of = say("rank.members-unknown", known=document.known, size=document.size)
        raise CmgrError(told_of, hint="cmgr fleet status")
    members = document.members
    lack = {who: why for who in sorted(members) if (why := _lack(document, who, told.get(who)))}
    if lack:
        out = all(members[who].state is EntryState.OUT for who in lack)
        raise CmgrError(joined_words(lack.values()), hint=f"cmgr group restart {name}" if out else "cmgr fleet status")
    whose = sorted(members, key=lambda who: (told[who].order, natural(who), who))
    servers = [told[who].server for who in whose if told[who].server.devices]
    if not servers:
        raise CmgrError(say("rank.no-chip"), hint=f"cmgr group {name}")
    if twice := _twice([server.name for server in servers]):
        raise CmgrError(say("rank.same-name", name=twice), hint=say("rank.names-machine"))
    if twice := _twice([device.address for server in servers for device in server.devices]):
        raise CmgrError(say("rank.same-address", address=twice), hint=say("rank.tool"))
    return servers


def _lack(document: Document, who: str, told: Part | None) -> str:
    entry = document.members[who]
    if entry.state is EntryState.OUT:
        return say("rank.left-out", name=who)
    if told is None:
        return say("rank.not-reported", name=who)
    if told.round != document.round or told.members != len(entry.containers):
        return say("rank.not-reported-round", name=who, number=document.round)
    return say("rank.has-none", name=who, why=told.why) if told.why else ""


def _twice(words: list[str]) -> str:
    return next((word for word, count in Counter(words).items() if count > 1), "")
