"""Windows and times of the week: "Sat 02:00-04:00", "Mon-Fri 22:00-06:00", "03:00", and cron expressions."""

import re
from collections.abc import Mapping, Sequence

from cmgr.model.values.handling.calendar import Moments, Window
from cmgr.sentences.sentence import say

WINDOW = say("config.window", such=['"Sat 02:00-04:00"', '"Mon-Fri 22:00-06:00"', '"Sun"'], cron='"* 2-3 1 * *"')
TIME = say("config.time", such=['"Sat 03:00"', '"03:00"'], cron='"0 3 1 * *"')

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_EVERY_DAY = frozenset(range(1, 32))
_EVERY_MONTH = frozenset(range(1, 13))
_WEEK = frozenset(range(7))
_HOUR = frozenset(range(60))

_NAMED_DAYS = {name: number for number, name in enumerate(_DAYS)}
_CRON_DAYS = {name: (number + 1) % 7 for number, name in enumerate(_DAYS)}
_CRON_MONTHS = {name: number for number, name in enumerate(_MONTHS, start=1)}

_MOST = 200
"""Characters. A text that is longer is no window."""


def window(text: str) -> Window:
    """Return the window. Raises `ValueError`, saying what is allowed."""
    moments = _cron(text) or _range(text)
    if not moments:
        raise ValueError(WINDOW)
    return Window(text, moments)


def time(text: str) -> Window:
    """Return the minutes at which something begins. Raises `ValueError`, saying what is allowed."""
    moments = _cron(text) or _instant(text)
    if not moments:
        raise ValueError(TIME)
    return Window(text, moments)


def _short(text: str) -> str:
    return text.strip() if len(text) <= _MOST else ""


def _instant(text: str) -> tuple[Moments, ...]:
    match = re.fullmatch(r"(?:(\S+)\s+)?([0-9]{1,2}:[0-9]{2})", _short(text))
    at = _minute(match[2]) if match else None
    days = _weekdays(match[1]) if match and match[1] else _WEEK
    if at is None or at == 24 * 60 or not days:
        return ()
    return (_moments(days, at, at + 1),)


def _range(text: str) -> tuple[Moments, ...]:
    match = re.fullmatch(r"([^\s0-9]\S*)?\s*(?:([0-9]{1,2}:[0-9]{2})\s*-\s*([0-9]{1,2}:[0-9]{2}))?", _short(text))
    if not match or not (match[1] or match[2]):
        return ()
    days = _weekdays(match[1]) if match[1] else _WEEK
    begin, end = (_minute(match[2]), _minute(match[3])) if match[2] else (0, 24 * 60)
    if not days or begin is None or end is None or begin == end or begin == 24 * 60:
        return ()
    if begin < end:
        return _parts(days, begin, end)
    # It ends on the day after.
    return (*_parts(days, begin, 24 * 60), *_parts(frozenset((d + 1) % 7 for d in days), 0, end))


def _parts(days: frozenset[int], begin: int, end: int) -> tuple[Moments, ...]:
    """Return the time from one minute of the day to another as its whole hours and what is left at both ends."""
    first, last = -(-begin // 60) * 60, end // 60 * 60
    if first > last:
        return (_moments(days, begin, end),)
    pieces = ((begin, first), (first, last), (last, end))
    return tuple(_moments(days, a, b) for a, b in pieces if a < b)


def _moments(days: frozenset[int], begin: int, end: int) -> Moments:
    minutes = _HOUR if end - begin >= 60 else frozenset(minute % 60 for minute in range(begin, end))
    hours = frozenset(minute // 60 for minute in range(begin, end))
    return Moments(minutes, hours, _EVERY_DAY, _EVERY_MONTH, days)


def _minute(text: str) -> int | None:
    hours, _, minutes = text.partition(":")
    minute = int(hours) * 60 + int(minutes)
    return minute if int(minutes) < 60 and minute <= 24 * 60 else None


def _weekdays(text: str) -> frozenset[int] | None:
    found: set[int] = set()
    for part in text.lower().split(","):
        first, dash, last = part.partition("-")
        if first not in _NAMED_DAYS or (dash and last not in _NAMED_DAYS):
            return None
        begin, end = _NAMED_DAYS[first], _NAMED_DAYS[last or first]
        # "Sat-Mon" goes over the end of the week.
        found |= {(begin + step) % 7 for step in range((end - begin) % 7 + 1)}
    return frozenset(found)


def _cron(text: str) -> tuple[Moments, ...]:
    fields = _short(text).lower().split()
    if len(fields) != 5:
        return ()
    minutes, hours = _field(fields[0], 0, 59, {}), _field(fields[1], 0, 23, {})
    days, months = _field(fields[2], 1, 31, {}), _field(fields[3], 1, 12, _CRON_MONTHS)
    weekdays = _field(fields[4], 0, 7, _CRON_DAYS)
    if not (minutes and hours and days and months and weekdays):
        return ()
    # To cron both together mean either: nobody remembers that.
    if fields[2] != "*" and fields[4] != "*":
        return ()
    if all(min(days) > _LONGEST[month - 1] for month in months):
        return ()
    # In cron 0 and 7 are Sunday.
    return (Moments(minutes, hours, days, months, frozenset((day - 1) % 7 for day in weekdays)),)


def _field(text: str, least: int, most: int, names: Mapping[str, int]) -> frozenset[int] | None:
    found: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        if slash and not re.fullmatch(r"[1-9][0-9]?", step):
            return None
        ends = _ends(span.split("-"), least, most, names) if span != "*" else (least, most)
        if ends is None or (slash and span != "*" and "-" not in span):
            return None
        found.update(range(ends[0], ends[1] + 1, int(step or 1)))
    return frozenset(found)


def _ends(words: Sequence[str], least: int, most: int, names: Mapping[str, int]) -> tuple[int, int] | None:
    if len(words) > 2:
        return None
    numbers = [names.get(w, int(w) if re.fullmatch(r"[0-9]{1,2}", w) else -1) for w in words]
    first, last = numbers[0], numbers[-1]
    # "fri-sun": Sunday is the 7 there.
    last = 7 if last == 0 and most == 7 and first > 0 else last
    return (first, last) if least <= first <= last <= most else None
