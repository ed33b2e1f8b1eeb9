"""The log in the real journal, and every example of docs/logs.md."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cmgr.model.values.messages.commands import NoteKind
from cmgr.service.log.journal import message_id
from tests.docs.made.logs import PAGE
from tests.support.daemons.daemon import CannotRun
from tests.support.daemons.journald import Journald
from tests.support.service import NOW, Service
from tests.support.waiting import eventually
from tests.system.conftest import Install

pytestmark = pytest.mark.alone

LARGE = """
from cmgr.service.log.journal import Journal
from cmgr.service.log.writer import Line, Stream
import sys
Journal(Stream(sys.stderr, prefixed=True)).write(Line("large " + "x" * 3_000_000))
"""


@pytest.fixture
def journald() -> Iterator[Journald]:
    try:
        made = Journald()
    except CannotRun as error:
        pytest.skip(str(error))
    with closing(made):
        yield made


@pytest.fixture
def service(install: Install, journald: Journald) -> Service:
    """A service as systemd would run it, as far as its log goes, after a recovery and an isolation."""
    made = install({})
    made.prefix = journald.prefix
    made.pretend("one")
    made.log.touch()
    status = made.log.stat()
    made.start({"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
    made.inject(0, NOW)
    eventually(lambda: [e for e in made.episodes() if e.outcome], why="the episode is over")
    made.inject(0, "80818C00")
    eventually(lambda: "is isolated" in journald.asked("journalctl", "-t", "cmgr", "-o", "cat"))
    return made


def test_every_decision_stands_in_the_journal_with_its_fields(service: Service, journald: Journald) -> None:
    told = journald.asked("journalctl", "-t", "cmgr", "-o", "json", "CMGR_EPISODE=1")
    entries = [json.loads(line) for line in told.splitlines()]
    notes = service.notes(1)
    assert [e["MESSAGE"] for e in entries] == [f"[episode 1] {note.text}" for note in notes]
    assert [e["CMGR_KIND"] for e in entries] == [note.kind for note in notes]
    assert {e["_PID"] for e in entries} == {str(service.pid)}
    assert entries[-1]["CMGR_OUTCOME"] == "recovered"
    stops = [e for e in entries if e["CMGR_KIND"] == NoteKind.ACTION and "stop" in e["MESSAGE"]]
    assert stops[0]["CMGR_CONTAINER"].startswith("one")
    assert stops[0]["MESSAGE_ID"] == message_id(NoteKind.ACTION)
    assert service.said() == ""


def test_a_large_line_stands_there_whole(journald: Journald) -> None:
    journald.asked(sys.executable, "-c", LARGE)

    def found() -> str:
        return journald.asked("journalctl", "-t", "cmgr", "-o", "cat", "--all")

    assert eventually(found).strip() == "large " + "x" * 3_000_000


def test_nothing_of_the_machine_stands_in_the_journal_of_a_test(journald: Journald) -> None:
    journald.asked(sys.executable, "-c", LARGE)
    eventually(lambda: journald.asked("journalctl", "-t", "cmgr", "-o", "cat"))
    told = journald.asked("journalctl", "-o", "json", "--output-fields=_TRANSPORT,SYSLOG_IDENTIFIER")
    entries = [json.loads(line) for line in told.splitlines()]
    # journald itself speaks, too, by a way of its own.
    assert {e["_TRANSPORT"] for e in entries} <= {"driver", "journal"}
    assert {e["SYSLOG_IDENTIFIER"] for e in entries} == {"cmgr", "systemd-journald"}


EXAMPLES = re.findall(r"^journalctl [^#\n]*", PAGE.read_text(), re.MULTILINE)


def test_every_example_shows_something(service: Service, journald: Journald) -> None:
    assert len(EXAMPLES) >= 6
    for example in EXAMPLES:
        words = [*journald.prefix, *shlex.split(example)]
        with subprocess.Popen([*words, "--no-pager"], stdout=subprocess.PIPE, text=True) as asked:
            assert asked.stdout is not None
            first = asked.stdout.readline()
            asked.terminate()  # One of them goes on for ever.
        assert "cmgr" in first or "episode" in first, example


def test_the_settings_that_the_page_shows_are_good(tmp_path: Path, install: Install) -> None:
    text = PAGE.read_text()
    shown = text[text.index("```toml\n") + 8 :].partition("```")[0]
    service = install({})
    with service.config.open("a") as file:
        file.write(shown.replace("/var/log/cmgr", str(tmp_path)))
    service.start()
    service.terminate()
    assert "cmgr ends" in (tmp_path / "cmgr.log").read_text()
