"""The engine keeps a stranger's text: it is read strictly, and whatever is wrong is said."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmgr.errors import FleetError
from cmgr.fleet import document_text
from cmgr.model.values.messages.documents import Document, Entry, EntryState
from cmgr.model.values.services.groups import GroupPhase

A = Entry(18, EntryState.HALTED, "ring 0 is resetting", ("rank0", "größer"))
B = Entry(17, EntryState.RUNNING, "", ("rank2", "rank3"))
TP4 = Document(4, 18, GroupPhase.HALTING, "a", "80E24E00 on chip 3", "2026-01-01T00:00:00Z", True, {"a": A, "b": B})

LINES = st.text(st.characters(categories=("L", "N", "P")), max_size=20)
ROUNDS = st.integers(0, 2**53)
ENTRIES = st.builds(
    Entry, ROUNDS, st.sampled_from(EntryState), LINES, st.lists(LINES, max_size=3).map(tuple)
)  # fmt: skip
NAMES = st.from_regex(document_text.APPLIANCE, fullmatch=True)
ALL = st.builds(
    Document, st.integers(0, 1000), ROUNDS, st.sampled_from(GroupPhase), LINES, LINES, LINES, st.booleans(),
    st.dictionaries(NAMES, ENTRIES, max_size=4),
)  # fmt: skip


@given(ALL)
def test_a_document_that_is_written_is_read_as_it_was(document: Document) -> None:
    assert document_text.parse(document_text.text(document)) == document


@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=200), st.recursive(st.none() | st.text() | st.integers(), st.lists).map(_json := (
    lambda told: json.dumps(told).encode()
))))  # fmt: skip
def test_whatever_else_stands_there_is_refused_with_a_sentence(stored: bytes) -> None:
    with pytest.raises(FleetError, match="cannot read the group's document: it"):
        document_text.parse(stored)


def changed(**keys: Any) -> bytes:
    return json.dumps(json.loads(document_text.text(TP4)) | keys).encode()


def entry(**keys: Any) -> bytes:
    told = json.loads(document_text.text(TP4))
    return json.dumps(told | {"members": {"a": told["members"]["a"] | keys}}).encode()


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        (b"", "it is no JSON"),
        (b'{"v": NaN}', "it is no JSON"),
        (b"\xff", "it is no JSON"),
        (b"[" * 60000, "it is no JSON"),
        (b" " * (64 * 1024 + 1), "more than 65536 bytes"),
        (b"{}", "it does not have the keys v, size"),
        (changed(v=2), "it has format 2, which a newer cmgr writes"),
        (changed(v=0), "value of v that cannot be"),
        (changed(more=1), "does not have the keys"),
        (changed(round=-1), "value of round that cannot be"),
        (changed(round=True), "value of round that cannot be"),
        (changed(round=1.5), "value of round that cannot be"),
        (changed(round=2**53 + 1), "value of round that cannot be"),
        (changed(phase="up"), "value of phase that cannot be"),
        (changed(phase=[]), "value of phase that cannot be"),
        (changed(by=None), "value of by that cannot be"),
        (changed(cause="two\nlines"), "value of cause that cannot be"),
        (changed(cause="\ud800"), "value of cause that cannot be"),
        (changed(cause="x" * 401), "value of cause that cannot be"),
        (changed(ordered=1), "value of ordered that cannot be"),
        (changed(members=[]), "value of members that cannot be"),
        (changed(members={"../etc": {}}), "an appliance whose name cannot be"),
        (changed(members={"a": 1}), "the entry of a does not have the keys round"),
        (changed(members={f"a{n}": {} for n in range(65)}), "more than 64 appliances"),
        (entry(state="dead"), "the entry of a has a value of state that cannot be"),
        (entry(containers="rank0"), "the entry of a has a value of containers that cannot be"),
        (entry(containers=["\x1b[2J"]), "the entry of a has a value of containers that cannot be"),
    ],
)
def test_what_cannot_be_is_named(stored: bytes, said: str) -> None:
    with pytest.raises(FleetError, match=said):
        document_text.parse(stored)


def test_the_known_members_are_those_of_all_appliances() -> None:
    assert (TP4.known, replace(TP4, members={}).known) == (4, 0)
