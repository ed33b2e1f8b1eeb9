"""docs/dcmi.md: the program that it tells people to run prints what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make, ascend, workshop

__all__ = ["ascend", "workshop"]

PAGE = (Path(__file__).parents[3] / "docs" / "dcmi.md").read_text()


def test_the_program_for_boots_prints_boot_status_and_health(ascend: Make) -> None:
    (program,) = re.findall(r"<<'END'\n(.*?)^END$", PAGE, re.DOTALL | re.MULTILINE)
    machine = ascend(hosts.host_910b(2))
    done = subprocess.run(
        [sys.executable, "-c", program, "1", "0", "1"],
        env={**os.environ, "LD_LIBRARY_PATH": str(machine.library.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    begun, line = done.stdout.splitlines()
    assert begun == "init 0"
    assert line.split()[1:] == ["0", "16", "0", "0"]
