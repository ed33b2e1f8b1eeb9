"""The file: its place, modes, lock and level, and what happens to one that is damaged."""

import errno
import os
import random
import re
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from cmgr.errors import StoreBusy, StoreError, StoreTooNew, chain, sentence
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.sentences.sentence import CHINESE, in_language
from cmgr.store import files, open_store
from cmgr.store.reader import open_reader
from tests.store import values
from tests.store.conftest import service_on
from tests.support.waiting import PATIENCE, eventually

SAVED = values.node(values.hold(), values.fault(), Ring(values.RING, (values.CHIP,)))


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    yield
    os.umask(before)


def written(path: Path) -> None:
    """Make a file of several pages with `SAVED` in it, as a service that ended leaves it."""
    store = open_store(path)
    store.save(SAVED, [], [values.note(f"line {i}") for i in range(2000)])
    store.close()


def changed(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def contents(path: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in path.parent.iterdir() if not p.name.endswith((".lock", "-shm"))}


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_files_are_for_root_and_the_group_only_whatever_the_umask(path: Path, mask: int) -> None:
    with umask(mask):
        store = open_store(path)
        store.save(SAVED, [], [])
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o750
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
    assert modes == {f"cmgr.db{end}": 0o640 for end in ("", "-wal", "-shm", ".lock")}
    store.close()


def test_a_commit_is_on_the_disk_before_it_returns(path: Path) -> None:
    with closing(open_store(path)) as store:
        pragmas = ("journal_mode", "synchronous")
        found = {name: store.connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas}
    assert found == {"journal_mode": "wal", "synchronous": 2}


def test_a_file_that_was_too_open_is_closed(path: Path) -> None:
    written(path)
    path.chmod(0o666)
    open_store(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_the_directory_that_somebody_made_keeps_its_mode(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    open_store(path).close()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["cmgr.db", "cmgr.db.lock"])
def test_a_symbolic_link_is_refused(path: Path, name: str) -> None:
    path.parent.mkdir()
    target = path.parent / "elsewhere"
    target.write_bytes(b"mine")
    path.with_name(name).symlink_to(target)
    with pytest.raises(StoreError, match=f"{name}: it is a symbolic link"):
        open_store(path)
    assert target.read_bytes() == b"mine"


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_refused(path: Path, make: Callable[[Path], None]) -> None:
    path.parent.mkdir()
    make(path)
    with pytest.raises(StoreError, match="cannot use"):
        open_store(path)


def test_a_directory_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(StoreError, match="cannot make the directory") as info:
        open_store(tmp_path / "state" / "deep" / files.NAME)
    assert isinstance(info.value.__cause__, OSError)


def test_a_second_service_is_refused_with_the_pid_of_the_first(path: Path) -> None:
    with service_on(path) as (process, line):
        assert line == "saved"
        with pytest.raises(StoreBusy) as info:
            open_store(path)
        assert chain(info.value) == f"cannot use {path}: cmgr with pid {process.pid} uses it already"
    store = open_store(path)
    with service_on(path) as (_, line):
        assert line.startswith(f"StoreBusy: cannot use {path}: cmgr with pid {os.getpid()} uses it already")
    store.close()
    store.close()


def test_a_refused_file_is_free_again_at_once(path: Path) -> None:
    written(path)
    changed(path, f"UPDATE meta SET level = {files.LEVEL + 1}")
    for _ in range(2):
        with pytest.raises(StoreTooNew):
            open_store(path)


def test_a_newer_level_is_refused_and_no_byte_of_the_file_changes(path: Path) -> None:
    written(path)
    changed(path, "UPDATE meta SET level = 7, version = '9.1'")
    before = contents(path)
    with pytest.raises(StoreTooNew) as info:
        open_store(path)
    assert sentence(info.value) == (
        f"cannot use {path}: written by cmgr 9.1 (level 7), this one knows level {files.LEVEL} "
        "(hint: install cmgr 9.1 or newer, or move the file aside)"
    )
    with pytest.raises(StoreTooNew):
        open_reader(path)
    assert contents(path) == before


def test_a_newer_level_whose_service_was_killed_is_left_with_its_log(path: Path) -> None:
    with service_on(path) as (process, _):
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("UPDATE meta SET level = 7")
        process.kill()
        process.wait(timeout=PATIENCE)
    before = contents(path)
    assert before["cmgr.db-wal"]
    with pytest.raises(StoreTooNew):
        open_store(path)
    assert contents(path) == before


def test_another_programs_database_is_refused(path: Path) -> None:
    path.parent.mkdir()
    changed(path, "CREATE TABLE meta (level)", "INSERT INTO meta VALUES (1)")
    before = contents(path)
    with pytest.raises(StoreError, match="it is another program's database"):
        open_store(path)
    assert contents(path) == before


@pytest.mark.parametrize("statements", [(), ("PRAGMA journal_mode = WAL",)])
def test_a_file_that_was_not_finished_is_begun_again(path: Path, statements: tuple[str, ...]) -> None:
    path.parent.mkdir()
    path.touch()
    changed(path, *statements)
    store = open_store(path)
    store.save(SAVED, [], [])
    assert (store.load(), store.damage) == (SAVED, "")
    store.close()


def _overwrite(path: Path, start: int, length: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(random.Random(1).randbytes(length))  # noqa: S311  # Nothing secret is made of it.


DAMAGE: dict[str, Callable[[Path], None]] = {
    "no database": lambda path: _overwrite(path, 0, 10_000),
    "truncated": lambda path: os.truncate(path, path.stat().st_size // 2),
    "truncated inside its first page": lambda path: os.truncate(path, 700),
    "damaged pages": lambda path: _overwrite(path, 4096 * 2, 4096 * (path.stat().st_size // 4096 - 3)),
    "no phase": lambda path: changed(path, "UPDATE rings SET phase = 'perhaps'"),
    "no time": lambda path: changed(path, "UPDATE holds SET since = 12"),
    "no list": lambda path: changed(path, "UPDATE holds SET chips = '[1'"),
    "no text": lambda path: changed(path, "UPDATE holds SET name = CAST(x'ff' AS TEXT)"),
    "no level": lambda path: changed(path, "DELETE FROM meta"),
    "no table": lambda path: changed(path, "DROP TABLE holds"),
}


def read_all(path: Path) -> None:
    with open_reader(path) as reader:
        reader.node()
        reader.notes(None, 9999)


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_set_aside_and_a_new_one_begun(path: Path, kind: str) -> None:
    written(path)
    DAMAGE[kind](path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="cannot "):
        read_all(path)
    store = open_store(path)
    assert store.load() == Node()
    (aside,) = path.parent.glob("cmgr.db.damaged-*")
    assert re.fullmatch(r"cmgr\.db\.damaged-\d{8}T\d{6}Z", aside.name)
    assert store.damage.startswith(f"{path} was damaged, is kept as {aside.name}, and a new one was begun: cannot ")
    chinese = in_language(store.damage, CHINESE)
    assert chinese.startswith(f"{path} 已损坏，保留为 {aside.name}，并新建了一个：无法")
    assert chinese.endswith("；之前持有的内容已无从得知，请看 cmgr status")
    assert aside.read_bytes() == before
    store.save(SAVED, [], [])
    store.close()
    again = open_store(path)
    assert (again.load(), again.damage) == (SAVED, "")
    again.close()


def test_a_damaged_file_takes_its_log_along_and_two_in_a_second_are_both_kept(path: Path) -> None:
    path.parent.mkdir()
    asides = []
    for text in ("one", "two"):
        path.write_text(text)
        path.with_name("cmgr.db-wal").write_text(f"log of {text}")
        asides.append(files.set_aside(path, values.NOW))
    assert [aside.name for aside in asides] == [
        "cmgr.db.damaged-20260301T030000Z",
        "cmgr.db.damaged-20260301T030000Z-2",
    ]
    assert [aside.read_text() for aside in asides] == ["one", "two"]
    assert [aside.with_name(aside.name + "-wal").read_text() for aside in asides] == ["log of one", "log of two"]
    assert not path.with_name("cmgr.db-wal").exists()


def _long(path: Path) -> None:
    """Make a file whose history takes half a second to be looked at."""
    written(path)
    columns = "at, kind, episode, outcome, text"
    changed(
        path,
        f"INSERT INTO notes ({columns}) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 600000)"
        f" SELECT {columns} FROM n, (SELECT {columns} FROM notes LIMIT 1)",
        "PRAGMA wal_checkpoint(TRUNCATE)",
    )


def _opened(path: Path) -> int:
    """Return how many times this process has the file open."""
    return sum(os.path.realpath(f"/proc/self/fd/{fd}") == str(path) for fd in os.listdir("/proc/self/fd"))


def test_a_service_that_ends_while_its_file_is_looked_at_leaves_no_log(path: Path) -> None:
    _long(path)
    store = open_store(path)
    store.save(replace(SAVED, serial=7), [], [values.note("last")])
    before, found = _opened(path), []
    look = threading.Thread(target=lambda: found.append(store.examine()))
    look.start()
    eventually(lambda: _opened(path) > before)
    store.close()
    assert contents(path).keys() == {files.NAME}
    look.join(PATIENCE)
    assert found == [""]


def test_a_lock_that_a_failed_disk_does_not_take_says_why(path: Path, mocker: MockerFixture) -> None:
    """ext4 that has aborted its journal lets files be opened for writing: no disk of a test can be made to do so."""
    path.parent.mkdir(parents=True, mode=0o750)
    mocker.patch("cmgr.store.files.os.ftruncate", side_effect=OSError(errno.EROFS, "Read-only file system"))
    with pytest.raises(StoreError) as info:
        files.Lock(path)
    assert str(info.value) == f"cannot use {path}.lock: Read-only file system"
    assert info.value.hint == files.MAKE_WRITABLE
