"""A trial of a fleet's engine that changes nothing: the rights, the names, and what stands below the prefix."""

from collections.abc import Mapping

from cmgr.errors import FleetError
from cmgr.fleet import appliance_text as text
from cmgr.fleet import document_text
from cmgr.fleet import etcd_wire as wire
from cmgr.fleet.gateway import Gateway
from cmgr.fleet.registration import RANGE, TXN, Identity
from cmgr.frozen import dataclass
from cmgr.model.values.presence import Presence

LOGIN = "/v3/auth/authenticate"


@dataclass(frozen=True, slots=True)
class Prefix:
    """The keys below the prefix. `claims`: who has which name. `shown`: the state that those who are seen show.

    `groups`: so many have a document. `odd`: keys that cmgr cannot read.
    """

    claims: Mapping[str, text.Claim]
    shown: Mapping[str, Presence]
    groups: int
    odd: tuple[str, ...]


def asks_for_passwords(gateway: Gateway) -> bool:
    """Return whether etcd has its users log in. Raises `FleetError`, `Unsure`."""
    try:
        gateway.ask(LOGIN, {"name": "cmgr-asks-whether-there-are-users", "password": ""})
    except wire.Refused as error:
        return not error.has_no_users
    return True


def writes(gateway: Gateway, who: Identity) -> None:
    """Find out whether we may write, by a write whose condition is never true. Raises `FleetError`, `Unsure`."""
    for key in (who.keys.born, who.keys.appliance(who.name), who.keys.alive(who.name), who.keys.group("x")):
        never: dict[str, bytes | None] = {key: b"a value that nobody writes"}
        wire.verdict(gateway.ask(TXN, wire.puts_asked(wire.Puts({key: b""}, same=never))))


def prefix(gateway: Gateway, who: Identity) -> Prefix:
    """Read what is there, one page of it. Raises `FleetError`, `Unsure`."""
    page = wire.page(gateway.ask(RANGE, wire.range_asked(*wire.below(who.keys.whole))))
    claims: dict[str, text.Claim] = {}
    shown: dict[str, Presence] = {}
    groups, odd = 0, list[str]()
    for key in page.keys:
        kind, name = who.keys.split(key.name)
        try:
            match kind:
                case "groups":
                    document_text.parse(key.value)
                    groups += 1
                case "appliances":
                    claims[name] = text.claim(key.value)
                case "alive":
                    shown[name], _ = text.presence(key.value)
                case "born":
                    text.born(key.value)
                case _:
                    odd.append(wire.plain(key.name))
        except FleetError:
            odd.append(wire.plain(key.name))
    return Prefix(claims, shown, groups, tuple(odd))
