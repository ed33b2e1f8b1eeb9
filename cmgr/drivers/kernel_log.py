"""The kernel's log (/dev/kmsg): one reader for all who hear of faults there, each of its own opening of it.

Much of it are strangers' words: any program can have the kernel print its name, its file's name or its control group's.
So a line counts by its beginning, as the kernel words it, and a record is one line: a line end within it is escaped,
and stays so. Whatever a program has written there itself is nothing, and so is all that has not the form of a record.

Source of its form: the kernel's documentation, ABI/testing/dev-kmsg, and its kernel/printk/printk.c.
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
from cmgr.sentences.sentence import say

_RECORD = re.compile(r"[0-7],(\d{1,18}),(\d{1,18}),([-c+])(?:,[^;]*)?;(.*)", re.ASCII)
"""A record that the kernel wrote: whoever may write there has facility 1 or a higher one, and so 8 or more in front."""

_NAME_FOLLOWS, _NAME_ENDS = re.compile(r"(?:oom-kill:constraint=.*)?,cpuset="), ",mems_allowed="
"""The words around the name of a control group, which may be a piece of its own (mm/oom_kill.c).

Lines of others can end so, with a name that a user has chosen; and the name and its end may be one piece.
"""

_ROOM = 8192
"""A record of /dev/kmsg is shorter, and a read has one whole record."""

Said = TypeVar("Said")


@dataclass(frozen=True, slots=True)
class Record:
    """A line of the log. `number`: of all since the boot; `seconds`: since the boot.

    `whole`: it was not printed to go on with another one, so that it is no piece of a line, perhaps from its middle.
    """

    text: str
    number: int = 0
    seconds: float = 0.0
    whole: bool = True


def boot_id() -> str:
    """Return the word of this boot of the machine, of which the numbers of records are; empty where there is none."""
    with suppress(FileNotFoundError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def record(line: str) -> Record | None:
    """Return the kernel's record that is this line of /dev/kmsg; None for anything else."""
    found = _RECORD.fullmatch(line[:_ROOM])
    return None if found is None else Record(found[4], int(found[1]), int(found[2]) / 1e6, found[3] == "-")


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
            raise DriverError(say("driver.no-kernel-log", path=path, why=error.strerror or ""), hint=hint) from error
        self._wake, self._woken = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._file, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)
        self._rest = ""
        self._in_name = False
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
        for each in filter(None, map(record, whole)):
            if (each.whole or not self._in_name) and (said := self._parse(each)) is not None:
                yield said
            if _NAME_FOLLOWS.fullmatch(each.text):
                self._in_name = True
            elif not each.whole and _NAME_ENDS in each.text:
                self._in_name = False

    def _read(self) -> str | None:
        """Return what there is; None for nothing yet, and nothing at the end, which /dev/kmsg does not have."""
        try:
            read = os.read(self._file, _ROOM)
        except BlockingIOError:
            return None
        except BrokenPipeError:
            self._in_name = False  # Its end may be among what is lost: nobody is to be deaf for ever.
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
