"""The README: its tour says what the page says. The pages it sends to have all commands, labels, phases.

CMGR_REWRITE_GOLDEN=1 writes those examples anew that say something else.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer

from cmgr.cli.app import app_of
from cmgr.config.schema import settings
from cmgr.errors import CmgrError
from cmgr.model.values.rings import Phase
from cmgr.runtimes import labels
from cmgr.store.files import NAME
from tests.docs.made.recording import PICTURE, Line, picture
from tests.docs.made.session import Example, Session, examples, plain, run
from tests.support.service import Service
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "README.md"
COMMANDS, RECOVERY = ROOT / "docs" / "commands.md", ROOT / "docs" / "recovery.md"


class Tour(Service):
    """The service that the README's own commands make and start."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, {})
        self.config, self.socket, self.database = (folder / "tour" / n for n in ("cmgr.toml", "cmgr.sock", NAME))

    def begin(self, commands: str) -> int:
        """Run the page's commands as a shell does, and return the process id of the service that they start."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        script = ["sh", "-e", "-c", f"{commands}echo $!"]
        environment = {**self.environment(), "PATH": path}
        began = subprocess.run(script, cwd=self.folder, env=environment, capture_output=True, text=True, check=True)
        eventually(self._answers)
        return int(began.stdout)

    def _answers(self) -> bool:
        try:
            return len(self.status()["containers"]) == 2
        except CmgrError:
            return False


def chapter(name: str) -> str:
    found = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found, name
    return found[1]


@pytest.fixture
def tour() -> Iterator[Tour]:
    folder = Path(tempfile.mkdtemp(prefix="cmgr-tour-"))
    made = Tour(folder)
    commands = re.search(r"^```sh\n(.*?)^```$", chapter("Five minutes"), re.MULTILINE | re.DOTALL)
    assert commands
    pid = made.begin(commands[1])
    yield made
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: not made.socket.exists())
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.alone
def test_the_tour_says_what_the_page_says(tour: Tour) -> None:
    different: list[tuple[str, str, str]] = []

    def differ(example: Example, said: str) -> None:
        different.append((example.command, plain(example.output), plain(said)))

    made = run(PAGE.read_text(), Session(tour), differ)
    if os.environ.get("CMGR_REWRITE_GOLDEN"):
        PAGE.write_text(made)
        return
    assert different == []


def test_the_tour_fits_a_terminal() -> None:
    said = [line for block in re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), re.M | re.S) for line in
            "".join(example.output for example in examples(block)).splitlines()]  # fmt: skip
    assert said
    assert max(map(len, said)) <= 80


def test_every_command_stands_in_the_table() -> None:
    told = set(re.findall(r"`cmgr ([\w-]+)`", COMMANDS.read_text().partition("| command |")[2].partition("\n## ")[0]))
    assert told == set(typer.main.get_command(app_of()).commands)  # type: ignore[attr-defined]  # It is a group.


def test_every_page_stands_in_the_table() -> None:
    told = set(re.findall(r"\]\((docs/[\w.-]+)\)", chapter("Pages")))
    assert told == {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}


def test_every_label_stands_in_the_table() -> None:
    told = re.findall(r"`(cmgr\.[\w-]+)`(?=[^|]*\|[^|]*\|$)", RECOVERY.read_text(), re.MULTILINE)
    # A label may have a second row for a special case.
    assert list(dict.fromkeys(told)) == [
        value for name, value in vars(labels).items() if name.isupper() and str(value).startswith("cmgr.")
    ]


def test_the_picture_has_every_phase_in_its_order() -> None:
    picture = RECOVERY.read_text().partition("```\n")[2].partition("```\n")[0]
    found = re.findall(rf"^[ │▲▼]*({'|'.join(Phase)})\b", picture, re.MULTILINE)
    assert found == list(Phase)


def test_every_setting_that_it_names_exists() -> None:
    named = re.findall(r"`((?!cmgr)[a-z]+\.[a-z_]+)`", RECOVERY.read_text())
    assert named
    assert set(named) <= set(settings())


def test_the_page_is_short() -> None:
    assert len(PAGE.read_text().splitlines()) <= 150


def test_the_recording_is_of_the_demo() -> None:
    lines = (Line(0.0, "$ cmgr status"), Line(1.5, "all is well: 8 chips & more"), Line(2.0, ""))
    made = picture(lines)
    assert [element.text for element in ElementTree.fromstring(made).iter() if element.tag.endswith("text")] == [
        "$ cmgr status",
        "all is well: 8 chips & more",
    ]
    shown = ElementTree.fromstring(PICTURE.read_text())  # Made by `make recording`.
    said = " ".join(element.text or "" for element in shown.iter() if element.tag.endswith("text"))
    assert "$ cmgr inject 1 80E24E00" in said
    assert said.count("all is well") == 3


def test_the_two_commands_come_before_everything_that_needs_reading() -> None:
    before = PAGE.read_text().partition("make test ")[0].splitlines()
    assert len(before) <= 40
