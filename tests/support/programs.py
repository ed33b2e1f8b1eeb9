"""Programs that tests need beside Python. tests/support/install.sh installs them."""

import os
import shutil
import sys
from pathlib import Path

import pytest

VENV = Path(__file__).parents[2] / ".venv/bin"
"""Where some of them are put, which is not beside the interpreter when that is another one."""

SEMAPHORES = Path("/dev/shm")  # noqa: S108 - glibc keeps named ones there


def program(name: str) -> str:
    """Return its path. Where it is not there: the test is skipped, but fails when CI=true."""
    places = [str(Path(sys.executable).parent), str(VENV), os.environ.get("PATH", "")]
    found = shutil.which(name, path=os.pathsep.join(places))
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"there is no {name}")
        pytest.skip(f"there is no {name}: run tests/support/install.sh")
    return found


def at_another_time(clock: str) -> list[str]:
    """Return the words before a command whose system clock is to show another time ("+1h"), and no other clock.

    faketime calls a semaphore after its process. If that is killed it stays behind, and the next process that gets the
    same number could not begin.
    """
    for left in SEMAPHORES.glob("*faketime_s*_*"):
        if not Path("/proc", left.name.rpartition("_")[2]).exists():
            left.unlink(missing_ok=True)
    return [program("faketime"), "--exclude-monotonic", "-f", clock]
