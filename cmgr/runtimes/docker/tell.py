"""Docker's events turned into what cmgr is told: which containers changed, and how they are now."""

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from cmgr.errors import ContainerError, ContainerGone
from cmgr.model.values.messages.facts import ContainerRemoved, ContainerSeen
from cmgr.model.values.services.containers import DEFAULT_GRACE, NO_RESTART
from cmgr.ports import RuntimeFact
from cmgr.runtimes.docker.deaths import Deaths
from cmgr.runtimes.docker.events import Event
from cmgr.runtimes.docker.inspect import NAME, Described, key
from cmgr.runtimes.docker.known import Known
from cmgr.runtimes.documents import signal_number
from cmgr.runtimes.following import Comings
from cmgr.runtimes.memory import order_lasts

_ENDING = (signal.SIGINT, signal.SIGKILL, signal.SIGTERM)
"""Signals that are sent to end a process. Any other, but a container's own stop signal, is an order to end only for the
end that it causes itself, which the code of that tells: SIGQUIT asks for a thread dump, SIGHUP for a reload."""

_KILLED_BY = 128
"""The exit code of a process that a signal has ended is the number of that signal, and so much more."""

_GONE_FOR = 30.0
"""Seconds for which a daemon that takes no calls is believed to be going."""


class Teller(Comings):
    """Looks at each container that an event speaks of, and tells what it found. On the watcher's thread.

    The order of the stream is the order of the looks, so that what is told last is the newest.
    """

    def __init__(
        self,
        look: Callable[[str], Described],
        known: Known,
        deaths: Deaths,
        tell: Callable[[RuntimeFact], None],
        takes_calls: Callable[[], bool],
    ) -> None:
        super().__init__(NAME, known, tell)
        self._look = look
        self._known = known
        self._deaths = deaths
        self._takes_calls = takes_calls
        self._back = float("-inf")
        self._begun: set[str] = set()
        self._gone_since: float | None = None

    def up(self, restarted: bool, came: datetime | None) -> None:
        self._begun.clear()
        self._gone_since = None
        # A daemon that came long ago has swept before anything that this stream tells.
        self._back = time.monotonic() if restarted and came is None else float("-inf")
        super().up(restarted, came)

    def past(self, event: Event) -> None:
        """Learn whose deaths were asked for; whose were not is not certain, for Docker forgets old events."""
        self._book(event, all_seen=False)

    def swept(self, id_: str) -> None:
        self._deaths.swept(id_)

    def event(self, event: Event) -> None:
        new = self._sweep(event) if self._is_sweep(event) else self._book(event, all_seen=True)
        if event.action == "destroy":
            self._deaths.drop(event.id)
            if self._known.drop(event.id):
                self._tell(ContainerRemoved(key(event.id)))
        elif new and not self._known.is_other(event.id):
            self._known.touch(event.id)
            self._see(event)

    def _is_sweep(self, event: Event) -> bool:
        """Return whether the daemon ends its containers as it goes, or, as it comes, what the last one left running."""
        if event.action not in ("start", "kill", "die", "stop"):
            return False
        if _moment(event) < self._back:
            if event.action == "start":
                self._begun.add(event.id)
            return event.action != "start" and event.id not in self._begun
        if event.action == "kill" and not self._known.is_other(event.id) and self._ends(event):
            self._look_whether_it_goes()
        if self._gone_since is None or event.action == "start":
            return False
        return self._deaths.asked(event.id, _moment(event)) is None

    def _look_whether_it_goes(self) -> None:
        now = time.monotonic()
        if self._gone_since is None or now - self._gone_since > _GONE_FOR:
            self._gone_since = None if self._takes_calls() else now

    def _sweep(self, event: Event) -> bool:
        self._deaths.swept(event.id)
        return event.action != "kill"

    def _book(self, event: Event, *, all_seen: bool) -> bool:
        """Note what the event says about a death. Return whether the container is to be looked at."""
        at = _moment(event)
        match event.action:
            case "start":
                self._deaths.started(event.id, at)
            case "kill":
                self._told_to_end(event, at)
                return False
            case "die":
                end = event.exit()
                code = end.code if end is not None else None
                self._deaths.died(event.id, at, code, all_seen=all_seen and event.blames)
            case "stop":
                # However long it took: that is not told before.
                known = self._deaths.asked(event.id, at) is True
                self._deaths.stopped(event.id, after_death=event.blames)
                return not known
            case _:
                pass
        return True

    def _told_to_end(self, event: Event, at: float) -> None:
        number, described = _signal(event), self._known.last(event.id)
        grace = described.container.grace if described is not None else DEFAULT_GRACE
        until = at + order_lasts(grace)
        if number == signal.SIGKILL:
            self._deaths.told(event.id)  # Nobody survives it, however late it takes effect.
        elif self._ends(event):
            self._deaths.asked_to_end(event.id, at, until)
        else:
            self._deaths.told(event.id, until, _KILLED_BY + number)

    def _ends(self, event: Event) -> bool:
        described = self._known.last(event.id)
        return _signal(event) in _ENDING or (described is not None and _signal(event) == described.stop_signal)

    def _see(self, event: Event) -> None:
        before = self._known.last(event.id)
        theirs = event.action == "update" and not self._known.was_ours(event.id)
        before_it = self._known.last_before(event.id, _moment(event))
        try:
            found = self._look(event.id)
        except ContainerGone:
            end = event.exit() if event.action == "die" else None
            if before is not None and end is not None:
                container = replace(before.container, running=False, exit=end)
                self._tell(ContainerSeen(self._deaths.completed(container)))
            return
        except ContainerError:
            return  # It has been touched: the next list looks at it again.
        if found.concerns and not _early(event, before, found):
            off = theirs and _is_switched_off(before_it, found)
            self._tell(ContainerSeen(replace(found.container, switched_off=off)))


def _is_switched_off(before: Described | None, found: Described) -> bool:
    """Return whether an update was about the restart policy, and switched it off: where it was off, nothing changes."""
    if before is None or found.container.restart_policy != NO_RESTART:
        return False
    return before.container.restart_policy != NO_RESTART or before.limits == found.limits


def _moment(event: Event) -> float:
    """Return when it happened, on the monotonic clock: whoever sets the other one moves both that and the event."""
    return event.at / 10**9 - time.time() + time.monotonic()


def _signal(event: Event) -> int:
    return signal_number(event.attributes.get("signal", ""))


def _early(event: Event, before: Described | None, found: Described) -> bool:
    """Return whether the look already found a death whose own event, which says more about it, is still to come."""
    if event.action in ("die", "stop") or found.container.exit is None:
        return False
    return event.action == "start" or (before is not None and before.container.running)
