"""The document of a group as text and back. Pure, and strict: whoever can write the engine's keys is a stranger.

Names that are not known here are of a newer cmgr, and passed over: appliances are upgraded one after the other.

Sentences are texts; "said" has the messages of those that have one, by text, where there is room for that.
"""

import json
from dataclasses import replace
from typing import Any, Final

from cmgr.errors import FleetError
from cmgr.model.values.messages.documents import Document
from cmgr.sentences import beside
from cmgr.typed import plain, value

FORMAT: Final = 1
LONGEST = 64 * 1024
"""The most bytes of a document."""


def text(document: Document) -> bytes:
    """Return the document as it is stored."""
    # A cmgr that is older wants each field.
    return encoded(replace(document, members=dict(sorted(document.members.items()))), whole=True)


def parse(stored: bytes) -> Document:
    """Return the document that was stored. Raises `FleetError`, which says what is wrong with it."""
    try:
        found: Document = decoded(Document, stored, LONGEST)
    except ValueError as error:
        hint = "who else writes there? cmgr group restart writes it again"
        raise FleetError(f"cannot read the group's document: {error}", hint=hint) from None
    return found


def decoded(kind: Any, stored: bytes, longest: int) -> Any:
    """Return the value that this text says, of at most so many bytes. Raises `ValueError`."""
    if len(stored) > longest:
        raise ValueError(f"it has more than {longest} bytes")
    try:
        told = json.loads(stored.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    form = told.pop("v", None) if isinstance(told, dict) else FORMAT
    if isinstance(form, int) and form > FORMAT:
        raise ValueError(f"it has format {form}, which a newer cmgr writes")
    if form is True or form != FORMAT:
        raise ValueError(f"v: must be {FORMAT}")
    said = told.pop("said", None) if isinstance(told, dict) else None
    return value(kind, beside.restored(told, said, of_stranger=True))


def encoded(told: object, longest: int = LONGEST, *, whole: bool = False) -> bytes:
    """Return the value as it is stored; `whole`: with what is as by default, too.

    The messages of its sentences are left out where it had more than `longest` bytes with them.
    """
    text = {"v": FORMAT, **plain(told, whole=whole)}
    said = beside.messages(text)
    full = _json({**text, "said": said} if said else text)
    return full if len(full) <= longest or not said else _json(text)


def _json(text: object) -> bytes:
    return json.dumps(text, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _refuse(_word: str) -> None:
    raise ValueError
