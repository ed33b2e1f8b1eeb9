"""Every setting of cmgr: name, type, default, limits and what it is for, each said once."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated

from cmgr.config.around import Alarms, Bundles, Hooks
from cmgr.config.recovery_settings import Faults, Heal, Isolation, Levels, Limits, Reset, Retry
from cmgr.config.sim import Sim
from cmgr.config.sizes import Bytes
from cmgr.declare import Form, Meta
from cmgr.model.policy import NO_TIME, IsolationPolicy, LimitsPolicy, Policy, ResetPolicy, RetryPolicy, Strategy

DRIVERS = ("auto", "dcmi", "nvml", "sim")
RUNTIMES = ("auto", "docker", "containerd", "sim")
LOG_LEVELS = ("trace", "debug", "info", "warning", "error")

_LOG_SIZE = Bytes(20 << 20)


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
            "The address that metrics are served on, to everybody who can reach it; empty: off.",
            form=Form.ADDRESS,
            empty=True,
        ),
    ] = "127.0.0.1:9477"


@dataclass(frozen=True, slots=True)
class Log:
    level: Annotated[str, Meta("The least grave lines that are logged.", choices=LOG_LEVELS)] = "info"
    file: Annotated[str, Meta("A file that is logged to as well; empty: the journal only.", form=Form.PATH)] = ""
    max_size: Annotated[
        Bytes, Meta("How large that file may become before a new one is begun.", within=("64K", "1G"))
    ] = _LOG_SIZE
    max_age: Annotated[timedelta, Meta("How long older files are kept.", within=("1h", "3650d"))] = timedelta(days=7)
    max_files: Annotated[int, Meta("How many older files are kept.", within=(1, 1000))] = 30


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
    limits: Annotated[Limits, Meta("How much is stopped before a person has looked.")] = field(default_factory=Limits)
    retry: Annotated[Retry, Meta("Stops and starts that failed.")] = field(default_factory=Retry)
    heal: Annotated[Heal, Meta("Containers with the label cmgr.heal=true that ail though their chips are well.")] = (
        field(default_factory=Heal)
    )
    history: Annotated[History, Meta("What is remembered.")] = field(default_factory=History)
    metrics: Annotated[Metrics, Meta("Metrics for Prometheus.")] = field(default_factory=Metrics)
    alarms: Annotated[Alarms, Meta("Alarms: who is told of what happens, over HTTP.")] = field(default_factory=Alarms)
    hooks: Annotated[Hooks, Meta("Hooks: commands of yours that run at steps of a recovery.")] = field(
        default_factory=Hooks
    )
    bundles: Annotated[Bundles, Meta("Bundles: what is saved for a diagnosis before each reset.")] = field(
        default_factory=Bundles
    )
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
            limits=LimitsPolicy(self.limits.rings_at_once, self.limits.episodes_per_hour),
            heal=self.heal.policy(),
            software_window=self.faults.software_window,
        )
