"""What a container's `cmgr.` labels wish for. Pure; a wish that cannot be read is a warning, and the default holds."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from cmgr.model.policy import Strategy

STRATEGY = "cmgr.strategy"
STOP_TIMEOUT = "cmgr.stop-timeout"
ORDER = "cmgr.order"
ENABLE = "cmgr.enable"

LONGEST_GRACE = timedelta(days=7)
"""What is longer is cut to this: Docker counts in nanoseconds, and its count overflows where a century is no grace."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """`grace` and `strategy` are None where the labels do not say."""

    strategy: Strategy | None = None
    grace: timedelta | None = None
    order: int = 0
    enabled: bool = True
    warnings: tuple[str, ...] = ()


def wishes(labels: Mapping[str, str]) -> Wishes:
    """Return what the labels wish for."""
    warnings: list[str] = []
    strategy, grace, order, enabled = None, None, 0, True
    for label, value in sorted(labels.items()):
        text = value.strip()
        if label == STRATEGY and text in list(Strategy):
            strategy = Strategy(text)
        elif label == STOP_TIMEOUT and re.fullmatch(r"[0-9]{1,9}", text):
            grace = min(timedelta(seconds=int(text)), LONGEST_GRACE)
        elif label == ORDER and re.fullmatch(r"[+-]?[0-9]{1,6}", text):
            order = int(text)
        elif label == ENABLE and text.casefold() in ("true", "false"):
            enabled = text.casefold() == "true"
        elif label in _TAKEN:
            warnings.append(f"cannot read label {label}={_shown(value)}: {_TAKEN[label]}")
        elif label.startswith("cmgr."):
            warnings.append(f"label {_shown(label)} is not known: {', '.join(_TAKEN)} are")
    return Wishes(strategy, grace, order, enabled, tuple(warnings[:8]))


_TAKEN: Mapping[str, str] = {
    STRATEGY: f"it takes {', '.join(Strategy)}",
    STOP_TIMEOUT: "it takes a whole number of seconds",
    ORDER: "it takes a whole number",
    ENABLE: "it takes true or false",
}


def _shown(text: str) -> str:
    return repr(text if len(text) <= 48 else text[:47] + "…")
