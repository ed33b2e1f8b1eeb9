"""The turn to reset a ring: a lock that the program itself holds for as long as it runs, whatever becomes of cmgr."""

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cmgr.errors import ResetRefused
from cmgr.model.values.chips import RingId
from cmgr.sentences.sentence import say

NAME = "tool-reset-{}.lock"

_MODE = 0o640
_FLOCK = "hhqqi4x"
_WHOLE = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
"""The whole file, for one alone: struct flock of fcntl(2)."""


class Turns:
    """Files in this directory. Any thread."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @contextmanager
    def taken(self, ring: RingId) -> Iterator[int]:
        """Give the open file that a program which resets this ring has to hold.

        Raises `ResetRefused` while another one holds it, and when there can be none.
        """
        path = self._path(ring)
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        except OSError as error:
            raise ResetRefused(say("driver.no-turn", ring=ring, path=str(path), why=error.strerror or "")) from error
        try:
            try:
                fcntl.fcntl(file, fcntl.F_OFD_SETLK, _WHOLE)
            except OSError:
                raise ResetRefused(say("driver.turn-taken", ring=ring)) from None
            yield file
        finally:
            os.close(file)

    def is_taken(self, ring: RingId) -> bool:
        try:
            file = os.open(self._path(ring), os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False  # There never was one.
        try:
            found = fcntl.fcntl(file, fcntl.F_OFD_GETLK, _WHOLE)  # It takes none, which a reset would meet.
        finally:
            os.close(file)
        return bool(struct.unpack(_FLOCK, found)[0] != fcntl.F_UNLCK)

    def _path(self, ring: RingId) -> Path:
        return self._directory / NAME.format(ring)
