"""The words that mistakes are told in."""

import difflib
import json
from collections.abc import Iterable, Sequence

_LONGEST = 80


def quoted(value: object) -> str:
    """Return a value as it was written, on one line, without control characters, and not too long."""
    text = json.dumps(value, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def plain(key: str) -> str:
    """Return a key bare when it can stand so, else quoted."""
    return key if key.isascii() and key.replace("_", "").replace("-", "").isalnum() else quoted(key)


def either(words: Sequence[str]) -> str:
    """Return `a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return `; did you mean x?` for the likeliest word, or nothing."""
    known = {w.lower(): w for w in words}
    close = difflib.get_close_matches(word[:_LONGEST].lower(), known, n=1, cutoff=0.7)
    return f"; did you mean {known[close[0]]}?" if close else ""


def counted(mistakes: Sequence[str]) -> str:
    """Return `1 mistake` or `3 mistakes`."""
    return "1 mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
