"""The examples of docs/levels.md are read by cmgr as they stand there, and its numbers are the defaults."""

import json
import re
from pathlib import Path

import pytest

from cmgr.config.load import load
from cmgr.config.settings import Config
from cmgr.config.tables.rules import checked
from cmgr.config.tables.table import read_table

PAGE = (Path(__file__).parents[3] / "docs" / "levels.md").read_text()


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


@pytest.mark.parametrize("text", blocks("toml"))
def test_every_configuration_is_accepted(text: str, tmp_path: Path) -> None:
    path = tmp_path / "cmgr.toml"
    path.write_text(text)
    path.chmod(0o640)
    assert load(str(path), environ={}) != Config()


def test_the_table_and_the_rules_are_accepted(tmp_path: Path) -> None:
    table, rules = blocks("json")
    path = tmp_path / "faultCode.json"
    path.write_text(table)
    path.chmod(0o640)
    assert read_table(str(path)).levels
    read = checked(json.loads(rules), "levels.md").rules
    assert (set(read.frequency), set(read.duration)) == ({"80E18005", "81078603"}, {"81078603"})


@pytest.mark.parametrize(
    ("words", "setting"),
    [
        ("`limits.rings_at_once` (8)", Config().limits.rings_at_once == 8),
        ("`limits.episodes_per_hour` (60)", Config().limits.episodes_per_hour == 60),
        ("`faults.software_window` (30 s)", Config().faults.software_window.total_seconds() == 30),
    ],
)
def test_the_numbers_are_the_defaults(words: str, setting: bool) -> None:
    assert (words in PAGE, setting) == (True, True)
