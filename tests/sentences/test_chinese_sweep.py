"""Every command speaks Chinese where the locale is that, also where it refuses: without a service, with mistakes in the
configuration, with an option that it does not know.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmgr.cli import main
from cmgr.cli.app import COMMANDS, GROUPS
from tests.sentences.test_catalogs import HAN
from tests.sentences.test_chinese_lines import COMMAND, ENGLISH

ARGUMENTS = {
    "acknowledge": ("1",),
    "bundle": ("b.tar.gz",),
    "cancel": ("1",),
    "drill": ("1", "--yes"),
    "explain": ("80E24E00",),
    "export": ("topology",),
    "forget": ("x",),
    "group": ("resume", "x"),
    "inject": ("1", "80E24E00"),
    "isolate": ("1", "--reason", "风扇"),
    "maintenance": ("off",),
    "migrate": ("--unit", "/nowhere"),
    "release": ("1",),
    "report": ("--chips", "1", "810000001"),
    "reset": ("1", "--yes"),
    "resume": ("x",),
    "show": ("x",),
    "slot": ("remove", "x"),
    "test": ("1", "--yes"),
}

AS_IT_IS = {
    "version": "it says its name and a number",
    "migrate": "it reads no configuration",
}
"""Commands that no mistake of a configuration concerns, and why."""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in [name for name in os.environ if name.startswith("CMGR_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    made = Path(tempfile.mkdtemp(prefix="cmgr-zh-"))  # Not tmp_path: a unix socket's path may have 107 characters.
    monkeypatch.chdir(made)
    yield made
    shutil.rmtree(made)


def config(folder: Path, *lines: str) -> str:
    file = folder / "cmgr.toml"
    file.touch(mode=0o600)
    places = f'state_dir = "{folder / "state"}"\nsocket = "{folder / "cmgr.sock"}"\n'
    file.write_text('driver = "sim"\nruntimes = ["sim"]\nmetrics.listen = ""\n' + places + "\n".join([*lines, ""]))
    return str(file)


def english(capture: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """Return what is English of what this line says. It says something."""
    capture.readouterr()
    main(words)
    shown = "".join(capture.readouterr())
    assert shown.strip(), words
    return [each for each in shown.splitlines() if ENGLISH.search(COMMAND.sub("", each))]


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_a_command_does_not_know_is_refused_in_chinese(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert english(capsys, name, "--nonsense") == []


def test_the_file_that_setup_writes_is_chinese_but_for_what_is_set(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = config(folder)
    assert english(capsys, "setup", "--yes", "--config", file) == []
    assert [each for each in Path(file).read_text("utf-8").splitlines() if ENGLISH.search(COMMAND.sub("", each))] == []


@pytest.mark.parametrize("word", ["logs", "stop", "start", "restart"])
def test_a_word_of_another_tool_is_answered_in_chinese(
    folder: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    assert english(capsys, word) == []


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in AS_IT_IS])
def test_mistakes_of_the_configuration_are_told_in_chinese_by_every_command(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    wrong = config(folder, "resync = 60", "observ = true")
    assert english(capsys, name, *ARGUMENTS.get(name, ()), "--config", wrong) == []


@pytest.mark.parametrize("name", [name for group in ("Look", "Act", "Chips") for name in GROUPS[group]])
def test_that_no_service_is_there_is_told_in_chinese_by_every_command_that_needs_one(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert english(capsys, name, *ARGUMENTS.get(name, ()), "--config", config(folder)) == []


def test_the_line_that_monitors_keep_is_english_in_every_locale(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["status", "-o", "nagios", "--config", config(folder)])
    told = capsys.readouterr().out
    assert told.startswith("CMGR UNKNOWN - cannot reach the service")
    assert not HAN.search(told)
