"""The time of one life of the process."""

import time
from datetime import UTC, datetime, timedelta

from cmgr.frozen import replace
from cmgr.model.values.messages.facts import ContainerSeen, ContainersListed, ContainerStopped, Fact
from cmgr.model.values.services.containers import Container, Exit

_NOTABLE = timedelta(seconds=1)


class SteadyClock:
    """UTC at the start plus what has passed since: a clock that is set cannot fire or freeze a deadline.

    Implements `ports.Clock`.
    """

    def __init__(self) -> None:
        self.began = datetime.now(UTC)
        self._mark = time.monotonic()

    def now(self) -> datetime:
        return self.began + timedelta(seconds=time.monotonic() - self._mark)

    def drift(self) -> timedelta:
        """Return how far the system's clock is ahead of this one, because it was set. Any thread."""
        return datetime.now(UTC) - self.now()


def history_ends(system: datetime, noted: datetime | None, lived: timedelta) -> datetime:
    """Return the time from which the age of history is reckoned.

    That is the system's, unless more time has passed by it than anybody knows of: a clock that was wrong at boot must
    not make everything look old. `noted`: when an earlier life noted something last; `lived`: the length of this one.
    """
    return system if noted is None else min(system, noted + lived)


def steadied(fact: Fact, drift: timedelta) -> Fact:
    """Return the fact with the moments that a runtime told by the system's clock in the time of a `SteadyClock`.

    Without it one that died just now would, after a clock was set back by a day, have been dead for a day.
    """
    if abs(drift) < _NOTABLE:
        return fact
    match fact:
        case ContainerSeen():
            return replace(fact, container=_container(fact.container, drift))
        case ContainersListed():
            return replace(fact, containers=tuple(_container(c, drift) for c in fact.containers))
        case ContainerStopped() if fact.before is not None:
            return replace(fact, before=_exit(fact.before, drift))
        case _:
            return fact


def _container(container: Container, drift: timedelta) -> Container:
    return container if container.exit is None else replace(container, exit=_exit(container.exit, drift))


def _exit(end: Exit, drift: timedelta) -> Exit:
    return replace(end, at=end.at - drift)
