"""Rules of escalation: when a fault that comes back, or lasts, is graver than its code says."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum

from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import FaultCode, Handling, Level
from cmgr.model.values.life import ThisLife
from cmgr.sentences.sentence import Sentence


class RuleKind(StrEnum):
    """The two kinds of rules, by the names that their files use."""

    FREQUENCY = "FaultFrequency"
    DURATION = "FaultDuration"


@dataclass(frozen=True, slots=True)
class FrequencyRule:
    """`times` occurrences on one chip within `window` raise the fault to `handling`.

    That ends when the chip has been without it for longer than `release`; None: only a person ends it. `after_reset`:
    it isolates no chip for a fault that a reset may cure before one was made since the count was full.
    """

    window: timedelta
    times: int
    handling: Handling
    release: timedelta | None = None
    after_reset: bool = False


@dataclass(frozen=True, slots=True)
class DurationRule:
    """A fault that lasts longer than `fault_timeout` is raised to `handling`.

    That ends when the chip has been without it for longer than `recover_timeout`, so a flapping one stays raised.
    """

    fault_timeout: timedelta
    recover_timeout: timedelta
    handling: Handling


@dataclass(frozen=True, slots=True)
class Rules:
    """At most one rule of each kind for a code."""

    frequency: Mapping[FaultCode, FrequencyRule] = field(default_factory=dict)
    duration: Mapping[FaultCode, DurationRule] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Raise:
    """A rule that has fired. `reason` goes on after the code's name. `manual`: only a person ends it."""

    kind: RuleKind
    handling: Handling
    since: datetime
    reason: Sentence | str
    manual: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """The memory of the rules for one code on one chip.

    `times`: the occurrences that count towards the frequency rule, and one more for a rule that waits for a reset.
    `last`: the last occurrence of all. `risen`: since when the chip has it, `recovered`: since when it is without it;
    one of the two is None. `due`: when time alone changes anything here.
    """

    chip: ChipId
    code: FaultCode
    times: tuple[datetime, ...] = ()
    raised: tuple[Raise, ...] = ()
    last: datetime | None = None
    risen: datetime | None = None
    recovered: datetime | None = None
    due: ThisLife[datetime | None] = None

    @property
    def key(self) -> tuple[ChipId, FaultCode]:
        return self.chip, self.code

    def has(self, kind: RuleKind) -> bool:
        return any(r.kind is kind for r in self.raised)

    @property
    def level(self) -> Level:
        """The highest level that a rule has raised it to."""
        return max((r.handling.level for r in self.raised), default=Level.NotHandleFault)

    @property
    def handling(self) -> Handling:
        """The gravest word that a rule has raised it to."""
        return max((r.handling for r in self.raised), default=Handling.NotHandleFault)

    @property
    def pre_isolating(self) -> Raise | None:
        """The rule that keeps new work from the chip, the first one."""
        return min((r for r in self.raised if r.handling.pre_isolates), key=lambda r: r.since, default=None)

    @property
    def separating(self) -> Raise | None:
        """The rule that keeps the chip isolated, the one that only a person ends before others."""
        found = [r for r in self.raised if r.handling.level is Level.SeparateNPU]
        return max(found, key=lambda r: (r.manual, r.since), default=None)
