"""Sending alarms over HTTP: one thread and one bounded queue for each receiver, which delay nobody."""

import json
import threading
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime

from cmgr import redact, trust
from cmgr.config import around
from cmgr.errors import CmgrError, chain
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.troubles import TroubleKind
from cmgr.service.log.setup import Log
from cmgr.service.notices.alarms import Alarm
from cmgr.service.notices.objects import RESEND, alerts, event
from cmgr.service.notices.post import Post, Rejected, post

ALERTMANAGER = "alertmanager"
ALERTS_PATH = "/api/v2/alerts"

_SAID_AFTER = 2
"""A request that failed once is tried again without a word in `cmgr status`."""


class Receiver:
    """Tells one receiver of alarms, in their order, from `put` to `close`. Any thread."""

    def __init__(self, receiver: around.Receiver, alarms: around.Alarms, host: str, log: Log) -> None:
        self.settings = receiver
        self.name = redact.address(receiver.url)
        self._alarms = alarms
        self._host = host
        self._log = log
        self._changed = threading.Condition()
        self._queue: deque[Alarm] = deque()
        self._standing: dict[str, Alarm] = {}
        self._failures = 0
        self._why = ""
        self._dropped = 0
        self._rejected = 0
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="alarms", daemon=True)
        self._thread.start()

    def put(self, alarm: Alarm) -> None:
        """Send the alarm soon, if the receiver wants it. Does not block, does not raise."""
        if not self._wants(alarm):
            return
        with self._changed:
            full = len(self._queue) >= self._alarms.queue
            if full:
                self._queue.popleft()
                self._dropped += 1
            first = full and self._dropped == 1
            self._queue.append(alarm)
            self._standing.pop(alarm.id, None)
            if not alarm.over:
                self._standing[alarm.id] = alarm
            self._changed.notify_all()
        if first:
            self._log.warn(f"too many alarms wait for {self.name}: the oldest are dropped")

    def _wants(self, alarm: Alarm) -> bool:
        events = self.settings.events
        # An alert that was sent has to be ended, whatever the event that ends it is called.
        ends = (
            self.settings.format == ALERTMANAGER
            and alarm.kind is TroubleKind.EPISODE
            and alarm.over
            and "detected" in events
        )
        return alarm.event in events or ends

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
        self._thread.join(seconds)
        left = len(self._queue)
        if left:
            self._log.warn(f"{left} alarms for {self.name} were not sent")

    # The thread.

    def _work(self) -> None:
        while (batch := self._next()) is not None:
            try:
                self._send(batch)
            except Rejected as error:
                self._rejects(batch, chain(error))
            except (CmgrError, OSError, ValueError) as error:
                self._fails(batch, chain(error))
                if not self._rested():
                    return
            else:
                self._arrived(batch)

    def _next(self) -> tuple[Alarm, ...] | None:
        """Return what is to be sent next: the oldest that waits, or all that stand when those are due again."""
        with self._changed:
            resends = self.settings.format == ALERTMANAGER and bool(self._standing)
            rest = RESEND.total_seconds() if resends else None
            self._changed.wait_for(lambda: self._queue or self._closed, rest)
            if self._queue:
                return (self._queue[0],)
            return None if self._closed else tuple(self._standing.values())

    def _send(self, batch: Sequence[Alarm]) -> None:
        settings = self.settings
        if settings.format == ALERTMANAGER:
            address = _with_path(settings.url)
            body = json.dumps(alerts(batch, self._host, datetime.now(UTC)))
        else:
            address, body = settings.url, json.dumps(event(batch[0], self._host))
        # Read each time: a token that was exchanged counts at once.
        token = trust.read(settings.token_file).strip() if settings.token_file else ""
        post(Post(address, body.encode(), token, settings.ca_file, self._alarms.timeout.total_seconds()))

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
            self._rejected += 1
            self._why = why
        self._log.warn(f"{self.name} does not take an alarm ({batch[0].event}): {why}; it is given up")

    def _fails(self, batch: Sequence[Alarm], why: str) -> None:
        with self._changed:
            self._failures += 1
            new, self._why = why != self._why, why
        if new:
            self._log.warn(f"cannot tell {self.name} of an alarm ({batch[0].event}): {why}; it is tried again")

    def _take_off(self, batch: Sequence[Alarm]) -> None:
        # It may have been dropped meanwhile, and another be the oldest.
        if self._queue and self._queue[0] is batch[0]:
            self._queue.popleft()

    def _rested(self) -> bool:
        """Wait before the next try. Return whether there will be one."""
        wait = backed_off(self._alarms.backoff, self._alarms.backoff_max, self._failures)
        with self._changed:
            return not self._changed.wait_for(lambda: self._closed, wait.total_seconds())


def _with_path(url: str) -> str:
    bare = url.rstrip("/")
    return bare if bare.endswith(ALERTS_PATH) else bare + ALERTS_PATH
