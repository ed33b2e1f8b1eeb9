"""A trial of a fleet's engine that changes nothing: the rights, the names, and what stands below the prefix."""

from dataclasses import dataclass

from cmgr.errors import FleetError
from cmgr.fleet import appliance_text as text
from cmgr.fleet import document_text
from cmgr.fleet import etcd_wire as wire
from cmgr.fleet.gateway import Gateway
from cmgr.fleet.registration import RANGE, TXN, Identity

LOGIN = "/v3/auth/authenticate"


@dataclass(frozen=True, slots=True)
class Prefix:
    """The keys below the prefix. `owner`: who has our name, None: nobody. `odd`: keys that cmgr cannot read.

    `appliances`: so many are registered, and `groups` so many have a document.
    """

    owner: text.Claim | None
    appliances: int
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
    owner = None
    kinds: list[str] = []
    odd: list[str] = []
    for key in page.keys:
        kind, name = who.keys.split(key.name)
        try:
            _read(kind, key.value)
            if (kind, name) == ("appliances", who.name):
                owner = text.claim(key.value)
            kinds.append(kind)
        except FleetError:
            odd.append(wire.plain(key.name))
    return Prefix(owner, kinds.count("appliances"), kinds.count("groups"), tuple(odd))


def _read(kind: str, value: bytes) -> None:
    if kind == "groups":
        document_text.parse(value)
    elif kind == "appliances":
        text.claim(value)
    elif kind == "alive":
        text.presence(value)
    elif kind == "born":
        text.born(value)
    else:
        raise FleetError("cannot tell what this key is")
