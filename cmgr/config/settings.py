"""Every setting of cmgr: name, type, default, limits and what it is for, each said once."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated

from cmgr.config.declare import Form, Meta
from cmgr.config.sim import Sim
from cmgr.model.catalog import BY_SEVERITY
from cmgr.model.faults import Level
from cmgr.model.policy import (
    DEFAULT_LEVELS,
    NO_TIME,
    IsolationPolicy,
    LevelPolicy,
    OnIsolate,
    Policy,
    ResetPolicy,
    RetryPolicy,
    Strategy,
)

DRIVERS = ("auto", "dcmi", "nvml", "sim")
RUNTIMES = ("auto", "docker", "containerd", "sim")
MODES = ("merge", "replace")
LOG_LEVELS = ("trace", "debug", "info", "warning", "error")

_RESET = ResetPolicy()
_ISOLATION = IsolationPolicy()
_RETRY = RetryPolicy()


@dataclass(frozen=True, slots=True)
class Docker:
    socket: Annotated[str, Meta("The socket of the Docker daemon.", form=Form.SOCKET)] = "/run/docker.sock"
    timeout: Annotated[
        timedelta,
        Meta(
            "How long Docker may take to list its containers before it counts as hanging. The limits of its other "
            "calls keep their proportion to this one.",
            within=("1s", "1h"),
        ),
    ] = timedelta(seconds=28)


@dataclass(frozen=True, slots=True)
class Containerd:
    address: Annotated[
        str,
        Meta("The socket of containerd.", form=Form.SOCKET),
    ] = "/run/containerd/containerd.sock"
    skip_namespaces: Annotated[
        tuple[str, ...],
        Meta("The namespaces whose containers are left alone; Docker's own, moby, always is.", empty=True),
    ] = ("moby", "k8s.io")
    timeout: Annotated[
        timedelta,
        Meta(
            "How long containerd may take to list a namespace before it counts as hanging. The limits of its other "
            "calls keep their proportion to this one.",
            within=("1s", "1h"),
        ),
    ] = timedelta(seconds=28)


@dataclass(frozen=True, slots=True)
class Dcmi:
    library: Annotated[
        str, Meta("The driver's library libdcmi.so, with its whole path; empty: searched for.", form=Form.PATH)
    ] = ""
    call_timeout: Annotated[
        timedelta, Meta("How long one chip may take over an answer before it counts as silent.", within=("100ms", "5s"))
    ] = timedelta(seconds=2)
    reset_timeout: Annotated[
        timedelta, Meta("How long the driver may take over the call that resets a chip.", within=("1s", "1h"))
    ] = timedelta(minutes=3)
    out_of_band: Annotated[
        bool, Meta("Whether a reset that failed is tried again through the out-of-band channel, where there is one.")
    ] = False
    booted: Annotated[int, Meta("The boot status of a chip that has booted.", within=(0, 65535))] = 16
    settle: Annotated[
        timedelta,
        Meta("How long after the call that resets a chip its boot status is not believed.", within=("0s", "10m")),
    ] = NO_TIME
    subscribe: Annotated[
        timedelta, Meta("The wait between the first tries to hear of faults.", within=("10ms", "1m"))
    ] = timedelta(seconds=1)
    poll: Annotated[
        timedelta, Meta("How often chips are polled while the driver tells of no faults.", within=("10ms", "1m"))
    ] = timedelta(seconds=2)


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

    def policy(self) -> LevelPolicy:
        return LevelPolicy(self.stop, self.reset, self.stop_after, self.reset_after)


def _default(level: Level) -> LevelSettings:
    default = DEFAULT_LEVELS[level]
    return LevelSettings(default.stop, default.stop_after, default.reset, default.reset_after)


# Plain values, because a dataclass takes only values and factories for defaults.
_REQUEST, _BUSINESS, _FREE, _RESTART = (_default(level) for level in Level if level.handled)


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels that open an episode; named as in `Level`."""

    RestartRequest: Annotated[LevelSettings, Meta("Faults that end one request.")] = _REQUEST
    RestartBusiness: Annotated[LevelSettings, Meta("Faults that end the service on the chip.")] = _BUSINESS
    FreeRestartNPU: Annotated[LevelSettings, Meta("Faults that need a reset when the chip is free.")] = _FREE
    RestartNPU: Annotated[LevelSettings, Meta("Faults that need a reset.")] = _RESTART

    def policy(self) -> dict[Level, LevelPolicy]:
        mine: dict[str, LevelSettings] = {level.name: getattr(self, level.name) for level in Level if level.handled}
        return {**DEFAULT_LEVELS, **{Level[name]: value.policy() for name, value in mine.items()}}


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
class History:
    keep: Annotated[
        timedelta, Meta("How long closed episodes and cleared faults are kept.", within=("1h", "3650d"))
    ] = timedelta(days=90)
    max_notes: Annotated[int, Meta("How many lines of all timelines are kept at most.", within=(1000, 10000000))] = (
        100000
    )


@dataclass(frozen=True, slots=True)
class Metrics:
    listen: Annotated[
        str,
        Meta(
            "The address that metrics are served on; empty: off. Read from the version on that has metrics.",
            form=Form.ADDRESS,
            empty=True,
        ),
    ] = "127.0.0.1:9477"


@dataclass(frozen=True, slots=True)
class Log:
    level: Annotated[str, Meta("The least grave lines that are logged.", choices=LOG_LEVELS)] = "info"
    file: Annotated[str, Meta("A file that is logged to as well; empty: the journal only.", form=Form.PATH)] = ""


@dataclass(frozen=True, slots=True)
class Config:
    """All settings. A field whose value is a dataclass is a table of the file."""

    strategy: Annotated[
        Strategy,
        Meta(
            "Whose containers are stopped when a chip faults: nobody's, those on the faulty chip, or those on any chip "
            "of its ring."
        ),
    ] = Strategy.NEVER
    observe: Annotated[bool, Meta("Decide and record everything, and do nothing.")] = False
    driver: Annotated[
        str, Meta("Where the chips come from; auto takes the driver that works here.", choices=DRIVERS)
    ] = "auto"
    runtimes: Annotated[
        tuple[str, ...], Meta("The container runtimes; auto takes those that answer here.", choices=RUNTIMES)
    ] = ("auto",)
    state_dir: Annotated[str, Meta("The directory of the database.", form=Form.PATH)] = "/var/lib/cmgr"
    socket: Annotated[str, Meta("The socket that the service answers on.", form=Form.SOCKET)] = "/run/cmgr/cmgr.sock"
    resync: Annotated[
        timedelta, Meta("How often runtimes and driver are asked for the whole truth.", within=("1s", "1h"))
    ] = timedelta(seconds=60)
    allow_injection: Annotated[bool, Meta("Whether faults may be pretended on real chips.")] = False
    docker: Annotated[Docker, Meta("Docker.")] = field(default_factory=Docker)
    containerd: Annotated[Containerd, Meta("containerd.")] = field(default_factory=Containerd)
    dcmi: Annotated[Dcmi, Meta("The driver of Ascend chips.")] = field(default_factory=Dcmi)
    sim: Annotated[Sim, Meta('Simulated chips, for driver = "sim".')] = field(default_factory=Sim)
    faults: Annotated[Faults, Meta("The fault tables: which level a code has.")] = field(default_factory=Faults)
    levels: Annotated[Levels, Meta("What is done about a fault of each level.")] = field(default_factory=Levels)
    reset: Annotated[Reset, Meta("Resets of rings.")] = field(default_factory=Reset)
    isolation: Annotated[Isolation, Meta("Chips that need a person or a clean period.")] = field(
        default_factory=Isolation
    )
    retry: Annotated[Retry, Meta("Stops and starts that failed.")] = field(default_factory=Retry)
    history: Annotated[History, Meta("What is remembered.")] = field(default_factory=History)
    metrics: Annotated[Metrics, Meta("Metrics for Prometheus.")] = field(default_factory=Metrics)
    log: Annotated[Log, Meta("The log.")] = field(default_factory=Log)

    def policy(self) -> Policy:
        """Return the part that decisions depend on."""
        reset = self.reset
        return Policy(
            strategy=self.strategy,
            observe=self.observe,
            levels=self.levels.policy(),
            reset=ResetPolicy(
                attempts=reset.attempts,
                window=reset.window,
                backoff=reset.backoff,
                backoff_max=reset.backoff_max,
                boot_timeout=reset.boot_timeout,
                at_once=reset.at_once,
                widen_after=reset.widen_after,
            ),
            isolation=IsolationPolicy(self.isolation.on_isolate, self.isolation.release_after),
            retry=RetryPolicy(self.retry.starts, self.retry.backoff, self.retry.backoff_max),
        )
