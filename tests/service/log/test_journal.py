"""Lines in the journal's own protocol, on a real datagram socket that stands in for journald's."""

import array
import fcntl
import os
import shutil
import socket
import struct
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.faults import Assertion, FaultCode
from cmgr.model.values.messages.commands import FaultSaid, Note, NoteKind
from cmgr.model.values.services.containers import ContainerKey
from cmgr.service.log.journal import Journal, encoded, fields_of, message_id, reads
from cmgr.service.log.writer import Line
from tests.support.daemons.journald import drained, parsed
from tests.support.picture import T0
from tests.support.waiting import PATIENCE, eventually

SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


class Heard:
    """Lines that the journal did not take."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def write(self, line: Line) -> None:
        self.lines.append(line)

    def close(self) -> None:
        pass


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    made = Path(tempfile.mkdtemp(prefix="cmgr-journal-"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def journald(folder: Path) -> Iterator[socket.socket]:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as end:
        end.bind(str(folder / "socket"))
        end.settimeout(PATIENCE)
        yield end


def test_a_line_arrives_with_its_fields(journald: socket.socket) -> None:
    rest = Heard()
    with closing(Journal(rest, journald.getsockname())) as journal:
        journal.write(Line("chip 3 faults", 4, {"CMGR_CHIP": "3"}))
    assert parsed(journald.recv(1 << 16)) == {
        "MESSAGE": "chip 3 faults",
        "PRIORITY": "4",
        "SYSLOG_IDENTIFIER": "cmgr",
        "CMGR_CHIP": "3",
    }
    assert rest.lines == []


def test_a_line_break_in_a_value_forges_no_field() -> None:
    evil = "bad\nPRIORITY=0\nMESSAGE=all is well\n"
    data = encoded({"MESSAGE": evil, "PRIORITY": "6", "CMGR_KIND": "fault"})
    assert parsed(data) == {"MESSAGE": evil, "PRIORITY": "6", "CMGR_KIND": "fault"}
    assert data.startswith(b"MESSAGE\n" + struct.pack("<Q", len(evil)))


def test_what_is_no_text_is_written_so_that_it_can_be_read() -> None:
    assert parsed(encoded({"MESSAGE": "name \udcff = ключ"})) == {"MESSAGE": "name \\udcff = ключ"}


def test_what_is_too_large_for_a_datagram_comes_as_a_sealed_file(journald: socket.socket) -> None:
    text = "x" * 3_000_000 + "\nend"
    with closing(Journal(Heard(), journald.getsockname())) as journal:
        journal.write(Line(text))
    data, rights, _, _ = journald.recvmsg(1 << 16, socket.CMSG_SPACE(4))
    assert data == b""
    descriptors = array.array("i")
    descriptors.frombytes(rights[0][2])
    with open(descriptors[0], "rb") as file:
        assert fcntl.fcntl(file, fcntl.F_GET_SEALS) == SEALS
        file.seek(0)
        assert parsed(file.read())["MESSAGE"] == text


def test_no_descriptor_is_left_open_by_large_lines(journald: socket.socket) -> None:
    with closing(Journal(Heard(), journald.getsockname())) as journal:
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            journal.write(Line("x" * 3_000_000))
            journald.recv(1)  # The file that came with it is closed by the kernel where nobody takes it.
        assert len(os.listdir("/proc/self/fd")) == before


def test_without_a_journal_the_line_goes_elsewhere_and_later_ones_find_the_journal_again(folder: Path) -> None:
    rest = Heard()
    path = folder / "socket"
    journal = Journal(rest, str(path))
    for number in range(2):
        journal.write(Line(f"lost {number}"))
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as end:
            end.bind(str(path))
            end.settimeout(PATIENCE)
            journal.write(Line(f"found {number}"))
            assert parsed(end.recv(1 << 16))["MESSAGE"] == f"found {number}"
        # A restart of journald: the socket is there, and nobody listens.
        journal.write(Line(f"lost again {number}"))
        path.unlink()
    journal.close()
    assert [line.text for line in rest.lines] == ["lost 0", "lost again 0", "lost 1", "lost again 1"]


def test_a_journal_that_takes_nothing_is_given_up_after_a_while(journald: socket.socket) -> None:
    rest = Heard()
    journal = Journal(rest, journald.getsockname())

    def fill() -> None:
        while not rest.lines:
            journal.write(Line("x" * 1000))

    filling = threading.Thread(target=fill, daemon=True)
    filling.start()
    eventually(lambda: rest.lines, why="a full queue is no reason to wait for ever")
    filling.join(PATIENCE)
    drained(journald)
    journal.write(Line("and now"))
    assert parsed(journald.recv(1 << 16))["MESSAGE"] == "and now"
    journal.close()


def test_a_note_has_the_fields_of_what_it_is_about() -> None:
    key = ContainerKey("containerd", "default", "web-1")
    note = Note(T0, NoteKind.CLOSED, "over", RingId(0), 7, ChipId(0), key, "recovered")
    assert fields_of(note) == {
        "MESSAGE_ID": message_id("closed"),
        "CMGR_KIND": "closed",
        "CMGR_RING": "0",
        "CMGR_EPISODE": "7",
        "CMGR_CHIP": "0",
        "CMGR_RUNTIME": "containerd",
        "CMGR_NAMESPACE": "default",
        "CMGR_CONTAINER": "web-1",
        "CMGR_OUTCOME": "recovered",
    }
    bare = replace(note, ring=None, episode=0, chip=None, container=None, outcome="")
    assert set(fields_of(bare)) == {"MESSAGE_ID", "CMGR_KIND"}


def test_a_line_about_a_fault_has_its_code_its_level_and_where_the_chip_is() -> None:
    said = FaultSaid(FaultCode("80E24E00"), "RestartNPU", "RestartNPU", Assertion.CLEARED)
    note = Note(T0, NoteKind.FAULT, "gone", chip=ChipId(5), card=2, device=1, fault=said)
    about = {name: value for name, value in fields_of(note).items() if name not in ("MESSAGE_ID", "CMGR_KIND")}
    assert about == {
        "CMGR_CHIP": "5",
        "CMGR_CARD": "2",
        "CMGR_DEVICE": "1",
        "CMGR_CODE": "80E24E00",
        "CMGR_LEVEL": "RestartNPU",
        "CMGR_HANDLING": "RestartNPU",
        "CMGR_ASSERTION": "cleared",
    }


def test_a_kind_keeps_its_message_id() -> None:
    assert message_id("fault") == "a22acbed5a3d51d9af277926e9315406"
    assert len({message_id(kind) for kind in NoteKind}) == len(NoteKind)


def test_the_journal_reads_a_stream_only_where_systemd_says_so_of_this_very_stream(tmp_path: Path) -> None:
    with open(tmp_path / "here", "wb") as here, open(tmp_path / "there", "wb") as there:
        status = os.fstat(here.fileno())
        environ = {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
        assert reads(here.fileno(), environ)
        assert not reads(there.fileno(), environ)
        assert not reads(here.fileno(), {})
        assert not reads(here.fileno(), {"JOURNAL_STREAM": "nonsense"})
    assert not reads(1 << 20, environ)
