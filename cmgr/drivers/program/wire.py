"""The words between the service and a program that drives chips: one JSON object a line. Pure, and strict.

Requests of the service: {"id": 7, "do": "read", …}; the answer has the same id, and either "result" or "error". A
message that the program sends by itself has "tell" instead. Values are as `cmgr.typed` makes them.
"""

import json
from collections.abc import Mapping
from typing import Any

from cmgr.errors import DriverError, DriverMissing, ResetRefused, chain
from cmgr.model.values.machine import MachineTold
from cmgr.model.values.messages.facts import ChipsListed, FaultReported, ReadNeeded, Remarked
from cmgr.ports import DriverFact
from cmgr.typed import plain, value

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
    return _compact(message).encode() + b"\n"


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
    return {"kind": word, "text": chain(error), **({"hint": error.hint} if error.hint else {})}


def failed(said: Any) -> DriverError:
    """Return the error that was sent. Anything else is an error, too."""
    if not isinstance(said, dict) or not isinstance(said.get("text"), str):
        return DriverError(f"cannot drive the chips: the program answers with an error of no form: {said!r:.80}")
    return _ERRORS.get(str(said.get("kind")), DriverError)(said["text"], hint=str(said.get("hint", "")))
