"""Of the ways in which the same goes wrong a day's tests play a part, and leave no test out."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.alone

ROOT = Path(__file__).parents[2]
WAYS = "tests/sick/test_daemons.py"
PAGES = "tests/docs/generated/test_json.py"


def played(each: int) -> Counter[str]:
    """Return how many cases of each test are played of these two files."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", WAYS, PAGES],
        cwd=ROOT, env={**os.environ, "CMGR_EACH": str(each)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return Counter(line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line)


def test_each_third_way_is_played_of_every_test_and_all_of_what_is_none() -> None:
    whole = played(1)
    assert max(whole.values()) > 3
    assert played(3) == {test: -(-n // 3) if test.startswith(WAYS) else n for test, n in whole.items()}
