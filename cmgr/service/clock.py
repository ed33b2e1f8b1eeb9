"""The time of one life of the process."""

import time
from datetime import UTC, datetime, timedelta


class SteadyClock:
    """UTC at the start plus what has passed since: a clock that is set cannot fire or freeze a deadline.

    Implements `ports.Clock`.
    """

    def __init__(self) -> None:
        self._start = datetime.now(UTC)
        self._began = time.monotonic()

    def now(self) -> datetime:
        return self._start + timedelta(seconds=time.monotonic() - self._began)
