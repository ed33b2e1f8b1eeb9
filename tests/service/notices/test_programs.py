"""Notices by a program of the operator's: what it is given, and what its end means."""

import json
from pathlib import Path

import pytest

from cmgr.config.receivers import Receiver
from cmgr.errors import CmgrError
from tests.service.notices.telling import alarm, told


def program(folder: Path, text: str) -> Path:
    path = folder / "notify"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_it_is_given_words_for_people_and_objects_for_programs(tmp_path: Path) -> None:
    path = program(tmp_path, f"cat >{tmp_path}/told; echo sent to the duty phone; env >{tmp_path}/env")
    answer = told(Receiver(format="program", program=str(path)), alarm(3), alarm(4), lost=2)
    assert answer == "it ended well: sent to the duty phone"
    given = json.loads((tmp_path / "told").read_text())
    assert list(given) == ["title", "text", "lost", "alarms"]
    assert given["title"] == "[cmgr] appliance-7: chip 3 is isolated: 80818C00 (and 1 more)"
    assert given["lost"] == 2
    assert [(each["id"], each["hint"]) for each in given["alarms"]] == [
        ("isolated-chip-3", "cmgr release 3"), ("isolated-chip-4", "cmgr release 4"),
    ]  # fmt: skip
    assert "CMGR" not in (tmp_path / "env").read_text()


def test_another_end_than_0_is_a_failure_with_its_words(tmp_path: Path) -> None:
    path = program(tmp_path, "echo no credit left >&2; exit 7")
    with pytest.raises(CmgrError, match="it ended with code 7: no credit left"):
        told(Receiver(format="program", program=str(path)))


def test_one_that_others_could_have_written_is_not_run(tmp_path: Path) -> None:
    path = program(tmp_path, f"touch {tmp_path}/ran")
    receiver = Receiver(format="program", program=str(path))
    path.chmod(0o777)
    with pytest.raises(CmgrError, match=rf"{path} is not run: others can write .*: chmod go-w {path}"):
        told(receiver)
    path.chmod(0o644)
    with pytest.raises(CmgrError, match=rf"it is not executable: chmod u\+x {path}"):
        told(receiver)
    path.unlink()
    with pytest.raises(CmgrError, match="there is no such file"):
        told(receiver)
    assert not (tmp_path / "ran").exists()
