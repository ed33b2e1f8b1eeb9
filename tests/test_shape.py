"""The limits of CONTRIBUTING.md that no linter knows: sizes, and words that a layer must not use."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(p for part in ("cmgr", "tests", "bench") for p in (ROOT / part).rglob("*.py"))

MOST_LINES_OF_A_FILE = 300
MOST_LINES_OF_A_FUNCTION = 40


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= MOST_LINES_OF_A_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            assert lines <= MOST_LINES_OF_A_FUNCTION, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("path", sorted((ROOT / "cmgr" / "model").glob("*.py")), ids=lambda p: p.name)
def test_the_model_reads_no_clock(path: Path) -> None:
    text = path.read_text()
    assert ".now(" not in text
    assert ".today(" not in text


@pytest.mark.parametrize("path", sorted((ROOT / "cmgr").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_value_is_mutable_and_nothing_runs_a_shell(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "dataclass":
                    given = {k.arg: getattr(k.value, "value", None) for k in decorator.keywords}
                    assert given.get("frozen"), f"{node.name} is not frozen"
        if isinstance(node, ast.keyword) and node.arg == "shell":
            pytest.fail("a shell is run")


def test_every_package_says_what_is_in_it() -> None:
    for init in (ROOT / "cmgr").rglob("__init__.py"):
        assert ast.get_docstring(ast.parse(init.read_text())), init
