"""The record of what happened when, on the monotonic clock that all processes of a machine share."""

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Call:
    """Something that took from `begin` to `end`, in seconds: a stop, a start, a list, a reset, or a fault, or the
    beginning of the driver's watch, which take none.

    `who`: the container's name, or the chip. `status`: what the runtime answered.
    """

    kind: str
    who: str
    begin: float
    end: float
    status: int = 0

    def written(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


class Records:
    """Calls in the order in which they ended. Any thread."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._changed = threading.Condition()

    def add(self, call: Call) -> None:
        with self._changed:
            self._calls.append(call)
            self._changed.notify_all()

    def mark(self) -> int:
        """Return the place that `since` takes."""
        with self._changed:
            return len(self._calls)

    def since(self, mark: int) -> list[Call]:
        with self._changed:
            return self._calls[mark:]

    def wait(self, mark: int, enough: Callable[[Sequence[Call]], bool], why: str, within: float = PATIENCE) -> None:
        """Return when what was recorded since is enough. Raises `TimeoutError`."""
        until = time.monotonic() + within
        with self._changed:
            while not enough(self._calls[mark:]):
                if not self._changed.wait(until - time.monotonic()) and time.monotonic() >= until:
                    raise TimeoutError(f"{why}: not within {within:g} s; there was {self._calls[mark:]}")

    def read_from(self, pipe: int) -> None:
        """Take in, on a thread, what another process writes to this pipe, until it ends; then close it."""

        def read() -> None:
            with os.fdopen(pipe, "rb") as lines:
                for line in lines:
                    self.add(Call(**json.loads(line)))

        threading.Thread(target=read, name="records", daemon=True).start()


def of(calls: Sequence[Call], kind: str) -> list[Call]:
    """Return the calls of one kind, in the order in which they began."""
    return sorted((c for c in calls if c.kind == kind), key=lambda c: c.begin)


def covered(calls: Sequence[Call]) -> float:
    """Return for how long at least one of the calls was under way."""
    total, reached = 0.0, float("-inf")
    for call in sorted(calls, key=lambda c: c.begin):
        total += max(0.0, call.end - max(call.begin, reached))
        reached = max(reached, call.end)
    return total
