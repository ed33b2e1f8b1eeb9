"""The directory of the database was changed: the books go along."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cmgr.errors import StoreBusy, StoreError
from cmgr.store import files, open_store
from cmgr.store.moved import take_along
from tests.store import values


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that systemd always gives the service."""
    made = tmp_path / "home"
    made.mkdir(mode=0o750)
    monkeypatch.setenv("STATE_DIRECTORY", str(made))
    return made


def begin(folder: Path) -> tuple[str, list[str]]:
    """Let a service begin with its database there; return what it says, and what it holds."""
    path = folder / files.NAME
    right = files.claim(path)
    try:
        said = take_along(path)
    finally:
        right.release()
    with closing(open_store(path)) as store:
        return said, [hold.name for hold in store.load().holds.values()]


def hold_one(folder: Path) -> None:
    with closing(open_store(folder / files.NAME)) as store:
        store.save(values.node(values.hold()), [], [])


def test_what_is_held_goes_along_there_and_back(home: Path, tmp_path: Path) -> None:
    assert begin(home) == ("", [])
    hold_one(home)
    new, name = tmp_path / "new", files.NAME
    assert begin(new) == (f"state_dir was changed: the database came along from {home / name} to {new / name}", ["web"])
    assert begin(new) == ("", ["web"])
    assert not (home / name).exists(), "it is in one place only"
    assert begin(home) == (
        f"state_dir was changed: the database came along from {new / name} to {home / name}",
        ["web"],
    )


def test_what_was_not_yet_in_the_file_itself_goes_along_too(home: Path, tmp_path: Path) -> None:
    begin(home)
    hold_one(home)
    # As a service leaves it that was killed: its last save is in the write-ahead log.
    with closing(sqlite3.connect(home / files.NAME)) as reader:
        reader.execute("SELECT * FROM holds").fetchall()
        reader.execute("UPDATE holds SET name = 'llm'")
        reader.commit()
        killed = tmp_path / "killed"
        shutil.copytree(home, killed)
    shutil.rmtree(home)
    killed.rename(home)
    assert (home / f"{files.NAME}-wal").stat().st_size
    assert begin(tmp_path / "new")[1] == ["llm"]


def test_a_database_that_is_there_already_counts_and_that_is_told(home: Path, tmp_path: Path) -> None:
    begin(home)
    hold_one(home)
    (tmp_path / "new").mkdir(mode=0o750)
    open_store(tmp_path / "new" / files.NAME).close()
    said, held = begin(tmp_path / "new")
    assert ("its promises are kept by nobody" in said, held) == (True, [])
    assert (home / files.NAME).exists()
    assert begin(tmp_path / "new") == ("", [])


def test_one_that_another_service_uses_or_that_is_none_is_left_and_the_service_does_not_begin(
    home: Path, tmp_path: Path
) -> None:
    begin(home)
    with closing(open_store(home / files.NAME)), pytest.raises(StoreBusy):
        begin(tmp_path / "new")
    (home / files.NAME).write_text("no database, though as long as one that is none: " * 20)
    with pytest.raises(StoreError):
        begin(tmp_path / "new")
    assert not (tmp_path / "new" / files.NAME).exists()


def test_without_systemd_nobody_says_where_it_was(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(home)
    hold_one(home)
    monkeypatch.delenv("STATE_DIRECTORY")
    assert begin(tmp_path / "new") == ("", [])
