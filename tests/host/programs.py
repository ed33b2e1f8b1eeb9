"""Programs for tests, and lives of cmgr that run them."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from cmgr.host.act import Act
from tests.host import life
from tests.support.waiting import eventually, rest

LONG = 60.0
NEVER = threading.Event()
PATH = {"PATH": "/usr/bin:/bin"}
ROOT = Path(__file__).parents[2]
LIFE = (sys.executable, "-m", life.__name__)


class Program:
    """A script that notes that it runs, says something, and waits for the test before it ends."""

    def __init__(self, folder: Path, code: int = 0, then: str = "echo done") -> None:
        self._ran, self._mark, self.path = folder / "ran", folder / "mark", folder / "program"
        waits = f'until test -e "{self._mark}"; do sleep 0.02; done'
        self.path.write_text(f'#!/bin/sh\necho begun\necho x >>"{self._ran}"\n{waits}\n{then}\nexit {code}\n')
        self.path.chmod(0o755)

    @property
    def runs(self) -> int:
        return self._ran.read_text().count("x") if self._ran.exists() else 0

    def until_begun(self) -> None:
        eventually(lambda: self.runs, why="the program runs")

    def let(self) -> None:
        self._mark.touch()

    def act(self, seconds: float | None = LONG) -> Act:
        return Act(self.path.parent.name, (str(self.path),), PATH, seconds)


class Life:
    """A life of cmgr in a process of its own, which can be killed. It has begun the program, or found it."""

    def __init__(self, words: Sequence[str], program: Program) -> None:
        act = program.act()
        self._process = subprocess.Popen([*words, *act.words, act.name], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "begun\n"

    def kill(self) -> None:
        # nsenter may stay in front of it.
        below = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        lives = [int(pid) for pid in below if "python" in Path(f"/proc/{pid}/comm").read_text()]
        for pid in (*lives, self._process.pid):
            os.kill(pid, signal.SIGKILL)
        self._process.communicate()

    def said(self) -> list[str]:
        return rest(self._process)[0].strip().split("|")
