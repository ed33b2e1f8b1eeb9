"""The memory of containerd's containers between two looks: the word for each life, and how it ended.

containerd itself forgets both with the task. A life's word is made of the boot, the process id and the moment when
that process began, so that neither a process id used again nor a reboot makes two lives look like one.
"""

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from cmgr.frozen import dataclass
from cmgr.model.values.services.containers import Container, ContainerKey, Exit, is_same_life
from cmgr.runtimes.claims import mounted_in
from cmgr.runtimes.containerd.record import Definition, Streams, Task, boots
from cmgr.runtimes.living import began
from cmgr.runtimes.memory import Memory, Ticket, order_lasts


@dataclass(frozen=True, slots=True)
class Seen:
    """A container as it was last seen.

    `run` and `exit` are of its present or last life, `streams` of the last that had any: the restart monitor gives its
    tasks none. `asked`: somebody told this life to end. `ordered`: when its client wrote down last, in this life, that
    a person ends it, on the monotonic clock, and `told` by the other one: a label that was there when the life began
    says nothing of its end. `given`: the chips whose device files this life was given by mounts.
    """

    definition: Definition
    task: Task | None = None
    run: str = ""
    exit: Exit | None = None
    streams: Streams | None = None
    asked: bool | None = None
    ordered: float | None = None
    told: datetime | None = None
    given: frozenset[str] = frozenset()

    @property
    def running(self) -> bool:
        return self.task is not None and self.task.running

    @property
    def is_ordered(self) -> bool:
        """Return whether an order to end this life that its client wrote down still counts."""
        lasts = order_lasts(self.definition.container.grace)
        return self.ordered is not None and time.monotonic() <= self.ordered + lasts

    def container(self) -> Container:
        """Return the container as the model takes it."""
        running, frozen = self.running, self.task is not None and self.task.paused
        defined = self.definition.container
        # Its client writes down what it is asked for before it does that.
        asked = False if self.asked is None and defined.marked is False else self.asked
        end = self.exit if not running else None
        if end is not None:
            end = replace(end, asked=asked, told=self.told if asked else None)
        claims = defined.claims | self.given
        again = boots(self.definition.labels)
        return replace(defined, claims=claims, running=running, run=self.run, exit=end, frozen=frozen, boots=again)


class Known(Memory[ContainerKey, Seen]):
    """The last look at each container, by key. Any thread."""

    def __init__(self) -> None:
        super().__init__()
        self._boot = _boot()
        self._blamed: dict[ContainerKey, tuple[str, bool | None]] = {}
        """Of each container the life last told of in `blame`: no look may have been taken in that says it lives."""

    def name(self, key: ContainerKey) -> str:
        """Return what a person calls the container."""
        seen = self._last.get(key)
        return seen.definition.container.name if seen is not None else key.id[:24]

    def saw(self, definition: Definition, task: Task | None, ticket: Ticket) -> Seen:
        """Take in a look that began at this ticket; return what it means together with what was known."""
        key = definition.key
        with self._lock:
            seen = self._joined(self._last.get(key), definition, task)
            if self._holds(key, ticket):
                self._last[key] = seen
        return seen

    def _joined(self, before: Seen | None, definition: Definition, task: Task | None) -> Seen:
        old = before or Seen(definition)
        if task is not None and task.unknown:
            # It counts as running, for it may hold its chips, unless its end has been seen.
            return _gone_on(old, definition, old.task if old.exit is not None else task)
        if task is None or not (task.running or task.exit is not None):
            return _gone_on(old, definition, task)
        run = self._word(task, old.run)
        if run == old.run:
            return _gone_on(old, definition, task)
        given = mounted_in(task.pid) if task.running and definition.concerns else frozenset[str]()
        blamed, asked = self._blamed.get(definition.key, ("", None))
        asked = asked if is_same_life(run, blamed) else None
        if asked is None and not task.running and definition.explicitly_stopped:
            asked = True
        streams = task.streams if task.streams != Streams() else old.streams
        return Seen(definition, task, run, task.exit, streams, asked=asked, given=given)

    def _word(self, task: Task, known: str) -> str:
        process = f"{self._boot}.{task.pid}."
        since = began(task.pid) if task.running else ""
        # Of a process that has gone only the memory knows when it began.
        return known if not since and known.startswith(process) else f"{process}{since}"

    def ended(self, key: ContainerKey, pid: int, end: Exit | None) -> Seen | None:
        """Take in the event of an end. Return what is known now; None when that was not the last known life."""
        with self._lock:
            seen = self._last.get(key)
            if seen is None or not seen.run.startswith(f"{self._boot}.{pid}."):
                return None
            task = replace(seen.task, status=_ENDED) if seen.task is not None else None
            seen = self._last[key] = _ended(seen, replace(seen, task=task, exit=seen.exit or end))
            return seen

    def blame(self, key: ContainerKey, run: str, asked: bool | None) -> None:
        """Note whether somebody told this life to end; None takes it back."""
        with self._lock:
            self._blamed[key] = run, asked
            seen = self._last.get(key)
            if seen is not None and seen.run == run:
                self._last[key] = replace(seen, asked=asked)

    def _forget(self, key: ContainerKey) -> Seen | None:
        self._blamed.pop(key, None)
        return super()._forget(key)


_ENDED = 3
"""containerd's number for a task that has ended."""


def _gone_on(old: Seen, definition: Definition, task: Task | None) -> Seen:
    """Return what is known of a life after a look that found no other one."""
    # A second report of an end is that of a client's clean-up.
    end = old.exit or (task.exit if task is not None else None)
    before = old.definition
    anew = not before.explicitly_stopped or before.changed != definition.changed
    news = definition.explicitly_stopped and anew
    ordered, told = (time.monotonic(), datetime.now(UTC)) if news else (old.ordered, old.told)
    return _ended(old, replace(old, definition=definition, task=task, exit=end, ordered=ordered, told=told))


def _ended(old: Seen, now: Seen) -> Seen:
    """Return it with whether its client had asked for its end, if the end or the order is news."""
    news = (old.exit, old.ordered) != (now.exit, now.ordered)
    return replace(now, asked=True) if news and now.exit is not None and now.asked is None and now.is_ordered else now


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii")[:8]
    except OSError:
        return "boot"
