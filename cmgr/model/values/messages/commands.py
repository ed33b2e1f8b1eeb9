"""Commands: the model's wishes to the world. Each is answered by a fact that carries the same id."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NewType

from cmgr.frozen import dataclass
from cmgr.model.values.chips import Chip, ChipId, RingId, Share
from cmgr.model.values.faults import Assertion, FaultCode
from cmgr.model.values.messages.documents import Document
from cmgr.model.values.services.cdi import Spec
from cmgr.model.values.services.containers import ContainerKey

CommandId = NewType("CommandId", str)


@dataclass(frozen=True, slots=True)
class ListContainers:
    """Ask a runtime for all its containers that use chips. Safe to repeat. Answer: `ContainersListed`."""

    id: CommandId
    reason: str
    runtime: str


@dataclass(frozen=True, slots=True)
class ReadRing:
    """Ask the driver about these chips. Safe to repeat. Answer: `RingRead`.

    `after_reset`: the question is whether they are well again after a reset, which others may have a say in.
    """

    id: CommandId
    reason: str
    ring: RingId
    chips: tuple[ChipId, ...]
    after_reset: bool = False


@dataclass(frozen=True, slots=True)
class StopContainer:
    """Stop it, with `grace` between the polite signal and the kill. Safe to repeat. Answer: `ContainerStopped`.

    `before`: a command with its arguments that is run inside of it first. That is part of the grace.
    """

    id: CommandId
    reason: str
    key: ContainerKey
    name: str
    grace: timedelta
    before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StartContainer:
    """Start it, put its restart policy back if it has one, and freeze it if it was frozen.

    `placing`: each chip that its definition was made for, and the one that it is to give first instead (None: none);
    empty: it is left as it is. Safe to repeat. Answer: `ContainerStarted`.
    """

    id: CommandId
    reason: str
    key: ContainerKey
    name: str
    restart_policy: str
    frozen: bool = False
    placing: tuple[tuple[Chip, Chip | None], ...] = ()


@dataclass(frozen=True, slots=True)
class SetRestartPolicy:
    """Change its restart policy and nothing else. Safe to repeat. Answer: `RestartPolicySet`."""

    id: CommandId
    reason: str
    key: ContainerKey
    name: str
    restart_policy: str


@dataclass(frozen=True, slots=True)
class ResetRing:
    """Reset the ring's chips together. NOT safe to repeat. Answer: `ResetDone`.

    `faulty` are the chips whose fault is the reason; or, without `codes`, a person's order, or that they did not come
    up after the last reset. The driver looks once more just before and refuses when a process is on any of `chips`, or
    when there are codes and none of `faulty` reports one of them any more.
    """

    id: CommandId
    reason: str
    ring: RingId
    chips: tuple[ChipId, ...]
    faulty: tuple[ChipId, ...]
    codes: frozenset[str]


@dataclass(frozen=True, slots=True)
class PrepareReset:
    """Do what comes before that reset, such as a hook; no chip is touched. Safe to repeat. Answer: `ResetPrepared`."""

    id: CommandId
    reason: str
    order: ResetRing


@dataclass(frozen=True, slots=True)
class RunTest:
    """Have these chips of the ring tested, one after the other. Safe to repeat. Answer: `ChipsTested`."""

    id: CommandId
    reason: str
    ring: RingId
    chips: tuple[ChipId, ...]


@dataclass(frozen=True, slots=True)
class MakeShares:
    """Have those of these shares made again that their chips lack. Safe to repeat. Answer: `SharesMade`."""

    id: CommandId
    reason: str
    ring: RingId
    shares: Mapping[ChipId, tuple[Share, ...]]


@dataclass(frozen=True, slots=True)
class ReadOutput:
    """Read the last lines that the container wrote. Safe to repeat. Answer: `OutputRead`."""

    id: CommandId
    reason: str
    key: ContainerKey
    name: str


@dataclass(frozen=True, slots=True)
class PretendFault:
    """Have the chip report a fault that it has not, until a reset cures it. Safe to repeat. Answer: `FaultPretended`.

    `drill`: the name of the drill that wants it.
    """

    id: CommandId
    reason: str
    chip: ChipId
    code: str
    drill: str


@dataclass(frozen=True, slots=True)
class ScheduleReboot:
    """Have the machine rebooted after `delay`, and tell all who are on it why; None: not any more.

    Safe to repeat: another one takes its place. Answer: `RebootScheduled`.
    """

    id: CommandId
    reason: str
    delay: timedelta | None


@dataclass(frozen=True, slots=True)
class WriteCdi:
    """Make these all the CDI files of cmgr that there are. Safe to repeat. Answer: `CdiWritten`."""

    id: CommandId
    reason: str
    specs: tuple[Spec, ...]


@dataclass(frozen=True, slots=True)
class WriteGroup:
    """Put the document of a group over appliances in the place of the one with `revision`; 0: there is none yet.

    Safe to repeat. Answer: `GroupWritten`.
    """

    id: CommandId
    reason: str
    group: str
    document: Document
    revision: int


@dataclass(frozen=True, slots=True)
class ReadGroup:
    """Read the document of a group over appliances, as it is. Safe to repeat. Answer: `GroupRead`."""

    id: CommandId
    reason: str
    group: str


class NoteKind(StrEnum):
    """The subject of a line of the timeline. `OPENED` and `CLOSED` bracket an episode."""

    OPENED = "opened"
    FAULT = "fault"
    PHASE = "phase"
    ACTION = "action"
    RESULT = "result"
    HOLD = "hold"
    ISOLATION = "isolation"
    WARNING = "warning"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class FaultSaid:
    """The fault that a line tells of, for programs: its code and level, the word of its table for that, and what of it.

    `assertion`: it occurred, cleared, or was there once; None: it is there, and something else of it has changed.
    """

    code: FaultCode
    level: str
    handling: str
    assertion: Assertion | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A line for the timeline and the log, written in the same transaction as the decision it tells of.

    `card` and `device`: the chip as its driver numbers it. `edge`: the phases that a ring went from and to. `ended`:
    when the episode that is closed was over, if that came out only later. These two are not stored. `name`: the
    container's, by which its lines are found when it was made anew.
    """

    at: datetime
    kind: NoteKind
    text: str
    ring: RingId | None = None
    episode: int = 0
    chip: ChipId | None = None
    container: ContainerKey | None = None
    outcome: str = ""
    edge: tuple[str, str] | None = None
    ended: datetime | None = None
    card: int | None = None
    device: int | None = None
    fault: FaultSaid | None = None
    name: str = ""


Action = (
    ListContainers
    | ReadRing
    | StopContainer
    | StartContainer
    | SetRestartPolicy
    | ReadOutput
    | PrepareReset
    | ResetRing
    | RunTest
    | MakeShares
    | WriteCdi
    | PretendFault
    | ScheduleReboot
    | WriteGroup
    | ReadGroup
)
"""A command for the world outside."""

Command = Action | Note
"""An action, or a note for the store and the log."""
