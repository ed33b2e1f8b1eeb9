"""Faults: what they are, how grave, and which are active."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import NamedTuple, NewType

from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId
from cmgr.sentences.sentence import Sentence

FaultCode = NewType("FaultCode", str)
"""A fault's code in the one spelling that `catalog.normal_code` gives it."""

UNKNOWN_MODULE = ""
"""The module of a fault that was found by reading the chip."""


class Level(IntEnum):
    """The treatment that a fault's code asks for. Ordered; named as users write them."""

    NotHandleFault = 0
    RestartRequest = 1
    RestartBusiness = 2
    FreeRestartNPU = 3
    RestartNPU = 4
    SeparateNPU = 5

    handled: bool
    """Whether a fault of this level opens an episode: kept, because a storm asks a million times."""

    def __init__(self, value: int) -> None:
        self.handled = 1 <= value <= 4  # From RestartRequest to RestartNPU.


PROGRAMS = frozenset({Level.RestartRequest, Level.RestartBusiness})
"""The levels of faults that are over when the program has ended that they came of."""


class Handling(IntEnum):
    """The words of fault tables and rules for what a fault asks for, the gravest last.

    Beside cmgr's levels there are two that keep new work from a chip and let it go on, and one for an isolation that
    only a person ends.
    """

    NotHandleFault = 0
    SubHealthFault = 1
    RestartRequest = 2
    RestartBusiness = 3
    FreeRestartNPU = 4
    RestartNPU = 5
    PreSeparateNPU = 6
    SeparateNPU = 7
    ManuallySeparateNPU = 8

    level: Level
    """The word for what cmgr does about the fault itself: kept, as `Level.handled`."""

    def __init__(self, _value: int) -> None:
        self.level = Level.__members__.get(self._name_.removeprefix("Manually"), Level.NotHandleFault)

    @property
    def pre_isolates(self) -> bool:
        """Return whether nothing new is to be started on the chip while it has the fault."""
        return self in (Handling.SubHealthFault, Handling.PreSeparateNPU)


class FaultClass(StrEnum):
    """The part of a machine that a fault concerns."""

    CHIP = "chip"
    NETWORK = "network"
    MACHINE = "machine"
    REPORTED = "reported"
    """Another program than a driver has reported it."""


def within_class(handling: Handling, fault_class: FaultClass) -> Handling:
    """Return what is done about a fault of this class: one of the network leaves the chip in use, whatever is asked.

    One of the machine is for no chip: nothing is reset for it. Whatever isolates keeps new work from all chips.
    """
    grave = handling.level is not Level.NotHandleFault
    if grave and fault_class is FaultClass.NETWORK:
        return Handling.PreSeparateNPU
    if grave and fault_class is FaultClass.MACHINE:
        return Handling.SubHealthFault if handling.level.handled else Handling.SeparateNPU
    return handling


class Severity(IntEnum):
    """How grave the driver itself calls a fault."""

    suggestion = 0
    minor = 1
    major = 2
    critical = 3


def whose_of_both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """Return whose two occurrences of a fault were, as `Fault` has it."""
    return None if one is None or other is None else one | other


_SEVERITIES: Mapping[int | None, Severity] = {severity.value: severity for severity in Severity}


def severity_of(told: int | None) -> Severity | None:
    """Return what the driver's number means; None where it gives none, or one that means nothing."""
    return _SEVERITIES.get(told)


class Assertion(StrEnum):
    """Whether an event says that its fault came, went, or happened in a moment."""

    OCCURRED = "occurred"
    CLEARED = "cleared"
    ONCE = "once"


class FaultKey(NamedTuple):
    """The identity of a fault on a chip. The module's numbers keep their separators."""

    code: FaultCode
    module: str


@dataclass(frozen=True, slots=True)
class Fault:
    """One condition on one chip, active until `cleared` is set.

    `since` is its first occurrence, `risen` when it became active last, `changed` the last time that an event spoke
    of it, `count` its occurrences. A fault that comes back soon after it cleared is the same fault with a higher
    count, not a new one. `handling`: the gravest word that its table or a rule has for it, which may keep new work from
    the chip beside what its level asks for. `until` and `highest` are a reported fault's: when it counts as over, and
    the gravest handling that its reporter may ask for, None: any.
    `whose`: the ids of the containers, units and shares whose programs it came of; none where no program is left that
    is in any. None: nobody can say, or it is the chip's own.
    """

    chip: ChipId
    code: FaultCode
    module: str
    level: Level
    since: datetime
    risen: datetime
    changed: datetime
    severity: Severity | None = None
    count: int = 1
    momentary: bool = False
    cleared: datetime | None = None
    handling: Handling = Handling.NotHandleFault
    fault_class: FaultClass = FaultClass.CHIP
    until: datetime | None = None
    highest: Handling | None = None
    whose: frozenset[str] | None = None

    @property
    def spares_others(self) -> bool:
        """Return whether it is over when those have ended whose it is, so that it concerns nobody else."""
        return self.whose is not None and self.momentary and self.level in PROGRAMS

    @property
    def key(self) -> FaultKey:
        return FaultKey(self.code, self.module)

    @property
    def active(self) -> bool:
        return self.cleared is None


def gravest_first(faults: Iterable[Fault]) -> list[Fault]:
    return sorted(faults, key=lambda f: (-f.level, f.risen, f.chip, f.key))


@dataclass(frozen=True, slots=True)
class Isolation:
    """Why a chip is not used by cmgr, and what ends it.

    `by` is `level`, `escalation`, `budget`, `boot` (it has not come up since its reset, and nobody else waits for it),
    or `operator`. `clean_since` is since when the chip reports no fault that would keep it isolated. An operator's
    isolation ends only by an operator, that of a rule with what the rule raised.
    """

    chip: ChipId
    since: datetime
    by: str
    reason: Sentence | str
    code: FaultCode | None = None
    clean_since: datetime | None = None
