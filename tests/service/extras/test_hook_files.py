"""Which files are hooks, and which of them cmgr may run."""

import os
from pathlib import Path

import pytest

from cmgr.service.extras import hook_files
from cmgr.service.extras.hook_files import commands, is_enabled, strangers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "hooks.d"
    made.mkdir(mode=0o755)
    return made


def objection(path: Path, directory: str) -> str:
    """Return why it is not run, and the command that mends it."""
    return ": ".join(filter(None, hook_files.objection(path, directory) or ()))


def executable(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(mode=0o755, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_a_hook_is_a_file_of_its_name_and_the_files_of_its_directory_in_order(folder: Path) -> None:
    assert commands(str(folder), "before_stop") == ()
    wanted = [folder / "before_stop", folder / "before_stop.d/10-drain", folder / "before_stop.d/90_tell"]
    for path in reversed(wanted):
        executable(path)
    executable(folder / "before_stop.d/10-drain.dpkg-old")
    executable(folder / "before_stop.d/20-edit~")
    executable(folder / "after_reset")
    assert list(commands(str(folder), "before_stop")) == wanted
    assert commands("", "before_stop") == ()


def test_names_that_are_never_looked_at_are_told(folder: Path) -> None:
    for name in ("before-stop", "before_stop", "before_stop.d/x.bak", "before_stop.d/10-good", "README"):
        executable(folder / name)
    assert strangers(str(folder)) == ("README", "before-stop", "before_stop.d/x.bak")
    assert strangers(str(folder / "nowhere")) == ()


def test_what_only_root_can_write_may_be_run(folder: Path) -> None:
    hook = executable(folder / "before_reset")
    assert objection(hook, str(folder)) == ""
    assert is_enabled(hook)
    hook.chmod(0o644)
    assert not is_enabled(hook)


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_what_others_can_write_is_not_run(folder: Path, mode: int) -> None:
    hook = executable(folder / "before_reset", mode)
    assert objection(hook, str(folder)) == f"others can write the file {hook} (mode {mode:04o}): chmod go-w {hook}"


def test_nor_is_anything_in_a_directory_that_others_can_write(folder: Path) -> None:
    hook = executable(folder / "before_reset.d/10-x")
    folder.chmod(0o775)
    assert objection(hook, str(folder)) == f"others can write the directory {folder} (mode 0775): chmod g-w {folder}"
    folder.chmod(0o755)
    folder.parent.chmod(0o777)
    assert objection(hook, str(folder)).startswith(f"others can write the directory {folder.parent}")


def test_nor_what_another_user_owns(folder: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a file away")
    hook = executable(folder / "before_reset")
    os.chown(hook, 4711, -1)
    assert objection(hook, str(folder)).startswith(f"the file {hook} belongs to user 4711")


def test_nor_a_link_a_directory_or_what_is_not_there(folder: Path) -> None:
    real = executable(folder.parent / "real")
    link = folder / "before_reset"
    link.symlink_to(real)
    assert objection(link, str(folder)) == f"{link} is a symbolic link: put the file itself there"
    (folder / "after_reset").mkdir()
    assert objection(folder / "after_reset", str(folder)).endswith("is not a regular file")
    assert objection(folder / "after_episode", str(folder)).endswith("is not a regular file")
    linked = folder.parent / "linked.d"
    linked.symlink_to(folder)
    executable(folder / "before_stop")
    assert "linked.d is a symbolic link" in objection(linked / "before_stop", str(linked))


def test_a_place_reached_through_somebody_elses_directory_is_refused_too(folder: Path) -> None:
    others = folder.parent / "others"
    others.mkdir(mode=0o777)
    others.chmod(0o777)
    real = others / "hooks.d"
    executable(real / "before_stop")
    way = folder.parent / "way"
    way.symlink_to(others)
    assert f"others can write the directory {others}" in objection(way / "hooks.d/before_stop", str(way / "hooks.d"))
