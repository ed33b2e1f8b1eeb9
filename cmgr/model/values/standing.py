"""What a person has ordered and what stands until it is done or over: a reset of a ring, and maintenance."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cmgr.model.values.chips import ChipId, RingId
from cmgr.words import stamp

ORDER_LASTS = timedelta(minutes=10)
"""How long an ordered reset may wait for what is in its way: nobody's containers stay down for it all night."""


@dataclass(frozen=True, slots=True)
class ResetOrder:
    """A person wants the ring of this chip reset, once.

    `stop`: the containers of the whole ring are stopped for it, whatever the strategy, and started again. `done`: the
    reset was made, well or not; the order is kept until the episode ends.
    """

    ring: RingId
    chip: ChipId
    at: datetime
    who: str
    stop: bool = False
    done: bool = False

    @property
    def lapses(self) -> datetime:
        return self.at + ORDER_LASTS


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A person works on the machine: recoveries are recorded, not acted on. `until` None: until a person ends it."""

    since: datetime
    until: datetime | None
    who: str

    @property
    def words(self) -> str:
        return f"maintenance until {stamp(self.until)}" if self.until is not None else "maintenance"


def not_ahead(maintenance: Maintenance | None, at: datetime) -> Maintenance | None:
    """Return it as if it had begun now, when the clock was set back between two lives."""
    if maintenance is None or maintenance.since <= at:
        return maintenance
    shift = maintenance.since - at
    until = maintenance.until - shift if maintenance.until is not None else None
    return replace(maintenance, since=at, until=until)
