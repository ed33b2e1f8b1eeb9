"""Orders that stand until they are done or over: a reset of a ring, maintenance, a runtime that is gone for good, and a
reboot of the machine.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum

from cmgr.frozen import dataclass, replace
from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.life import ThisLife
from cmgr.model.values.messages.commands import CommandId
from cmgr.sentences.sentence import Sentence, say
from cmgr.words import stamp

ORDER_LASTS = timedelta(minutes=10)
"""How long an ordered reset may wait for what is in its way: nobody's containers stay down for it all night."""

MAINTENANCE_LASTS = timedelta(hours=4)
"""How long maintenance lasts where nobody has said that: forgotten ones would leave faults to themselves for good."""


@dataclass(frozen=True, slots=True)
class ResetOrder:
    """A person wants the ring of this chip reset, or with `test` only its chips tested, once.

    `stop`: the containers of the whole ring are stopped for it, whatever the strategy, and started again. `done`: the
    reset or test was made, well or not; the order is kept until the episode ends.
    """

    ring: RingId
    chip: ChipId
    at: datetime
    who: Sentence | str
    stop: bool = False
    done: bool = False
    test: bool = False

    @property
    def what(self) -> str:
        return "test" if self.test else "reset"

    @property
    def lapses(self) -> datetime:
        return self.at + ORDER_LASTS


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A person works on the machine: recoveries are recorded, not acted on. `until` None: begun by an older cmgr."""

    since: datetime
    until: datetime | None
    who: str

    @property
    def words(self) -> str:
        return say("maintenance.words") if self.until is None else say("maintenance.until", time=stamp(self.until))


@dataclass(frozen=True, slots=True)
class Gone:
    """A person has said that this runtime is gone for good: nothing waits for it. Void as soon as it answers."""

    runtime: str
    at: datetime
    who: str


class RebootStage(StrEnum):
    """How far a reboot of the machine is."""

    WAITING = "waiting"
    """It would help, and something is in its way."""
    ORDERED = "ordered"
    """It is written down; nobody knows yet whether the machine has taken the order."""
    ANNOUNCED = "announced"
    """The machine goes down when its delay is over."""
    CALLED_OFF = "called off"
    """A person does not want it, or something has come in its way."""
    FAILED = "failed"
    """The machine has not taken the order, or its delay has passed and nothing came of it. It is not tried again."""
    BOOTED = "booted"
    """The machine has booted, and it is seen whether that has helped."""
    OVER = "over"
    """Nothing needs it now; it is remembered when the last one was."""


@dataclass(frozen=True, slots=True)
class Reboot:
    """A reboot of the machine, which is the last step where nothing else helps.

    `since`: when it came to its stage; `reason`: why it is in it. `what`: for which chips it was ordered, in words, and
    `pieces`, those chips (`named`). `due`: when the machine goes down; after it was called off, as long as nobody has
    said that it does not. `boot` and `age`: when the last one was ordered: in which boot, and how old that was.
    `retry_at`: before that nothing is ordered again. `vain`: the pieces that the last one did not bring back.
    `episodes`: in which of each ring its chips were given up. `looked`: when everybody was asked once more.
    """

    stage: RebootStage
    since: datetime
    reason: Sentence | str = ""
    what: Sentence | str = ""
    pieces: frozenset[str] = frozenset()
    due: datetime | None = None
    boot: str = ""
    age: timedelta = timedelta()
    retry_at: datetime | None = None
    vain: frozenset[str] = frozenset()
    episodes: Mapping[RingId, int] = field(default_factory=dict)
    command: ThisLife[CommandId | None] = None
    looked: ThisLife[datetime | None] = None

    @property
    def under_way(self) -> bool:
        return self.stage in (RebootStage.ORDERED, RebootStage.ANNOUNCED)


def after_restart(maintenance: Maintenance | None, at: datetime) -> Maintenance | None:
    """Return it as if it had begun now, when the clock was set back between two lives; and with an end."""
    if maintenance is None:
        return None
    if maintenance.until is None:
        maintenance = replace(maintenance, until=max(at, maintenance.since) + MAINTENANCE_LASTS)
    if maintenance.since <= at:
        return maintenance
    shift = maintenance.since - at
    until = maintenance.until - shift if maintenance.until is not None else None
    return replace(maintenance, since=at, until=until)
