"""The machine's sources, each asked on a thread that ends with it: one that hangs does so alone, and is told."""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cmgr.config.sources import Machine
from cmgr.drivers.machine.file_systems import FileSystems
from cmgr.drivers.machine.ibmc import Ibmc
from cmgr.drivers.machine.ipmi import Ipmi
from cmgr.drivers.machine.kernel import Kernel
from cmgr.drivers.machine.smart import Smart
from cmgr.drivers.machine.source import Off, Source
from cmgr.drivers.machine.sysfs import Disks, Memory, Raid, Sensors
from cmgr.frozen import dataclass
from cmgr.model.values.machine import Symptom
from cmgr.model.values.messages.facts import MachineTold
from cmgr.sentences.sentence import chained, parts, say
from cmgr.words import stamp

_DEAF = 1.25
"""A source is deaf after so many times its limit: a program that it asks is given up at the limit, and that is told."""


@dataclass(frozen=True, slots=True)
class State:
    """How a source does. `off`: why there is nothing to look at; `deaf`: why it tells nothing though there is."""

    name: str
    off: str = ""
    deaf: str = ""


class _Asked:
    """One source, which one thread at a time asks; any thread reads how it does."""

    def __init__(self, source: Source, timeout: timedelta) -> None:
        self.source = source
        self._timeout = timeout
        self._began: float | None = None
        self._last: datetime | None = None
        self._off = ""
        self._error = ""

    def ask(self) -> tuple[Symptom, ...] | None:
        """Return what it finds; None where it says nothing. Raises nothing, and may never return."""
        self._began = time.monotonic()
        try:
            return self._found()
        except PermissionError as error:
            self._off, self._error = say("driver.no-right", path=str(error.filename)), ""
        except Exception as error:
            # Sources read what a broken machine says: whatever it is, the next round goes on.
            self.failed(error)
        finally:
            self._began = None
        return None

    def failed(self, error: Exception) -> None:
        self._off, self._error = "", chained(error)

    def _found(self) -> tuple[Symptom, ...] | None:
        try:
            found: tuple[Symptom, ...] | None = tuple(self.source.look())
            off: str = ""
        except Off as why:
            # Whatever it has told of before is gone with it.
            off, found = why.args[0], None if self._off else ()
        self._off, self._error, self._last = off, "", datetime.now(UTC)
        return found

    def state(self) -> State:
        began, why = self._began, self._error
        if began is not None and time.monotonic() - began > self._timeout.total_seconds() * _DEAF:
            why = say("driver.source-silent", span=self._timeout)
        if not why:
            return State(self.source.name, self._off)
        since = say("driver.not-run-since", at=stamp(self._last)) if self._last is not None else ""
        return State(self.source.name, deaf=parts((why, since)))


def sources(settings: Machine, names: Sequence[str]) -> list[Source]:
    """Return the sources of these names."""
    root, seconds = Path(settings.root), settings.timeout.total_seconds()
    made: list[Source] = [
        Memory(root),
        Disks(root),
        Smart(root, settings.smartctl, seconds),
        Raid(root),
        FileSystems(root),
        Sensors(root),
        Ipmi(root, settings.ipmitool, seconds),
        Ibmc(root, settings.ipmitool, seconds),
        Kernel(root),
    ]
    return [source for source in made if source.name in names]


class MachineWatch:
    """From `start` to `close`. `patience`: after so many seconds a source that has not answered is deaf."""

    def __init__(self, asked: Sequence[Source], settings: Machine) -> None:
        self._asked = [_Asked(source, settings.timeout) for source in asked]
        self._every = settings.every.total_seconds()
        self._stopped = threading.Event()
        self._tell: Callable[[MachineTold], None] = lambda _: None
        self.names = tuple(source.name for source in asked)
        self.patience = settings.timeout.total_seconds() * 2

    def start(self, tell: Callable[[MachineTold], None]) -> None:
        """Ask each source from now on. `tell` is called on their threads; it neither blocks nor raises."""
        self._tell = tell
        threading.Thread(target=self._keep_on, name="machine", daemon=True).start()

    def once(self) -> tuple[Callable[[], object], ...]:
        """Return, for each source, what asks it once: for whoever only looks at `states` afterwards."""
        return tuple(asked.ask for asked in self._asked)

    def close(self) -> None:
        """Tell nothing more. Does not wait: a thread that the kernel keeps cannot be called back."""
        self._stopped.set()

    def states(self) -> tuple[State, ...]:
        """Return how each source does. Any thread; does not block."""
        return tuple(asked.state() for asked in self._asked)

    def _keep_on(self) -> None:
        due = dict.fromkeys(self._asked, time.monotonic())
        threads = dict[_Asked, threading.Thread]()
        while due and not self._stopped.wait(max(0.0, min(due.values()) - time.monotonic())):
            now = time.monotonic()
            for asked in [each for each, at in due.items() if at <= now]:
                due[asked] = now + self._every * asked.source.slow
                if (last := threads.get(asked)) is None or not last.is_alive():
                    name = f"machine-{asked.source.name}"
                    look = threading.Thread(target=self._look, args=(asked,), name=name, daemon=True)
                    try:
                        look.start()
                    except RuntimeError as error:  # There can be no more threads just now.
                        asked.failed(error)
                    else:
                        threads[asked] = look

    def _look(self, asked: _Asked) -> None:
        found = asked.ask()
        if found is not None and not self._stopped.is_set():
            self._tell(MachineTold(asked.source.name, found, off=bool(asked.state().off)))
