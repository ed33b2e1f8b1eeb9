"""Stopping a container's task.

Nothing stands between the order and the signal but what an earlier look or event has told already. The labels that a
later start needs (where the output went, what the restart monitor was told) are sent just before the signal, and
their answer is awaited after it: whoever dies in between leaves a task that containerd still keeps, with its streams,
and a restart label whose value cmgr's own books have. (Unless the restart monitor comes in just that moment: a task of
its own, without streams, is then all that is left.) The task itself is left: its client can still read how it ended
and where its log is, a slow logger holds up nobody, and the next start deletes it.
"""

import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from cmgr.errors import ContainerError, ContainerGone, RunsAgain
from cmgr.model.values.services.containers import NO_RESTART, ContainerKey, Exit
from cmgr.ports import Halt
from cmgr.runtimes import ears
from cmgr.runtimes.containerd import io as containerd_io
from cmgr.runtimes.containerd import messages as calls
from cmgr.runtimes.containerd import record as containerd_record
from cmgr.runtimes.containerd.known import Seen
from cmgr.runtimes.containerd.looks import Looks
from cmgr.runtimes.containerd.messages import End
from cmgr.runtimes.containerd.record import STATUS, Streams
from cmgr.runtimes.containerd.wire import Missing, Pending, TimedOut

_TURNS = 4
"""How often a container that comes back to life in the middle of its stop is stopped again."""


class Stopper:
    """Stops containers. Any thread."""

    def __init__(self, looks: Looks) -> None:
        self._looks = looks
        self._wire = looks.wire
        self._known = looks.known
        self._limits = looks.limits

    def stop(self, key: ContainerKey, grace: timedelta) -> Halt:
        """Do what `Runtime.stop` says."""
        what = f"stop container {self._known.name(key)}"
        self._wire.reach(what)
        seen = self._known.last(key)
        if seen is None or not seen.running or not self._known.flowing:
            seen = self._looks.look(key, what)
        ordered = seen.is_ordered
        halt, seconds = None, max(0.0, grace.total_seconds())
        for _ in range(_TURNS):
            if seen.running:
                ended = self._end(seen, seconds, what)
                if ended is not None:
                    # A task that comes back now is used by nobody yet.
                    halt, seconds = replace(ended, ordered=ordered), 0.0
            elif halt is None:
                return _down(seen)
            elif not self._disarm(seen, what):
                return halt
            try:
                seen = self._looks.look(key, what)
            except ContainerGone:
                if halt is None:
                    raise
                return halt  # Made with `--rm`: its end was its removal.
        if seen.running or halt is None:
            raise RunsAgain(f"cannot {what}: it runs again", seen.run)
        return halt

    def _disarm(self, seen: Seen, what: str) -> bool:
        """Take away a restart label that was set too late for the stop to know of it. Return whether there was one."""
        labels = containerd_record.disarming(seen.definition.labels)
        if labels:
            self._looks.set_labels(seen.definition.key, labels, what).result(self._limits.look)
            threading.Event().wait(self._limits.settle)
        return bool(labels)

    def _end(self, seen: Seen, grace: float, what: str) -> Halt | None:
        """End this life. Return None when it had ended before."""
        key, known = seen.definition.key, self._known
        # Its event must find that it was asked for.
        known.blame(key, seen.run, True)
        labels = containerd_record.disarming(seen.definition.labels)
        labels |= containerd_io.saving(seen.definition, seen.streams or Streams())
        update = self._looks.set_labels(key, labels, what) if labels else None
        # The wait has no limit of its own, and comes before the kill: so no end is missed.
        end = self._wire.begin(calls.WAIT, what, key.namespace, None, container_id=key.id)
        disarmed, number = time.monotonic(), seen.definition.stop_signal
        try:
            if not self._kill(key, number, what):
                known.blame(key, seen.run, None)
                if update is not None:
                    update.result(self._limits.look)
                if STATUS in labels:
                    self._rearm(key, {**seen.definition.labels, **labels}, what)
                return None
            # A process that takes the signal may be gone by now, and one that does not is there.
            deaf = ears.deaf(seen.task.pid, key.id, number) if seen.task is not None else ""
            seen = self._thawed(seen, what)
            killed = self._await(seen, end, grace, what) and grace > 0
        finally:
            end.cancel()
        if update is not None:
            update.result(self._limits.look)
        if STATUS in labels:
            threading.Event().wait(max(0.0, disarmed + self._limits.settle - time.monotonic()))
        return Halt(seen.run, deaf=ears.words(deaf, number) if deaf and killed else "")

    def _rearm(self, key: ContainerKey, labels: Mapping[str, str], what: str) -> None:
        """Give its restart label back to one that had ended before our stop: no hold will do that."""
        armed = containerd_record.arming(labels, NO_RESTART)
        self._looks.set_labels(key, armed, what).result(self._limits.look)

    def _thawed(self, seen: Seen, what: str) -> Seen:
        """Let a paused container take its signal. Return it as it is, now that it was told to end."""
        key = seen.definition.key
        now = self._looks.look(key, what, seen.definition)
        if now.run != seen.run:
            self._known.blame(key, now.run, True)
        if now.task is not None and now.task.paused:
            self._resume(key, what)
        return now if now.run else seen

    def _resume(self, key: ContainerKey, what: str) -> None:
        try:
            self._wire.call(calls.RESUME, what, key.namespace, self._limits.kill, container_id=key.id)
        except TimedOut:
            raise
        except ContainerError:
            # Somebody else was faster, or it has ended; one that is paused for good is killed after its grace.
            return

    def _await(self, seen: Seen, end: Pending[End], grace: float, what: str) -> bool:
        """Wait until it has ended. Return whether it had to be killed."""
        key, killed = seen.definition.key, False
        try:
            try:
                answer = end.result(grace)
            except TimedOut:
                killed = self._kill(key, signal.SIGKILL, what, everything=True)
                answer = end.result(self._limits.after_kill)
        except Missing:
            return killed  # Its client has deleted the task, as it does for `--rm`.
        if seen.task is not None:
            self._known.ended(key, seen.task.pid, containerd_record.exit_(answer))
        return killed

    def _kill(self, key: ContainerKey, number: int, what: str, *, everything: bool = False) -> bool:
        """Send the signal. Return whether there was a process to take it."""
        fields = {"container_id": key.id, "signal": int(number), "all": everything}
        try:
            self._wire.call(calls.KILL, what, key.namespace, self._limits.kill, **fields)
        except Missing:
            return False
        return True


def _down(seen: Seen) -> Halt:
    container = seen.container()
    if not container.run:  # A container that never ran has not died of anything.
        return Halt("", Exit(0, datetime.now(UTC), asked=True))
    # A task that vanished without a seen end did not do so before it was to be stopped.
    return Halt(container.run, container.exit)
