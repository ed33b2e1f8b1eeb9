"""Which changes a function can be given, and what its text is then."""

import ast
from pathlib import Path

import pytest

from tests.mutants.changes import changed, changes

TEXT = '''
"""A module."""

MOST = 3


class Kept:
    """A class."""

    def some(self, n: int = 1) -> int | None:
        """Return some."""
        if n < MOST and not self.full:
            self.count(2)
        return n
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kept.py"
    path.write_text(TEXT)
    return path


def test_all_that_a_function_runs_is_changed_in_each_way_and_nothing_else(file: Path) -> None:
    assert [change.words for change in changes(file)] == [
        "Kept.some: `if n < MOST and (not self.full): self.count(2)` -> `if True: self.count(2)`",
        "Kept.some: `if n < MOST and (not self.full): self.count(2)` -> `if False: self.count(2)`",
        "Kept.some: `n < MOST and (not self.full)` -> `n < MOST or not self.full`",
        "Kept.some: `n < MOST` -> `n >= MOST`",
        "Kept.some: `n < MOST` -> `n <= MOST`",
        "Kept.some: `not self.full` -> `self.full`",
        "Kept.some: `self.count(2)` -> `pass`",
        "Kept.some: `2` -> `3`",
        "Kept.some: `2` -> `1`",
        "Kept.some: `return n` -> `return None`",
    ]


def test_one_change_is_in_the_text_and_no_other(file: Path) -> None:
    whole = ast.unparse(ast.parse(TEXT)).splitlines()
    for change in changes(file):
        lines = ast.unparse(changed(change)).splitlines()
        assert sum(a != b for a, b in zip(whole, lines, strict=True)) == 1
