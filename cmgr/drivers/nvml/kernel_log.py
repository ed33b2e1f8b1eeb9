"""The kernel's log as the second source of Xids: some are told nowhere else.

The log is also where cmgr notes that a GPU was reset: Xids and what ended them stand in one place, which ends with the
boot. Whoever reads it from the beginning knows which Xids still count.
"""

import os
import re
import select
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from cmgr.errors import DriverError

_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F]+):([0-9a-fA-F]+):([0-9a-fA-F]+)[^)]*\): (\d+),")
_SXID = re.compile(r"(nvidia-nvswitch\d+): SXid \([^)]*\): (\d+), (Fatal|Non-fatal)")
_RESET = re.compile(r"cmgr: ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.0) was reset")

_ROOM = 8192
"""A record of /dev/kmsg is shorter, and a read has one whole record."""


@dataclass(frozen=True, slots=True)
class Xid:
    """A line about a GPU."""

    bus: str
    number: int


@dataclass(frozen=True, slots=True)
class SwitchXid:
    """A line about a switch of NVLink, which names no GPU."""

    switch: str
    number: int
    fatal: bool


@dataclass(frozen=True, slots=True)
class WasReset:
    """cmgr's own line about a reset that worked."""

    bus: str


Line = Xid | SwitchXid | WasReset


def parse(text: str) -> Line | None:
    """Return what this line of the log says, if it is one of these."""
    if found := _XID.search(text):
        domain, bus, device = (int(part, 16) for part in found.groups()[:3])
        return Xid(f"{domain:04x}:{bus:02x}:{device:02x}.0", int(found[4]))
    if found := _SXID.search(text):
        return SwitchXid(found[1], int(found[2]), found[3] == "Fatal")
    if found := _RESET.search(text):
        return WasReset(found[1])
    return None


class KernelLog:
    """Open from its first line on. One thread at a time reads; `close` and `note_reset` are any thread's."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise DriverError(
                f"cannot read the kernel log {path}: {error.strerror}",
                hint="run as root; ln -s /usr/lib/cmgr/nvidia.conf /etc/systemd/system/cmgr.service.d/ shows it to the "
                'service; or set nvml.kernel_log = ""',
            ) from error
        self._wake, self._woken = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._file, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)
        self._rest = ""
        self._closed = False
        self._lock = threading.Lock()
        self._files: tuple[int, ...] = (self._file, self._wake, self._woken)
        self._is_read = False

    def so_far(self) -> tuple[Line, ...]:
        """Return what the log says from its beginning up to now."""
        found: list[Line] = []
        while text := self._read():
            found += self._said(text)
        return tuple(found)

    def lines(self) -> Iterator[Line]:
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

    def _said(self, text: str) -> Iterator[Line]:
        *whole, self._rest = (self._rest + text).split("\n")
        return (said for record in whole if (said := parse(record)) is not None)

    def _read(self) -> str | None:
        """Return what there is; None for nothing yet, and nothing at the end, which /dev/kmsg does not have."""
        try:
            read = os.read(self._file, _ROOM)
        except BlockingIOError:
            return None
        except BrokenPipeError:
            return "\n"  # Records were overwritten before they were read; the next read has the oldest that is left.
        return read.decode(errors="replace")

    def note_reset(self, bus: str) -> bool:
        """Write that this GPU was reset. Return whether that worked: if not, its Xids come back in the next life."""
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            os.write(file, f"<5>cmgr: {bus} was reset\n".encode())
        except OSError:
            return False
        finally:
            os.close(file)
        return True

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
