"""A file is there as a whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from cmgr import atomic


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def put(path: Path, content: bytes, *, replace: bool = True) -> None:
    with atomic.written(path, 0o640, replace=replace) as file:
        file.write(content)


def test_the_file_is_there_when_all_is_written_and_nothing_beside_it(path: Path) -> None:
    with atomic.written(path, 0o640) as file:
        file.write(b"one")
        assert not path.exists()
    put(path, b"two")
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(path.parent) == ["kept"]


def test_a_write_that_fails_leaves_what_was_there(path: Path) -> None:
    put(path, b"one")
    with pytest.raises(TypeError):
        put(path, "no bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"one"
    assert os.listdir(path.parent) == ["kept"]


def test_what_is_there_is_replaced_only_if_that_is_wanted(path: Path) -> None:
    put(path, b"one", replace=False)
    with pytest.raises(FileExistsError):
        put(path, b"two", replace=False)
    assert path.read_bytes() == b"one"
    assert os.listdir(path.parent) == ["kept"]


def test_a_link_that_lies_where_it_is_written_is_not_followed(path: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    (tmp_path / f"kept.{os.getpid()}{atomic.UNFINISHED}").symlink_to(victim)
    put(path, b"one")
    assert victim.read_bytes() == b"mine"
    assert (path.read_bytes(), path.is_symlink()) == (b"one", False)


def test_only_what_killed_writers_of_this_path_left_is_tidied_away(path: Path, tmp_path: Path) -> None:
    others = {"kept", "kept.new.txt", "kept.x.new", "mykept.1.new", "other.1.new", "kept.2.new"}
    for name in (*others - {"kept.2.new"}, "kept.new", "kept.1.new", "kept.99999.new"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "kept.2.new").mkdir()
    atomic.tidy(path)
    assert set(os.listdir(tmp_path)) == others
    atomic.tidy(tmp_path / "nowhere" / "kept")
