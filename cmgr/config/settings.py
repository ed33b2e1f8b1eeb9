"""Every setting of cmgr: name, type, default, limits and what it is for, each said once."""

from dataclasses import field, make_dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

from cmgr.config.around import Alarms, Bundles, Hooks
from cmgr.config.engine import FleetSettings
from cmgr.config.reporters import Reports
from cmgr.config.roles import Holder
from cmgr.config.sim import Sim
from cmgr.config.sources import Machine
from cmgr.declare import Form, Meta
from cmgr.frozen import dataclass
from cmgr.model.values.faults import Level
from cmgr.model.values.handling.calendar import MAINTENANCE_WINDOWS, Drill, Exercise, Window
from cmgr.model.values.handling.catalog import BY_SEVERITY
from cmgr.model.values.handling.policy import (
    HealPolicy,
    IsolationPolicy,
    Levels,
    LimitsPolicy,
    Policy,
    ResetPolicy,
    RetryPolicy,
    SparePolicy,
    Strategy,
)
from cmgr.model.values.handling.questions import Asking, question
from cmgr.vendor import vendors

DRIVERS = ("auto", *(vendor.name for vendor in vendors()), "sim")
RUNTIMES = ("auto", "docker", "containerd", "sim")
MODES = ("merge", "replace")
GIVING = ("auto", "variable", "devices")
LOG_LEVELS = ("trace", "debug", "info", "warning", "error")

if TYPE_CHECKING:
    Drivers = Any
else:
    Drivers = make_dataclass(
        "Drivers",
        [(v.name, Annotated[v.settings, Meta(v.sentence)], field(default_factory=v.settings)) for v in vendors()],
        frozen=True,
        slots=True,
    )
    """The table of each driver of real chips, as its vendor declares it."""


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
class Containers:
    """Containers of all runtimes."""

    ignore: Annotated[
        tuple[str, ...],
        Meta(
            "Containers that use no chip, whatever they could reach (exporters, agents, shells): patterns of their "
            'names, or after "image:" of what they were made of, such as "exporter*" or "image:*/node-agent:*". '
            "They are never stopped; a reset waits for one only while the driver lists a process of it on the ring.",
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of systemd that cmgr takes care of. `strategy` None: that of the service."""

    name: Annotated[str, Meta("Its name.", form=Form.UNIT)]
    chips: Annotated[tuple[int, ...], Meta("The chips that its processes use.", within=(0, 9999))] = ()
    strategy: Annotated[Strategy | None, Meta('Its own strategy; "" takes that of the service.')] = None
    order: Annotated[int, Meta("Stopped from high to low, started from low to high.", within=(-1000000, 1000000))] = 0


@dataclass(frozen=True, slots=True)
class Systemd:
    bus: Annotated[str, Meta("The socket of the D-Bus on which systemd answers.", form=Form.SOCKET)] = (
        "/run/dbus/system_bus_socket"
    )
    adopt: Annotated[
        bool,
        Meta("Whether a container whose client runs in a unit belongs to that unit without the label cmgr.unit, too."),
    ] = False
    units: Annotated[tuple[Unit, ...], Meta("Units whose processes use chips without any container.")] = ()


@dataclass(frozen=True, slots=True)
class Cdi:
    """The CDI files by which container runtimes give chips."""

    dir: Annotated[str, Meta("The directory of CDI files, which the container runtimes read.", form=Form.PATH)] = (
        "/etc/cdi"
    )
    chips: Annotated[
        bool, Meta("Whether a file is kept there with a device for each chip; isolated ones refuse to be used.")
    ] = False
    give: Annotated[
        str,
        Meta(
            "How the chips of a slot are given: by the variable that their maker's container runtime reads, or as "
            "device files; auto takes the variable where that runtime is installed.",
            choices=GIVING,
        ),
    ] = "auto"


@dataclass(frozen=True, slots=True)
class Export:
    """The documents that other programs read of this machine's chips."""

    dir: Annotated[
        str, Meta("The directory in which each document is kept as a file of its own; empty: none.", form=Form.PATH)
    ] = ""
    node: Annotated[str, Meta("The name of this machine in them; empty: its host name.")] = ""


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
        Meta(
            "An operator's rules of escalation, .json (the reference's format) or .toml; empty: none.", form=Form.PATH
        ),
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
class Asked:
    """Containers that are asked whether they serve."""

    name: Annotated[
        str,
        Meta(
            "The containers or units that are asked: a pattern of names, of services of docker compose, of units, or "
            'after "image:" of what they were made of. A label cmgr.ready goes before it.'
        ),
    ]
    ask: Annotated[
        str,
        Meta("The question that they are asked, as by the label.", form=Form.QUESTION, example='"http://:8000/health"'),
    ]

    def asking(self) -> Asking:
        """Return the part that decisions depend on."""
        return Asking(self.name, question(self.ask))


@dataclass(frozen=True, slots=True)
class Ready:
    """How containers are asked that have the label cmgr.ready, or a setting that fits."""

    every: Annotated[
        timedelta,
        Meta("How often one that has answered is asked; a command at most once a minute.", within=("1s", "1h")),
    ] = timedelta(seconds=30)
    timeout: Annotated[timedelta, Meta("How long an answer may take.", within=("100ms", "1m"))] = timedelta(seconds=5)
    failures: Annotated[
        int, Meta("After so many times in a row without a good answer one counts as not serving.", within=(1, 100))
    ] = 3
    services: Annotated[tuple[Asked, ...], Meta("Containers and units that are asked without a label.")] = ()


@dataclass(frozen=True, slots=True)
class Maintenance:
    windows: Annotated[
        tuple[Window, ...], Meta("When maintenance begins and ends by itself; empty: a person begins it.")
    ] = ()


@dataclass(frozen=True, slots=True)
class DrillSettings:
    """A drill of the calendar."""

    name: Annotated[str, Meta("Its name in the history.")]
    when: Annotated[Window, Meta("When it is held.", form=Form.BEGINS)]
    what: Annotated[Exercise, Meta("Whether the ring is reset, or a fault simulated.")]
    chips: Annotated[
        tuple[int, ...],
        Meta("The chips that it is held on; empty: those of the container.", within=(0, 9999), example="[0]"),
    ] = ()
    container: Annotated[str, Meta("The container on whose chips it is held, by its name.")] = ""
    code: Annotated[str, Meta("The code of the simulated fault.", form=Form.CODE)] = ""

    def drill(self) -> Drill:
        """Return the part that decisions depend on."""
        return Drill(self.name, self.what, self.chips, self.container, self.code)


@dataclass(frozen=True, slots=True)
class History:
    keep: Annotated[
        timedelta, Meta("How long closed episodes and cleared faults are kept.", within=("1h", "3650d"))
    ] = timedelta(days=90)
    max_notes: Annotated[int, Meta("How many lines of all timelines are kept at most.", within=(1000, 10000000))] = (
        100000
    )


@dataclass(frozen=True, slots=True)
class Downtime:
    reaction: Annotated[
        timedelta,
        Meta(
            "How long a person here takes, from the end of a service until he begins to bring it back: what recoveries "
            "would have taken by hand is reckoned with it; 0s: it is not reckoned.",
            within=("0s", "7d"),
        ),
    ] = timedelta()


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
    cert: Annotated[str, Meta("The certificate to serve them with over TLS, PEM; empty: no TLS.", form=Form.PATH)] = ""
    key: Annotated[str, Meta("The key of that certificate, PEM.", form=Form.PATH)] = ""
    client_ca: Annotated[
        str, Meta("The certificates that sign those of clients, PEM; empty: clients need none.", form=Form.PATH)
    ] = ""
    password_file: Annotated[
        str, Meta("The users who may read them, with hashes of their passwords; empty: everybody.", form=Form.PATH)
    ] = ""


@dataclass(frozen=True, slots=True)
class Web:
    door: Annotated[
        str,
        Meta(
            "The socket through which the page's process reads and hands on orders; it is made where its directory "
            "is there already; empty: no page.",
            form=Form.SOCKET,
            empty=True,
        ),
    ] = "/run/cmgr-web/door.sock"
    orders: Annotated[bool, Meta("Whether orders may be given on the page; else it shows only.")] = True


@dataclass(frozen=True, slots=True)
class Log:
    level: Annotated[str, Meta("The least grave lines that are logged.", choices=LOG_LEVELS)] = "info"
    file: Annotated[
        str,
        Meta(
            "A file that is logged to as well, which logrotate is to rotate; empty: the journal only.",
            form=Form.PATH,
        ),
    ] = ""


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
        tuple[str, ...],
        Meta(
            "The container runtimes; auto takes those whose socket is there, or of which cmgr knows containers.",
            choices=RUNTIMES,
        ),
    ] = ("auto",)
    state_dir: Annotated[str, Meta("The directory of the database.", form=Form.PATH)] = "/var/lib/cmgr"
    socket: Annotated[str, Meta("The socket that the service answers on.", form=Form.SOCKET)] = "/run/cmgr/cmgr.sock"
    resync: Annotated[
        timedelta, Meta("How often runtimes and driver are asked for the whole truth.", within=("1s", "1h"))
    ] = timedelta(seconds=60)
    sweep: Annotated[
        timedelta,
        Meta("How often every chip is asked for its faults, for those of which no event told.", within=("100ms", "1h")),
    ] = timedelta(seconds=5)
    time_zone: Annotated[
        str, Meta("The time zone of all windows, such as Europe/Berlin; empty: that of the machine.", form=Form.ZONE)
    ] = ""
    allow_injection: Annotated[bool, Meta("Whether faults may be simulated on real chips.")] = False
    containers: Annotated[Containers, Meta("Containers, whichever runtime has them.")] = Containers()
    docker: Annotated[Docker, Meta("Docker.")] = Docker()
    containerd: Annotated[Containerd, Meta("containerd.")] = Containerd()
    systemd: Annotated[Systemd, Meta("Units of systemd that are taken care of as containers are.")] = Systemd()
    drivers: Annotated[Drivers, Meta("", around=True)] = field(default_factory=Drivers)
    sim: Annotated[Sim, Meta('Simulated chips, for driver = "sim".')] = field(default_factory=Sim)
    spares: Annotated[SparePolicy, Meta("Chips that services on slots are moved to, from those that are isolated.")] = (
        field(default_factory=SparePolicy)
    )
    cdi: Annotated[Cdi, Meta("CDI: how container runtimes give chips to containers.")] = Cdi()
    export: Annotated[Export, Meta("Documents for programs that know the chips' own tools for clusters.")] = Export()
    faults: Annotated[Faults, Meta("The fault tables: which level a code has.")] = Faults()
    reports: Annotated[Reports, Meta("Faults that other programs report: cmgr report.")] = field(
        default_factory=Reports
    )
    roles: Annotated[
        tuple[Holder, ...],
        Meta("Others who may use the service's socket: without any, and without sources of reports, its group alone."),
    ] = ()
    machine: Annotated[Machine, Meta("Faults of the machine around the chips: its memory, disks, power, fans.")] = (
        field(default_factory=Machine)
    )
    levels: Annotated[Levels, Meta("The handling of a fault of each level.")] = field(default_factory=Levels)
    reset: Annotated[ResetPolicy, Meta("Resets of rings.")] = field(default_factory=ResetPolicy)
    isolation: Annotated[IsolationPolicy, Meta("Chips that need a person or a clean period.")] = field(
        default_factory=IsolationPolicy
    )
    limits: Annotated[LimitsPolicy, Meta("How much is stopped before a person has looked.")] = field(
        default_factory=LimitsPolicy
    )
    retry: Annotated[RetryPolicy, Meta("Stops and starts that failed.")] = field(default_factory=RetryPolicy)
    heal: Annotated[
        HealPolicy, Meta("Containers with the label cmgr.heal=true that fail though their chips are well.")
    ] = field(default_factory=HealPolicy)
    ready: Annotated[Ready, Meta("Whether services answer, and not only run: what cmgr asks them.")] = Ready()
    maintenance: Annotated[Maintenance, Meta("Times at which people work on the machine.")] = Maintenance()
    drills: Annotated[
        tuple[DrillSettings, ...], Meta("Recoveries that are practised, on rings where nothing is wrong.")
    ] = ()
    fleet: Annotated[FleetSettings, Meta("Groups of containers over several appliances.")] = field(
        default_factory=FleetSettings
    )
    history: Annotated[History, Meta("How much is remembered.")] = History()
    downtime: Annotated[Downtime, Meta("The downtime of services: cmgr downtime.")] = Downtime()
    metrics: Annotated[Metrics, Meta("Metrics for Prometheus.")] = Metrics()
    web: Annotated[Web, Meta("The page in a browser: cmgr web.")] = Web()
    alarms: Annotated[Alarms, Meta("Alarms: who is notified of what happens, and how.")] = field(default_factory=Alarms)
    hooks: Annotated[Hooks, Meta("Hooks: commands of yours that run at steps of a recovery.")] = field(
        default_factory=Hooks
    )
    bundles: Annotated[Bundles, Meta("Bundles: what is saved for a diagnosis with each reset.")] = field(
        default_factory=Bundles
    )
    log: Annotated[Log, Meta("The log.")] = Log()

    def windows(self) -> dict[str, tuple[Window, ...]]:
        """Return all windows, by the name of their setting; those without any are left out."""
        ours = self.maintenance.windows
        return {**self.policy().windows(), **({MAINTENANCE_WINDOWS: ours} if ours else {})}

    def policy(self) -> Policy:
        """Return the part that decisions depend on."""
        return Policy(
            strategy=self.strategy,
            observe=self.observe,
            levels=self.levels.policies(),
            reset=self.reset,
            isolation=self.isolation,
            retry=self.retry,
            limits=self.limits,
            heal=self.heal,
            spares=self.spares,
            software_window=self.faults.software_window,
            machine_quiet=self.machine.quiet,
            reboot=self.machine.rebooting(),
            cdi_chips=self.cdi.chips,
            ignore=self.containers.ignore,
            ready=tuple(row.asking() for row in self.ready.services),
            drills=tuple(row.drill() for row in self.drills),
        )
