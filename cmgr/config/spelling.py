"""How what is set is spelled: TOML and JSON that may be anything, durations, and the words of mistakes."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from cmgr.errors import ConfigError
from cmgr.sentences.sentence import parts, say

_MOST_DOTS = 100


def parse_toml(text: str, path: str) -> dict[str, Any]:
    """Return the file's tables. Raises `ConfigError`, naming the line."""
    # The library takes a time that grows with the square of these: hours for a file that is not even large.
    if any(part.count(".") > _MOST_DOTS for part in re.split(r"[=,\n\[\]{}]", text)):
        raise ConfigError(say("config.too-many-dots", path=path, most=_MOST_DOTS))
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(say("config.nests-too-deeply", path=path)) from None
    except ValueError as error:  # TOMLDecodeError is one; a number of too many digits gives another.
        wrong = say("config.no-toml", path=path, why=str(error))
        twice = say("config.head-is-there") if "Cannot declare" in str(error) else ""
        raise ConfigError(parts([wrong, twice])) from None


def parse_json(text: str, path: str) -> tuple[Any, tuple[str, ...]]:
    """Return the document, and the keys that stand more than once in one object. Raises `ConfigError`.

    Of such a key the document has the last value; that the others would be lost without a word is a mistake.
    """
    repeated: list[str] = []

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            repeated.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return made

    if not text.strip():
        raise ConfigError(say("config.is-empty", path=path))
    try:
        return json.loads(text, object_pairs_hook=object_of), tuple(repeated)
    except RecursionError:
        raise ConfigError(say("config.nests-too-deeply", path=path)) from None
    except ValueError as error:
        raise ConfigError(say("config.no-json", path=path, why=str(error))) from None


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


_LONGEST = 80


def quoted(value: object) -> str:
    """Return a value as it was written, on one line, without control characters and secrets, and not too long."""
    from cmgr import redact  # As in `errors`: who makes no mistake does not wait for it.

    text = redact.addresses(json.dumps(value, default=str))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def told(key: str, value: object) -> str:
    """Return `quoted` of what a setting was given; nothing of it where the setting is about a secret."""
    from cmgr import redact

    return redact.GONE if redact.is_secret(key, str(value)) else quoted(value)


def plain(key: str) -> str:
    """Return a key bare when it can stand so, else quoted."""
    return key if key.isascii() and key.replace("_", "").replace("-", "").isalnum() else quoted(key)


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return `did you mean x?` for the likeliest word, or nothing."""
    import difflib

    known = {w.lower(): w for w in words}
    close = difflib.get_close_matches(word[:_LONGEST].lower(), known, n=1, cutoff=0.7)
    return say("config.did-you-mean", word=known[close[0]]) if close else ""


UNIT = r"(?=.{9,255}\Z)[A-Za-z0-9:_.\\-]+(@[A-Za-z0-9:_.\\-]+)?\.service"


def is_unit(text: str) -> bool:
    """Return whether this can be the name of a service of systemd (systemd.unit(5)); a template needs its instance."""
    return re.fullmatch(UNIT, text) is not None


def doubled(key: str, names: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each name that stands there more than once."""
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield say("config.named-twice", key=key, name=name)
