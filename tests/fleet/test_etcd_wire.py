"""The answers of etcd's gateway taken apart: of each version, and such as none would give."""

import base64
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.errors import FleetError
from cmgr.fleet import etcd_wire as wire

WORDS = st.sampled_from(
    ["header", "revision", "kvs", "key", "value", "mod_revision", "lease", "more", "succeeded", "responses",
     "response_range", "result", "events", "kv", "type", "canceled", "compact_revision", "cancel_reason",
     "error", "code", "grpc_code", "message", "ID", "TTL", "token", "members", "name", "leader", "errors",
     "version", "member_id", "raft_term"]
)  # fmt: skip
ANSWERS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=20,
)


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kv(key: str, value: str = "x", mod: int = 7, **more: object) -> dict[str, object]:
    return {"key": b64(key), "value": b64(value), "mod_revision": str(mod), "create_revision": "2", **more}


def test_a_page_of_keys_is_taken_apart() -> None:
    told = {"header": {"revision": "9"}, "kvs": [kv("/c/born"), kv("/c/alive/a", "", 8, lease="5")], "more": True}
    keys = (wire.Key("/c/born", b"x", 7), wire.Key("/c/alive/a", b"", 8, 5))
    assert wire.page(told) == wire.Page(keys, True, 9)


def test_fields_with_their_zero_value_are_not_there() -> None:
    assert wire.page({"header": {"cluster_id": "1"}}) == wire.Page((), False, 0)
    assert wire.verdict({"header": {"revision": "3"}}) == wire.Verdict(False, 3)
    assert wire.left({"result": {"ID": "15"}}) == 0


def test_a_transaction_that_was_not_done_says_what_is_there() -> None:
    told = {"header": {"revision": "9"}, "responses": [{"response_range": {"kvs": [kv("/c/born")]}}, {}]}
    assert wire.verdict(told) == wire.Verdict(False, 9, {"/c/born": wire.Key("/c/born", b"x", 7)})


def test_a_line_of_a_watch_tells_what_was_put_and_what_is_gone() -> None:
    events = [{"kv": kv("/c/groups/g")}, {"type": "DELETE", "kv": {"key": b64("/c/alive/a"), "mod_revision": "8"}}]
    line = json.dumps({"result": {"header": {"revision": "8"}, "events": events}}).encode()
    assert wire.news(line) == wire.News(8, (wire.Change("/c/groups/g", b"x", 7), wire.Change("/c/alive/a", None, 8)))


def test_a_watch_that_is_canceled_says_whether_it_came_too_late() -> None:
    late = wire.news(b'{"result":{"header":{"revision":"3"},"canceled":true,"compact_revision":"3"}}')
    refused = wire.news(b'{"result":{"created":true,"canceled":true,"cancel_reason":"permission\\u001b denied"}}')
    assert (late.canceled, late.compacted) == (True, True)
    assert (refused.canceled, refused.compacted, refused.why) == (True, False, "permission  denied")


@pytest.mark.parametrize(
    "told",
    [
        {"error": "etcdserver: no leader", "message": "etcdserver: no leader", "code": 14},
        {"error": {"grpc_code": 14, "http_code": 503, "message": "etcdserver: no leader", "http_status": "x"}},
        {"error": {"code": 14, "message": "etcdserver: no leader"}},
        {"code": 14, "message": "etcdserver: no leader"},
    ],
)
def test_every_form_of_a_refusal_that_a_version_has_is_understood(told: dict[str, object]) -> None:
    error = wire.refused(told, 503)
    assert (error.code, error.message, error.is_open) == (14, "etcd says: no leader", True)


@pytest.mark.parametrize(
    ("code", "is_open"), [(3, False), (7, False), (8, False), (9, False), (11, False), (16, False)]
)
def test_a_refusal_that_is_final_leaves_nothing_open(code: int, is_open: bool) -> None:
    assert wire.refused({"code": code, "message": "x"}, 400).is_open is is_open


@pytest.mark.parametrize("said", ["user name is empty", "revision of auth store is old", "invalid auth token"])
def test_etcd_wants_a_token_in_several_ways(said: str) -> None:
    code = 16 if "token" in said else 3
    assert wire.refused({"code": code, "message": f"etcdserver: {said}"}, 400).wants_token


def test_a_key_that_is_no_text_is_none_of_ours_and_does_no_harm() -> None:
    (key,) = wire.page({"kvs": [{"key": base64.b64encode(b"/cmgr/groups/\xff").decode()}]}).keys
    assert key.name == "/cmgr/groups/\ufffd"


@given(told=ANSWERS)
def test_no_answer_however_odd_brings_anything_but_a_refusal_to_believe_it(told: Any) -> None:
    takers = (
        wire.page,
        wire.verdict,
        wire.lease,
        wire.left,
        wire.token,
        wire.term,
        wire.members,
        wire.state,
        wire.is_full,
    )
    for take in (*takers, lambda told: wire.news(json.dumps(told).encode())):
        with suppress(FleetError):
            take(told)
    assert wire.refused(told, 500).message.isprintable()


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 100_000, b"not found"])
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(wire.Malformed):
        wire.read(text)


@pytest.mark.parametrize("number", [-1, 2**64, True, "-1", "1.5", "\u0661", "9" * 21, 1.5, None, []])
def test_a_number_that_cannot_be_is_refused(number: object) -> None:
    with pytest.raises(wire.Malformed):
        wire.page({"header": {"revision": number}})
