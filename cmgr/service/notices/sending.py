"""Sending alarms: one bounded queue for each receiver, and one thread from its first alarm on, which delay nobody."""

import threading
from collections import deque
from collections.abc import Sequence
from datetime import timedelta

from cmgr.config.receivers import named
from cmgr.errors import CmgrError, chain
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.troubles import TroubleKind
from cmgr.service.log.setup import Log
from cmgr.service.notices.alarms import Alarm
from cmgr.service.notices.channel import Channel, Rejected, TooFast
from cmgr.service.notices.objects import RESEND
from cmgr.service.notices.ways import GROUPED, way_of

ALERTMANAGER = "alertmanager"

WAITS = timedelta(seconds=1), timedelta(minutes=1)
"""The wait after a request that failed, which is doubled each time, and the longest one."""

MOST = 1000
"""How many alarms wait for one receiver; then the oldest is dropped."""

_SAID_AFTER = 2
"""A request that failed once is tried again without a word in `cmgr status`."""


class Receiver:
    """Tells one receiver of alarms, in their order, from `put` to `close`. Any thread."""

    def __init__(self, channel: Channel, log: Log) -> None:
        self.settings = channel.receiver
        self.name = named(channel.receiver)
        self._channel = channel
        self._log = log
        self._grouped = channel.receiver.format in GROUPED
        self._changed = threading.Condition()
        self._queue: deque[Alarm] = deque()
        self._standing: dict[str, Alarm] = {}
        self._failures = 0
        self._why = ""
        self._dropped = 0
        self._rejected = 0
        self._closed = False
        self._thread: threading.Thread | None = None

    def put(self, alarm: Alarm) -> None:
        """Send the alarm soon, if the receiver wants it. Does not block, does not raise."""
        with self._changed:
            if not self._wants(alarm):
                return
            full = len(self._queue) >= MOST
            if full:
                self._queue.popleft()
                self._dropped += 1
            first = full and self._dropped == 1
            self._queue.append(alarm)
            self._standing.pop(alarm.id, None)
            if not alarm.over:
                self._standing[alarm.id] = alarm
            if self._thread is None:
                self._begin()
            self._changed.notify_all()
        if first:
            self._log.warn(f"too many alarms wait for {self.name}: the oldest are dropped")

    def _begin(self) -> None:
        thread = threading.Thread(target=self._work, name="alarms", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # There are too many already: the next alarm tries it again.
            self._failures, self._why = _SAID_AFTER, chain(error)
        else:
            self._thread = thread

    def _wants(self, alarm: Alarm) -> bool:
        # A receiver that is told of those that are down is told of those at once that have failed.
        told_as = {alarm.event, TroubleKind.DOWN.event if alarm.kind is TroubleKind.FAILED else alarm.event}
        # An alarm that was sent is ended, whatever the event is called that ends it. Of an episode people choose steps.
        files = self.settings.format == ALERTMANAGER or alarm.kind is not TroubleKind.EPISODE
        return not told_as.isdisjoint(self.settings.events) or (alarm.over and files and alarm.id in self._standing)

    def trouble(self) -> str:
        """Return what is wrong with the sending, or nothing."""
        with self._changed:
            lost = [f"{self._dropped} dropped"] if self._dropped else []
            lost += [f"{self._rejected} rejected"] if self._rejected else []
            if self._failures < _SAID_AFTER and not lost:
                return ""
            why = f": {self._why}" if self._why else ""
            return f"alarms do not reach {self.name}{why} ({', '.join([f'{len(self._queue)} wait', *lost])})"

    def end(self) -> None:
        """Send what waits, wait for nothing else, and end. Does not block."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def close(self, seconds: float) -> None:
        """End, and wait for that for so many seconds at most."""
        self.end()
        if self._thread is not None:
            self._thread.join(seconds)
        left = len(self._queue)
        if left:
            self._log.warn(f"{left} alarms for {self.name} were not sent")

    # The thread.

    def _work(self) -> None:
        while (batch := self._next()) is not None:
            try:
                way_of(self.settings.format).send(self._channel, batch, self._dropped)
            except Rejected as error:
                self._rejects(batch, chain(error))
            except (CmgrError, OSError, ValueError, ImportError) as error:
                self._fails(batch, chain(error))
                if self._rested(pause(self._failures, self._every, error)):
                    return
                continue
            else:
                self._arrived(batch)
            # At the end what waits is sent at once.
            self._rested(self._every)

    @property
    def _every(self) -> float:
        return self.settings.every.total_seconds() if self._grouped else 0.0

    def _next(self) -> tuple[Alarm, ...] | None:
        """Return what is to be sent next: what waits, one by one or all of it, or all that stand when those are due."""
        with self._changed:
            resends = self.settings.format == ALERTMANAGER and bool(self._standing)
            rest = RESEND.total_seconds() if resends else None
            self._changed.wait_for(lambda: self._queue or self._closed, rest)
            if self._queue:
                return tuple(self._queue) if self._grouped else (self._queue[0],)
            return None if self._closed else tuple(self._standing.values())

    def _arrived(self, batch: Sequence[Alarm]) -> None:
        with self._changed:
            self._take_off(batch)
            failed, lost = self._failures > 0, self._dropped + self._rejected
            self._failures, self._why, self._dropped, self._rejected = 0, "", 0, 0
        if failed or lost:
            self._log.say(f"alarms reach {self.name} again" + (f"; {lost} were lost" if lost else ""))

    def _rejects(self, batch: Sequence[Alarm], why: str) -> None:
        with self._changed:
            self._take_off(batch)
            self._rejected += len(batch)
            self._why = why
        self._log.warn(f"{self.name} does not take an alarm ({batch[0].event}): {why}; it is given up")

    def _fails(self, batch: Sequence[Alarm], why: str) -> None:
        with self._changed:
            self._failures += 1
            new, self._why = why != self._why, why
        if new:
            self._log.warn(f"cannot tell {self.name} of an alarm ({batch[0].event}): {why}; it is tried again")

    def _take_off(self, batch: Sequence[Alarm]) -> None:
        # Some of them may have been dropped meanwhile, and another be the oldest.
        sent = set(map(id, batch))
        while self._queue and id(self._queue[0]) in sent:
            self._queue.popleft()

    def _rested(self, seconds: float) -> bool:
        """Wait for so long. Return whether the end has come meanwhile."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closed, seconds) if seconds else False


def pause(failures: int, every: float, error: Exception) -> float:
    """Return how many seconds to wait before what has failed so often is tried again."""
    wait = backed_off(*WAITS, failures).total_seconds()
    return max(wait, every, error.seconds if isinstance(error, TooFast) else 0.0)
