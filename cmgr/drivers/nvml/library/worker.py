"""A process that asks one GPU: it alone has that open, and what hangs in it keeps nobody else.

It ends with its connections. Questions come in one after the other; a thread waits for events and tells them.
"""

import socket
import threading
from collections.abc import Callable
from typing import TypeVar

from cmgr.drivers.nvml.library.calls import EventSet, Handle, Library, Refused
from cmgr.drivers.nvml.library.forks import packed, received, unpacked
from cmgr.errors import DriverError
from cmgr.sentences.sentence import because, chained, say

T = TypeVar("T")

_SLICE = 60_000
"""Milliseconds of one wait for events. Nobody waits for its end: the process is ended instead."""


class Gpu:
    """All that the process has. `place`: the bus id of its GPU, or the index; empty: it has none, and opens none."""

    def __init__(self, path: str, place: str | int, tells: socket.socket) -> None:
        self._path = path
        self._place = place
        self._tells = tells
        self._library: Library | None = None
        self.handle: Handle | None = None

    @property
    def library(self) -> Library:
        """Return the library, begun with. Raises `DriverMissing`."""
        if self._library is None:
            library = Library(self._path)
            library.begin()
            self._library = library
        return self._library

    def opened(self) -> Handle:
        """Return the handle of the GPU, opened if need be. Raises `Refused`."""
        if self.handle is None:
            library, place = self.library, self._place
            self.handle = library.at(place) if isinstance(place, int) else library.by_bus(place)
        return self.handle

    def hear(self, types: int) -> None:
        """Tell of these events from now on. Raises `Refused`."""
        events = self.library.new_set()
        try:
            self.library.register(self.opened(), types, events)
        except Refused:
            self.library.free(events)
            raise
        threading.Thread(target=self._wait, args=(events,), daemon=True).start()

    def _wait(self, events: EventSet) -> None:
        try:
            while True:
                event = self.library.wait(events, _SLICE)
                if event is not None:
                    self._tells.send(packed(event))
        except OSError:
            return  # Nobody listens any more; the end comes.
        except Exception as error:
            self._tells.send(packed(_portable(error)))
        self.library.free(events)


def ask_opened(question: Callable[[Library, Handle], T], gpu: Gpu) -> T:
    """Ask a question that wants the GPU open."""
    handle = gpu.opened()
    return question(gpu.library, handle)


def ask_if_open(question: Callable[[Library, Handle], T], gpu: Gpu) -> T | None:
    """Ask a question of a GPU that is not to be opened: nothing where it is not open."""
    return None if gpu.handle is None else question(gpu.library, gpu.handle)


def ask(question: Callable[[Library, Callable[[], Handle]], T], gpu: Gpu) -> T:
    """Ask a question that has the GPU opened itself, and judges what is said to that."""
    return question(gpu.library, gpu.opened)


def ask_library(question: Callable[[Library], T], gpu: Gpu) -> T:
    """Ask a question that is of no GPU."""
    return question(gpu.library)


def work(asks: socket.socket, tells: socket.socket, path: str, place: str | int) -> None:
    """Answer until nobody asks any more."""
    gpu = Gpu(path, place, tells)
    while message := received(asks):
        question = unpacked(message)
        try:
            said = True, question(gpu)
        except Exception as error:
            said = False, _portable(error)
        asks.send(packed(said))


def _portable(error: Exception) -> DriverError:
    """Return the error as it can be sent: without what caused it, which its words tell."""
    if isinstance(error, Refused):
        return Refused(error.what, error.code)
    if isinstance(error, DriverError):
        return type(error)(chained(error), hint=error.hint)
    return DriverError(because(say("driver.cannot-ask-nvml"), say("driver.bug", error=repr(error))))
