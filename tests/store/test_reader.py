"""Looking at the database changes nothing, and works beside a service and after one."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cmgr.errors import StoreError, sentence
from cmgr.model.values.chips import Chip, ChipId, RingId
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import ContainerKey
from cmgr.store import open_store
from cmgr.store.history import Sought
from cmgr.store.reader import open_reader
from cmgr.store.sqlite import SqliteStore
from cmgr.view.containers import containers
from tests.store import values
from tests.store.conftest import ROOT, service_on
from tests.support.waiting import PATIENCE

NOBODY = 65534


@pytest.fixture
def shared() -> Iterator[Path]:
    """A database in a directory that others can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory) / "state" / "cmgr.db"


@contextmanager
def as_a_member_of_the_group(path: Path) -> Iterator[None]:
    """Be somebody who may read the files and not write them, nor into their directory."""
    if os.geteuid() == 0:
        assert {p.stat().st_gid for p in path.parent.iterdir()} == {os.getegid()}
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)
        return
    modes = {p: stat.S_IMODE(p.stat().st_mode) for p in (*path.parent.iterdir(), path.parent)}
    for p, mode in modes.items():
        p.chmod(mode & 0o555)
    yield
    for p, mode in modes.items():
        p.chmod(mode)


def names(path: Path) -> set[str]:
    return {p.name for p in path.parent.iterdir()}


def test_a_reader_beside_the_writer_sees_each_save(store: SqliteStore, path: Path) -> None:
    with open_reader(path) as reader:
        assert reader.node() == Node()
        store.save(values.node(values.hold()), [], [])
        assert reader.node() == values.node(values.hold())
        store.save(Node(), [], [values.note("over")])
        assert reader.node() == Node()
        assert [note.text for note in reader.notes(1, 10)] == ["over"]


def test_without_a_service_a_paused_container_is_shown_with_the_reason_that_was_decided(path: Path) -> None:
    down = replace(values.hold(), state=HoldState.DOWN, reason="chip 3 is isolated: it smells")
    with closing(open_store(path)) as store:
        store.save(values.node(down), [], [])
    with open_reader(path) as reader:
        (row,) = containers(reader.node())
    assert (row["status"], row["reason"]) == ("paused", "chip 3 is isolated: it smells")


def test_after_a_clean_stop_the_file_is_read_and_nothing_is_left_beside_it(path: Path) -> None:
    store = open_store(path)
    store.save(values.node(values.hold()), [], [])
    store.close()
    assert names(path) == {"cmgr.db", "cmgr.db.lock"}
    with open_reader(path) as reader:
        assert reader.node() == values.node(values.hold())
        assert names(path) == {"cmgr.db", "cmgr.db.lock"}
    assert names(path) == {"cmgr.db", "cmgr.db.lock"}


def test_the_group_reads_beside_a_running_service(shared: Path) -> None:
    with service_on(shared) as (_, line):
        assert line == "saved"
        with as_a_member_of_the_group(shared), open_reader(shared) as reader:
            assert list(reader.node().holds) == [values.KEY]


def test_the_group_reads_after_a_kill(shared: Path) -> None:
    with service_on(shared) as (process, _):
        process.kill()
        process.wait(timeout=PATIENCE)
    assert "cmgr.db-wal" in names(shared)
    with as_a_member_of_the_group(shared), open_reader(shared) as reader:
        assert list(reader.node().holds) == [values.KEY]
        assert [fault.code for fault in reader.faults(active_only=True)] == [values.CODE]


def test_the_group_reads_where_an_open_that_failed_has_left_an_empty_log(shared: Path) -> None:
    store = open_store(shared)
    store.save(values.node(values.hold()), [], [])
    store.close()
    shared.with_name("cmgr.db-wal").touch(mode=0o640)
    with as_a_member_of_the_group(shared), open_reader(shared) as reader:
        assert list(reader.node().holds) == [values.KEY]


def test_the_group_reads_after_a_clean_stop(shared: Path) -> None:
    store = open_store(shared)
    store.save(values.node(values.hold()), [], [])
    store.close()
    with as_a_member_of_the_group(shared), open_reader(shared) as reader:
        assert list(reader.node().holds) == [values.KEY]


def test_a_missing_file_is_an_error_and_is_not_made(path: Path) -> None:
    with pytest.raises(StoreError) as info:
        open_reader(path)
    assert sentence(info.value) == (
        f"cannot read {path}: there is no such file (hint: is the service running? cmgr run creates it)"
    )
    assert not path.parent.exists()


def test_a_file_that_the_service_has_only_begun_is_an_error(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with pytest.raises(StoreError, match="it is empty yet"):
        open_reader(path)


def test_a_directory_name_is_no_part_of_the_address(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=rwc#b %41" / "cmgr.db"
    open_store(path).close()
    with open_reader(path) as reader:
        assert reader.node() == Node()
    assert names(path) == {"cmgr.db", "cmgr.db.lock"}


def test_faults_are_chosen_by_when_they_cleared(store: SqliteStore, path: Path) -> None:
    def at(hours: int) -> timedelta:
        return timedelta(hours=hours)

    early = values.fault(values.NOW, cleared=values.NOW + at(1))
    late = values.fault(values.NOW + at(2), cleared=values.NOW + at(3))
    active = values.fault(values.NOW + at(4))
    for fault in (early, late, active):
        store.save(values.node(fault), [], [])
    with open_reader(path) as reader:
        assert reader.faults() == (early, late, active)
        assert reader.faults(since=values.NOW + at(3)) == (late, active)
        assert reader.faults(since=values.NOW + at(9)) == (active,)
        assert reader.faults(chip=active.chip) == (early, late, active)
        assert reader.faults(chip=active.chip, most=2) == (late, active)
        assert reader.faults(chip=ChipId(77)) == ()
        assert reader.faults(active_only=True) == (active,)


def test_neither_a_new_file_nor_one_of_this_level_needs_sqlalchemy(path: Path) -> None:
    script = (
        "import sys, pathlib; from cmgr.store import open_store; from cmgr.store.reader import open_reader;"
        " path = pathlib.Path(sys.argv[1]); store = open_store(path); store.save(store.load(), [], []); store.close();"
        " open_reader(path).close(); sys.exit('sqlalchemy' in sys.modules)"
    )
    codes = [subprocess.run([sys.executable, "-c", script, path], cwd=ROOT, check=False).returncode for _ in range(2)]
    assert codes == [0, 0]


def test_episodes_and_lines_are_sought_by_what_they_are_about(store: SqliteStore, path: Path) -> None:
    """Chip 3 is of ring 0, chip 5 of ring 4; ring 0 was in episodes 1 and 2, ring 4 is in episode 3."""
    web = ContainerKey("docker", "", "web")
    machine = values.node(Chip(ChipId(3), RingId(0), 3), Chip(ChipId(5), RingId(4), 5))

    def note(hour: int, episode: int, kind: NoteKind, text: str, **about: Any) -> Note:
        ring = RingId(4) if episode == 3 else RingId(0)
        return Note(values.NOW + timedelta(hours=hour), kind, text, ring, episode, **about)

    told = [
        note(0, 1, NoteKind.OPENED, "opened 1"),
        note(0, 1, NoteKind.ACTION, "stop web", container=web),
        note(1, 1, NoteKind.CLOSED, "closed 1", outcome="recovered"),
        note(2, 2, NoteKind.OPENED, "opened 2", chip=ChipId(3)),
        note(3, 2, NoteKind.CLOSED, "closed 2", outcome="failed"),
        note(4, 3, NoteKind.OPENED, "opened 3"),
        note(4, 3, NoteKind.FAULT, "seen", chip=ChipId(5)),
    ]
    store.save(machine, [], told)
    with open_reader(path) as reader:

        def found(**wanted: Any) -> tuple[list[int], list[str]]:
            sought = Sought(**wanted)
            return [e.number for e in reader.episodes(9, sought)], [n.text for n in reader.notes(None, 9, sought)]

        assert found() == ([3, 2, 1], [n.text for n in told])
        assert found(chips=frozenset({ChipId(5)})) == ([3], ["opened 3", "seen"])
        assert found(chips=frozenset({ChipId(3)}))[0] == [2, 1]
        assert found(containers=frozenset({web})) == ([1], ["stop web"])
        assert found(containers=frozenset()) == ([], [])
        assert found(outcome="failed")[0] == [2]
        assert found(outcome="")[0] == [3]
        assert found(since=values.NOW + timedelta(hours=3)) == ([3, 2], ["closed 2", "opened 3", "seen"])
        assert found(chips=frozenset({ChipId(3)}), outcome="recovered")[0] == [1]
        assert [n.text for n in reader.notes(2, 9, Sought(chips=frozenset({ChipId(3)})))] == ["opened 2", "closed 2"]
