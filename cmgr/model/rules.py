"""Rules of escalation: when a fault that comes back, or lasts, is graver than its code says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from cmgr.model.chips import ChipId
from cmgr.model.faults import FaultCode, Level


class RuleKind(StrEnum):
    """The two kinds of rules, by the names that their files use."""

    FREQUENCY = "FaultFrequency"
    DURATION = "FaultDuration"


@dataclass(frozen=True, slots=True)
class FrequencyRule:
    """`times` occurrences on one chip within `window` raise the fault to `level`.

    That ends when the chip has been without it for longer than `release`; None: only a person ends it.
    """

    window: timedelta
    times: int
    level: Level
    release: timedelta | None = None


@dataclass(frozen=True, slots=True)
class DurationRule:
    """A fault that lasts longer than `fault_timeout` is raised to `level`.

    That ends when the chip has been without it for longer than `recover_timeout`, so a flapping one stays raised.
    """

    fault_timeout: timedelta
    recover_timeout: timedelta
    level: Level


@dataclass(frozen=True, slots=True)
class Rules:
    """At most one rule of each kind for a code."""

    frequency: Mapping[FaultCode, FrequencyRule] = field(default_factory=dict)
    duration: Mapping[FaultCode, DurationRule] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Raise:
    """A rule that has fired. `manual`: only a person ends it."""

    kind: RuleKind
    level: Level
    since: datetime
    reason: str
    manual: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """What the rules remember of one code on one chip.

    `times`: the occurrences that count towards the frequency rule. `last`: the last occurrence of all, `recovered`:
    since when the chip is without it, None while it has it.
    """

    chip: ChipId
    code: FaultCode
    times: tuple[datetime, ...] = ()
    raised: tuple[Raise, ...] = ()
    last: datetime | None = None
    recovered: datetime | None = None

    def has(self, kind: RuleKind) -> bool:
        return any(r.kind is kind for r in self.raised)

    @property
    def level(self) -> Level:
        """The highest level that a rule has raised it to."""
        return max((r.level for r in self.raised), default=Level.NotHandleFault)
