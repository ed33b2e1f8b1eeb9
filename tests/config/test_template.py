import re
import tomllib
from collections import Counter
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from cmgr.cli.setup import dozen
from cmgr.config.load import load
from cmgr.config.schema import settings
from cmgr.config.settings import Config, Ready
from tests.config import regenerate
from tests.config.support import written
from tests.config.template import SOMETIMES, Shelf, reference, shelf_of, template


def uncommented(text: str) -> str:
    lines = [line.removeprefix("#") if not line.startswith(("# ", "##")) else "" for line in text.splitlines()]
    return "\n".join(lines)


def test_the_shipped_file_is_the_generated_one() -> None:
    assert regenerate.TEMPLATE.read_text() == template(), "run python -m tests.config.regenerate"


def test_the_packages_own_file_is_what_setup_writes_where_nothing_is_chosen(tmp_path: Path) -> None:
    text = regenerate.PACKAGED.read_text()
    assert text == dozen.text({}), "run python -m tests.config.regenerate"
    assert load(written(tmp_path / "cmgr.toml", text), environ={}) == Config()
    assert len([line for line in text.splitlines() if line and not line.startswith("#")]) <= 12


def test_the_reference_page_is_the_generated_one() -> None:
    assert regenerate.REFERENCE.read_text() == reference(), "run python -m tests.config.regenerate"


def test_the_shipped_file_changes_nothing(tmp_path: Path) -> None:
    assert load(written(tmp_path / "cmgr.toml", template()), environ={}) == Config()


def test_the_shipped_file_with_every_comment_mark_taken_off_is_good(tmp_path: Path) -> None:
    config = load(written(tmp_path / "cmgr.toml", uncommented(template())), environ={})
    assert [event.code for event in config.sim.script] == ["80E24E00"]
    assert [container.name for container in config.sim.containers] == ["llm-0"]
    assert config.sim.processes[0].pid == 4242
    assert [drill.name for drill in config.drills] == ["llm-0"]
    assert [row.ask for row in config.ready.services] == ["http://:8000/health"]
    assert replace(config, drills=(), ready=Ready()).policy() == Config().policy()


def test_every_setting_stands_in_both() -> None:
    table = tomllib.loads(uncommented(template()))
    page = reference()
    for key, setting in settings().items():
        at = table
        for part in key.split("."):
            assert part in at, key
            at = at[part]
        assert setting.meta.sentence in page


@pytest.mark.parametrize("text", [template(), reference()])
def test_no_line_ends_in_a_blank(text: str) -> None:
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_a_shelf_is_of_settings_that_are_there_and_most_are_set_rarely() -> None:
    known = settings().values()
    for pattern in SOMETIMES:
        assert any(fnmatchcase(setting.key, pattern) for setting in known), pattern
    on = Counter(shelf_of(setting) for setting in known)
    assert on[Shelf.NEEDED] <= 12
    assert on[Shelf.NEEDED] + on[Shelf.SOMETIMES] < on[Shelf.RARELY]


def test_each_table_has_its_shelves_in_their_order() -> None:
    tables = [re.findall(r"^## (\w+)$", table, re.MULTILINE) for table in re.split(r"(?m)^#{100}$", template())]
    order = [*map(str, Shelf)]
    assert [sorted(set(found), key=order.index) for found in tables] == tables
    assert order in tables
