"""How long the parts of CI took: noted by make, and written into CONTRIBUTING.md."""

import os
import re
import subprocess
from pathlib import Path

from tests.docs.made import times

MAKEFILE = f""".PHONY: check
check: .SHELLFLAGS = {times.ROOT}/tests/support/timed.sh $@ -c
check:
\t@echo whole
\t@echo in \\
\t\ttwo lines
\t@: $(CURDIR)/found
\t@exit 3
"""


def test_parts_that_went_well_are_noted_and_those_that_failed_fail(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    # `make test` runs this, too: a make inside a make says which folder it works in.
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    ran = subprocess.run(["make", "check"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 2, ran.stderr
    assert ran.stdout == "whole\nin two lines\n"
    assert re.search("make check: [0-9]+ s: exit 3", ran.stderr)
    noted = times.latest((tmp_path / "build" / "times").read_text().splitlines())
    assert list(noted["check"]) == ["echo whole", "echo in two lines", ": found"], "and no folder of this machine"


def test_the_latest_run_of_each_part_stands_in_the_page() -> None:
    found = times.latest(
        ["check\t9\tlint", "test\t61\tpytest", "check\t2\tlint", "check\t3\ta || b", "check\t1\tbrief"]
    )
    shown = times.page(times.PAGE.read_text(), times.block({"processor": "none"}, found))
    assert "processor none\n" in shown
    for row in ("| `make check` | | 0:06 |", "| | `lint` | 0:02 |", "| `make test` | | 1:01 |", "| in all | | 1:07 |"):
        assert f"\n{row}\n" in shown
    assert r"`a \|\| b`" in shown, "a bar does not end the cell"
    assert "brief" not in shown
