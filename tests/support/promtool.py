"""promtool, the checker of Prometheus, which tests/support/install.sh takes out of a package of Debian."""

import subprocess

from tests.support.programs import program
from tests.support.waiting import PATIENCE


def promtool(*words: str, given: bytes = b"") -> str:
    """Run it and return what it says; a failure of it is one of the test.

    Where it is not there: the test is skipped, but fails when CI=true.
    """
    ended = subprocess.run(
        [program("promtool"), *words], input=given, capture_output=True, timeout=PATIENCE, check=False
    )
    said = (ended.stdout + ended.stderr).decode()
    assert ended.returncode == 0, said
    return said
