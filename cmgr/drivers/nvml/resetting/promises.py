"""The promises of resets: all that is taken away for one is given back, if need be by the next life of cmgr.

They stand in a file, and are written down before anything is taken away. A lock beside it is handed on to every program
that resets GPUs: as long as one of them runs, whatever became of its cmgr, the lock is held. They run one after the
other: nvidia-smi looks for its GPU on the whole bus, and takes another nvidia-smi for somebody who uses it.
"""

import fcntl
import json
import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, fields
from pathlib import Path

from cmgr import atomic
from cmgr.errors import DriverError, ResetRefused
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import chained, say
from cmgr.words import json_of

NAME = "nvml-promises.json"
LOCK = "nvml-resets.lock"

_MODE = 0o640

_TURN = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
"""The lock of whose turn it is: on the file's first byte, and as the other one handed on with the open file."""

_LOOK_EVERY = 0.05


@dataclass(frozen=True, slots=True)
class Promised:
    """`units`: of systemd, to be started. `persistent`: bus ids of GPUs whose persistence mode is to be on again.

    `resetting`: bus ids of GPUs that a reset was ordered for which has not been seen to end. `settings`: what else is
    to be set again, a bus id and the words by which nvidia-smi does that, such as `0000:3b:00.0 -pl 500`.
    """

    units: tuple[str, ...] = ()
    persistent: tuple[str, ...] = ()
    resetting: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    @property
    def buses(self) -> tuple[str, ...]:
        """Return the GPUs that something was taken away from."""
        set_back = (promise.partition(" ")[0] for promise in self.settings)
        return tuple(dict.fromkeys((*self.resetting, *self.persistent, *set_back)))

    def with_(self, other: "Promised") -> "Promised":
        """Return these and the others, those that came first in front."""
        return Promised(*(tuple(dict.fromkeys((*a, *b))) for a, b in zip(astuple(self), astuple(other), strict=True)))

    def without(self, other: "Promised") -> "Promised":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Promised(*(tuple(x for x in a if x not in b) for a, b in pairs))


class Promises:
    """Those of one directory. Any thread. `trouble`: why they cannot be read, or nothing."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / NAME
        self._lock_path = directory / LOCK
        self._lock = threading.Lock()
        self.trouble = ""
        self._promised = self._read()

    @property
    def all(self) -> Promised:
        return self._promised

    def _read(self) -> Promised:
        try:
            read = json_of(self._path.read_text(encoding="utf-8"))
            return Promised(**{f.name: tuple(map(str, read.get(f.name, ()))) for f in fields(Promised)})
        except FileNotFoundError:
            return Promised()
        except (OSError, ValueError, AttributeError, TypeError) as error:
            self.trouble = say("driver.taken-unknown", path=str(self._path), why=chained(error))
            return Promised()

    def make(self, more: Promised) -> None:
        """Promise this, too; it stands on the disk on return. Raises `DriverError`: then nothing may be taken away."""
        with self._lock:
            try:
                self._write(self._promised.with_(more))
            except OSError as error:
                text = say("driver.cannot-promise", path=str(self._path), why=error.strerror or "")
                raise DriverError(text) from error

    def keep(self, kept: Promised) -> None:
        """Note that this was given back. Does not raise: at worst the next life gives it back once more."""
        with self._lock, suppress(OSError):
            self._write(self._promised.without(kept))

    def _write(self, promised: Promised) -> None:
        if promised == self._promised:
            return
        with atomic.written(self._path, _MODE) as file:
            file.write(json.dumps(asdict(promised), indent=1).encode() + b"\n")
        self._promised, self.trouble = promised, ""

    @contextmanager
    def handed_on(self, seconds: float) -> Iterator[int]:
        """Wait for the turn, and give the open file that a program which resets GPUs has to hold.

        A program that has had the turn for so long hangs: then the next one goes on. Raises `ResetRefused` where there
        can be no such file.
        """
        try:
            file = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        except OSError as error:
            text = say("driver.cannot-open", path=str(self._lock_path), why=error.strerror or "")
            raise ResetRefused(text) from error
        try:
            fcntl.flock(file, fcntl.LOCK_SH)
            until = time.monotonic() + seconds
            while not _has_turn(file) and time.monotonic() < until:
                time.sleep(_LOOK_EVERY)
            yield file
        finally:
            os.close(file)

    def is_under_way(self) -> bool:
        """Return whether a program still resets GPUs. Before any of this life's own."""
        return not self._locked(fcntl.LOCK_EX | fcntl.LOCK_NB)

    def wait(self) -> None:
        """Wait until no program resets GPUs that was begun before."""
        self._locked(fcntl.LOCK_EX)

    def _locked(self, how: int) -> bool:
        try:
            file = os.open(self._lock_path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return True  # There never was one.
        try:
            fcntl.flock(file, how)
        except OSError:
            return False
        finally:
            os.close(file)
        return True


def _has_turn(file: int) -> bool:
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _TURN)
    except OSError:
        return False
    return True
