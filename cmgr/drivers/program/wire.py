"""The words between the service and a program that drives chips: one JSON object a line. Pure, and strict.

Requests of the service: {"id": 7, "do": "read", …}; the answer has the same id, and either "result" or "error". A
message that the program sends by itself has "tell" instead. Values are as `cmgr.typed` makes them. Sentences are texts;
"said" has the messages of those that have one, by text. Whoever does not know that name passes over it.
"""

import json
from collections.abc import Mapping
from typing import Any

from cmgr.errors import DriverError, DriverMissing, ResetRefused
from cmgr.model.values.machine import MachineTold
from cmgr.model.values.messages.facts import ChipsListed, FaultReported, ReadNeeded, Remarked
from cmgr.ports import DriverFact
from cmgr.sentences import beside, sentence
from cmgr.sentences.sentence import because, say
from cmgr.typed import plain, value
from cmgr.words import json_of

VERSION = 1
"""Of all that is said here. A program of another version is refused."""

MOST = 1 << 24
"""So many bytes one line may have."""

FACTS: Mapping[str, type[Any]] = {
    "fault": FaultReported, "read": ReadNeeded, "chips": ChipsListed, "remark": Remarked, "machine": MachineTold,
}  # fmt: skip
"""The facts that a program tells by itself."""

_TELLS = {kind: word for word, kind in FACTS.items()}

_ERRORS: Mapping[str, type[DriverError]] = {"failed": DriverError, "missing": DriverMissing, "refused": ResetRefused}

_compact = json.JSONEncoder(separators=(",", ":")).encode


def line(message: Mapping[str, Any]) -> bytes:
    """Return the message as it is sent."""
    said = beside.messages(message)
    return _compact({**message, "said": said} if said else message).encode() + b"\n"


def heard(line: bytes) -> Any:
    """Return a message as it was before it was sent. Raises `ValueError`."""
    message = json_of(line)
    return beside.restored(message, message.pop("said", None)) if isinstance(message, dict) else message


def told(fact: DriverFact) -> bytes:
    """Return a fact as it is sent."""
    return line({"tell": _TELLS[type(fact)], **plain(fact)})


def fact(message: Mapping[str, Any]) -> DriverFact:
    """Return the fact that was told. Raises `ValueError`."""
    kind = FACTS.get(message["tell"])
    if kind is None:
        raise ValueError(f"tell: must be one of {', '.join(FACTS)}")
    found: DriverFact = value(kind, {name: part for name, part in message.items() if name != "tell"})
    return found


def failure(error: DriverError) -> Mapping[str, str]:
    """Return an error as it is sent."""
    word = {DriverMissing: "missing", ResetRefused: "refused"}.get(type(error), "failed")
    return {"kind": word, "text": sentence.chained(error), **({"hint": error.hint} if error.hint else {})}


def failed(said: Any) -> DriverError:
    """Return the error that was sent. Anything else is an error, too."""
    if not isinstance(said, dict) or not isinstance(said.get("text"), str):
        return DriverError(because(say("driver.cannot-drive"), say("driver.no-form", said=f"{said!r:.80}")))
    hint = said.get("hint")
    return _ERRORS.get(str(said.get("kind")), DriverError)(said["text"], hint=hint if isinstance(hint, str) else "")
