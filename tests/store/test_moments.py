"""Every moment that the database keeps is as good after a clock that was set, whichever way, and a restart of cmgr.

Within one life time runs on the monotonic clock; the database has the other one's. A new column with a moment stands
in one of the tables here, or the first test fails.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from typing import Any, get_args, get_type_hints

import pytest

from cmgr.model.reduce import reduce
from cmgr.model.values.chips import ChipId
from cmgr.model.values.life import stored_types
from cmgr.model.values.messages import facts
from cmgr.model.values.node import Node
from cmgr.model.values.services.groups import Group, GroupPhase
from cmgr.model.values.services.slots import LONGEST_RESERVATION
from tests.model.builders import CATALOG, RING, stored
from tests.store import sample
from tests.store.values import NOW

SPAN = timedelta(minutes=3)
"""How far ahead a deadline is when the life ends."""

DAYS = timedelta(days=400)

AHEAD = {
    "Attempt.retry_at": SPAN,
    "Fault.until": SPAN,
    "Healing.due": SPAN,
    "MachineFault.until": SPAN,
    "Maintenance.until": SPAN,
    "Reboot.due": SPAN,
    "Reboot.retry_at": SPAN,
    "Reservation.until": LONGEST_RESERVATION,
    "Ring.deadline": timedelta(minutes=10),
    "Ring.not_before": SPAN,
}
"""Deadlines: after the restart each is at most as far ahead as it was, or as it is where that begins anew."""

PAST = {
    "Kept.halted", "Kept.paused", "Kept.since", "Kept.steady", "Kept.unsteady",
    "Fault.changed", "Fault.risen",
    "Group.began", "Group.since", "Healing.given_up", "Healing.since", "Healing.times", "Isolation.clean_since",
    "MachineFault.changed", "Maintenance.since", "Outage.since", "Outage.up", "Reboot.since", "ResetOrder.at",
    "Restraint.kept",
    "Restraint.opened", "Restraint.since", "Ring.began", "Ring.blocked", "Ring.lulls", "Ring.resets", "Ring.since",
    "Ring.vetoed",
    "Tally.last", "Tally.recovered", "Tally.risen", "Tally.times",
}  # fmt: skip
"""Moments from which a time is counted: after the restart none is ahead of the clock."""

TOLD = {
    "Composed.made": "by the runtime's clock, compared with its own only",
    "Kept.answered": "told, and no time runs from it: that it is there counts",
    "Kept.lost": "told, and no time runs from it: that it is there counts",
    "Kept.mute": "told, and no time runs from it",
    "Exit.at": "by the runtime's clock, compared with its own only",
    "Fault.cleared": "told, and no time runs from it",
    "Fault.since": "told, and no time runs from it",
    "Gone.at": "told, and no time runs from it",
    "Hold.down": "told, and no time runs from it",
    "Hold.since": "told, and no time runs from it",
    "Isolation.since": "told, and no time runs from it",
    "MachineFault.cleared": "told, and no time runs from it",
    "MachineFault.since": "told, and no time runs from it",
    "MissingChip.since": "told, and no time runs from it",
    "Occasion.due": "a word: by it a time of the calendar is known again",
    "Origin.doubted": "told, and no time runs from it",
    "Raise.since": "told, and no time runs from it",
    "Ring.answered": "told, and no time runs from it",
    "Ring.up": "told, and no time runs from it",
    "Round.began": "told, and no time runs from it",
    "Round.ended": "told, and no time runs from it",
    "Slot.since": "told, and no time runs from it",
    "Trouble.since": "told, and no time runs from it",
}
"""Moments by which nothing is decided in another life, and why."""


def moments_of_type(hint: Any, name: str = "", within: frozenset[Any] = frozenset()) -> Iterator[str]:
    """Yield the name of every stored moment that values of this type have: class and field."""
    while hasattr(hint, "__supertype__"):
        hint = hint.__supertype__
    if hint is datetime:
        yield name
    elif isinstance(hint, type) and (hasattr(hint, "__dataclass_fields__") or issubclass(hint, tuple)):
        types = get_type_hints(hint) if issubclass(hint, tuple) else stored_types(hint)  # type: ignore[arg-type]  # a class can be hashed
        for field, inner in types.items() if hint not in within else ():
            yield from moments_of_type(inner, f"{hint.__name__}.{field}", within | {hint})
    for inner in get_args(hint):
        yield from moments_of_type(inner, name, within)


def moments(value: Any, name: str = "") -> Iterator[tuple[str, datetime]]:
    """Yield every stored moment that this value has, with its name."""
    if isinstance(value, datetime):
        yield name, value
    elif hasattr(value, "__dataclass_fields__"):
        for field in stored_types(type(value)):  # type: ignore[arg-type]  # a class can be hashed
            yield from moments(getattr(value, field), f"{type(value).__name__}.{field}")
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from moments(inner, name)
    elif isinstance(value, tuple | frozenset):
        for inner in value:
            yield from moments(inner, name)


def moved(value: Any, to: Callable[[str], datetime], name: str = "") -> Any:
    """Return the value with other moments, each as its name wants it."""
    if isinstance(value, datetime):
        return to(name)
    if is_dataclass(value) and not isinstance(value, type):
        names = {f.name for f in fields(value)}.intersection(stored_types(type(value)))
        inner = {n: moved(getattr(value, n), to, f"{type(value).__name__}.{n}") for n in names}
        return replace(value, **inner)
    if isinstance(value, Mapping):
        return {key: moved(each, to, name) for key, each in value.items()}
    if type(value) in (tuple, frozenset):
        return type(value)(moved(each, to, name) for each in value)
    return value


def left() -> Node:
    """Return what a life has left, in which nothing has its default, every deadline being as far ahead."""
    whole = replace(
        sample.NODE,
        groups={"tp": Group("tp", GroupPhase.HALTING, 1, since=NOW, began=NOW)},
        containers={
            k: replace(c, kept=replace(c.kept, paused=NOW, unsteady=NOW, steady={ChipId(0): NOW}))
            for k, c in sample.NODE.containers.items()
        },
        faults={
            chip: {key: replace(fault, until=NOW) for key, fault in found.items()}
            for chip, found in sample.NODE.faults.items()
        },
    )
    node = moved(whole, lambda name: NOW + SPAN if name in AHEAD else NOW)
    assert isinstance(node, Node)
    return node


def begun(at: datetime) -> Node:
    node = replace(stored(left()), policy=RING, catalog=CATALOG)
    restarted = facts.Restarted(tuple(node.chips.values()), ("docker", "containerd"), appliance="a")
    return reduce(node, facts.Event(at, restarted))[0]


def test_every_moment_that_is_stored_is_a_deadline_or_past_or_only_told() -> None:
    assert sorted(set(moments_of_type(Node))) == sorted([*AHEAD, *PAST, *TOLD])


def test_the_sample_has_each_of_them() -> None:
    assert {*AHEAD, *PAST} - {name for name, _ in moments(left())} == set()


@pytest.mark.parametrize("by", [DAYS, timedelta(seconds=90)], ids=str)
def test_after_a_clock_that_was_set_back_nothing_is_waited_for_longer(by: timedelta) -> None:
    at = NOW - by
    late = {(n, t - at) for n, t in moments(begun(at)) if n in AHEAD and t - at > AHEAD[n]}
    ahead = {(n, t - at) for n, t in moments(begun(at)) if n in PAST and t > at}
    assert (late, ahead) == (set(), set())


def test_after_a_clock_that_was_set_forward_each_deadline_is_over_and_no_promise_is() -> None:
    at = NOW + DAYS
    node, unmoved = begun(at), begun(NOW)
    for kept in ("holds", "isolations", "slots", "missing", "containers", "troubles"):
        assert getattr(node, kept).keys() == getattr(unmoved, kept).keys(), kept
    assert {n for n, t in moments(node) if n in AHEAD and t > at + AHEAD[n]} == set()
