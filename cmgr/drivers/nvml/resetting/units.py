"""Units of systemd that keep GPUs open: stopped before a reset, and started when no reset is under way any more."""

import threading
from collections.abc import Callable, Mapping, Sequence

from cmgr.drivers.nvml.resetting.promises import Promised, Promises
from cmgr.errors import CmgrError, ContainerGone
from cmgr.model.values.services.containers import NO_RESTART
from cmgr.sentences.sentence import reason, say
from cmgr.vendor import OpenUnits

FIRST, LONGEST = 1.0, 30.0
"""Seconds until a start that failed is tried again: the first time, and at the most."""


class Units:
    """Any thread. `names`: those to be stopped, in this order; they are started the other way round.

    `open_`: None for whoever only looks.
    """

    def __init__(self, names: Sequence[str], open_: OpenUnits | None, promises: Promises) -> None:
        self._names = names
        self._promises = promises
        wanted = tuple(dict.fromkeys((*names, *promises.all.units)))
        self._runtime = open_(wanted) if wanted and open_ is not None else None
        self._turn = threading.Lock()  # To stop and to start.
        self._lock = threading.Lock()  # For what stands below.
        self._resets = 0
        self._failed: dict[str, str] = {}
        self._starting = False
        self._closed = threading.Event()

    def expect(self) -> None:
        """A reset begins, or is under way already: start none until `start` is called, which has to follow."""
        with self._lock:
            self._resets += 1

    def stop(self) -> tuple[str, ...]:
        """Stop those that run, and return their names. After `expect`.

        Raises `DriverError` when they cannot be promised, `ContainerError` when one cannot be stopped.
        """
        with self._turn:
            if self._runtime is None:
                return ()
            there = {unit.name: unit for unit in self._runtime.list() if unit.running}
            running = [there[name] for name in self._names if name in there]
            names = tuple(unit.name for unit in running)
            self._promises.make(Promised(units=names))
            for unit in running:
                self._runtime.stop(unit.key, unit.grace)
            return names

    def start(self, tell: Callable[[tuple[str, ...]], None]) -> None:
        """A reset is over. Have what was stopped started once no other is under way, and tell the names of those.

        Nobody waits for that. A unit that does not start is a trouble, and is tried again until it does.
        """
        with self._lock:
            self._resets -= 1
            if self._starting or self._resets or self._runtime is None or not self._promises.all.units:
                return
            self._starting = True
        threading.Thread(target=self._start_all, args=(tell,), name="nvml-units", daemon=True).start()

    def _start_all(self, tell: Callable[[tuple[str, ...]], None]) -> None:
        pause = FIRST
        while self._goes_on():
            with self._turn:
                started = self._start()
            if started:
                tell(started)
            if self._failed and self._closed.wait(pause):
                return
            pause = min(LONGEST, 2 * pause)

    def _goes_on(self) -> bool:
        """Return whether there is anything to be started, and no reset under way; else nobody tries any more."""
        with self._lock:
            self._starting = bool(self._promises.all.units) and not self._resets
            return self._starting

    def _start(self) -> tuple[str, ...]:
        assert self._runtime is not None
        failed, started = dict[str, str](), []
        try:
            there = {unit.name: unit.key for unit in self._runtime.list()}
        except CmgrError as error:
            self._failed = dict.fromkeys(self._promises.all.units, reason(error, ""))
            return ()
        for name in reversed(self._promises.all.units):
            if self._resets:
                break  # Another has begun, and waits for its turn.
            try:
                if name in there:
                    self._runtime.start(there[name], NO_RESTART)
                    started.append(name)
            except ContainerGone:
                pass
            except CmgrError as error:
                failed[name] = reason(error, "start")
                continue
            self._promises.keep(Promised(units=(name,)))
        self._failed = failed
        return tuple(started)

    def start_once(self) -> tuple[tuple[str, ...], Mapping[str, str]]:
        """Start what is owed. Return the names of those that run again, and why each of the others does not.

        Those that are in neither are not there any more. Not while a reset is under way.
        """
        with self._turn:
            return self._start(), self._failed

    def trouble(self) -> tuple[str, ...]:
        failed = self._failed
        return tuple(say("driver.unit-stays-down", name=name, why=failed[name]) for name in sorted(failed))

    def close(self) -> None:
        self._closed.set()
        if self._runtime is not None:
            self._runtime.close()
