"""The tests notice what goes wrong in the model: of the mutants drawn, nine of ten are killed.

CMGR_MUTANTS says how many a directory (`make mutants`), CMGR_SEED which ones. The survivors are in the report.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.__main__ import MODEL, drawn, given, loaded
from tests.mutants.changes import changes
from tests.mutants.equivalent import EQUIVALENT
from tests.support.figures import Figures

DIRECTORIES = ("holds", "recovery", "faults", "containers", "values")
HOW_MANY = os.environ.get("CMGR_MUTANTS", "")
SEED = os.environ.get("CMGR_SEED") or str(random.randrange(1_000_000))  # noqa: S311 - a test's dice, not a secret


@pytest.mark.alone
@pytest.mark.timeout(6 * 3600)
@pytest.mark.skipif(not HOW_MANY, reason="it takes hours: make mutants")
def test_nine_of_ten_are_killed(tmp_path: Path, figures: Figures) -> None:
    report = tmp_path / "report.json"
    told = ["--draw", HOW_MANY, "--seed", SEED, "--report", str(report)]
    subprocess.run([sys.executable, "-m", "tests.mutants", *DIRECTORIES, *told], check=True)
    few = []
    for name, found in json.loads(report.read_text()).items():
        figures.add("Mutants", f"drawn in {name} by seed {SEED}", found["drawn"])
        figures.add("Mutants", f"of these killed by the model's tests, {name}", found["killed"])
        if found["killed"] < 0.9 * found["drawn"]:
            few.append((name, found["left"]))
    assert few == []


def test_the_same_seed_draws_the_same() -> None:
    some = drawn(MODEL / "holds", 20, 7)
    assert (drawn(MODEL / "holds", 20, 7), len(set(some))) == (some, 20)
    assert drawn(MODEL / "holds", 20, 8) != some


@pytest.mark.parametrize("name", DIRECTORIES)
def test_each_change_of_the_model_is_one_of_a_function_that_is_loaded(name: str) -> None:
    for change in drawn(MODEL / name, 10, 1):
        assert loaded(change).__code__.co_firstlineno <= change.line, change.words


def test_a_changed_function_is_the_one_that_runs() -> None:
    path = MODEL / "holds" / "obstacles.py"
    change = next(c for c in changes(path) if c.function == "group_waits" and c.after == "return None")
    function = loaded(change)
    before = function.__code__
    try:
        given(change)
        assert function.__code__ != before
        assert function(None, "") is None
    finally:
        function.__code__ = before


def test_what_is_called_equivalent_is_in_the_code() -> None:
    known = {(path.name, change.words) for path in MODEL.rglob("*.py") for change in changes(path)}
    assert EQUIVALENT.keys() <= known
