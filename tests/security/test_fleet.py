"""Strangers who can write below a fleet's prefix: their texts do no harm, and the fleet goes on."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.errors import FleetError
from cmgr.fleet import appliance_text as text
from cmgr.fleet.document_text import parse
from cmgr.model.values.presence import Ail, Presence
from tests.fleet.world import Make, appliances, document, show
from tests.support.daemons.etcd import Cluster
from tests.support.waiting import eventually

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WORDS = st.sampled_from(
    ["v", "id", "machine", "life", "run", "version", "at", "since", "state", "episodes", "ails", "x"]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=12)
    | st.sampled_from(["ready", "0" * 32, NOW.isoformat()]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=8),
    max_leaves=15,
)
TEXTS = st.binary(max_size=60) | VALUES.map(lambda told: json.dumps(told).encode())


@given(stored=TEXTS)
def test_no_text_brings_anything_but_a_refusal_to_read_it(stored: bytes) -> None:
    for take in (text.born, text.claim, text.presence, parse):
        with suppress(FleetError):
            take(stored)


@given(ails=st.lists(st.builds(Ail, st.text(max_size=400), st.text(max_size=40)), max_size=12))
def test_what_an_appliance_shows_is_printable_bounded_and_comes_back(ails: list[Ail]) -> None:
    shown = Presence("ready", NOW, 1, 2, tuple(ails))
    seen, at = text.presence(text.presence_text(shown, NOW))
    assert (at, seen.episodes, seen.isolated) == (NOW, 1, 2)
    assert len(seen.ails) + seen.more == len(ails)
    for ail in seen.ails:
        assert ail.text.isprintable() or not ail.text
        assert len(ail.text) <= 300


@pytest.mark.parametrize(
    ("hint", "typed"),
    [
        ("cmgr resume tp4", "cmgr resume tp4"),
        ("cmgr release 0/3", "cmgr release 0/3"),
        ("reboot", ""),
        ("cmgr status; reboot", ""),
        ("cmgr resume $(reboot)", ""),
        ("cmgr status && reboot", ""),
        ("cmgr status | sh", ""),
        ("cmgr `reboot`", ""),
        ("cmgr status\nreboot", ""),
        ("./cmgr status", ""),
        ("cmgr " + "a" * 300, ""),
    ],
)
def test_nobody_is_told_to_type_anything_but_a_plain_command_of_cmgr(hint: str, typed: str) -> None:
    stored = text.presence_text(Presence("ready", NOW), NOW)
    told = json.loads(stored) | {"ails": [{"text": "x", "hint": hint}]}
    try:
        seen, _ = text.presence(json.dumps(told).encode())
    except FleetError:
        assert not typed
    else:
        assert seen.ails[0].hint == typed


@pytest.mark.parametrize(
    "key",
    ["/f/groups/../x", "/f/groups/", "/f/groups/a b", "/f/groups/\x1b[2J", "/f/alive/UPPER", "/fx/groups/a", "/f", ""],
)
def test_a_key_that_is_none_of_cmgrs_is_none(key: str) -> None:
    assert text.Keys("/f").split(key) == ("", "")


@pytest.fixture
def make(etcd: Cluster) -> Iterator[Make]:
    with appliances(etcd.endpoints) as make:
        yield make


@pytest.mark.etcd
@pytest.mark.parametrize("value", ["", "\x1b[2J", "{" * 5000, "x" * 100_000, '{"v":1,"id":null}', "[]"])
def test_whatever_a_stranger_puts_below_the_prefix_the_appliances_go_on(make: Make, etcd: Cluster, value: str) -> None:
    prefix = f"/strange-{abs(hash(value))}"
    a, b = make("a", at=prefix).begin().up(), make("b", at=prefix).begin().up()
    show(a)
    revision = a.fleet.write("tp4", document(1), 0).revision
    for key in ("groups/other", "groups/\x1b[2J", "appliances/c", "alive/a", "alive/c", "appliances/../../x", "more"):
        etcd.ctl("put", "--", f"{prefix}/{key}", value)
    eventually(lambda: b.seen("other"))
    assert b.seen("other")[-1].document is None
    assert b.seen("other")[-1].error.isprintable()
    a.fleet.write("tp4", document(2), revision)
    b.sees("tp4", document(2))
    assert {each.name for each in b.fleet.appliances()} == {"a", "b"}
    assert b.downs() == a.downs() == []
