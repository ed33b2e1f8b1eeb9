"""Orders that stand until they are done or over: a reset of a ring, maintenance, a runtime that is gone for good."""

from datetime import datetime, timedelta

from cmgr.frozen import dataclass, replace
from cmgr.model.values.chips import ChipId, RingId
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
    who: str
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
        return f"maintenance until {stamp(self.until)}" if self.until is not None else "maintenance"


@dataclass(frozen=True, slots=True)
class Gone:
    """A person has said that this runtime is gone for good: nothing waits for it. Void as soon as it answers."""

    runtime: str
    at: datetime
    who: str


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
