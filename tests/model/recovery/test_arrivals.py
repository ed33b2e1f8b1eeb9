"""Chips that appear while cmgr runs."""

from dataclasses import replace
from datetime import timedelta

from cmgr.model.reduce import reduce
from cmgr.model.values.chips import Chip, ChipId, RingId
from cmgr.model.values.messages.commands import Command, ReadRing
from cmgr.model.values.messages.facts import ChipsListed, Event, RingRead
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase
from tests.support.picture import T0, faulty, in_episode, isolated, key, machine

LATER = T0 + timedelta(seconds=1)


def listed(node: Node, *extra: Chip) -> tuple[Node, tuple[Command, ...]]:
    chips = tuple(sorted((*node.chips.values(), *extra), key=lambda c: c.id))
    return reduce(node, Event(LATER, ChipsListed(chips)))


def chip(number: int, ring: int) -> Chip:
    return Chip(ChipId(number), RingId(ring), number)


def test_a_new_chip_of_a_new_ring_is_taken_in_and_read() -> None:
    node, commands = listed(machine(), chip(4, 4))
    assert node.rings[RingId(4)].chips == (4,)
    assert [c.chips for c in commands if isinstance(c, ReadRing)] == [(4,)]
    assert set(node.chips) == {0, 1, 2, 3, 4}


def test_a_new_chip_joins_its_ring_whatever_that_is_doing() -> None:
    before = in_episode(faulty(machine(), 2), 2)
    node, commands = listed(before, chip(5, 2))
    ring = node.rings[RingId(2)]
    assert ring.chips == (2, 3, 5)
    assert (ring.phase, ring.episode) == (Phase.WAITING, 7)
    assert (2, 3, 5) in [c.chips for c in commands if isinstance(c, ReadRing)]
    assert node.rings[RingId(0)] == before.rings[RingId(0)]


def test_a_read_out_that_was_asked_of_the_smaller_ring_counts_no_more() -> None:
    before = machine()
    asked, commands = reduce(before, Event(T0, ChipsListed((*before.chips.values(), chip(4, 2)))))
    (first,) = [c for c in commands if isinstance(c, ReadRing)]
    node, _ = listed(asked, chip(5, 2))
    answer = RingRead(first.id, RingId(2), ())
    after, _ = reduce(node, Event(LATER, answer))
    assert after.rings[RingId(2)].read is None
    assert after.rings[RingId(2)].asked == node.rings[RingId(2)].asked


def test_a_container_that_asked_for_the_chip_uses_it_now() -> None:
    before = machine()
    container = replace(before.containers[key("b")], claims=frozenset({"2", "4"}))
    before = replace(before, containers={**before.containers, key("b"): container})
    node, _ = listed(before, chip(4, 4))
    assert node.containers[key("b")].chips == {2, 4}


def test_nothing_is_forgotten_and_a_list_without_news_changes_nothing() -> None:
    before = isolated(faulty(machine(), 1), 3)
    node, commands = listed(before, chip(4, 4))
    assert (node.faults, node.isolations, node.holds) == (before.faults, before.isolations, before.holds)
    same, _ = listed(node)
    assert (same.chips, same.containers) == (node.chips, node.containers)
    # A chip that the list lacks stays: its read-out says that it is gone.
    fewer, _ = reduce(node, Event(LATER, ChipsListed((chip(0, 0),))))
    assert fewer.chips == node.chips
    assert commands


def test_a_chip_that_is_called_otherwise_now_is_found_by_that_and_by_the_old_name_no_more() -> None:
    before = machine()
    container = replace(before.containers[key("b")], claims=frozenset({"part-2"}), chips=frozenset())
    before = replace(before, containers={**before.containers, key("b"): container})
    named = replace(before.chips[ChipId(2)], aliases=frozenset({"part-2"}))
    node, _ = listed(before, named)
    assert node.containers[key("b")].chips == {2}
    assert node.rings == before.rings
    again, _ = listed(node, replace(named, aliases=frozenset()))
    assert again.containers[key("b")].chips == frozenset()
