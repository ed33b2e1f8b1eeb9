"""The log as a file: rotated, kept within its limits, across kills and full disks."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from loguru import logger

from cmgr.service.log.writer import Line
from cmgr.service.log_file import Keep, LogFile

SMALL = Keep(size=1000, files=3)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """loguru without its own handler on standard error, as the service has it."""
    logger.remove()
    yield
    logger.remove()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log" / "cmgr.log"


def older(path: Path) -> list[Path]:
    """Return the older files, the oldest first."""
    return sorted((p for p in path.parent.iterdir() if p != path), key=lambda p: p.stat().st_mtime_ns)


def opened(path: Path, keep: Keep, told: list[str] | None = None) -> LogFile:
    return LogFile(str(path), keep, ([] if told is None else told).append)


def test_lines_go_on_in_a_new_file_when_one_is_full_and_none_is_lost(path: Path) -> None:
    lines = [f"line {number:04} {'x' * 50}" for number in range(60)]
    with closing(opened(path, Keep(size=1000, files=100))) as log:
        for line in lines:
            log.write(Line(line))
    files = [*older(path), path]
    assert len(files) == 4
    assert [line for file in files for line in file.read_text().splitlines()] == lines
    assert all(0 < file.stat().st_size <= 1000 for file in files)


def test_sizes_count_in_bytes_and_no_empty_file_is_put_away(path: Path) -> None:
    with closing(opened(path, SMALL)) as log:
        log.write(Line("я" * 2000))
        assert older(path) == []
        log.write(Line("я" * 300))
        log.write(Line("я" * 300))
    assert [p.stat().st_size for p in (*older(path), path)] == [4001, 601, 601]


def test_only_so_many_older_files_are_kept_and_they_are_the_newest(path: Path) -> None:
    with closing(opened(path, SMALL)) as log:
        for number in range(10):
            log.write(Line(f"{number} {'x' * 990}"))
    assert [p.read_text()[0] for p in (*older(path), path)] == ["6", "7", "8", "9"]


def test_older_files_go_when_they_are_too_old_at_the_start_too(path: Path) -> None:
    with closing(opened(path, SMALL)) as log:
        for number in range(3):
            log.write(Line(f"{number} {'x' * 990}"))
    oldest, other = older(path)
    os.utime(oldest, (0, 0))
    opened(path, Keep(size=1000, age=timedelta(days=7), files=3)).close()
    assert older(path) == [other]


def test_what_is_named_alike_and_is_not_an_older_log_stays(path: Path) -> None:
    path.parent.mkdir()
    strangers = [path.parent / name for name in ("cmgr.audit.log", "cmgr.log.1", "cmgr.2026-01-01.log", "cmgr.toml")]
    for stranger in strangers:
        stranger.write_text("mine")
        os.utime(stranger, (0, 0))
    with closing(opened(path, Keep(size=1000, files=1))) as log:
        for _ in range(5):
            log.write(Line("x" * 990))
    assert all(stranger.read_text() == "mine" for stranger in strangers)
    assert len(older(path)) == len(strangers) + 1


def test_every_file_is_readable_by_owner_and_group_alone(path: Path) -> None:
    path.parent.mkdir()
    path.touch(mode=0o666)
    path.chmod(0o666)
    mask = os.umask(0o022)
    try:
        with closing(opened(path, SMALL)) as log:
            for _ in range(3):
                log.write(Line("x" * 990))
    finally:
        os.umask(mask)
    assert {stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()} == {0o640}


def test_a_path_may_have_braces_and_percent_signs(tmp_path: Path) -> None:
    path = tmp_path / "{time} {} %d.log"
    with closing(opened(path, SMALL)) as log:
        for number in range(6):
            log.write(Line(f"{{message}} {number} {'x' * 980}"))
    assert path.read_text().startswith("{message} 5 ")
    assert len(older(path)) == 3


@pytest.mark.parametrize("made", ["link", "pipe", "folder"])
def test_what_is_no_regular_file_is_refused(path: Path, made: str) -> None:
    path.parent.mkdir()
    if made == "link":
        path.symlink_to("/dev/null")
    elif made == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(OSError, match=r"."):
        opened(path, SMALL)


def test_a_file_that_was_moved_away_is_begun_anew(path: Path) -> None:
    with closing(opened(path, SMALL)) as log:
        log.write(Line("before"))
        path.rename(path.with_name("cmgr.log.1"))
        log.write(Line("after"))
    assert path.read_text() == "after\n"


def test_a_folder_that_vanished_is_made_again(path: Path) -> None:
    told: list[str] = []
    with closing(opened(path, SMALL, told)) as log:
        log.write(Line("before"))
        path.unlink()
        path.parent.rmdir()
        log.write(Line("after"))
    assert path.read_text() == "after\n"
    assert told == []


def test_a_full_disk_is_told_once_and_so_is_its_end(path: Path) -> None:
    code = """
import resource, sys
from pathlib import Path
from loguru import logger
from cmgr.service.log_file import Keep, LogFile
from cmgr.service.log.writer import Line
logger.remove()
log = LogFile(sys.argv[1], Keep(size=1 << 20), lambda text: print(text))
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, most))
for number in range(100):
    log.write(Line(f"{number:03} " + "x" * 95))
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
log.write(Line("room again"))
log.write(Line("the end"))
log.close()
"""
    ended = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    first, second = ended.stdout.splitlines()
    assert first == f"cannot write the log file {path}: File too large; the journal goes on"
    assert second == f"the log file {path} is written again"
    assert path.read_text().endswith("room again\nthe end\n")
    assert ended.stderr == ""


WRITES = """
import sys
from loguru import logger
from cmgr.service.log_file import Keep, LogFile
from cmgr.service.log.writer import Line
logger.remove()
log = LogFile(sys.argv[1], Keep(size=700, files=1000), print)
number = int(sys.argv[2])
while True:
    log.write(Line(f"{number:06} " + "x" * 60))
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
    number += 1
"""


def test_no_line_is_lost_or_torn_or_doubled_by_kills_in_the_middle_of_rotations(path: Path) -> None:
    next_one = 0
    for life in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", WRITES, str(path), str(next_one)], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            for _ in range(100 + 7 * life):  # Every tenth line rotates.
                last = int(child.stdout.readline())
            child.send_signal(signal.SIGKILL)
            last = max([last, *(int(line) for line in child.stdout if line.endswith("\n"))])
        lines = [line for file in path.parent.iterdir() for line in file.read_text().splitlines()]
        numbers = sorted(int(line.partition(" ")[0]) for line in lines)
        assert numbers == list(range(len(numbers)))
        assert {len(line) for line in lines} == {67}
        # The last line may be written and not acknowledged, never the other way round.
        assert numbers[-1] in (last, last + 1)
        next_one = numbers[-1] + 1
    assert len(older(path)) > 60
