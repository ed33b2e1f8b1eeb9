"""The settings that say what is done about a fault or an ailing container: levels, resets, isolation, limits."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Annotated

from cmgr.declare import Form, Meta
from cmgr.model.policy import (
    DEFAULT_LEVELS,
    HealPolicy,
    IsolationPolicy,
    LevelPolicy,
    LimitsPolicy,
    OnIsolate,
    ResetPolicy,
    RetryPolicy,
)
from cmgr.model.values.catalog import BY_SEVERITY
from cmgr.model.values.faults import Level

MODES = ("merge", "replace")

_RESET = ResetPolicy()
_ISOLATION = IsolationPolicy()
_RETRY = RetryPolicy()
_LIMITS = LimitsPolicy()
_HEAL = HealPolicy()


@dataclass(frozen=True, slots=True)
class Faults:
    file: Annotated[
        str, Meta("An operator's fault table, .json (the reference's format) or .toml; empty: none.", form=Form.PATH)
    ] = ""
    mode: Annotated[str, Meta("Whether that table is laid over the built-in one or replaces it.", choices=MODES)] = (
        "merge"
    )
    unknown: Annotated[
        str,
        Meta(
            "The level of a code in no table; severity follows the driver: minor or less is NotHandleFault, "
            "major and critical are SeparateNPU.",
            choices=(BY_SEVERITY, *Level.__members__),
        ),
    ] = BY_SEVERITY
    rules: Annotated[
        str,
        Meta("An operator's rules of escalation, .json (Ascend's format) or .toml; empty: none.", form=Form.PATH),
    ] = ""
    rules_mode: Annotated[
        str, Meta("Whether those rules are laid over the shipped ones or replace them.", choices=MODES)
    ] = "merge"
    software_window: Annotated[
        timedelta,
        Meta(
            "Within how long the same code on two chips of one container is taken for the software's doing and not "
            "counted; 0s: it always counts.",
            within=("0s", "1h"),
        ),
    ] = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class LevelSettings:
    stop: Annotated[bool, Meta("Whether the containers in scope are stopped.")] = True
    stop_after: Annotated[
        timedelta, Meta("How long the fault must have lasted before they are stopped.", within=("0s", "24h"))
    ] = field(default_factory=timedelta)
    reset: Annotated[bool, Meta("Whether the ring is reset once nobody uses it.")] = True
    reset_after: Annotated[
        timedelta, Meta("How long the fault must have lasted before the ring is reset.", within=("0s", "24h"))
    ] = field(default_factory=timedelta)
    idle: Annotated[
        timedelta, Meta("How long nobody must have used the ring before it is reset.", within=("0s", "24h"))
    ] = field(default_factory=timedelta)
    observe: Annotated[bool, Meta("Record faults of this level, and do nothing about them.")] = False

    def policy(self) -> LevelPolicy:
        return LevelPolicy(self.stop, self.reset, self.stop_after, self.reset_after, self.idle, self.observe)


@dataclass(frozen=True, slots=True)
class SeparateSettings:
    observe: Annotated[bool, Meta("Record faults of this level, and isolate no chip for them.")] = False


def _default(level: Level) -> LevelSettings:
    default = DEFAULT_LEVELS[level]
    return LevelSettings(default.stop, default.stop_after, default.reset, default.reset_after)


# Plain values, because a dataclass takes only values and factories for defaults.
_REQUEST, _BUSINESS, _FREE, _RESTART = (_default(level) for level in Level if level.handled)


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels that cmgr acts on; named as in `Level`."""

    RestartRequest: Annotated[LevelSettings, Meta("Faults that end one request.")] = _REQUEST
    RestartBusiness: Annotated[LevelSettings, Meta("Faults that end the service on the chip.")] = _BUSINESS
    FreeRestartNPU: Annotated[LevelSettings, Meta("Faults that need a reset when the chip is free.")] = _FREE
    RestartNPU: Annotated[LevelSettings, Meta("Faults that need a reset.")] = _RESTART

    SeparateNPU: Annotated[SeparateSettings, Meta("Faults that isolate the chip.")] = field(
        default_factory=SeparateSettings
    )

    def policy(self) -> dict[Level, LevelPolicy]:
        mine: dict[str, LevelSettings] = {level.name: getattr(self, level.name) for level in Level if level.handled}
        separate = replace(DEFAULT_LEVELS[Level.SeparateNPU], observe=self.SeparateNPU.observe)
        handled = {Level[name]: value.policy() for name, value in mine.items()}
        return {**DEFAULT_LEVELS, **handled, Level.SeparateNPU: separate}


@dataclass(frozen=True, slots=True)
class Reset:
    attempts: Annotated[
        int, Meta("How often a ring may be reset within window; after that its chips are isolated.", within=(1, 100))
    ] = _RESET.attempts
    window: Annotated[timedelta, Meta("The time that attempts counts in.", within=("1m", "30d"))] = _RESET.window
    backoff: Annotated[
        timedelta, Meta("The wait after a reset that failed, doubled each time.", within=("100ms", "24h"))
    ] = _RESET.backoff
    backoff_max: Annotated[timedelta, Meta("The longest such wait.", within=("100ms", "24h"))] = _RESET.backoff_max
    boot_timeout: Annotated[
        timedelta, Meta("How long chips may take to boot before the reset counts as failed.", within=("1s", "1h"))
    ] = _RESET.boot_timeout
    at_once: Annotated[int, Meta("How many rings may be in a reset at the same time.", within=(1, 64))] = _RESET.at_once
    widen_after: Annotated[
        timedelta | None,
        Meta(
            "How long a due reset waits for containers out of scope before it stops those of the whole ring too; "
            "empty: for ever.",
            within=("0s", "30d"),
        ),
    ] = _RESET.widen_after


@dataclass(frozen=True, slots=True)
class Isolation:
    on_isolate: Annotated[OnIsolate, Meta("What happens to the containers of an isolated chip.")] = (
        _ISOLATION.on_isolate
    )
    release_after: Annotated[
        timedelta,
        Meta(
            "How long an isolated chip must have reported no handled fault before it is used again.",
            within=("0s", "365d"),
        ),
    ] = _ISOLATION.release_after


@dataclass(frozen=True, slots=True)
class Retry:
    starts: Annotated[
        int, Meta("How many starts of a container may fail in a row before it is given up.", within=(1, 1000))
    ] = _RETRY.starts
    backoff: Annotated[
        timedelta, Meta("The wait after a stop or start that failed, doubled each time.", within=("100ms", "1h"))
    ] = _RETRY.backoff
    backoff_max: Annotated[timedelta, Meta("The longest such wait.", within=("100ms", "24h"))] = _RETRY.backoff_max


@dataclass(frozen=True, slots=True)
class Heal:
    limit: Annotated[
        int, Meta("How often one may be restarted within window; after that it is given up.", within=(1, 1000))
    ] = _HEAL.limit
    window: Annotated[timedelta, Meta("The time that limit counts in.", within=("1m", "30d"))] = _HEAL.window
    backoff: Annotated[
        timedelta,
        Meta("The wait before a restart, doubled with each one within window.", within=("100ms", "24h")),
    ] = _HEAL.backoff
    backoff_max: Annotated[timedelta, Meta("The longest such wait.", within=("100ms", "24h"))] = _HEAL.backoff_max

    def policy(self) -> HealPolicy:
        return HealPolicy(self.limit, self.window, self.backoff, self.backoff_max)


@dataclass(frozen=True, slots=True)
class Limits:
    rings_at_once: Annotated[
        int,
        Meta(
            "How many rings may be in an episode that stops containers at once; beyond that a person is waited for.",
            within=(1, 1000),
        ),
    ] = _LIMITS.rings_at_once
    episodes_per_hour: Annotated[
        int, Meta("How many episodes that stop containers may begin within an hour.", within=(1, 100000))
    ] = _LIMITS.episodes_per_hour
