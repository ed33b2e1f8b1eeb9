"""The kernel's log (/dev/kmsg): one reader for all who hear of faults there, each of its own opening of it.

Source of its form: the kernel's documentation, ABI/testing/dev-kmsg.
"""

import os
import re
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from cmgr.errors import DriverError
from cmgr.frozen import dataclass

_RECORD = re.compile(r"\d+,(\d+),(\d+),[^;]*;(.*)", re.ASCII)

_WRITTEN = re.compile(r"(?:[89]|\d\d+),\d+,", re.ASCII)
"""The beginning of a record that the kernel did not write: whoever may write there has facility 1 or a higher one."""

_ROOM = 8192
"""A record of /dev/kmsg is shorter, and a read has one whole record."""

Said = TypeVar("Said")


@dataclass(frozen=True, slots=True)
class Record:
    """A line of the log. `number`: of all since the boot; `seconds`: since the boot, both 0 where it has none."""

    text: str
    number: int = 0
    seconds: float = 0.0


def boot_id() -> str:
    """Return the word of this boot of the machine, of which the numbers of records are; empty where there is none."""
    with suppress(FileNotFoundError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def record(line: str) -> Record:
    """Return the record that is this line of /dev/kmsg."""
    found = _RECORD.fullmatch(line[:_ROOM])
    if found is None or len(found[1]) > 18 or len(found[2]) > 18:
        return Record(line)
    return Record(found[3], int(found[1]), int(found[2]) / 1e6)


class KernelLog(Generic[Said]):
    """Open from its first line on. One thread at a time reads; `close` is any thread's.

    `parse` says what a record means to whoever reads, None where it means nothing.
    """

    def __init__(self, path: str, parse: Callable[[Record], Said | None], hint: str) -> None:
        self._path = path
        self._parse = parse
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise DriverError(f"cannot read the kernel log {path}: {error.strerror}", hint=hint) from error
        self._wake, self._woken = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._file, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)
        self._rest = ""
        self._closed = False
        self._lock = threading.Lock()
        self._files: tuple[int, ...] = (self._file, self._wake, self._woken)
        self._is_read = False

    def so_far(self) -> tuple[Said, ...]:
        """Return what the log says from its beginning up to now."""
        found: list[Said] = []
        while text := self._read():
            found += self._said(text)
        return tuple(found)

    def lines(self) -> Iterator[Said]:
        """Yield what the log says from here on, until it is closed or ends. Blocks."""
        self._is_read = True
        try:
            while not self._closed:
                text = self._read()
                if text is None:
                    self._poll.poll()
                elif text:
                    yield from self._said(text)
                else:
                    return
        finally:
            self._release()

    def _said(self, text: str) -> Iterator[Said]:
        *whole, self._rest = (self._rest + text).split("\n")
        # A line with a space in front belongs to the record before it.
        lines = (line for line in whole if line and not line.startswith(" ") and not _WRITTEN.match(line))
        return (said for line in lines if (said := self._parse(record(line))) is not None)

    def _read(self) -> str | None:
        """Return what there is; None for nothing yet, and nothing at the end, which /dev/kmsg does not have."""
        try:
            read = os.read(self._file, _ROOM)
        except BlockingIOError:
            return None
        except BrokenPipeError:
            return "\n"  # Records were overwritten before they were read; the next read has the oldest that is left.
        return read.decode(errors="replace")

    def close(self) -> None:
        """Let the reader go. Safe to repeat."""
        self._closed = True
        with self._lock:
            if self._is_read and self._files:
                os.write(self._woken, b".")
        if not self._is_read:
            self._release()

    def _release(self) -> None:
        with self._lock:
            for file in self._files:
                os.close(file)
            self._files = ()
