"""Docker's events turned into what cmgr is told: which containers changed, and how they are now."""

import signal
import time
from collections.abc import Callable
from dataclasses import replace

from cmgr.errors import ContainerError, ContainerGone
from cmgr.model.values.messages.facts import ContainerRemoved, ContainerSeen
from cmgr.ports import RuntimeFact
from cmgr.runtimes.docker.deaths import Deaths
from cmgr.runtimes.docker.events import Event
from cmgr.runtimes.docker.inspect import NAME, Described, key
from cmgr.runtimes.docker.known import Known
from cmgr.runtimes.documents import signal_number
from cmgr.runtimes.following import Comings

_ENDING = (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL, signal.SIGTERM)

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
        self._back = 0
        self._begun: set[str] = set()
        self._gone_since: float | None = None

    def up(self, restarted: bool) -> None:
        self._begun.clear()
        self._gone_since = None
        self._back = time.time_ns() if restarted else 0
        super().up(restarted)

    def past(self, event: Event) -> None:
        """Learn whose deaths were asked for; whose were not is not certain, for Docker forgets old events."""
        self._book(event, all_seen=False)

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
        if event.at < self._back:
            if event.action == "start":
                self._begun.add(event.id)
            return event.action != "start" and event.id not in self._begun
        if event.action == "kill" and not self._known.is_other(event.id) and self._ends(event):
            self._look_whether_it_goes()
        return self._gone_since is not None and event.action != "start" and self._deaths.asked(event.id) is None

    def _look_whether_it_goes(self) -> None:
        now = time.monotonic()
        if self._gone_since is None or now - self._gone_since > _GONE_FOR:
            self._gone_since = None if self._takes_calls() else now

    def _sweep(self, event: Event) -> bool:
        self._deaths.swept(event.id)
        return event.action != "kill"

    def _book(self, event: Event, *, all_seen: bool) -> bool:
        """Note what the event says about a death. Return whether the container is to be looked at."""
        match event.action:
            case "start":
                self._deaths.started(event.id)
            case "kill":
                if self._ends(event):
                    self._deaths.told(event.id)
                return False
            case "die":
                self._deaths.died(event.id, all_seen=all_seen and event.blames)
            case "stop":
                # It follows the death. A kill with a stop signal that we did not know of is booked here.
                known = self._deaths.asked(event.id) is True
                self._deaths.told(event.id)
                return not known
            case _:
                pass
        return True

    def _ends(self, event: Event) -> bool:
        number = signal_number(event.attributes.get("signal", ""))
        described = self._known.last(event.id)
        return number in _ENDING or (described is not None and number == described.stop_signal)

    def _see(self, event: Event) -> None:
        before = self._known.last(event.id)
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
            self._tell(ContainerSeen(found.container))


def _early(event: Event, before: Described | None, found: Described) -> bool:
    """Return whether the look already found a death whose own event, which says more about it, is still to come."""
    if event.action in ("die", "stop") or found.container.exit is None:
        return False
    return event.action == "start" or (before is not None and before.container.running)
