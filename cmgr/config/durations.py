"""Durations as people write them: "500ms", "60s", "5m", "2h30m", "90d"."""

import re
from datetime import timedelta

_FORM = re.compile("".join(f"(?:([0-9]{{1,12}}){unit})?" for unit in ("d", "h", "m", "s", "ms")))

_SECOND = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


def duration(text: str) -> timedelta:
    """Return the time that this text means. Raises `ValueError` when it means none."""
    match = _FORM.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        raise ValueError(f"{text!r} is not a duration")
    days, hours, minutes, seconds, milliseconds = (int(part or 0) for part in match.groups())
    try:
        return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)
    except OverflowError:
        raise ValueError(f"{text!r} is longer than any duration") from None


def spelled(time: timedelta) -> str:
    """Return a text that `duration` reads back, exact to the millisecond: 60s, 300s, 15m, 6h, 90d."""
    if time % _SECOND:
        return f"{time // timedelta(milliseconds=1)}ms"
    # Short times are read more easily in seconds (150s, 300s), long ones in the largest unit that fits.
    for least, unit, letter in ((2 * _DAY, _DAY, "d"), (_HOUR, _HOUR, "h"), (11 * _MINUTE, _MINUTE, "m")):
        if time >= least and not time % unit:
            return f"{time // unit}{letter}"
    return f"{time // _SECOND}s"
