"""How cmgr is told to act: the part of the configuration that decisions depend on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from cmgr.model.values.faults import Level

NO_TIME = timedelta()


class Strategy(StrEnum):
    """Whose containers are stopped when a chip faults."""

    NEVER = "never"
    SINGLE = "singleRecover"
    RING = "ringRecover"


class OnIsolate(StrEnum):
    """What happens to the containers of a chip that becomes isolated."""

    LEAVE = "leave"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class LevelPolicy:
    """What a level asks for, and after the fault has lasted how long.

    `idle`: how long nobody must have used the ring before it is reset. `observe`: faults of this level are recorded,
    and nothing else.
    """

    stop: bool
    reset: bool
    stop_after: timedelta = NO_TIME
    reset_after: timedelta = NO_TIME
    idle: timedelta = NO_TIME
    observe: bool = False


DEFAULT_LEVELS: Mapping[Level, LevelPolicy] = {
    Level.NotHandleFault: LevelPolicy(stop=False, reset=False),
    Level.RestartRequest: LevelPolicy(stop=True, reset=True, reset_after=timedelta(seconds=60)),
    Level.RestartBusiness: LevelPolicy(stop=True, reset=True, reset_after=timedelta(seconds=60)),
    Level.FreeRestartNPU: LevelPolicy(stop=True, reset=True),
    Level.RestartNPU: LevelPolicy(stop=True, reset=True),
    Level.SeparateNPU: LevelPolicy(stop=False, reset=False),
}


@dataclass(frozen=True, slots=True)
class ResetPolicy:
    """`attempts` resets in `window`; between failed ones `backoff`, doubled each time up to `backoff_max`.

    `widen_after`: how long a due reset waits for ring mates out of scope before it stops them too; None is never.
    """

    attempts: int = 3
    window: timedelta = timedelta(hours=6)
    backoff: timedelta = timedelta(seconds=10)
    backoff_max: timedelta = timedelta(minutes=5)
    boot_timeout: timedelta = timedelta(seconds=150)
    at_once: int = 1
    widen_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class IsolationPolicy:
    on_isolate: OnIsolate = OnIsolate.LEAVE
    release_after: timedelta = timedelta(seconds=300)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How failed stops and starts are tried again, and after how many failed starts a container is given up."""

    starts: int = 5
    backoff: timedelta = timedelta(seconds=1)
    backoff_max: timedelta = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class LimitsPolicy:
    """How many rings may be in an episode that stops containers, at once and within an hour."""

    rings_at_once: int = 8
    episodes_per_hour: int = 60


@dataclass(frozen=True, slots=True)
class HealPolicy:
    """Containers that wish it are restarted when they ail: `limit` times within `window`, each after a wait.

    The wait is `backoff`, doubled with each restart within the window up to `backoff_max`.
    """

    limit: int = 5
    window: timedelta = timedelta(hours=1)
    backoff: timedelta = timedelta(seconds=10)
    backoff_max: timedelta = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Policy:
    strategy: Strategy = Strategy.NEVER
    observe: bool = False
    levels: Mapping[Level, LevelPolicy] = field(default_factory=lambda: DEFAULT_LEVELS)
    reset: ResetPolicy = ResetPolicy()
    isolation: IsolationPolicy = IsolationPolicy()
    retry: RetryPolicy = RetryPolicy()
    limits: LimitsPolicy = LimitsPolicy()
    heal: HealPolicy = HealPolicy()
    software_window: timedelta = timedelta(seconds=30)
    """Within so short a time the same code on two chips of one container is the software's doing; 0: it never is."""
    death_window: timedelta = timedelta(seconds=60)
    """How long before an episode a container may have died of its fault."""
    daemon_grace: timedelta = timedelta(seconds=10)
    """How long after a runtime came up a start is its restart policy's and not a person's."""


_LOOK_SOON = timedelta(seconds=1)
_LOOK_AGAIN = timedelta(seconds=10)


def look_again_after(waited: timedelta, least: timedelta, part: int) -> timedelta:
    """Return how long to wait before looking once more for what was waited for so long already.

    A part of that: a second at most in the first minute, then ever more seldom, every ten seconds in the end.
    """
    return min(_LOOK_AGAIN, max(least, min(_LOOK_SOON, waited / part), waited / 60))


def backed_off(first: timedelta, most: timedelta, failures: int) -> timedelta:
    """Return how long to wait after that many failures in a row (1 or more)."""
    # 2**20 of any first wait is past every limit, and keeps the number small however long it goes on.
    factor: int = 2 ** min(failures - 1, 20)
    return min(most, first * factor)
