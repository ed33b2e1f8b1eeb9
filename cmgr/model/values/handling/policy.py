"""How cmgr is told to act: the part of the configuration that decisions depend on.

Its classes but `Policy` are tables of the configuration file, and each field says what the file's reader must know.
"""

from collections.abc import Mapping
from dataclasses import field, fields
from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from cmgr.declare import Form, Meta
from cmgr.frozen import dataclass, replace
from cmgr.model.values.faults import Level
from cmgr.model.values.handling.calendar import REBOOT_WINDOW, RESET_WINDOWS, Drill, Window
from cmgr.model.values.handling.questions import Asking

NO_TIME = timedelta()

IDLE = "idle"
"""The reset of what is not urgent: it comes when nobody uses the ring."""

OF_IMAGE = "image:"
"""So begins a pattern of images."""

BOOT = timedelta(minutes=10)
"""How long chips may take to boot where the configuration does not say that: one driver's own limit for the load of a
chip's firmware (devdrv_device_load.h, 2026-07), and more than any maker's tool waits."""

LATE = timedelta(seconds=150)
"""How long the others of its ring wait for a chip that boots: most have by then."""


class Strategy(StrEnum):
    """Whose containers are stopped when a chip faults."""

    NEVER = "never"
    SINGLE = "singleRecover"
    RING = "ringRecover"


class OnIsolate(StrEnum):
    """The treatment of containers on a chip that becomes isolated."""

    LEAVE = "leave"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class LevelPolicy:
    """The treatment that a level asks for, and after the fault has lasted how long."""

    stop: Annotated[bool, Meta("Whether the containers in scope are stopped.")] = True
    stop_after: Annotated[
        timedelta, Meta("How long the fault must have lasted before they are stopped.", within=("0s", "24h"))
    ] = NO_TIME
    reset: Annotated[
        bool | str,
        Meta(
            'Whether the ring is reset once nobody uses it; "idle": its containers run on until nobody uses it, or its '
            "window opens, or somebody types cmgr reset.",
            choices=("idle",),
        ),
    ] = True
    reset_after: Annotated[
        timedelta, Meta("How long the fault must have lasted before the ring is reset.", within=("0s", "24h"))
    ] = NO_TIME
    idle: Annotated[
        timedelta, Meta("How long nobody must have used the ring before it is reset.", within=("0s", "24h"))
    ] = NO_TIME
    idle_at_most: Annotated[
        timedelta | None,
        Meta(
            'How long a reset with reset = "idle" waits for that before the containers in scope are stopped for it; '
            "empty: for ever.",
            within=("0s", "30d"),
        ),
    ] = None
    busy: Annotated[
        bool,
        Meta(
            "Whether containers that say that they are busy (cmgr.busy) are waited for before they are stopped, for "
            "limits.busy at most."
        ),
    ] = True
    observe: Annotated[bool, Meta("Record faults of this level, and do nothing about them.")] = False
    window: Annotated[
        tuple[Window, ...],
        Meta(
            "When containers are stopped and rings reset for faults of this level, while all of them still run; empty: "
            "at any time."
        ),
    ] = ()

    @property
    def spares(self) -> bool:
        """Return whether those who run are let run on until nobody uses the ring."""
        return self.reset == IDLE


@dataclass(frozen=True, slots=True)
class SeparatePolicy:
    """The settings of the level that isolates chips: it asks for nothing else."""

    observe: Annotated[bool, Meta("Record faults of this level, and isolate no chip for them.")] = False


_NOTHING = LevelPolicy(stop=False, reset=False)


@dataclass(frozen=True, slots=True)
class Levels:
    """The treatment of a fault of each level, in a field of its name; a level that can be configured has a sentence.

    With its number in `Level` this is all that makes a level: the key of its codes in a fault table is its name, too.
    """

    NotHandleFault: LevelPolicy = _NOTHING
    RestartRequest: Annotated[LevelPolicy, Meta("Faults that end one request.")] = LevelPolicy(
        reset_after=timedelta(seconds=60)
    )
    RestartBusiness: Annotated[LevelPolicy, Meta("Faults that end the service on the chip.")] = LevelPolicy(
        reset_after=timedelta(seconds=60)
    )
    FreeRestartNPU: Annotated[LevelPolicy, Meta("Faults that need a reset when the chip is free.")] = LevelPolicy(
        reset=IDLE
    )
    RestartNPU: Annotated[LevelPolicy, Meta("Faults that need a reset.")] = LevelPolicy(busy=False)
    SeparateNPU: Annotated[SeparatePolicy, Meta("Faults that isolate the chip.")] = SeparatePolicy()

    def policies(self) -> dict[Level, LevelPolicy]:
        """Return the policy of each level."""
        missing = {level.name for level in Level}.symmetric_difference(f.name for f in fields(self))
        assert not missing, f"{', '.join(sorted(missing))}: a level is a member of Level and a field of Levels"
        return {level: _policy(getattr(self, level.name)) for level in Level}


def _policy(policy: LevelPolicy | SeparatePolicy) -> LevelPolicy:
    return replace(_NOTHING, observe=policy.observe) if isinstance(policy, SeparatePolicy) else policy


DEFAULT_LEVELS: Mapping[Level, LevelPolicy] = Levels().policies()


@dataclass(frozen=True, slots=True)
class ResetPolicy:
    """How a ring is reset, and how often before its chips are isolated."""

    attempts: Annotated[
        int, Meta("How often a ring may be reset within window; after that its chips are isolated.", within=(1, 100))
    ] = 3
    window: Annotated[timedelta, Meta("The time that attempts counts in.", within=("1m", "30d"))] = timedelta(hours=6)
    backoff: Annotated[
        timedelta, Meta("The wait after a reset that failed, doubled each time.", within=("100ms", "24h"))
    ] = timedelta(seconds=10)
    backoff_max: Annotated[timedelta, Meta("The longest such wait.", within=("100ms", "24h"))] = timedelta(minutes=5)
    boot_timeout: Annotated[
        timedelta | None,
        Meta(
            "How long chips may take to boot before they count as chips that do not come up, which are kept out until "
            "they do; empty: 10 min. Chips of their ring that are up are used after 150 s at the latest.",
            within=("1s", "1h"),
        ),
    ] = None
    at_once: Annotated[
        int,
        Meta(
            "How many rings the driver may be resetting at the same time; those that boot do not count.", within=(1, 64)
        ),
    ] = 1
    widen_after: Annotated[
        timedelta | None,
        Meta(
            "How long a due reset waits for containers of its ring that are not on a faulty chip before they are "
            "stopped too, where that ends the wait; empty: for ever.",
            within=("0s", "30d"),
        ),
    ] = timedelta(minutes=10)
    window_hours: Annotated[
        tuple[Window, ...],
        Meta(
            "When rings are reset for faults of levels that stop nobody (stop = false) and have no window of their "
            "own; empty: at any time."
        ),
    ] = ()
    test: Annotated[
        str,
        Meta(
            "The program that tests each chip after its reset, before anything is started on its ring, with its whole "
            "path; empty: none. Those that come with cmgr are in /usr/share/cmgr/tests.",
            form=Form.PATH,
            example='"/usr/share/cmgr/tests/npu-smi"',
        ),
    ] = ""
    test_timeout: Annotated[
        timedelta,
        Meta(
            "How long the test of one chip may take before it is killed, and the chip has failed.", within=("1s", "1h")
        ),
    ] = timedelta(minutes=5)

    @property
    def boot(self) -> timedelta:
        """How long chips may take to boot."""
        return BOOT if self.boot_timeout is None else self.boot_timeout

    @property
    def late(self) -> timedelta:
        """How long the others of its ring wait for a chip that boots."""
        return min(self.boot, LATE)


@dataclass(frozen=True, slots=True)
class IsolationPolicy:
    """The effect of an isolation, and when it ends by itself."""

    on_isolate: Annotated[OnIsolate, Meta("The lot of an isolated chip's containers.")] = OnIsolate.LEAVE
    release_after: Annotated[
        timedelta,
        Meta(
            "How long an isolated chip must have reported no handled fault before it is used again.",
            within=("0s", "365d"),
        ),
    ] = timedelta(seconds=300)


class Packing(StrEnum):
    """Which rings spare chips are taken from first: those of which the least is free, or those of which the most is."""

    BINPACK = "binpack"
    SPREAD = "spread"


@dataclass(frozen=True, slots=True)
class SparePolicy:
    """The chips that services are moved to, from those that are isolated."""

    policy: Annotated[
        Packing,
        Meta("The rings that chips are taken from first: those of which least is free (binpack), or most (spread)."),
    ] = Packing.BINPACK
    reserve: Annotated[
        int, Meta("How many free chips are kept for moves: no new slot and nobody who asks gets them.", within=(0, 64))
    ] = 0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How failed stops and starts are tried again."""

    starts: Annotated[
        int,
        Meta(
            "How many starts of a container may fail in a row before it is shown as failed; it is tried on after that, "
            "every backoff_max.",
            within=(1, 1000),
        ),
    ] = 5
    backoff: Annotated[
        timedelta, Meta("The wait after a stop or start that failed, doubled each time.", within=("100ms", "1h"))
    ] = timedelta(seconds=1)
    backoff_max: Annotated[timedelta, Meta("The longest such wait.", within=("100ms", "24h"))] = timedelta(seconds=60)
    settle: Annotated[
        timedelta,
        Meta("How long a container must run after its start before it counts as recovered.", within=("0s", "1h")),
    ] = timedelta(seconds=30)
    ready: Annotated[
        timedelta,
        Meta(
            "How long a container that is asked whether it serves (cmgr.ready) may take to answer after a start: large "
            "models load for minutes.",
            within=("1s", "24h"),
        ),
    ] = timedelta(minutes=10)
    owner_window: Annotated[
        timedelta,
        Meta(
            "A start that is not cmgr's and comes so soon after its stop is made by something that keeps the container "
            "running (a systemd unit, docker compose): it is stopped again. A later one is a person's.",
            within=("0s", "1h"),
        ),
    ] = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class LimitsPolicy:
    """How much is stopped before a person has looked."""

    rings_at_once: Annotated[
        int,
        Meta(
            "How many rings may be in an episode that stops containers at once; beyond that a person is waited for.",
            within=(1, 1000),
        ),
    ] = 8
    episodes_per_hour: Annotated[
        int, Meta("How many episodes that stop containers may begin within an hour.", within=(1, 100000))
    ] = 60
    mercy: Annotated[
        timedelta,
        Meta(
            "How long a container whose own chips are well may be down for a reset of its ring that does not begin; "
            "then it is started again, and not stopped for this fault before nothing is in the way. The time in which "
            "others are being stopped does not count.",
            within=("1s", "24h"),
        ),
    ] = timedelta(minutes=5)
    order_wait: Annotated[
        timedelta,
        Meta(
            "How long a container may be kept waiting for others of its ring by the label cmgr.order; for one that is "
            "told to stop, never longer than that one's grace.",
            within=("0s", "1h"),
        ),
    ] = timedelta(seconds=60)
    busy: Annotated[
        timedelta,
        Meta(
            "How long containers that say that they are busy (cmgr.busy) are waited for before they are stopped for a "
            "fault that is not urgent (levels.*.busy); 0s: none is asked.",
            within=("0s", "24h"),
        ),
    ] = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class HealPolicy:
    """How containers that wish it are restarted when they ail."""

    limit: Annotated[
        int, Meta("How often one may be restarted within window; after that it is given up.", within=(1, 1000))
    ] = 5
    window: Annotated[timedelta, Meta("The time that limit counts in.", within=("1m", "30d"))] = timedelta(hours=1)
    backoff: Annotated[
        timedelta, Meta("The wait before a restart, doubled with each one within window.", within=("100ms", "24h"))
    ] = timedelta(seconds=10)
    backoff_max: Annotated[timedelta, Meta("The longest such wait.", within=("100ms", "24h"))] = timedelta(minutes=5)


class RebootWhen(StrEnum):
    """When cmgr reboots the machine by itself, where nothing else helps."""

    NEVER = "never"
    WINDOW = "window"
    NOW = "now"


@dataclass(frozen=True, slots=True)
class RebootPolicy:
    """Whether and when the machine is rebooted. `delay`: how long before that it is announced."""

    when: RebootWhen = RebootWhen.NEVER
    delay: timedelta = timedelta(minutes=5)
    window: tuple[Window, ...] = ()


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
    spares: SparePolicy = SparePolicy()
    software_window: timedelta = timedelta(seconds=30)
    """Within so short a time the same code on two chips of one container is the software's doing; 0: it never is."""
    machine_quiet: timedelta = timedelta(hours=24)
    """How long after something last happened to the machine it counts as over."""
    ignore: tuple[str, ...] = ()
    """Patterns of the names of containers that use no chip, or after `OF_IMAGE` of their images."""
    reboot: RebootPolicy = RebootPolicy()
    death_window: timedelta = timedelta(seconds=60)
    """How long before an episode a container may have died of its fault."""
    cdi_chips: bool = False
    """Whether a CDI file with a device for each chip is kept."""
    daemon_grace: timedelta = timedelta(seconds=10)
    """How long after a runtime came up a start is its restart policy's and not a person's."""

    drills: tuple[Drill, ...] = ()
    ready: tuple[Asking, ...] = ()

    def windows(self) -> dict[str, tuple[Window, ...]]:
        """Return the windows that resets and a reboot wait for, by the name of their setting."""
        named = {window_name(level): policy.window for level, policy in self.levels.items()}
        named |= {RESET_WINDOWS: self.reset.window_hours, REBOOT_WINDOW: self.reboot.window}
        return {name: windows for name, windows in named.items() if windows}

    def window_of(self, level: Level) -> str:
        """Return the name of the setting whose windows faults of this level wait for; nothing where they do not."""
        policy = self.levels[level]
        if policy.window:
            return window_name(level)
        return RESET_WINDOWS if self.reset.window_hours and policy.reset and not policy.stop else ""


def window_name(level: Level) -> str:
    return f"levels.{level.name}.window"


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
