"""The log as a whole: who gets which lines, and that whoever logs waits for nobody."""

import io
import logging
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from loguru import logger

from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.service.log import setup as logs
from cmgr.service.log.journal import message_id
from cmgr.service.log.writer import Line, Stream, Writer
from tests.support.daemons.journald import drained
from tests.support.picture import T0
from tests.support.waiting import PATIENCE, eventually

FAULT = Note(T0, NoteKind.FAULT, "80E24E00 (RestartNPU) on chip 3", RingId(0), 7, ChipId(3))
ISOLATED = Note(T0, NoteKind.ISOLATION, "chip 3 is isolated", chip=ChipId(3))


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    """The loggers of this process as they were."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    logger.remove()
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


class Screen:
    """The lines on standard error so far."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture
        self._so_far = ""

    @property
    def text(self) -> str:
        self._so_far += self._capture.readouterr().err
        return self._so_far


@pytest.fixture
def heard(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.delenv("JOURNAL_STREAM", raising=False)
    return Screen(capsys)


def under_systemd(monkeypatch: pytest.MonkeyPatch) -> None:
    status = os.fstat(2)
    monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")


def test_a_terminal_gets_one_line_with_its_time_for_each_decision(heard: Screen) -> None:
    log = logs.set_up("info", "")
    log.tell([FAULT])
    log.tell([ISOLATED])
    log.close()
    first, second = heard.text.splitlines()
    assert first[24:] == "INFO    [episode 7] 80E24E00 (RestartNPU) on chip 3"
    assert second[24:] == "WARNING chip 3 is isolated"
    assert first[:4].isdigit()


def test_the_level_leaves_out_what_is_less_grave_everywhere(heard: Screen, tmp_path: Path) -> None:
    log = logs.set_up("warning", str(tmp_path / "log"))
    log.tell([FAULT])
    log.tell([ISOLATED])
    log.close()
    assert "80E24E00" not in heard.text + (tmp_path / "log").read_text()
    assert "isolated" in heard.text
    assert (tmp_path / "log").read_text() == heard.text


def test_the_journal_gets_every_line_with_its_fields(monkeypatch: pytest.MonkeyPatch, heard: Screen) -> None:
    under_systemd(monkeypatch)
    folder = tempfile.mkdtemp(prefix="cmgr-logs-")
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as journald:
        journald.bind(f"{folder}/socket")
        log = logs.set_up("info", "", socket=f"{folder}/socket")
        log.tell([FAULT])
        log.tell([ISOLATED])
        log.say("cmgr is ready")
        log.warn("nobody answers")
        logging.getLogger("some.library").warning("odd: %d", 3)
        log.close()
        got = drained(journald)
    os.unlink(f"{folder}/socket")
    os.rmdir(folder)
    assert heard.text == ""
    assert {entry["SYSLOG_IDENTIFIER"] for entry in got} == {"cmgr"}
    assert [(entry["CMGR_KIND"], entry["PRIORITY"], entry["MESSAGE"]) for entry in got] == [
        ("fault", "6", "[episode 7] 80E24E00 (RestartNPU) on chip 3"),
        ("isolation", "4", "chip 3 is isolated"),
        ("service", "6", "cmgr is ready"),
        ("trouble", "4", "nobody answers"),
        ("library", "4", "some.library: odd: 3"),
    ]
    assert (got[0]["CMGR_CHIP"], got[0]["CMGR_RING"], got[0]["CMGR_EPISODE"]) == ("3", "0", "7")
    assert all(entry["MESSAGE_ID"] == message_id(entry["CMGR_KIND"]) for entry in got)


def test_without_a_journal_systemd_still_gets_priorities(monkeypatch: pytest.MonkeyPatch, heard: Screen) -> None:
    under_systemd(monkeypatch)
    log = logs.set_up("info", "", socket="/nowhere/at/all")
    log.tell([ISOLATED])
    try:
        raise ValueError("a bug")
    except ValueError as error:
        log.bug("cannot decide", error)
    log.close()
    first, second, *rest = heard.text.splitlines()
    assert (first, second) == ("<4>chip 3 is isolated", "<3>cannot decide: a bug")
    assert rest[0] == "<3>  Traceback (most recent call last):"
    assert all(line.startswith("<3>") for line in rest)


def test_what_a_container_calls_itself_makes_no_line_of_its_own(heard: Screen) -> None:
    log = logs.set_up("info", "")
    evil = "x\n2026-11-21 00:00:00.000 INFO    all is well\x1b[2J"
    log.tell([Note(T0, NoteKind.HOLD, f"{evil} will be stopped {{}}")])
    log.say(evil)
    log.warn(evil)
    log.bug(evil, RuntimeError(evil))
    logging.getLogger("lib").error(evil)
    log.close()
    assert "\x1b" not in heard.text
    assert [line for line in heard.text.splitlines() if line.startswith("2026-11-21 00:00:00.000")] == []


class Stuck:
    """A target that takes its time."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.reached = threading.Event()
        self.lines: list[str] = []

    def write(self, line: Line) -> None:
        self.reached.set()
        assert self.go_on.wait(PATIENCE)
        self.lines.append(line.text)

    def close(self) -> None:
        self.lines.append("closed")


def test_whoever_logs_does_not_wait_and_what_is_lost_is_counted() -> None:
    target = Stuck()
    writer = Writer(target, "stuck", limit=5)
    logger.remove()
    logger.add(writer.put, format="{message}")
    logger.info("first")
    assert target.reached.wait(PATIENCE)
    for number in range(12):
        logger.info("{}", number)
    writer.close(0.01)
    assert target.lines == []
    target.go_on.set()
    eventually(lambda: target.lines[-1:] == ["closed"])
    told = [line for line in target.lines if "were lost" in line]
    assert told == ["7 lines of the log were lost: they came faster than they could be written"]
    assert [line for line in target.lines if line not in told] == ["first", "0", "1", "2", "3", "4", "closed"]


def test_a_closed_stream_is_borne(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    Stream(closed, prefixed=True).write(Line("nobody reads this"))
    monkeypatch.setattr(sys, "stderr", closed)
    log = logs.set_up("info", "")
    log.say("nor this")
    log.close()
    log.close()


def test_a_stream_that_nobody_reads_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with open(writing, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.delenv("JOURNAL_STREAM", raising=False)
        log = logs.set_up("info", "")
        for number in range(3000):  # A pipe takes 64 KiB, which is about a third of it.
            log.say(f"{number} {'x' * 40}")
        with open(reading, "rb", buffering=0) as read:
            found = b""
            while b"2999 x" not in found:
                found += read.read(1 << 16)
            log.close()
    assert found.count(b"\n") == 3000


def test_a_file_that_cannot_be_written_is_told_in_the_rest_of_the_log(heard: Screen, tmp_path: Path) -> None:
    path = tmp_path / "log" / "cmgr.log"
    log = logs.set_up("info", str(path))
    log.say("one")
    eventually(lambda: path.read_text().endswith("one\n"))
    path.unlink()
    path.mkdir()
    log.say("two")
    eventually(lambda: "cannot write the log file" in heard.text)
    path.rmdir()
    log.say("three")
    eventually(lambda: "is written again" in heard.text)
    log.close()
    told = [line[32:] for line in heard.text.splitlines()]
    assert told[:3] == ["one", "two", f"cannot write the log file {path}: Is a directory; the journal goes on"]
    assert path.read_text().count("three\n") == 1


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    with pytest.raises(IsADirectoryError):
        logs.set_up("info", str(tmp_path / "log"))
