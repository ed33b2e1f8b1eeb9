"""Lists of chips in requests, such as `4,5` or `0-3`: never more is made of one than a machine can have."""

import re

from cmgr.model.values.chips import ChipId

MOST = 256
"""Numbers in one list, each time that one is meant."""

_SPAN = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")


def chips_in(text: str) -> frozenset[ChipId]:
    """Return the chips. Raises `ValueError`, with the part that is none, or is too much."""
    found: list[ChipId] = []
    for item in text.split(",", MOST):
        span = _SPAN.fullmatch(item.strip())
        first, last = (int(span[1]), int(span[2] or span[1])) if span is not None else (0, -1)
        if not first <= last < first + MOST - len(found):
            raise ValueError(item.strip()[:40])
        found += map(ChipId, range(first, last + 1))
    return frozenset(found)
