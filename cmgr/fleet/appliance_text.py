"""The keys of a fleet, and those about appliances as text and back. Pure, and strict: strangers may write them."""

import hashlib
import re
from datetime import datetime
from ipaddress import ip_address
from typing import Annotated

from cmgr.errors import FleetError
from cmgr.fleet.document_text import decoded, encoded
from cmgr.frozen import dataclass
from cmgr.model.values.names import APPLIANCE, GROUP
from cmgr.model.values.presence import MOST_AILS, Ail, Presence
from cmgr.model.values.ranks import MOST_DEVICES, MOST_PARTS, Device, Part, Server
from cmgr.typed import Bound, like, line, most, within
from cmgr.words import one_line

_LONGEST = 16 * 1024
_LONGEST_SHOWN = 128 * 1024
"""With rank tables of as many groups and chips as there may be."""

_LONGEST_LINE = 300
_MOST = 2**53 - 1
_COMMAND = re.compile(r"cmgr [a-z][A-Za-z0-9 ._:=/-]{0,200}")
"""The commands that another appliance may tell a person to type."""


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    # The zone of an IPv6 address is any text.
    return "%" not in text


_Count = Annotated[int, within(0, _MOST)]
_Line = Annotated[str, line(_LONGEST_LINE)]
_Word = Annotated[str, like(re.compile(r"[0-9a-f]{8,64}"), "8 to 64 digits and letters from a to f")]
_Address = Annotated[str, Bound("an IP address", _is_address)]
_EACH_ONCE = Bound("of different groups", lambda parts: len({part.group for part in parts}) == len(parts))


@dataclass(frozen=True, slots=True)
class Keys:
    """The names of all keys of a fleet, below its prefix."""

    prefix: str

    @property
    def whole(self) -> str:
        return f"{self.prefix}/"

    @property
    def born(self) -> str:
        return f"{self.prefix}/born"

    def appliance(self, name: str) -> str:
        return f"{self.prefix}/appliances/{name}"

    def alive(self, name: str) -> str:
        return f"{self.prefix}/alive/{name}"

    def group(self, name: str) -> str:
        return f"{self.prefix}/groups/{name}"

    def split(self, key: str) -> tuple[str, str]:
        """Return what a key is, and whose: ("groups", "tp4"). Two empty words for keys that are none of cmgr's."""
        if key == self.born:
            return "born", ""
        kind, slash, name = key.removeprefix(self.whole).partition("/")
        form = {"groups": GROUP, "appliances": APPLIANCE, "alive": APPLIANCE}.get(kind)
        if not slash or form is None or not form.fullmatch(name) or not key.startswith(self.whole):
            return "", ""
        return kind, name


@dataclass(frozen=True, slots=True)
class Claim:
    """The owner of an appliance's name: which machine, for how many times, by which process, of which version."""

    machine: _Word
    life: _Count
    run: _Word
    version: _Line


@dataclass(frozen=True, slots=True)
class _Born:
    id: _Word


@dataclass(frozen=True, slots=True)
class _Ail:
    text: _Line
    hint: _Line


@dataclass(frozen=True, slots=True)
class _Part:
    group: Annotated[str, like(GROUP, "the name of a group")]
    round: _Count
    members: _Count
    order: Annotated[int, within(-_MOST, _MOST)]
    server: _Line
    devices: Annotated[tuple[tuple[_Count, _Address, _Count | None, _Count], ...], most(MOST_DEVICES)]
    why: _Line


@dataclass(frozen=True, slots=True)
class _Shown:
    at: datetime
    since: datetime
    state: Annotated[str, like(re.compile("starting|ready|degraded|hangs|stopping"), "the state of a service")]
    episodes: _Count
    isolated: _Count
    ails: Annotated[tuple[_Ail, ...], most(MOST_AILS)]
    more: _Count
    parts: Annotated[tuple[_Part, ...], most(MOST_PARTS), _EACH_ONCE] = ()
    """Without any it is what a cmgr reads that knows of none."""


def machine_of(machine_id: str) -> str:
    """Return the word of a machine that others may know; its id is kept secret (man 5 machine-id)."""
    return hashlib.sha256(b"cmgr fleet " + machine_id.strip().encode()).hexdigest()[:32]


def born_text(id_: str) -> bytes:
    return encoded(_Born(id_))


def born(stored: bytes) -> str:
    """Return the word by which the engine's memory is known. Raises `FleetError`."""
    try:
        found: _Born = decoded(_Born, stored, _LONGEST)
    except ValueError as error:
        raise FleetError(f"cannot read the fleet's birth: {error}", hint="another fleet.prefix") from None
    return found.id


def claim(stored: bytes) -> Claim:
    """Raises `FleetError`."""
    try:
        found: Claim = decoded(Claim, stored, _LONGEST)
    except ValueError as error:
        raise FleetError(f"cannot read who has this name: {error}") from None
    return found


def presence_text(presence: Presence, at: datetime) -> bytes:
    """Return it as others are shown it. `at`: by this machine's clock."""
    ails = tuple(_Ail(_cut(ail.text), _typed(ail.hint)) for ail in presence.ails[:MOST_AILS])
    more = presence.more + max(0, len(presence.ails) - MOST_AILS)
    counts = presence.episodes, presence.isolated
    parts = tuple(_told(part) for part in presence.parts)
    return encoded(_Shown(at, presence.since, presence.state, *counts, ails, more, parts), _LONGEST_SHOWN)


def presence(stored: bytes) -> tuple[Presence, datetime]:
    """Return what an appliance shows, and when it said so by its own clock. Raises `FleetError`."""
    try:
        told: _Shown = decoded(_Shown, stored, _LONGEST_SHOWN)
        parts = tuple(_part(each) for each in told.parts)
    except ValueError as error:
        raise FleetError(f"cannot read what an appliance shows: {error}") from None
    ails = tuple(Ail(ail.text, _typed(ail.hint)) for ail in told.ails)
    return Presence(told.state, told.since, told.episodes, told.isolated, ails, told.more, parts), told.at


def _typed(hint: str) -> str:
    # Somebody types it: nothing but a plain command of cmgr is handed on.
    return hint if _COMMAND.fullmatch(hint) else ""


def _told(part: Part) -> _Part:
    devices = tuple((device.id, device.address, device.pod, device.in_pod) for device in part.server.devices)
    server, why = _cut(part.server.name), _cut(part.why)
    return _Part(part.group, part.round, part.members, part.order, server, devices, why)


def _part(told: _Part) -> Part:
    chips = [device[0] for device in told.devices]
    if not told.server or (told.why and chips) or len(set(chips)) < len(chips):
        raise ValueError("parts: a rank table in it cannot be")
    devices = tuple(Device(id_, str(ip_address(said)), pod, number) for id_, said, pod, number in told.devices)
    return Part(told.group, told.round, told.members, told.order, Server(told.server, devices), told.why)


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE]
