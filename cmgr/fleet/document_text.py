"""The document of a group as text and back. Pure, and strict: whoever can write the engine's keys is a stranger."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from cmgr.errors import FleetError
from cmgr.model.values.messages.documents import MOST_APPLIANCES, Document, Entry, EntryState
from cmgr.model.values.services.groups import GroupPhase

FORMAT: Final = 1
LONGEST = 64 * 1024
"""The most bytes of a document."""

APPLIANCE = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")
"""The name of an appliance."""

GROUP = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
"""The name of a group: what the label `cmgr.group` takes."""

MOST_CONTAINERS = 1000
MOST_ROUNDS = 2**53
_LONGEST_TEXT = 400


def text(document: Document) -> bytes:
    """Return the document as it is stored."""
    members = {
        name: {"round": e.round, "state": e.state.value, "why": e.why, "containers": list(e.containers)}
        for name, e in sorted(document.members.items())
    }
    told = {
        "v": FORMAT,
        "size": document.size,
        "round": document.round,
        "phase": document.phase.value,
        "by": document.by,
        "cause": document.cause,
        "at": document.at,
        "ordered": document.ordered,
        "members": members,
    }
    return encoded(told)


def parse(stored: bytes) -> Document:
    """Return the document that was stored. Raises `FleetError`, which says what is wrong with it."""
    try:
        return _document(stored)
    except ValueError as error:
        hint = "who else writes there? cmgr group restart writes it anew"
        raise FleetError(f"cannot read the group's document: {error}", hint=hint) from None


def decoded(stored: bytes, longest: int) -> object:
    """Return what this JSON says, of at most so many bytes, unless a newer cmgr wrote it. Raises `ValueError`."""
    if len(stored) > longest:
        raise ValueError(f"it has more than {longest} bytes")
    try:
        told = json.loads(stored.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    if isinstance(told, dict) and isinstance(told.get("v"), int) and told["v"] > FORMAT:
        raise ValueError(f"it has format {told['v']}, which a newer cmgr writes")
    return told


def encoded(told: object) -> bytes:
    """Return it as JSON, as it is stored."""
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _document(stored: bytes) -> Document:
    fields = _fields(decoded(stored, LONGEST), "it", _DOCUMENT)
    members = fields.pop("members")
    if len(members) > MOST_APPLIANCES:
        raise ValueError(f"it has more than {MOST_APPLIANCES} appliances")
    fields.pop("v")
    return Document(**fields, members={_name(name): _entry(name, entry) for name, entry in members.items()})


def _entry(name: str, told: object) -> Entry:
    return Entry(**_fields(told, f"the entry of {name}", _ENTRY))


def _fields(told: object, whose: str, known: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    if not isinstance(told, dict) or told.keys() != known.keys():
        raise ValueError(f"{whose} does not have the keys {', '.join(known)}")
    found = {}
    for key, take in known.items():
        try:
            found[key] = take(told[key])
        except ValueError:
            raise ValueError(f"{whose} has a value of {key} that cannot be") from None
    return found


def _refuse(_word: str) -> None:
    raise ValueError


def _whole(least: int, most: int) -> Callable[[Any], int]:
    def take(told: object) -> int:
        if not isinstance(told, int) or isinstance(told, bool) or not least <= told <= most:
            raise ValueError
        return told

    return take


def _flag(told: object) -> bool:
    if not isinstance(told, bool):
        raise ValueError
    return told


def _line(told: object) -> str:
    if not isinstance(told, str) or len(told) > _LONGEST_TEXT or not (told.isprintable() or told == ""):
        raise ValueError
    return told


def _name(told: str) -> str:
    if not APPLIANCE.fullmatch(told):
        raise ValueError("it has an appliance whose name cannot be")
    return told


def _table(told: object) -> dict[str, object]:
    if not isinstance(told, dict):
        raise ValueError
    return told


def _names(told: object) -> tuple[str, ...]:
    if not isinstance(told, list) or len(told) > MOST_CONTAINERS:
        raise ValueError
    return tuple(_line(name) for name in told)


_DOCUMENT: Mapping[str, Callable[[Any], Any]] = {
    "v": _whole(FORMAT, FORMAT),
    "size": _whole(0, MOST_CONTAINERS * MOST_APPLIANCES),
    "round": _whole(0, MOST_ROUNDS),
    "phase": GroupPhase,
    "by": _line,
    "cause": _line,
    "at": _line,
    "ordered": _flag,
    "members": _table,
}
_ENTRY: Mapping[str, Callable[[Any], Any]] = {
    "round": _whole(0, MOST_ROUNDS),
    "state": EntryState,
    "why": _line,
    "containers": _names,
}
