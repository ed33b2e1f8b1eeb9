"""Waiting for what other threads and programs do: bounded, and over as soon as it is true."""

import os
import subprocess
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = float(os.environ.get("CMGR_PATIENCE", "120"))
"""Seconds after which a test gives up waiting for what should have come: its one bound, wherever tests wait.

It only ends what is broken, so a slow or busy machine needs more of it and nothing else (CMGR_PATIENCE).
"""


def eventually(condition: Callable[[], T], why: str = "", times: int = 1) -> T:
    """Return the condition's first true value; an assertion fails when there is none within `PATIENCE`.

    `times`: as much patience as for so many things, one after the other.
    """
    until = time.monotonic() + times * PATIENCE
    pause = threading.Event()
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < until, f"not true within {times * PATIENCE:g} s: {why or condition}"
        pause.wait(0.01)


def rest(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Return what it says until it ends, as `communicate` does, after lines of it that were read.

    With a bound or two pipes `communicate` reads from the pipe itself: what came in one read with such a line is lost.
    """
    bound = threading.Timer(PATIENCE, process.kill)
    bound.start()
    with process:
        out, err = (stream.read() if stream else "" for stream in (process.stdout, process.stderr))
    bound.cancel()
    return out, err
