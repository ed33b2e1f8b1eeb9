"""The downtime of this quarter in one number, for everybody who looks at the status: no database is asked for that."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr.errors import StoreError
from cmgr.model.values.services.outages import NOTHING, Spent, added, summed
from cmgr.service.part import Part, Step
from cmgr.service.timing.period import Period, period, quarter_of
from cmgr.store.reader import open_reader
from cmgr.view.status import quarter

if TYPE_CHECKING:
    from cmgr.view import shapes


class Quarter(Part):
    """The deciding thread only, but for `told`."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._spent: tuple[Period, Spent] | None = None

    def start(self) -> None:
        """Begin with what earlier lives have counted, and this one until now."""
        now = quarter_of(datetime.now(UTC))
        with suppress(StoreError), open_reader(self._database) as database:
            self._spent = now, summed(database.downtime(*now.days))

    def observe(self, step: Step) -> None:
        """Add what is over now; the first outage of a quarter begins with nothing."""
        for day in added(step.before.downtime, step.after.downtime):
            if self._spent is None:
                return
            known, spent = self._spent
            first, last = known.days
            if day.day > last:
                self._spent = quarter_of(period(day.day).begins), summed([day])
            elif day.day >= first:
                self._spent = known, summed([day], spent)

    def told(self) -> "shapes.Quarter | None":
        """Return what the status says of it; None where it could not be read. Any thread."""
        if self._spent is None:
            return None
        now, (known, spent) = quarter_of(datetime.now(UTC)), self._spent
        return quarter(now.name, spent if known == now else NOTHING)
