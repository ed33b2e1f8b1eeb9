"""Waiting for what other threads and programs do: bounded, and over as soon as it is true."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(condition: Callable[[], T], within: float = 15.0, why: str = "") -> T:
    """Return the condition's first true value; an assertion fails when there is none within so many seconds."""
    until = time.monotonic() + within
    pause = threading.Event()
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < until, f"not true within {within:g} s: {why or condition}"
        pause.wait(0.01)
