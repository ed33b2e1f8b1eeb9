"""Faults of the machine around the chips: what its sources find, and what the books have of it."""

from datetime import datetime, timedelta

from cmgr.frozen import dataclass
from cmgr.model.values.faults import FaultCode, Handling
from cmgr.sentences.sentence import Sentence

MachineKey = tuple[FaultCode, str]
"""The identity of a fault of the machine: its code, and the part that has it."""

DRIVER_REPLACED = FaultCode("driver-replaced")
"""A driver that was updated while it runs: no chip can be reset, and nothing that starts now can use one."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """One thing that a source finds wrong.

    `mark` empty: it is so now, and over when the source no longer finds it. Else it happened, and this is the word for
    its last occurrence: another word is another occurrence. `age`: how long ago that was, where the source knows.
    `grave`: the source itself calls it fatal. `container`: the id of the container that it concerns, and no other
    part; it counts only where cmgr knows that one.
    """

    code: FaultCode
    part: str = ""
    text: Sentence | str = ""
    mark: str = ""
    age: timedelta | None = None
    grave: bool = False
    container: str = ""


@dataclass(frozen=True, slots=True)
class MachineTold:
    """A source of the machine's faults has looked, and this is all that it finds. `off`: it has nothing to look at."""

    source: str
    found: tuple[Symptom, ...]
    off: bool = False


@dataclass(frozen=True, slots=True)
class MachineFault:
    """A fault of a part of the machine, active until `cleared` is set.

    `text` is what its source says of it. `since`: when it became active last, `changed`: its last occurrence, `count`:
    how many there were. `mark` and `grave` as in `Symptom`; `until`: when what happened counts as over. A fault that
    is over is remembered while its source still tells of it, so that it is not taken for another.
    """

    code: FaultCode
    part: str
    source: str
    handling: Handling
    since: datetime
    changed: datetime
    text: Sentence | str = ""
    count: int = 1
    mark: str = ""
    grave: bool = False
    until: datetime | None = None
    cleared: datetime | None = None

    @property
    def key(self) -> MachineKey:
        return self.code, self.part

    @property
    def active(self) -> bool:
        return self.cleared is None

    @property
    def told(self) -> bool:
        """Return whether a person is to be told of it without having asked."""
        return self.active and self.handling >= Handling.SubHealthFault

    @property
    def pre_isolates(self) -> bool:
        """Return whether nothing new is to be started on any chip while it is there."""
        return self.active and self.handling >= Handling.PreSeparateNPU
