"""The second record of what is held, which outlives the database."""

import json
import os
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from cmgr.model.values.holds import Attempt, Hold, HoldState
from cmgr.model.values.node import Node
from cmgr.store import files, open_store
from cmgr.store.spare import NAME
from tests.store import values

ALWAYS = "always:0"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / files.NAME


def down(**changes: object) -> Hold:
    stopped = replace(values.hold(), state=HoldState.DOWN, restart_policy=ALWAYS, disarmed=True)
    return replace(stopped, **changes)  # type: ignore[arg-type]


def save(path: Path, *holds: Hold) -> None:
    with closing(open_store(path)) as store:
        store.save(replace(values.node(*holds), serial=1), [], [])


def loaded(path: Path) -> tuple[Node, str]:
    with closing(open_store(path)) as store:
        return store.load(), store.damage


@pytest.mark.parametrize("how", ["damaged", "removed"])
def test_what_was_held_is_known_when_the_database_is_not(path: Path, how: str) -> None:
    save(path, down(state=HoldState.FAILED, attempt=Attempt(tries=3, error="no")))
    if how == "damaged":
        path.write_bytes(b"no database " * 1000)
    else:
        path.unlink()
    node, damage = loaded(path)
    assert list(node.holds.values()) == [down(episode=0)]
    assert f"what was held is known from {NAME} beside it: web" in damage
    assert list(loaded(path)[0].holds.values()) == [down(episode=0)], "nothing was saved yet"


def test_a_reason_that_changes_writes_no_record(path: Path) -> None:
    with closing(open_store(path)) as store:
        store.save(replace(values.node(down()), serial=1), [], [])
        before = path.with_name(NAME).stat()
        store.save(replace(values.node(down(reason="chip 0 is isolated")), serial=2), [], [])
        assert path.with_name(NAME).stat() == before


def test_the_next_life_takes_it_into_the_database(path: Path) -> None:
    save(path, down())
    path.unlink()
    with closing(open_store(path)) as store:
        store.save(replace(store.load(), serial=1), [], [])
    path.with_name(NAME).unlink()
    node, damage = loaded(path)
    assert (list(node.holds.values()), damage) == ([down(episode=0)], "")


def test_what_is_held_no_more_is_forgotten_there_too(path: Path) -> None:
    save(path, down())
    save(path)
    path.unlink()
    assert loaded(path) == (Node(), "")


def test_a_record_of_an_older_cmgr_lacks_what_came_later_and_is_used(path: Path) -> None:
    save(path, down())
    record = path.with_name(NAME)
    rows = json.loads(record.read_text())
    assert rows[0].pop("frozen") is False
    rows[0]["state"] = "stopped"
    record.write_text(json.dumps(rows))
    path.unlink()
    assert list(loaded(path)[0].holds.values()) == [down(episode=0)]


@pytest.mark.parametrize("text", ["", "[", "{}", "[1]", '[{"name": "x"}]', "[" * 100_000])
def test_a_record_that_nobody_can_read_is_none(path: Path, text: str) -> None:
    save(path, down())
    path.write_bytes(b"no database " * 1000)
    path.with_name(NAME).write_text(text)
    node, damage = loaded(path)
    assert node.holds == {}
    assert "not known any more" in damage or text == "{}"


def test_a_disk_that_takes_no_record_keeps_no_save_from_being_made(path: Path) -> None:
    path.with_name(NAME).mkdir()
    save(path, down())
    assert list(loaded(path)[0].holds.values()) == [down()]
    assert sorted(left.name for left in path.parent.glob(f"{NAME}*")) == [NAME]


def test_what_a_life_left_that_was_killed_while_it_wrote_goes_with_the_next(path: Path) -> None:
    save(path, down())
    for name in (f"{NAME}.4711.new", f"{NAME}.new"):
        path.with_name(name).write_text("[")
    assert list(loaded(path)[0].holds.values()) == [down()]
    assert sorted(left.name for left in path.parent.glob(f"{NAME}*")) == [NAME]


def test_the_record_is_for_root_and_the_group_whatever_the_umask_is(path: Path) -> None:
    before = os.umask(0)
    try:
        save(path, down())
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.with_name(NAME).stat().st_mode) == 0o640
