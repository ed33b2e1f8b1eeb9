"""The limits of CONTRIBUTING.md that no linter knows: sizes, names, and words that a layer must not use.

Each test looks at every file and lists what offends.
"""

import ast
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.test_english import comments

ROOT = Path(__file__).parents[1]
TREES = ("cmgr", "tests", "bench")

MOST_LINES_OF_A_FILE = 500
MOST_LINES_OF_A_FUNCTION = 40
MOST_FILES_OF_A_FOLDER = 16
MOST_HARD_FUNCTIONS = 3
"""Those of more than twenty ways through them, as radon counts. To become fewer."""

SAYING = frozenset(
    {
        "dcmi",
        "nvml",
        "sim",
        "tool",
        "docker",
        "containerd",
        "systemd",
        "values",
        "view",
        "cli",
        "door",
        "tables",
        "check",
    }
    | {
        "demo",
        "machine",
        "library",
        "services",
        "moving",
        "together",
        "orders",
        "work",
        "hearing",
        "messages",
        "resetting",
    }
)
"""Folders that say which file it is where another one has its name: whose driver, the values of a thing, its view."""

ALIKE = frozenset({"schema.py"})
"""Names that stand twice all the same: of the settings, and of the database. To become fewer."""


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def sources(*trees: str) -> Iterator[tuple[str, ast.Module]]:
    for tree in trees:
        for path in sorted((ROOT / tree).rglob("*.py")):
            yield str(path.relative_to(ROOT)), parsed(path)


def test_no_runtime_fills_in_what_cmgr_itself_knows_of_a_container() -> None:
    named = {
        f"{path}:{node.lineno}"
        for path in sorted((ROOT / "cmgr/runtimes").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Name) and node.id == "Kept")
        or (isinstance(node, ast.Call) and any(keyword.arg == "kept" for keyword in node.keywords))
    }
    assert not named


def test_files_stay_small() -> None:
    paths = [p for tree in TREES for p in (ROOT / tree).rglob("*.py")]
    assert [str(p) for p in paths if len(p.read_text().splitlines()) > MOST_LINES_OF_A_FILE] == []


def test_functions_stay_small() -> None:
    long = [
        f"{path}: {node.name}"
        for path, tree in sources(*TREES)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []


def test_few_functions_are_hard_to_follow() -> None:
    asked = [sys.executable, "-m", "radon", "cc", "--json", "--min", "D", "cmgr"]
    found = json.loads(subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    hard = [f"{path}: {each['name']}" for path, functions in found.items() for each in functions]
    assert len(hard) <= MOST_HARD_FUNCTIONS, hard


def test_a_files_name_stands_once_or_its_folder_says_which_it_is() -> None:
    named: dict[str, list[str]] = defaultdict(list)
    for path in (ROOT / "cmgr").rglob("*.py"):
        if not path.name.startswith("__") and path.parent.name not in SAYING:
            named[path.name].append(str(path.relative_to(ROOT)))
    assert [paths for name, paths in named.items() if len(paths) > 1 and name not in ALIKE] == []


def test_the_model_reads_no_clock() -> None:
    texts = {str(p): p.read_text() for p in (ROOT / "cmgr" / "model").rglob("*.py")}
    assert [path for path, text in texts.items() if ".now(" in text or ".today(" in text] == []


def test_no_value_is_mutable() -> None:
    mutable = [
        f"{path}: {node.name}"
        for path, tree in sources("cmgr")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not all(map(_is_frozen, node.decorator_list))
    ]
    assert mutable == []


def _is_frozen(decorator: ast.expr) -> bool:
    """Return whether it is no `dataclass`, or one that makes frozen values."""
    if not isinstance(decorator, ast.Call):
        return getattr(decorator, "id", "") != "dataclass"
    given = {k.arg: getattr(k.value, "value", None) for k in decorator.keywords}
    return getattr(decorator.func, "id", "") != "dataclass" or bool(given.get("frozen"))


def test_every_package_says_what_is_in_it() -> None:
    assert [
        path for path, tree in sources("cmgr") if path.endswith("__init__.py") and not ast.get_docstring(tree)
    ] == []


def test_a_folder_is_seen_at_a_glance() -> None:
    paths = [p for tree in TREES for p in (ROOT / tree).rglob("*.py") if not p.name.startswith("__")]
    files = Counter(str(path.parent.relative_to(ROOT)) for path in paths)
    assert [folder for folder, count in files.items() if count > MOST_FILES_OF_A_FOLDER] == []


def test_a_file_or_test_that_a_docstring_or_comment_names_exists() -> None:
    files = {path.name for tree in TREES for path in (ROOT / tree).rglob("*")}
    tests = {node.name for _, tree in sources("tests") for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    named = re.compile(r"`(?:\w+/)*(\w+\.py|test_\w+|\w+_…)`")
    modules = [path for tree in TREES for path in (ROOT / tree).rglob("*.py") if path != Path(__file__)]
    found = {(p.name, name) for p in modules for text in comments(p) for name in named.findall(text)}
    assert found
    assert [(where, name) for where, name in sorted(found) if not {name, f"{name}.py"} & (files | tests)] == []
