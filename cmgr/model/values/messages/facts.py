"""Facts: everything that can happen, and the event that says when cmgr took one in."""

from datetime import datetime

from cmgr.frozen import dataclass
from cmgr.model.values.chips import Chip, ChipId, ChipReport, RingId
from cmgr.model.values.faults import Assertion, FaultCode, Handling
from cmgr.model.values.handling.calendar import Opening
from cmgr.model.values.handling.catalog import Catalog
from cmgr.model.values.handling.policy import Packing, Policy
from cmgr.model.values.machine import MachineTold as MachineTold
from cmgr.model.values.messages.commands import CommandId
from cmgr.model.values.messages.fleet_facts import FleetTold, GroupRead, GroupWritten
from cmgr.model.values.messages.health_facts import HealthTold
from cmgr.model.values.messages.piece_facts import ChipForgetOrdered, StragglersSeen
from cmgr.model.values.messages.reboot_facts import Boot, RebootCancelOrdered, RebootScheduled
from cmgr.model.values.messages.reset_facts import ChipsTested, ResetDone, ResetPrepared, SharesMade
from cmgr.model.values.services.containers import Container, ContainerKey, Exit
from cmgr.model.values.services.origins import Origin
from cmgr.model.values.troubles import Trouble


@dataclass(frozen=True, slots=True)
class Restarted:
    """A life of the process begins: the first event of each. Commands of earlier lives are answered by nobody.

    `openings` is what the calendar says. `appliance`: this one's name in its fleet; empty where no engine is set.
    `covering`: those of `runtimes` whose `RuntimeState` says so. `sources`: those of the machine's faults.
    """

    chips: tuple[Chip, ...]
    runtimes: tuple[str, ...]
    openings: tuple[Opening, ...] = ()
    appliance: str = ""
    covering: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    boot: Boot = Boot()


@dataclass(frozen=True, slots=True)
class Reconfigured:
    """The configuration or the fault table is another one from now on. `who` had it read."""

    policy: Policy
    catalog: Catalog
    who: str = ""


@dataclass(frozen=True, slots=True)
class CalendarRead:
    """A window has opened or closed, or the clock or the windows were set: all that have any, as they are now."""

    openings: tuple[Opening, ...]


@dataclass(frozen=True, slots=True)
class FaultReported:
    """The driver's event. `earlier` occurrences of the same fault were merged into it while it was queued.

    `first`: what the first of these events said, if there were others. `repeated`: how many occurrences were told of a
    fault that had not been cleared since the one before: nobody knows whether these are new. `whose`: as in `Fault`.
    """

    chip: ChipId
    code: str
    assertion: Assertion
    module: str = ""
    severity: int | None = None
    earlier: int = 0
    first: Assertion | None = None
    repeated: int = 0
    whose: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ReadNeeded:
    """Events of this chip were lost, or may have been."""

    chip: ChipId


@dataclass(frozen=True, slots=True)
class ChipsListed:
    """The driver found chips that were not there when this life began. `chips` are all that are known."""

    chips: tuple[Chip, ...]


@dataclass(frozen=True, slots=True)
class RingRead:
    """Answers `ReadRing`: one report for each chip asked about."""

    command: CommandId
    ring: RingId
    reports: tuple[ChipReport, ...]


@dataclass(frozen=True, slots=True)
class RuntimeFound:
    """A runtime that was not there when this life began: its socket is there now. Others say whether it answers."""

    runtime: str
    covering: bool = False


@dataclass(frozen=True, slots=True)
class RuntimeUp:
    """The runtime's events flow (again). Some may have been missed before.

    `restarted`: its daemon is a new one, which came up then (`came`), or just now where nothing tells.
    """

    runtime: str
    restarted: bool = False
    came: datetime | None = None


@dataclass(frozen=True, slots=True)
class RuntimeDown:
    runtime: str
    why: str


@dataclass(frozen=True, slots=True)
class ContainerSeen:
    """A container's present state, as its runtime told it on its own."""

    container: Container


@dataclass(frozen=True, slots=True)
class ContainerRemoved:
    key: ContainerKey


@dataclass(frozen=True, slots=True)
class ContainersListed:
    """Answers `ListContainers`: every container of that runtime that uses chips, running or not.

    `origin`: whose list it is; None where the runtime does not say that.
    """

    command: CommandId
    runtime: str
    containers: tuple[Container, ...] = ()
    error: str = ""
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class ContainerStopped:
    """Answers `StopContainer`.

    `run`: the word of the life that ended. `gone`: it exists no more. `before`: it was down before the stop was
    asked for, and this is how its life had ended. `unreachable`: the order never reached the runtime.
    `again`: it was stopped, and this is the word of the life in which something has started it since.
    `words`: what became of the command that was to be run first. `deaf` and `ordered`: as in `ports.Halt`.
    """

    command: CommandId
    key: ContainerKey
    run: str = ""
    error: str = ""
    unreachable: bool = False
    gone: bool = False
    before: Exit | None = None
    again: str = ""
    words: str = ""
    deaf: str = ""
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class ContainerStarted:
    """Answers `StartContainer`. `run` is the new life's word; the rest as in `ContainerStopped`.

    `runtime_ails`: it failed for no fault of the container's, so that it counts as no try. It may have worked.
    """

    command: CommandId
    key: ContainerKey
    run: str = ""
    error: str = ""
    unreachable: bool = False
    gone: bool = False
    runtime_ails: bool = False


@dataclass(frozen=True, slots=True)
class RestartPolicySet:
    """Answers `SetRestartPolicy`. The fields are as in `ContainerStopped`."""

    command: CommandId
    key: ContainerKey
    error: str = ""
    unreachable: bool = False
    gone: bool = False


@dataclass(frozen=True, slots=True)
class OutputRead:
    """Answers `ReadOutput`. `text` is what the container wrote last, oldest first; with `error` set it says nothing."""

    command: CommandId
    key: ContainerKey
    text: str = ""
    error: str = ""
    gone: bool = False
    unreachable: bool = False


@dataclass(frozen=True, slots=True)
class CdiWritten:
    """Answers `WriteCdi`. `mended`: what somebody else had done to the files, a sentence each; it is put right."""

    command: CommandId
    error: str = ""
    mended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FaultPretended:
    """Answers `PretendFault`. `error` empty: the chip reports it."""

    command: CommandId
    chip: ChipId
    drill: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Remarked:
    """Something beside the recovery has to be told in its timeline: what a hook did, what was saved."""

    text: str
    ring: RingId | None = None
    episode: int = 0
    loud: bool = False


@dataclass(frozen=True, slots=True)
class TroubleMet:
    """Something beside the recovery went wrong that nobody can see any more later: it is remembered."""

    trouble: Trouble


@dataclass(frozen=True, slots=True)
class ResumeOrdered:
    """A person wants a failed container to be tried again. `who` is what the timeline calls that person."""

    key: ContainerKey
    who: str


@dataclass(frozen=True, slots=True)
class ResumeAllOrdered:
    """A person wants every container that was given up started again, and no ring kept back."""

    who: str


@dataclass(frozen=True, slots=True)
class ReleaseOrdered:
    """A person wants an isolated chip back in use."""

    chip: ChipId
    who: str


@dataclass(frozen=True, slots=True)
class IsolateOrdered:
    """A person takes a chip out of use, until a person releases it."""

    chip: ChipId
    reason: str
    who: str


@dataclass(frozen=True, slots=True)
class ResetOrdered:
    """A person wants this chip's ring reset; `stop`: its containers may be stopped for it. `back`: not any more.

    `test`: it is not to be reset, but tested.
    """

    chip: ChipId
    who: str
    stop: bool = False
    back: bool = False
    test: bool = False


@dataclass(frozen=True, slots=True)
class ForgetOrdered:
    """A person ends a hold: the container is theirs from now on, as it is."""

    key: ContainerKey
    who: str


@dataclass(frozen=True, slots=True)
class GroupRestartOrdered:
    """A person wants all members of a group, running or down, stopped and started together; `back`: not any more."""

    group: str
    who: str
    reason: str = ""
    back: bool = False


@dataclass(frozen=True, slots=True)
class GroupResumeOrdered:
    """A person wants those members of a group started that can be, without waiting for the others.

    Where it spans appliances: `alone`: not for other appliances either; `without`: not for these, whose members are
    left as they are by all, and the members here wait for the rest.
    """

    group: str
    who: str
    alone: bool = False
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RuntimeForgetOrdered:
    """A person says that a runtime is gone for good, with its containers."""

    runtime: str
    who: str


@dataclass(frozen=True, slots=True)
class MaintenanceOrdered:
    """A person begins (`on`) or ends maintenance; it ends by itself at `until`, or after `MAINTENANCE_LASTS`."""

    on: bool
    who: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class SlotOrdered:
    """A person makes a slot, or gives one other chips: these, or so many (`count`) that are free.

    `stop`: what runs on it is stopped for that, and started again on the others.
    """

    name: str
    who: str
    chips: frozenset[ChipId] = frozenset()
    count: int = 0
    stop: bool = False


@dataclass(frozen=True, slots=True)
class MoveOrdered:
    """A person wants a container that is on no slot to be started on these chips.

    `stop`: it is stopped for that if it runs, and started again.
    """

    key: ContainerKey
    chips: frozenset[ChipId]
    who: str
    stop: bool = False


@dataclass(frozen=True, slots=True)
class ReserveOrdered:
    """A person, or a program, wants so many free chips, and that nobody else gets them until then.

    `asker`: a word by which the order is known again. `model`: only chips of that one. `packing`: None is that of the
    configuration. `one_ring`: all of one ring, or none.
    """

    asker: str
    who: str
    count: int
    until: datetime
    model: str = ""
    packing: Packing | None = None
    one_ring: bool = False


@dataclass(frozen=True, slots=True)
class SlotRemoveOrdered:
    """A person wants no slot of this name any more."""

    name: str
    who: str


@dataclass(frozen=True, slots=True)
class ReportOrdered:
    """Another program says that chips have a fault, until then; None: that it is over, on all where it names none.

    `module`: the program and its own name for this fault. `highest`: the gravest handling that it may ask for.
    """

    code: FaultCode
    module: str
    chips: frozenset[ChipId]
    until: datetime | None
    who: str
    highest: Handling | None = None


@dataclass(frozen=True, slots=True)
class AcknowledgeOrdered:
    """A person has seen to these troubles, named by their ids: nobody needs to be told of them any more."""

    troubles: tuple[str, ...]
    who: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: a deadline may be over."""


@dataclass(frozen=True, slots=True)
class Resync:
    """Read the truth from runtimes and driver."""


Ordered = (
    ResumeOrdered
    | ResumeAllOrdered
    | ReleaseOrdered
    | IsolateOrdered
    | ResetOrdered
    | ForgetOrdered
    | GroupRestartOrdered
    | GroupResumeOrdered
    | RuntimeForgetOrdered
    | ChipForgetOrdered
    | MaintenanceOrdered
    | AcknowledgeOrdered
    | RebootCancelOrdered
    | ReportOrdered
    | SlotOrdered
    | MoveOrdered
    | SlotRemoveOrdered
    | ReserveOrdered
)
"""Orders of a person. `who` is that person's name in the timeline."""

Answer = (
    RingRead
    | ResetPrepared
    | ResetDone
    | ChipsTested
    | SharesMade
    | ContainersListed
    | ContainerStopped
    | ContainerStarted
    | RestartPolicySet
    | OutputRead
    | CdiWritten
    | FaultPretended
    | RebootScheduled
    | GroupWritten
    | GroupRead
)

Fact = (
    Restarted
    | Reconfigured
    | CalendarRead
    | FaultReported
    | ReadNeeded
    | ChipsListed
    | MachineTold
    | RuntimeFound
    | RuntimeUp
    | RuntimeDown
    | FleetTold
    | ContainerSeen
    | ContainerRemoved
    | Ordered
    | Remarked
    | TroubleMet
    | HealthTold
    | StragglersSeen
    | Tick
    | Resync
    | Answer
)


@dataclass(frozen=True, slots=True)
class Event:
    """A fact and the time it was taken in (UTC, running on the monotonic clock within one life)."""

    at: datetime
    fact: Fact
