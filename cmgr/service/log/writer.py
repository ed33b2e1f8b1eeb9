"""A thread that writes the lines of the log, so that whoever logs waits for no disk and no socket."""

import threading
from collections.abc import Mapping
from dataclasses import field
from queue import SimpleQueue
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TextIO

from cmgr import redact
from cmgr.frozen import dataclass, replace
from cmgr.words import one_line

if TYPE_CHECKING:
    from loguru import Message

LIMIT = 10_000
"""So many lines may wait to be written. Those beyond are lost, and counted."""

INFO, WARNING = 6, 4
PRIORITIES: Mapping[str, int] = MappingProxyType(
    {"CRITICAL": 2, "ERROR": 3, "WARNING": 4, "SUCCESS": 5, "INFO": 6, "DEBUG": 7, "TRACE": 7}
)
"""The names of the levels in syslog(3)."""

FIELDS = "fields"
"""Under this name the fields of a line hang on loguru's record."""


Fields = Mapping[str, str | tuple[str, ...]]
"""Fields of the journal by name. One with several values stands there several times, as journald allows."""


@dataclass(frozen=True, slots=True)
class Line:
    """One entry of the log. Its text has several lines only where a traceback follows."""

    text: str
    priority: int = INFO
    fields: Fields = field(default_factory=dict)


class Target(Protocol):
    def write(self, line: Line) -> None:
        """Write the line, on the writer's thread alone. May block. Does not raise."""

    def close(self) -> None:
        """Give back what it holds, when the last line is written. Does not raise."""


class Stream:
    """A terminal, or whatever else standard error is. `prefixed`: systemd reads it, and its <N> (sd-daemon(3))."""

    def __init__(self, stream: TextIO, *, prefixed: bool) -> None:
        self._stream = stream
        self._prefixed = prefixed

    def write(self, line: Line) -> None:
        # Each line of a traceback is an entry of its own to whoever reads a stream.
        prefix = f"<{line.priority}>" if self._prefixed else ""
        try:
            self._stream.write("".join(f"{prefix}{part}\n" for part in line.text.splitlines()))
            self._stream.flush()
        except (OSError, ValueError):
            # Nobody reads it any more (or it was closed): there is nowhere left to say so.
            return

    def close(self) -> None:
        """Standard error is not ours to close."""


class Writer:
    """Writes to one target. `put` is a sink for loguru: it does not block and does not raise."""

    def __init__(self, target: Target, name: str, limit: int = LIMIT) -> None:
        self._target = target
        self._limit = limit
        # SimpleQueue's put takes no lock that a stuck writer could hold.
        self._queue: SimpleQueue[Line | None] = SimpleQueue()
        self._lost = 0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, message: "Message") -> None:
        # loguru calls one sink from one thread at a time.
        if self._queue.qsize() >= self._limit:
            self._lost += 1
            return
        record = message.record
        priority = PRIORITIES.get(record["level"].name, INFO)
        # A traceback shows the error's own text, which may try to look like lines of the log: it stands indented.
        first, *rest = message.rstrip("\n").split("\n")
        text = "\n".join([one_line(first), *(f"  {one_line(part)}" for part in rest)])
        self._queue.put(Line(text, priority, record["extra"].get(FIELDS, {})))

    def _run(self) -> None:
        told = 0
        while (line := self._queue.get()) is not None:
            lost = self._lost
            self._target.write(replace(line, text=redact.text(line.text)))
            if lost > told:
                # They were lost before the line that was just written came to its turn, and after it went in.
                self._target.write(
                    Line(
                        f"{lost - told} lines of the log were lost: they came faster than they could be written",
                        WARNING,
                    )
                )
                told = lost
        self._target.close()

    def close(self, seconds: float) -> None:
        """Write what was put so far, for so long at most. Lines that are put later are not written. Safe to repeat."""
        self._queue.put(None)
        self._thread.join(seconds)
