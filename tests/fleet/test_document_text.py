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
from cmgr.model.values.names import APPLIANCE
from cmgr.model.values.services.groups import GroupPhase
from cmgr.sentences.hints import order
from cmgr.sentences.sentence import CHINESE, Sentence, in_language, orders_in, say

A = Entry(18, EntryState.HALTED, "ring 0 is resetting", ("rank0", "größer"))
B = Entry(17, EntryState.RUNNING, "", ("rank2", "rank3"))
TP4 = Document(4, 18, GroupPhase.HALTING, "a", "80E24E00 on chip 3", "2026-01-01T00:00:00Z", True, {"a": A, "b": B})

LINES = st.text(st.characters(categories=("L", "N", "P")), max_size=20)
ROUNDS = st.integers(0, 2**53)
ENTRIES = st.builds(
    Entry, ROUNDS, st.sampled_from(EntryState), LINES, st.lists(LINES, max_size=3).map(tuple)
)  # fmt: skip
NAMES = st.from_regex(APPLIANCE, fullmatch=True)
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
    with pytest.raises(FleetError, match=r"cannot read the group's document: (it|v: must be 1)"):
        document_text.parse(stored)


def test_a_document_is_written_with_every_key_in_this_order_which_older_ones_want() -> None:
    assert document_text.text(Document(2, members={"b": Entry(0, EntryState.RUNNING), "a": B})).decode() == (
        '{"v":1,"size":2,"round":0,"phase":"running","by":"","cause":"","at":"","ordered":false,"members":{'
        '"a":{"round":17,"state":"running","why":"","containers":["rank2","rank3"]},'
        '"b":{"round":0,"state":"running","why":"","containers":[]}}}'
    )


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
        (b"{}", "v: must be 1"),
        (b'{"v": 1}', "size: is missing"),
        (changed(v=2), "it has format 2, which a newer cmgr writes"),
        (changed(v=0), "v: must be 1"),
        (changed(v=True), "v: must be 1"),
        (changed(round=-1), "round: must be from 0 to 9007199254740992"),
        (changed(round=True), "round: must be a whole number"),
        (changed(round=1.5), "round: must be a whole number"),
        (changed(round=2**53 + 1), "round: must be from 0"),
        (changed(phase="up"), "phase: must be one of running, halting, starting"),
        (changed(phase=[]), "phase: must be one of"),
        (changed(by=None), "by: must be a text"),
        (changed(cause="two\nlines"), "cause: must be a line of at most 400 characters"),
        (changed(cause="\ud800"), "cause: must be a line"),
        (changed(cause="x" * 401), "cause: must be a line"),
        (changed(ordered=1), "ordered: must be true or false"),
        (changed(members=[]), "members: must be an object"),
        (changed(members={"../etc": {}}), "a name in members: must be that of an appliance"),
        (changed(members={"a": 1}), "members.a: must be an object"),
        (changed(members={"a": {"round": 1}}), "members.a.state: is missing"),
        (changed(members={f"a{n}": {"round": 1, "state": "ready"} for n in range(65)}), "members: must be at most 64"),
        (entry(state="dead"), "members.a.state: must be one of"),
        (entry(containers="rank0"), "members.a.containers: must be a list"),
        (entry(containers=["\x1b[2J"]), r"members.a.containers\[0\]: must be a line"),
        (entry(containers=["x"] * 1001), "members.a.containers: must be at most 1000"),
    ],
)
def test_what_cannot_be_is_named(stored: bytes, said: str) -> None:
    with pytest.raises(FleetError, match=said):
        document_text.parse(stored)


@pytest.mark.parametrize(
    ("newer", "ours"),
    [(changed(more=1), changed()), (changed(**{"\x1b[2J": [{}]}), changed()), (entry(since="2027-01-01"), entry())],
)
def test_what_a_newer_cmgr_says_beside_is_passed_over(newer: bytes, ours: bytes) -> None:
    assert document_text.parse(newer) == document_text.parse(ours)


def test_the_known_members_are_those_of_all_appliances() -> None:
    assert (TP4.known, replace(TP4, members={}).known) == (4, 0)


WHY = say("group.engine-is-away", why=say("group.has-not-written", names=["b"]))
CAUSE = say("group.stops-for", name="rank0", fault="80E24E00")
SAID = replace(TP4, cause=CAUSE, members={"a": replace(A, why=WHY), "b": B})


def test_what_an_appliance_says_of_its_part_is_told_by_the_others_in_chinese() -> None:
    again = document_text.parse(document_text.text(SAID))
    assert again == SAID
    assert in_language(again.members["a"].why, CHINESE) == in_language(WHY, CHINESE) != WHY
    assert in_language(again.cause, CHINESE) == in_language(CAUSE, CHINESE) != CAUSE
    # Whoever writes the document next keeps what the others have said.
    assert document_text.text(again) == document_text.text(SAID)


def test_messages_are_left_out_of_a_document_that_would_be_too_long_with_them() -> None:
    names = tuple(f"rank{n:0>60}" for n in range(970))
    again = document_text.parse(document_text.text(replace(SAID, members={"a": Entry(18, A.state, WHY, names)})))
    assert (again.members["a"].why, type(again.members["a"].why)) == (WHY, str)


def cause(text: str, told: object) -> str:
    """Return the cause that is read of a document in which a stranger says that its message is this."""
    return document_text.parse(changed(cause=text, said={text: told})).cause


def test_an_order_of_a_stranger_is_a_text_for_no_page_shows_its_button_here() -> None:
    told = say("hint.resume", order=order("reset", chip=0))
    again = cause(
        told, {"id": told.id, "args": {"order": {"do": "reset", "args": {"chip": 0}, "text": "cmgr reset 0"}}}
    )
    assert isinstance(again, Sentence)
    assert (again, list(orders_in(told)), orders_in(again)) == (told, [order("reset", chip=0)], ())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rank0 stops for x", {"id": "group.stops-for", "args": {"name": "rank1", "fault": "x"}}),
        ("rank0 stops for x", {"id": "group.no-such-thing", "args": {"name": "rank0", "fault": "x"}}),
        ("rank0 stops for x", {"id": "group.stops-for", "args": {"name": "rank0", "fault": {"do": 1, "args": 1}}}),
        ("rank0 stops for x", "rank0"),
        ("rank0 stops for x", None),
        ("x", {"id": "fault.meaning", "args": {"meaning": ["x", "\x1b[2J"]}}),
    ],
)
def test_a_message_of_a_stranger_that_says_something_else_is_none(text: str, told: object) -> None:
    assert (cause(text, told), type(cause(text, told))) == (text, str)


@pytest.mark.parametrize("said", [None, 3, "x", [], ["x"], {"x": {}}])
def test_messages_of_no_form_are_passed_over(said: object) -> None:
    assert document_text.parse(changed(said=said)) == TP4
