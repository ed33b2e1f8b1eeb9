"""A command that goes on (`--watch`) as a person has it before him."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cli.conftest import Home
from tests.support.waiting import PATIENCE


@contextmanager
def watching(home: Home, *words: str, stdout: int = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
    """Have the command run until the end of the block; on a terminal it may use colours."""
    command = [sys.executable, "-m", "cmgr", *words, "--config", str(home.config)]
    coloured = {**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm"}
    with subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=coloured) as running:
        bound = threading.Timer(PATIENCE, running.kill)
        bound.start()
        try:
            yield running
        finally:
            bound.cancel()
            running.kill()
