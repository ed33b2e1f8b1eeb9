"""The output of a program, of which no more than its end is kept, whatever it writes."""

import os
import select
import time
from contextlib import suppress

from cmgr.loading import whole

OUTPUT = 4096
"""So many bytes of it are kept, the last ones."""

_ROOM = 1 << 16
_KEEP_SIZE, _PUNCH_HOLE = 1, 2


class Pipe:
    """The reading end of a pipe, and the last of what came out of it. Nothing else bounds a writer as surely."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._open = True
        self._kept = b""
        self._more = False
        os.set_blocking(file, False)

    def take(self, seconds: float) -> None:
        """Take in what is there; wait for it, and for the end of the pipe, for so long."""
        if not self._open:
            # Nobody can write any more, so the process is most likely about to end.
            time.sleep(min(seconds, 0.005))
            return
        waiting = select.poll()
        waiting.register(self._file, select.POLLIN)
        if waiting.poll(seconds * 1000):
            self._read()

    def text(self) -> str:
        """Return the end of all that was written."""
        # Bounded: a process that left the group may go on writing for ever.
        for _ in range(64):
            if not self._open or not self._read():
                break
        return _text(self._kept, more=self._more)

    def close(self) -> None:
        os.close(self._file)

    def _read(self) -> bool:
        try:
            some = os.read(self._file, 65536)
        except BlockingIOError:
            return False
        self._open = bool(some)
        self._more = self._more or len(self._kept) + len(some) > OUTPUT
        self._kept = (self._kept + some)[-OUTPUT:]
        return True


class Memory:
    """A file in memory: what is written into it needs nobody who reads, so that its writer outlives cmgr."""

    def __init__(self, file: int) -> None:
        self.file = file
        self._dropped = 0

    def take(self, seconds: float) -> None:
        """Wait for so long, and drop all but the end of what is there."""
        time.sleep(seconds)
        self.trim()

    def trim(self) -> None:
        """Drop all but the end of what is there. Bytes keep their places, so that whoever writes does not notice."""
        end = os.fstat(self.file).st_size - OUTPUT
        if end - self._dropped > _ROOM:
            # Hardly any program writes so much. Where no file can be opened to load it, a later look drops it.
            with suppress(ImportError, OSError), whole():
                import ctypes

                size = ctypes.c_int64(end)
                ctypes.CDLL(None).fallocate(self.file, _KEEP_SIZE | _PUNCH_HOLE, ctypes.c_int64(0), size)
                self._dropped = end

    def text(self) -> str:
        """Return the end of all that was written."""
        size = os.fstat(self.file).st_size
        return _text(os.pread(self.file, OUTPUT, max(0, size - OUTPUT)), more=size > OUTPUT)

    def close(self) -> None:
        os.close(self.file)


def _text(kept: bytes, *, more: bool) -> str:
    return ("… " if more else "") + kept.decode(errors="replace").strip()
