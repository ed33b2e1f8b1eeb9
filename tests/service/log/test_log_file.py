"""The log as a file: begun anew where it was moved away, across kills and full disks."""

import gzip
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from loguru import logger

from cmgr.cli.check.rotation import PROGRAMS
from cmgr.errors import ConfigError
from cmgr.sentences.sentence import CHINESE, chained, in_language, say
from cmgr.service.log.file import LogFile
from cmgr.service.log.writer import Line

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """loguru without its own handler on standard error, as the service has it."""
    logger.remove()
    yield
    logger.remove()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log" / "cmgr.log"


def moved(path: Path) -> list[Path]:
    """Return the files that were moved away, the oldest first."""
    return sorted((p for p in path.parent.iterdir() if p != path), key=lambda p: int(p.suffix[1:]))


def opened(path: Path, told: list[str] | None = None) -> LogFile:
    return LogFile(str(path), ([] if told is None else told).append)


def test_every_file_is_readable_by_owner_and_group_alone(path: Path) -> None:
    path.parent.mkdir()
    path.touch(mode=0o666)
    path.chmod(0o666)
    mask = os.umask(0o022)
    try:
        with closing(opened(path)) as log:
            for number in range(3):
                log.write(Line("x" * 990))
                path.rename(path.with_name(f"cmgr.log.{number}"))
            log.write(Line("x"))
    finally:
        os.umask(mask)
    assert {stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()} == {0o640}


def test_a_path_may_have_braces_and_percent_signs(tmp_path: Path) -> None:
    path = tmp_path / "{time} {} %d.log"
    with closing(opened(path)) as log:
        log.write(Line("{message} {} %s"))
    assert path.read_text() == "{message} {} %s\n"


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
        opened(path)


def test_that_a_file_is_none_is_said_in_chinese() -> None:
    with pytest.raises(OSError, match="regular") as refused:
        opened(Path("/dev/null"))
    told = ConfigError(say("start.cannot-log", path="/dev/null"))
    told.__cause__ = refused.value
    assert in_language(chained(told), CHINESE) == "无法把日志写到 /dev/null：它不是普通文件"


def test_a_file_that_was_moved_away_is_begun_anew(path: Path) -> None:
    with closing(opened(path)) as log:
        log.write(Line("before"))
        path.rename(path.with_name("cmgr.log.1"))
        log.write(Line("after"))
    assert path.read_text() == "after\n"


def test_a_folder_that_vanished_is_made_again(path: Path) -> None:
    told: list[str] = []
    with closing(opened(path, told)) as log:
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
from cmgr.errors import ConfigError
from cmgr.sentences.sentence import CHINESE, chained, in_language, say
from cmgr.service.log.file import LogFile
from cmgr.service.log.writer import Line
logger.remove()
log = LogFile(sys.argv[1], lambda text: print(text))
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
from cmgr.errors import ConfigError
from cmgr.sentences.sentence import CHINESE, chained, in_language, say
from cmgr.service.log.file import LogFile
from cmgr.service.log.writer import Line
logger.remove()
log = LogFile(sys.argv[1], print)
number = int(sys.argv[2])
while True:
    log.write(Line(f"{number:06} " + "x" * 60))
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
    number += 1
"""


def test_no_line_is_lost_or_torn_or_doubled_by_kills_while_the_file_is_moved_away(path: Path) -> None:
    next_one = 0
    for life in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", WRITES, str(path), str(next_one)], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            for number in range(100 + 7 * life):
                last = int(child.stdout.readline())
                if number % 10 == 9 and path.exists():
                    path.rename(path.with_name(f"cmgr.log.{len(moved(path))}"))
            child.send_signal(signal.SIGKILL)
            last = max([last, *(int(line) for line in child.stdout if line.endswith("\n"))])
        lines = [line for file in path.parent.iterdir() for line in file.read_text().splitlines()]
        numbers = sorted(int(line.partition(" ")[0]) for line in lines)
        assert numbers == list(range(len(numbers)))
        assert {len(line) for line in lines} == {67}
        # The last line may be written and not acknowledged, never the other way round.
        assert numbers[-1] in (last, last + 1)
        next_one = numbers[-1] + 1
    assert len(moved(path)) > 5, "a busy writer is not always back at the file when it is to be moved again"


def test_a_file_that_another_was_put_in_the_place_of_is_left_as_it_is(path: Path) -> None:
    with closing(opened(path)) as log:
        log.write(Line("before"))
        path.unlink()
        path.write_text("another's\n")
        log.write(Line("after"))
    assert path.read_text() == "another's\nafter\n"


@pytest.mark.skipif(shutil.which("logrotate", path=PROGRAMS) is None, reason="there is no logrotate here")
def test_logrotate_with_the_shipped_lines_loses_nothing_and_keeps_to_its_limits(path: Path, tmp_path: Path) -> None:
    lines = (ROOT / "packaging/cmgr.logrotate").read_text().replace("/var/log/cmgr", str(path.parent))
    config = tmp_path / "cmgr.logrotate"
    config.write_text(lines.replace("rotate 30", "rotate 3"))
    config.chmod(0o644)
    program = shutil.which("logrotate", path=PROGRAMS)
    assert program is not None
    with closing(opened(path)) as log:
        for number in range(6):
            log.write(Line(f"line {number}"))
            subprocess.run([program, "--force", "--state", str(tmp_path / "state"), str(config)], check=True)
        log.write(Line("line 6"))
    kept = sorted(p.name for p in path.parent.iterdir())
    assert kept == ["cmgr.log", "cmgr.log.1", "cmgr.log.2.gz", "cmgr.log.3.gz"]
    packed = [gzip.decompress((path.parent / name).read_bytes()).decode() for name in reversed(kept[2:])]
    assert [*packed, (path.parent / "cmgr.log.1").read_text(), path.read_text()] == [f"line {n}\n" for n in range(3, 7)]
    assert {stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()} == {0o640}
