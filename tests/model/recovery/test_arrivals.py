"""Chips that appear while cmgr runs, and rings that turn out to be one, as when a reset is refused."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.reduce import reduce
from cmgr.model.values.chips import Chip, ChipId, RingId
from cmgr.model.values.messages.commands import Command, ReadRing, ResetRing, StartContainer, StopContainer
from cmgr.model.values.messages.facts import ChipsListed, Event, RingRead
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase
from tests.model.builders import RING, SINGLE, Cmgr, container, names, topology
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
    assert node.containers[key("b")].kept.chips == {2, 4}


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
    container = replace(
        before.containers[key("b")],
        claims=frozenset({"part-2"}),
        kept=replace(before.containers[key("b")].kept, chips=frozenset()),
    )
    before = replace(before, containers={**before.containers, key("b"): container})
    named = replace(before.chips[ChipId(2)], aliases=frozenset({"part-2"}))
    node, _ = listed(before, named)
    assert node.containers[key("b")].kept.chips == {2}
    assert node.rings == before.rings
    again, _ = listed(node, replace(named, aliases=frozenset()))
    assert again.containers[key("b")].kept.chips == frozenset()


def lone_chips(**fields: object) -> Cmgr:
    """Return a machine of two chips, each a ring and used by a container."""
    return Cmgr(container("a", 0), container("b", 1), chips=2, ring=1, **fields)  # type: ignore[arg-type]


def hears_of_one_ring(cmgr: Cmgr) -> None:
    cmgr.chips = topology(2, 2)
    cmgr.tell(ChipsListed(cmgr.chips))


def refuse(cmgr: Cmgr) -> None:
    """Have the reset of chip 1 refused with the word that chip 0 has to be reset with it."""
    cmgr.fault(1)
    cmgr.run_until(Phase.RESETTING, 1)
    hears_of_one_ring(cmgr)
    cmgr.answer(ResetRing, error="the tool wants chip 0 reset with it", refused=True)


def test_whoever_is_on_the_other_ring_is_stopped_before_the_next_reset_which_takes_both() -> None:
    cmgr = lone_chips()
    refuse(cmgr)
    assert "chip 0 is reset with chip 1 from now on: they are one ring" in cmgr.notes()
    cmgr.wait(5)
    assert [reset.chips for reset in cmgr.sent(ResetRing)] == [(1,), (0, 1)]
    assert names(cmgr.sent(StopContainer)) == ["b", "a"]
    assert sorted(names(cmgr.log, StartContainer)) == ["a", "b"]
    assert (cmgr.phase(1), set(cmgr.node.rings)) == (Phase.HEALTHY, {1})


def test_a_strategy_that_stops_no_mates_waits_for_those_on_the_other_ring() -> None:
    cmgr = lone_chips(policy=SINGLE)
    refuse(cmgr)
    cmgr.wait(5)
    assert cmgr.ring(1).reason.startswith("the reset of chips 0-1 waits for a (not on a faulty chip")
    assert names(cmgr.sent(StopContainer)) == ["b"]


def test_a_ring_with_an_episode_of_its_own_joins_when_that_is_over_and_the_driver_says_it_again() -> None:
    cmgr = lone_chips()
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING, 0)
    cmgr.fault(1)
    hears_of_one_ring(cmgr)
    assert [cmgr.ring(n).chips for n in (0, 1)] == [(0,), (1,)]
    cmgr.wait(5)
    assert [cmgr.phase(n) for n in (0, 1)] == [Phase.HEALTHY, Phase.HEALTHY]
    hears_of_one_ring(cmgr)
    assert {ring.id: ring.chips for ring in cmgr.node.rings.values()} == {0: (0, 1)}


@pytest.mark.parametrize("phase", [Phase.HEALTHY, Phase.VERIFYING, Phase.WAITING])
def test_a_ring_that_was_joined_is_read_whole_and_does_not_fall_apart(phase: Phase) -> None:
    cmgr = lone_chips(policy=replace(RING, observe=phase is Phase.WAITING))
    if phase is not Phase.HEALTHY:
        cmgr.fault(0)
        cmgr.run_until(phase, 0)
    hears_of_one_ring(cmgr)
    assert cmgr.ring(0).chips == (0, 1)
    assert cmgr.sent(ReadRing)[-1].chips == (0, 1)
    cmgr.run()
    cmgr.tell(ChipsListed(topology(2, 1)))
    assert ({chip.ring for chip in cmgr.node.chips.values()}, cmgr.phase(0)) == ({RingId(0)}, cmgr.phase(0))
    assert cmgr.ring(0).chips == (0, 1)
    cmgr.begin()
    cmgr.run()
    assert cmgr.ring(0).chips == (0, 1)
