"""promtool, the checker of Prometheus, which tests/support/install.sh takes out of a package of Debian."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NAME = "promtool"


def promtool(*words: str, given: bytes = b"") -> str:
    """Run it and return what it says; a failure of it is one of the test.

    Where it is not there: the test is skipped, but fails when CI=true.
    """
    program = shutil.which(NAME, path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"there is no {NAME}")
        pytest.skip(f"there is no {NAME}: run tests/support/install.sh")
    ended = subprocess.run([program, *words], input=given, capture_output=True, timeout=60, check=False)
    said = (ended.stdout + ended.stderr).decode()
    assert ended.returncode == 0, said
    return said
