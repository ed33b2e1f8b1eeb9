"""Years, quarters, months and days, as a person names them. Pure."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_SPELLED = re.compile(r"(\d{4})(?:-Q([1-4])|-(\d\d)(?:-(\d\d))?)?", re.ASCII)
_DAY = timedelta(days=1)


class Period(NamedTuple):
    """A year, a quarter, a month or a day, of UTC. `ends`: where the next one begins."""

    name: str
    begins: datetime
    ends: datetime

    @property
    def days(self) -> tuple[str, str]:
        """Return its first and its last day."""
        return self.begins.date().isoformat(), (self.ends - _DAY).date().isoformat()


def period(text: str) -> Period:
    """Return what is meant by `2026`, `2026-Q4`, `2026-11` or `2026-11-29`. Raises `ValueError`."""
    found = _SPELLED.fullmatch(text)
    if found is None:
        raise ValueError(f"there is no year, quarter, month or day {text[:20]!r}")
    year, quarter, month, day = found.groups()
    first = int(month) if month else int(quarter or 1) * 3 - 2
    begins = datetime(int(year), first, int(day or 1), tzinfo=UTC)
    if day:
        return Period(text, begins, begins + _DAY)
    years, after = divmod(first - 1 + (1 if month else 3 if quarter else 12), 12)
    return Period(text, begins, datetime(begins.year + years, after + 1, 1, tzinfo=UTC))


def quarter_of(at: datetime) -> Period:
    """Return the quarter that this time of UTC is in."""
    return period(f"{at.year}-Q{(at.month + 2) // 3}")
