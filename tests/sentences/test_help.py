"""The help is Chinese where the locale is, each sentence of it, in the words of the table."""

import json
import re
from collections.abc import Iterator

import pytest
import typer

from cmgr.cli import main
from cmgr.cli.app import COMMANDS, EPILOG, GROUPS, app_of
from cmgr.view.text.columns import columns_of
from tests.sentences.test_catalogs import HAN, NAMES, OTHER_SIGNS, ROOT, TYPED, foreign, lacking
from tests.sentences.test_chinese_lines import COMMAND, ENGLISH

OTHERWISE = {"down": "Show for", "hold": "With --all every", "fault": "deviceinfo", "strategy": "Overrides strategy"}
"""Words of the table that stand as they are typed, or have another meaning, in the sentence that begins so."""

KNOWN: dict[str, str] = json.loads((ROOT / "cmgr/sentences/zh/help.json").read_text("utf-8"))


def sentences() -> Iterator[str]:
    """Yield every English sentence of the help, and its headings."""
    app = typer.main.get_command(app_of())
    yield from ("Options", "Arguments", EPILOG, *GROUPS)
    for command in (app, *app.commands.values()):  # type: ignore[attr-defined]  # It is a group.
        yield from (" ".join(each.split()) for each in command.help.split("\n\n"))
        yield from (each.help for each in command.get_params(typer.Context(command)) if each.help)


def test_the_catalog_has_each_sentence_of_the_help_and_no_other() -> None:
    assert sorted(KNOWN) == sorted(set(sentences()))


@pytest.mark.parametrize("english", sorted(KNOWN), ids=lambda english: english[:40])
def test_a_sentence_says_in_chinese_what_it_says_in_english(english: str) -> None:
    chinese = KNOWN[english]
    assert HAN.search(chinese)
    assert OTHER_SIGNS.findall(chinese) == []
    assert [word for word in foreign(chinese) - NAMES if word.lower() not in english.lower()] == []
    assert set(re.findall(r"\d+", english)) <= set(re.findall(r"\d+", chinese))
    assert {*TYPED.findall(english)} <= {*TYPED.findall(chinese)}
    assert [term for term in lacking(english, chinese) if not english.startswith(OTHERWISE.get(term, " "))] == []


def shown(capture: pytest.CaptureFixture[str], *words: str) -> list[str]:
    capture.readouterr()
    assert main((*words, "--help")) == 0
    return capture.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [60, 82])
def test_the_help_of_every_command_is_chinese_and_fits_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    monkeypatch.setenv("COLUMNS", str(width))
    for words in ((), *((name,) for name in COMMANDS)):
        lines = shown(capsys, *words)
        assert [each for each in lines if ENGLISH.search(COMMAND.sub("", each))] == []
        assert [each for each in lines if HAN.search(each) and columns_of(each) > width] == []


def test_what_stands_behind_a_name_begins_in_the_column_that_it_has_in_english(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "82")
    english = shown(capsys, "history")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    chinese = shown(capsys, "history")
    names = [each[:34] for each in english if each.startswith("  -")]
    assert len(names) > 10
    assert [each[:34] for each in chinese if each.startswith("  -")] == names
    at = next(n for n, each in enumerate(chinese) if each.startswith("  -o, --output <"))
    assert chinese[at : at + 3] == [
        "  -o, --output <table|json|name|svg>",
        "                                  表格、供程序用的 JSON、编号，或一次恢复过程",
        "                                  的图，可以附在工单里。  [默认：table]",
    ]
