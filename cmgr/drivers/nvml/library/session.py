"""The time between beginning and ending with the library, in which GPUs are open; and letting go of them for a reset.

A handle keeps its GPU open, and a GPU that anybody has open cannot be reset. The library closes GPUs only when it is
ended with as a whole. So for a reset everything is closed, and all but the GPUs of the reset are opened again.
"""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress

from cmgr.drivers.nvml.library.calls import EventSet, Handle, Library, Refused
from cmgr.errors import DriverError

Hears = dict[Handle, str]
"""The GPUs that a set of events hears, each with its bus id."""

Wanted = tuple[Callable[[], Collection[str]], int]
"""Where the GPUs are, and the types of events that are wished for."""


class InReset(DriverError):
    """The GPU is being reset, and is asked nothing."""


class Session:
    """Any thread, between `inside` and its end; `let_go` outside of it."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._changed = threading.Condition()
        self._inside = 0
        self._closing = False
        self._closed = False
        self._away: frozenset[str] = frozenset()
        self._handles: dict[str, Handle] = {}
        self._events: EventSet | None = None
        self._is_stale = False
        self._hears: Hears = {}
        self._wanted: Wanted | None = None
        self._next: tuple[EventSet, Hears] | None = None
        library.begin()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Keep the library from being ended with meanwhile; wait while it is. Raises `DriverError` when closed."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closing)
            if self._closed:
                raise DriverError("cannot ask NVML: the driver was closed")
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def handle(self, bus: str) -> Handle:
        """Return the handle of the GPU at that bus id, opened if need be. Raises `Refused`, `InReset`."""
        with self._changed:
            if bus in self._away:
                raise InReset(f"cannot ask the GPU at {bus}: it is being reset")
            known = self._handles.get(bus)
        if known is None:
            known = self._library.by_bus(bus)
            with self._changed:
                self._handles[bus] = known
        return known

    def at(self, index: int) -> Handle:
        """Return the handle of the GPU of that index. Raises `Refused`; `InReset` while any is: it could be that."""
        with self._changed:
            if self._away:
                raise InReset(f"cannot open GPU {index}: a GPU is being reset")
        return self._library.at(index)

    def events(self, buses: Callable[[], Collection[str]], types: int) -> tuple[EventSet, Mapping[Handle, str]]:
        """Return the set of events, registered anew if need be, and the GPUs that it hears. By one thread only.

        `buses`: where the GPUs are, asked only then.
        A GPU that cannot be registered is left out. Raises `Refused` when there can be no set.
        """
        self._wanted = buses, types
        if self._is_stale:
            with self._changed:
                self._is_stale = False
                made, self._next = self._next, None
            self.drop_events()
            if made is not None:
                self._hear_all(*made, self._wanted)
                self._events, self._hears = made
        if self._events is None:
            self._events, self._hears = self._hear_all(self._library.new_set(), {}, self._wanted)
        return self._events, self._hears

    def _hear_all(self, made: EventSet, hears: Hears, wanted: Wanted) -> tuple[EventSet, Hears]:
        """Have the set hear every GPU that it does not hear yet and that can be registered."""
        buses, types = wanted
        for bus in set(buses()).difference(hears.values()):
            with suppress(Refused, InReset):
                handle = self.handle(bus)
                self._library.register(handle, types, made)
                hears[handle] = bus
        return made, hears

    def hear_soon(self) -> None:
        """Have GPUs that were taken back heard from now on, and not only from the next wait for events on.

        The set that is waited on then keeps their events of the time between. Inside. Raises `Refused`.
        """
        if self._wanted is None:
            return
        made = self._hear_all(self._library.new_set(), {}, self._wanted)
        with self._changed:
            old, self._next = self._next, made
            self._is_stale = True
        if old is not None:
            with suppress(Refused):
                self._library.free(old[0])

    @property
    def is_partial(self) -> bool:
        """Return whether some GPU is left closed, for a reset."""
        return bool(self._away)

    @property
    def is_listening(self) -> bool:
        """Return whether there is a set of events, and it hears all that it could."""
        return self._events is not None and not self._is_stale

    def drop_events(self) -> None:
        """Register anew when events are waited for next. By the thread that waits for them, inside."""
        if self._events is not None:
            with suppress(Refused):
                self._library.free(self._events)
            self._events = None

    def let_go(self, buses: Collection[str], seconds: float) -> None:
        """Close every GPU, and leave these closed. Raises `DriverError` when somebody does not come out in time."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closing, seconds)
            if self._closing:
                raise DriverError("cannot close the GPUs: they are being closed already")
            self._closing = True
            try:
                if not self._changed.wait_for(lambda: self._inside == 0, seconds):
                    raise DriverError("cannot close the GPUs: a call of NVML has not come back")
                self._end()
                self._away |= frozenset(buses)
                self._library.begin()
            finally:
                self._closing = False
                self._changed.notify_all()

    def take_back(self, buses: Collection[str]) -> None:
        """Let these GPUs be opened again, and their events be heard with the next wait."""
        with self._changed:
            self._away -= frozenset(buses)
            self._is_stale = True

    def _end(self) -> None:
        self.drop_events()
        self._handles.clear()
        self._next = None
        with suppress(Refused):
            self._library.end()

    def close(self) -> None:
        """End with the library; not while somebody is inside, who would find it gone."""
        with self._changed:
            if self._inside == 0 and not self._closing and not self._closed:
                self._end()
            self._closed = True
