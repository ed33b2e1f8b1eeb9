"""Times, spans and lists as a person or a program reads them."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, object]
"""A value that `json.dumps` takes as it is: text, numbers, booleans, None, and lists and dicts of them."""


def json_of(text: str | bytes) -> Any:
    """Return the value that this JSON, a peer's perhaps, says. Raises `ValueError`, also where it nests too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it nests too deeply") from None


def stamp(at: datetime) -> str:
    """Return the time as ISO 8601 in UTC, with milliseconds and a Z."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def stamp_or_none(at: datetime | None) -> str | None:
    return None if at is None else stamp(at)


def span(length: timedelta) -> str:
    """Return a length of time in its one or two largest units: `450 ms`, `60 s`, `2 min`, `1 h 30 min`, `3 d`."""
    if timedelta() < length < timedelta(seconds=1):
        return f"{round(length / timedelta(milliseconds=1))} ms"
    seconds = max(0, round(length.total_seconds()))
    if seconds < 120:
        return f"{seconds} s"
    for size, unit, part, part_unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        whole, rest = divmod(seconds, size)
        if whole:
            parts = rest // part
            return f"{whole} {unit} {parts} {part_unit}" if parts else f"{whole} {unit}"
    raise AssertionError("a span of two minutes or more has minutes")


def runs(numbers: Iterable[int]) -> str:
    """Return numbers with those that follow each other as one: `0-3,7`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def counted(count: int, word: str) -> str:
    """Return `1 chip`, `2 chips`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def one_line(text: str) -> str:
    """Return the text without line breaks and control characters: what a container calls itself is not trusted."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def joined(parts: Iterable[str]) -> str:
    return "; ".join(part for part in parts if part)
