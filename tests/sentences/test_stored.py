"""Sentences are stored as their text and their message, and a text without one stays as it is."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.faults import FaultCode, Handling, Isolation
from cmgr.model.values.handling.rules import Raise, RuleKind, Tally
from cmgr.model.values.holds import Attempt
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.groups import Group, over
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.sentences.hints import order
from cmgr.sentences.sentence import CHINESE, Sentence, because, in_language, message, orders_in, say, written
from cmgr.store import files, open_store
from cmgr.store.reader import open_reader
from tests.store import values

TESTED, TOLD = say("ring.tested", chips=(0, 1)), "正在测试芯片 0-1"


def test_what_was_decided_can_be_said_in_chinese_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / files.NAME
    rings = {RingId(0): Ring(RingId(0), (), reason=TESTED), RingId(1): Ring(RingId(1), (), reason="no such device")}
    release = order("release", chip=0)
    trouble = Trouble(TroubleKind.BUG, "", TESTED, "docker: no", say("hint.resume", order=release))
    isolation = Isolation(ChipId(0), values.NOW, "budget", TESTED)
    hold = replace(values.hold(), reason=TESTED, short=TESTED, attempt=Attempt(tries=1, error=TESTED))
    node = replace(values.node(isolation), rings=rings, troubles={trouble.key: trouble}, holds={hold.key: hold})
    note = replace(values.note(""), text=say("ring.enters", before="waiting", after="resetting", reason=TESTED))
    with closing(open_store(path)) as store:
        store.save(node, [], [note, values.note("docker: no")])
    with open_reader(path) as reader:
        kept, lines = reader.node(), reader.notes(None, 2)
    (again,) = kept.troubles.values()
    assert orders_in(again.hint) == (release,)
    told = (*(ring.reason for ring in kept.rings.values()), kept.isolations[ChipId(0)].reason, again.text, again.why)
    assert [in_language(text, CHINESE) for text in told] == [TOLD, "no such device", TOLD, TOLD, "docker: no"]
    held = kept.holds[hold.key]
    assert [in_language(text, CHINESE) for text in (held.reason, held.short, held.attempt.error)] == [TOLD] * 3
    assert [in_language(line.text, CHINESE) for line in lines] == [f"等待 → 复位：{TOLD}", "docker: no"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT reason FROM rings").fetchall() == [(TESTED,), ("no such device",)]


def test_a_sentence_in_a_list_comes_back_and_so_does_the_text_of_an_older_file(tmp_path: Path) -> None:
    path = tmp_path / files.NAME
    said, bare = (
        Raise(RuleKind.DURATION, Handling.SeparateNPU, values.NOW, reason) for reason in (TESTED, "came 3 times")
    )
    tally = Tally(ChipId(0), FaultCode("80E24E00"), raised=(said, bare))
    group = over(Group("tp", began=values.NOW, cause=TESTED), values.NOW, "recovered")
    with closing(open_store(path)) as store:
        store.save(replace(values.node(), tallies={tally.key: tally}, groups={group.name: group}), [], [])
    with open_reader(path) as reader:
        kept = reader.node()
    (again,) = kept.tallies.values()
    assert [in_language(each.cause, CHINESE) for each in kept.groups["tp"].history] == [TOLD]
    assert again == tally
    assert [in_language(each.reason, CHINESE) for each in again.raised] == [TOLD, "came 3 times"]


@pytest.mark.parametrize(
    "said",
    [
        say("chip.has-booted"),
        TESTED,
        because(TESTED, 'a "quoted" \u00e4 \\ text'),
        say("chip.clean", length=timedelta(seconds=1.5)),
        say("check.make-room", commands=[TESTED, "b"], last="c"),
        say("hint.resume", order=order("release", chip=0)),
    ],
)
def test_what_is_written_is_the_message(said: Sentence) -> None:
    assert written(said) == json.dumps(message(said), separators=(",", ":"))
