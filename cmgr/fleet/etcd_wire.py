"""etcd's JSON gateway: the requests made, and the answers taken apart. Pure, and strict: whoever answers is a stranger.

https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/: bytes are base64, numbers of 64 bits are texts, and a field that
has its zero value is not there.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from cmgr.errors import FleetError
from cmgr.frozen import dataclass
from cmgr.words import json_of

LONGEST = 8 * 2**20
"""So many bytes may an answer have, and a line of a watch."""

PAGE = 256
"""So many keys are read with one request."""

_LONGEST_TEXT = 300

_CANCELED, _UNAVAILABLE, _INVALID, _TIMED_OUT, _PRECONDITION, _FULL, _DENIED, _NO_TOKEN = (
    1, 14, 3, 4, 9, 8, 7, 16,
)  # fmt: skip
"""Codes of https://grpc.github.io/grpc/core/md_doc_statuscodes.html."""

_TOKEN_WANTED = ("user name is empty", "revision of auth store is old", "invalid auth token")


class Malformed(FleetError):
    """The answer is none that etcd would give."""


class Refused(FleetError):
    """etcd refuses, with a gRPC `code`."""

    def __init__(self, message: str, code: int, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code

    @property
    def is_open(self) -> bool:
        """Return whether what was asked may have been done all the same, or may be by another node."""
        return self.code in (_CANCELED, 2, _TIMED_OUT, 13, _UNAVAILABLE)

    @property
    def wants_token(self) -> bool:
        # The code of an empty user's name is that of any malformed request.
        return self.code == _NO_TOKEN or (
            self.code == _INVALID and any(words in self.message for words in _TOKEN_WANTED)
        )

    @property
    def has_no_users(self) -> bool:
        return self.code == _PRECONDITION and "authentication is not enabled" in self.message

    @property
    def is_denied(self) -> bool:
        return self.code == _DENIED


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it stands there. `mod`: the revision of its last change."""

    name: str
    value: bytes
    mod: int
    lease: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """Some keys in their order, as they were at `revision`; `more`: there are others behind them."""

    keys: tuple[Key, ...]
    more: bool
    revision: int


@dataclass(frozen=True, slots=True)
class Change:
    """A key that was put, or is gone: then without a value."""

    name: str
    value: bytes | None
    mod: int


@dataclass(frozen=True, slots=True)
class News:
    """A line of a watch. `canceled`: it is the last, and `why`; `compacted`: what was asked for is forgotten."""

    revision: int
    changes: tuple[Change, ...] = ()
    canceled: bool = False
    compacted: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The end of a transaction. `found`: what it was to read if it was not done."""

    done: bool
    revision: int
    found: Mapping[str, Key] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Puts:
    """A transaction: `puts` and `deletes` are done if every key of `same` has this value (None: is not there) and
    each of `at` was last changed at this revision (0: is not there); else the keys of `reads` are read."""

    puts: Mapping[str, bytes] = field(default_factory=dict)
    deletes: Sequence[str] = ()
    same: Mapping[str, bytes | None] = field(default_factory=dict)
    at: Mapping[str, int] = field(default_factory=dict)
    reads: Sequence[str] = ()
    lease: int = 0


def range_asked(first: str, end: str = "", revision: int = 0) -> dict[str, object]:
    """Ask for one key, or a page of those from `first` to before `end`. It waits for a quorum."""
    body: dict[str, object] = {"key": _b64(first)}
    if end:
        body |= {"range_end": _b64(end), "limit": str(PAGE)}
    return body | ({"revision": str(revision)} if revision else {})


def below(prefix: str) -> tuple[str, str]:
    """Return the first key below a prefix that ends with "/", and the first one behind all of them."""
    assert prefix.endswith("/")
    return prefix, prefix[:-1] + "0"


def puts_asked(order: Puts) -> dict[str, object]:
    compare: list[dict[str, object]] = []
    for name, value in order.same.items():
        how = {"target": "VALUE", "value": _b64(value)} if value is not None else {"target": "MOD", "mod_revision": "0"}
        compare.append({"key": _b64(name), "result": "EQUAL", **how})
    for name, mod in order.at.items():
        compare.append({"key": _b64(name), "result": "EQUAL", "target": "MOD", "mod_revision": str(mod)})
    lease = {"lease": str(order.lease)} if order.lease else {}
    success: list[dict[str, object]] = [
        {"request_put": {"key": _b64(name), "value": _b64(value), **lease}} for name, value in order.puts.items()
    ]
    success += [{"request_delete_range": {"key": _b64(name)}} for name in order.deletes]
    failure = [{"request_range": {"key": _b64(name)}} for name in order.reads]
    return {"compare": compare, "success": success, "failure": failure}


def watch_asked(prefix: str, revision: int) -> dict[str, object]:
    """Ask for every change below the prefix from this revision on."""
    first, end = below(prefix)
    return {"create_request": {"key": _b64(first), "range_end": _b64(end), "start_revision": str(revision)}}


def page(told: object) -> Page:
    """Take an answer to `range_asked` apart. Raises `Malformed`."""
    answer = _table(told)
    return Page(tuple(_key(each) for each in _rows(answer, "kvs")), _flag(answer, "more"), _revision(answer))


def verdict(told: object) -> Verdict:
    """Take an answer to `puts_asked` apart. Raises `Malformed`."""
    answer = _table(told)
    found = dict[str, Key]()
    for response in _rows(answer, "responses"):
        for each in _rows(_table(response.get("response_range", {})), "kvs"):
            key = _key(each)
            found[key.name] = key
    return Verdict(_flag(answer, "succeeded"), _revision(answer), found)


def news(line: bytes) -> News:
    """Take a line of a watch apart. Raises `Malformed`, or `Refused`."""
    told = _table(read(line))
    if "error" in told:
        raise refused(told, 503)
    result = _table(told.get("result"))
    changes = tuple(_change(each) for each in _rows(result, "events"))
    if not _flag(result, "canceled"):
        return News(_revision(result), changes)
    compacted = _number(result, "compact_revision") > 0
    return News(_revision(result), changes, True, compacted, plain(result.get("cancel_reason", "")))


def lease(told: object) -> int:
    """Take the answer to a grant apart: the lease's id. Raises `Malformed`."""
    found = _number(_table(told), "ID")
    if not found:
        raise Malformed("cannot understand etcd: a lease without an id")
    return found


def left(told: object) -> int:
    """Take the answer to a keepalive apart: so many seconds the lease has; 0: it is over. Raises `Malformed`."""
    answer = _table(told)
    if "error" in answer:
        raise refused(answer, 503)
    return _number(_table(answer.get("result")), "TTL")


def token(told: object) -> str:
    """Take the answer to a login apart. Raises `Malformed`."""
    found = _table(told).get("token")
    if not isinstance(found, str) or not found or not found.isascii() or not found.isprintable() or len(found) > 4096:
        raise Malformed("cannot understand etcd: a login without a token")
    return found


def term(told: object) -> tuple[int, int]:
    """Return whose answer this is: the number of the node, and how often there was an election. Raises `Malformed`."""
    header = _table(_table(told).get("header", {}))
    return _number(header, "member_id"), _number(header, "raft_term")


def members(told: object) -> dict[int, str]:
    """Take the list of the cluster's nodes apart: their names by number. Raises `Malformed`."""
    return {_number(each, "ID"): plain(each.get("name", "")) for each in _rows(_table(told), "members")}


def is_full(told: object) -> bool:
    """Take the list of alarms apart: whether a node has no room for writes. Raises `Malformed`."""
    return any(each.get("alarm") == "NOSPACE" for each in _rows(_table(told), "alarms"))


def state(told: object) -> tuple[str, int]:
    """Take a node's state apart: its version, and the number of the leader or 0. Raises `Malformed`."""
    answer = _table(told)
    return plain(answer.get("version", "")), _number(answer, "leader")


def refused(told: object, status: int) -> Refused:
    """Return what etcd says to a request that it does not carry out, in whichever of its forms."""
    answer = told if isinstance(told, dict) else {}
    inner = answer.get("error") if isinstance(answer.get("error"), dict) else answer
    assert isinstance(inner, dict)
    code = inner.get("code", inner.get("grpc_code", 2))
    said = inner.get("message") or inner.get("error") or f"status {status}"
    known = code if isinstance(code, int) and not isinstance(code, bool) else 2
    text = plain(said).removeprefix("etcdserver: ")
    return Refused(f"etcd says: {text}", known, hint=_HINTS.get(known, "") if "space" in text or known != _FULL else "")


_HINTS = {
    _DENIED: "its user lacks a right below fleet.prefix: docs/fleet.md",
    _FULL: "etcd is full: etcdctl compact, defrag, then alarm disarm: docs/fleet.md",
}


def read(text: bytes) -> object:
    """Return the JSON. Raises `Malformed`."""
    try:
        found: object = json_of(text)
    except ValueError:
        raise Malformed("cannot understand etcd: its answer is no JSON") from None
    return found


def plain(told: object) -> str:
    """Return a stranger's text as one line that can be shown."""
    text = told if isinstance(told, str) else ""
    return "".join(c if c.isprintable() else " " for c in text[:_LONGEST_TEXT]).strip()


def _b64(value: str | bytes) -> str:
    return base64.b64encode(value.encode() if isinstance(value, str) else value).decode("ascii")


def _key(told: Mapping[str, Any]) -> Key:
    return Key(_name(told), _bytes(told, "value"), _number(told, "mod_revision"), _number(told, "lease"))


def _change(told: Mapping[str, Any]) -> Change:
    kv = _table(told.get("kv"))
    gone = told.get("type", "PUT") == "DELETE"
    return Change(_name(kv), None if gone else _bytes(kv, "value"), _number(kv, "mod_revision"))


def _name(told: Mapping[str, Any]) -> str:
    # A stranger's key may be no text at all; ours are, and no replaced character makes another into one of them.
    return _bytes(told, "key").decode("utf-8", "replace")


def _table(told: object) -> dict[str, Any]:
    if not isinstance(told, dict):
        raise Malformed("cannot understand etcd: its answer has another shape than it should")
    return told


def _rows(told: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    rows = told.get(name, [])
    if not isinstance(rows, list):
        raise Malformed(f"cannot understand etcd: its {name} are no list")
    return [_table(row) for row in rows]


def _flag(told: Mapping[str, Any], name: str) -> bool:
    found = told.get(name, False)
    if not isinstance(found, bool):
        raise Malformed(f"cannot understand etcd: its {name} is neither true nor false")
    return found


def _number(told: Mapping[str, Any], name: str) -> int:
    found = told.get(name, 0)
    if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) <= 20:
        found = int(found)
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 2**64:
        raise Malformed(f"cannot understand etcd: its {name} is no number")
    return found


def _revision(told: Mapping[str, Any]) -> int:
    return _number(_table(told.get("header", {})), "revision")


def _bytes(told: Mapping[str, Any], name: str) -> bytes:
    found = told.get(name, "")
    try:
        return base64.b64decode(found, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise Malformed(f"cannot understand etcd: its {name} is no base64") from None
