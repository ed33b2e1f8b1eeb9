"""The keys of a fleet, and those about appliances as text and back. Pure, and strict: strangers may write them."""

import hashlib
import ipaddress
import re
from collections.abc import Set
from datetime import UTC, datetime
from typing import Any

from cmgr.errors import FleetError
from cmgr.fleet.document_text import APPLIANCE, FORMAT, GROUP, decoded, encoded
from cmgr.frozen import dataclass
from cmgr.model.values.presence import MOST_AILS, Ail, Presence
from cmgr.model.values.ranks import MOST_DEVICES, MOST_PARTS, Device, Part, Server

_LONGEST = 16 * 1024
_LONGEST_SHOWN = 128 * 1024
"""With rank tables of as many groups and chips as there may be."""

_LONGEST_LINE = 300
_MOST = 2**53
_COMMAND = re.compile(r"cmgr [a-z][A-Za-z0-9 ._:=/-]{0,200}")
"""The commands that another appliance may tell a person to type."""

_STATES = ("starting", "ready", "degraded", "stopping")


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

    machine: str
    life: int
    run: str
    version: str


def machine_of(machine_id: str) -> str:
    """Return the word of a machine that others may know; its id is kept secret (man 5 machine-id)."""
    return hashlib.sha256(b"cmgr fleet " + machine_id.strip().encode()).hexdigest()[:32]


def born_text(id_: str) -> bytes:
    return encoded({"v": FORMAT, "id": id_})


def born(stored: bytes) -> str:
    """Return the word by which the engine's memory is known. Raises `FleetError`."""
    try:
        return _word(_table(stored, {"v", "id"})["id"])
    except ValueError as error:
        raise FleetError(f"cannot read the fleet's birth: {error}", hint="another fleet.prefix") from None


def claim_text(claim: Claim) -> bytes:
    told = {"machine": claim.machine, "life": claim.life, "run": claim.run, "version": claim.version}
    return encoded({"v": FORMAT, **told})


def claim(stored: bytes) -> Claim:
    """Raises `FleetError`."""
    try:
        told = _table(stored, {"v", "machine", "life", "run", "version"})
        return Claim(_word(told["machine"]), _count(told["life"]), _word(told["run"]), _line(told["version"]))
    except ValueError as error:
        raise FleetError(f"cannot read who has this name: {error}") from None


def presence_text(presence: Presence, at: datetime) -> bytes:
    """Return it as others are shown it. `at`: by this machine's clock."""
    told = {
        "v": FORMAT,
        "at": at.isoformat(),
        "since": presence.since.isoformat(),
        "state": presence.state,
        "episodes": presence.episodes,
        "isolated": presence.isolated,
        "ails": [{"text": _cut(ail.text), "hint": _typed(ail.hint)} for ail in presence.ails[:MOST_AILS]],
        "more": presence.more + max(0, len(presence.ails) - MOST_AILS),
    }
    # Without any it is what a cmgr reads that knows of none.
    return encoded({**told, **({"parts": [_part_text(part) for part in presence.parts]} if presence.parts else {})})


def presence(stored: bytes) -> tuple[Presence, datetime]:
    """Return what an appliance shows, and when it said so by its own clock. Raises `FleetError`."""
    try:
        keys = {"v", "at", "since", "state", "episodes", "isolated", "ails", "more"}
        told = {"parts": [], **_table(stored, keys, {"parts"}, _LONGEST_SHOWN)}
        ails = told["ails"]
        if not isinstance(ails, list) or len(ails) > MOST_AILS or told["state"] not in _STATES:
            raise ValueError("what it shows cannot be")
        counts = _count(told["episodes"]), _count(told["isolated"])
        listed = tuple(_ail(each) for each in ails)
        seen = Presence(
            told["state"], _time(told["since"]), *counts, listed, _count(told["more"]), _parts(told["parts"])
        )
        return seen, _time(told["at"])
    except ValueError as error:
        raise FleetError(f"cannot read what an appliance shows: {error}") from None


def _ail(told: object) -> Ail:
    if not isinstance(told, dict) or told.keys() != {"text", "hint"}:
        raise ValueError("what is wrong there has another shape than it should")
    return Ail(_line(told["text"]), _typed(_line(told["hint"])))


def _typed(hint: str) -> str:
    # Somebody types it: nothing but a plain command of cmgr is handed on.
    return hint if _COMMAND.fullmatch(hint) else ""


def _part_text(part: Part) -> dict[str, object]:
    devices = [[device.id, device.address, device.pod, device.in_pod] for device in part.server.devices]
    told = {"group": part.group, "round": part.round, "members": part.members, "order": part.order}
    return {**told, "server": _cut(part.server.name), "devices": devices, "why": _cut(part.why)}


def _parts(told: object) -> tuple[Part, ...]:
    if not isinstance(told, list) or len(told) > MOST_PARTS:
        raise ValueError("its rank tables cannot be")
    found = tuple(_part(each) for each in told)
    if len({part.group for part in found}) < len(found):
        raise ValueError("it has two rank tables of one group")
    return found


def _part(told: object) -> Part:
    if not isinstance(told, dict) or told.keys() != {"group", "round", "members", "order", "server", "devices", "why"}:
        raise ValueError("a rank table in it has another shape than it should")
    group, devices = told["group"], told["devices"]
    if not isinstance(group, str) or not GROUP.fullmatch(group):
        raise ValueError("the group of a rank table in it cannot be")
    if not isinstance(devices, list) or len(devices) > MOST_DEVICES:
        raise ValueError("a rank table in it cannot be")
    server, why = Server(_line(told["server"]), tuple(_device(each) for each in devices)), _line(told["why"])
    if not server.name or (why and devices) or len({device.id for device in server.devices}) < len(devices):
        raise ValueError("a rank table in it cannot be")
    return Part(group, _count(told["round"]), _count(told["members"]), _count(told["order"], -_MOST), server, why)


def _device(told: object) -> Device:
    if not isinstance(told, list) or len(told) != 4 or not isinstance(told[1], str) or "%" in told[1]:
        raise ValueError("a chip of a rank table in it cannot be")
    address = str(ipaddress.ip_address(told[1]))
    return Device(_count(told[0]), address, None if told[2] is None else _count(told[2]), _count(told[3]))


def _table(stored: bytes, keys: set[str], more: Set[str] = frozenset(), longest: int = _LONGEST) -> dict[str, Any]:
    told = decoded(stored, longest)
    if not isinstance(told, dict) or told.keys() - more != keys or told["v"] != FORMAT:
        raise ValueError(f"it does not have the keys {', '.join(sorted(keys))}")
    return told


def _word(told: object) -> str:
    if not isinstance(told, str) or not re.fullmatch(r"[0-9a-f]{8,64}", told):
        raise ValueError("a word in it cannot be")
    return told


def _line(told: object) -> str:
    if not isinstance(told, str) or len(told) > _LONGEST_LINE or not (told.isprintable() or not told):
        raise ValueError("a text in it cannot be")
    return told


def _cut(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)[:_LONGEST_LINE]


def _count(told: object, least: int = 0) -> int:
    if not isinstance(told, int) or isinstance(told, bool) or not least <= told < _MOST:
        raise ValueError("a number in it cannot be")
    return told


def _time(told: object) -> datetime:
    if not isinstance(told, str) or len(told) > 40:
        raise ValueError("a time in it cannot be")
    found = datetime.fromisoformat(told)
    if found.tzinfo is None or not 2000 <= found.year < 3000:
        raise ValueError("a time in it cannot be")
    return found.astimezone(UTC)
