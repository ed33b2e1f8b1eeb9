"""The wishes in a container's `cmgr.` labels. Pure; a wish that cannot be read is a warning, and the default holds."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from cmgr.model.values.containers import Heal
from cmgr.model.values.policy import Strategy

STRATEGY = "cmgr.strategy"
STOP_TIMEOUT = "cmgr.stop-timeout"
ORDER = "cmgr.order"
ENABLE = "cmgr.enable"
HEAL = "cmgr.heal"
HEAL_LIMIT = "cmgr.heal-limit"
HEAL_BACKOFF = "cmgr.heal-backoff"
NEEDS_NETWORK = "cmgr.needs-network"

IGNORE = "ignore"
"""The value of `ENABLE` for a container that can reach chips and uses none."""

LONGEST_GRACE = timedelta(days=7)
"""The longest grace. Docker counts nanoseconds and overflows near 292 years."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """`grace` and `strategy` are None where the labels do not say, `heal` where they do not wish it.

    `ignored`: the container uses no chip, whatever it could reach.
    """

    strategy: Strategy | None = None
    grace: timedelta | None = None
    order: int = 0
    enabled: bool = True
    ignored: bool = False
    heal: Heal | None = None
    needs_network: bool = False
    warnings: tuple[str, ...] = ()


def wished(labels: Mapping[str, str]) -> bool:
    """Return whether anything is wished of cmgr."""
    return any(label.startswith("cmgr.") for label in labels)


def wishes(labels: Mapping[str, str], *, auto_remove: bool = False) -> Wishes:
    """Return what the labels wish for. `auto_remove`: the container is removed when it ends."""
    warnings: list[str] = []
    said: dict[str, str] = {}
    for label, value in sorted(labels.items()):
        if label in _TAKEN:
            form, words = _TAKEN[label]
            text = value.strip()
            if re.fullmatch(form, text, re.IGNORECASE if label in _FLAGS else re.NOFLAG):
                said[label] = text
            else:
                warnings.append(f"cannot read label {label}={_shown(value)}: it takes {words}")
        elif label.startswith("cmgr."):
            warnings.append(f"label {_shown(label)} is not known: {', '.join(_TAKEN)} are")
    heals = said.get(HEAL, "false").casefold() == "true"
    if heals and auto_remove:
        warnings.append(f"label {HEAL} has no use: the container is removed when it ends")
    return Wishes(
        strategy=Strategy(said[STRATEGY]) if STRATEGY in said else None,
        grace=min(timedelta(seconds=int(said[STOP_TIMEOUT])), LONGEST_GRACE) if STOP_TIMEOUT in said else None,
        order=int(said.get(ORDER, "0")),
        enabled=said.get(ENABLE, "true").casefold() == "true",
        ignored=said.get(ENABLE, "true").casefold() == IGNORE,
        heal=_heal(said) if heals and not auto_remove else None,
        needs_network=said.get(NEEDS_NETWORK, "false").casefold() == "true",
        warnings=tuple(warnings[:8]),
    )


def _heal(said: Mapping[str, str]) -> Heal:
    return Heal(
        limit=int(said[HEAL_LIMIT]) if HEAL_LIMIT in said else None,
        backoff=timedelta(seconds=int(said[HEAL_BACKOFF])) if HEAL_BACKOFF in said else None,
    )


_FLAGS = (ENABLE, HEAL, NEEDS_NETWORK)

_TAKEN: Mapping[str, tuple[str, str]] = {
    STRATEGY: ("|".join(Strategy), ", ".join(Strategy)),
    STOP_TIMEOUT: ("[0-9]{1,9}", "a whole number of seconds"),
    ORDER: ("[+-]?[0-9]{1,6}", "a whole number"),
    ENABLE: (f"true|false|{IGNORE}", f"true, false or {IGNORE}"),
    HEAL: ("true|false", "true or false"),
    HEAL_LIMIT: ("[1-9][0-9]{0,3}", "a whole number from 1"),
    NEEDS_NETWORK: ("true|false", "true or false"),
    HEAL_BACKOFF: ("[1-9][0-9]{0,5}", "a whole number of seconds from 1"),
}
"""Each label that is read: what it must look like, as a regular expression and in words."""


def _shown(text: str) -> str:
    return repr(text if len(text) <= 48 else text[:47] + "…")
