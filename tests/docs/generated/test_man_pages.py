"""The man pages are what the command line and the settings say, and clean for those who read them."""

import shutil
import subprocess
from pathlib import Path

import pytest
import typer

from cmgr.cli.app import app_of
from cmgr.config.schema import settings
from tests.docs.made import man_pages, roff

PAGES = sorted(man_pages.pages())


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_the_page_is_what_the_code_says(path: Path) -> None:
    assert path.read_text() == man_pages.pages()[path], "run: make generated"


def test_every_command_and_every_option_has_its_place() -> None:
    text = man_pages.pages()[man_pages.FOLDER / "cmgr.1"].replace("\\-", "-")
    for name, command in typer.main.get_command(app_of()).commands.items():  # type: ignore[attr-defined]  # It is a group.
        assert f".SS cmgr {name}" in text
        for option in (name for p in command.params for name in p.opts if name.startswith("--") and name != "--help"):
            assert f"\\fB{option}\\fR" in text, (name, option)


def test_every_setting_has_its_place() -> None:
    text = man_pages.pages()[man_pages.FOLDER / "cmgr.toml.5"]
    for key in settings():
        assert f"\\fB{key.rpartition('.')[2]}\\fR" in text or f"\\fB[[{key}]]\\fR" in text, key


@pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed")
@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_mandoc_finds_nothing_to_mend(path: Path) -> None:
    command = ["mandoc", "-T", "lint", "-W", "warning", str(path)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (told.stdout, told.returncode) == ("", 0)


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_groff_has_nothing_to_warn_of(path: Path) -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", "-z", "-K", "utf8", str(path)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (told.stderr, told.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (".so /etc/passwd", "\\&.so /etc/passwd"), ("'quoted'", "\\&'quoted'"), ("a \\ b", "a \\e b"),
        ("`code`", "code"), ("plain", "plain"),
        ("say --yes or -o json, half-way", "say \\-\\-yes or \\-o json, half-way"),
    ],
)  # fmt: skip
def test_text_is_never_a_request(words: str, made: str) -> None:
    assert roff.text(words) == made
