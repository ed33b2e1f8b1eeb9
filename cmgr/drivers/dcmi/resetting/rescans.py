"""The chips that were taken off the bus for an out-of-band reset, until they are looked for again.

The library remembers the brother of a card only in the process that took both away, so the file of them is good for the
next life, too.
"""

import fcntl
import json
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cmgr import atomic
from cmgr.drivers.dcmi.library.calls import Location
from cmgr.errors import DriverError
from cmgr.sentences.sentence import say
from cmgr.words import json_of

NAME = "dcmi-rescans.json"

_MODE = 0o640


class Rescans:
    """Those that are due, as a file of this directory has them; without one, in this life only. Any thread."""

    def __init__(self, directory: Path | None) -> None:
        self._path = None if directory is None else directory / NAME
        self._lock = threading.Lock()
        self._due = self._read()

    @property
    def due(self) -> tuple[Location, ...]:
        return self._due

    def _read(self) -> tuple[Location, ...]:
        if self._path is None:
            return ()
        try:
            return tuple(Location(*map(int, place)) for place in json_of(self._path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return ()  # At worst a chip stays away until the machine is started anew, as without the file.

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Do something that no other process of cmgr does now: the one of an earlier life may yet be in its reset.

        Waits for that, and takes what is due as that has left it. Raises `DriverError`.
        """
        if self._path is None:
            yield
            return
        try:
            directory = os.open(self._path.parent, os.O_RDONLY)
        except OSError as error:
            raise DriverError(
                say("driver.cannot-open", path=str(self._path.parent), why=error.strerror or "")
            ) from error
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
            self._due = self._read()
            yield
        finally:
            os.close(directory)

    def add(self, places: Iterable[Location]) -> None:
        """Note that these are taken off the bus. Raises `DriverError`: then they must not be."""
        try:
            self._write(tuple(dict.fromkeys((*self._due, *places))))
        except OSError as error:
            text = say("driver.rescans-not-kept", path=str(self._path), why=error.strerror or "")
            raise DriverError(text) from error

    def done(self, places: Iterable[Location]) -> None:
        """Note that these were looked for. Does not raise: at worst the next life looks once more."""
        found = set(places)
        with suppress(OSError):
            self._write(tuple(place for place in self._due if place not in found))

    def _write(self, due: tuple[Location, ...]) -> None:
        with self._lock:
            if self._path is not None:
                with atomic.written(self._path, _MODE) as file:
                    file.write(json.dumps([(p.logical, p.card, p.device) for p in due]).encode() + b"\n")
            self._due = due
