"""Containers on chips of several rings, and rings that have nothing to do with each other."""

from dataclasses import replace

from cmgr.model.values.chips import RingId
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, ReadRing, ResetRing, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from tests.model.builders import REQUEST, RING, Cmgr, container, key, names


def test_a_container_on_two_rings_is_started_when_both_are_out_of_their_episodes() -> None:
    cmgr = Cmgr(container("both", 0, 4), container("a", 1), container("b", 5))
    cmgr.fault(0, REQUEST)
    cmgr.fault(4, REQUEST)
    cmgr.run()
    assert (cmgr.phase(0), cmgr.phase(4), len(cmgr.sent(StopContainer))) == (Phase.WAITING, Phase.WAITING, 3)
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert (cmgr.phase(0), cmgr.held()) == (Phase.HEALTHY, ["b", "both"])
    assert names(cmgr.log, StartContainer) == ["a"]
    cmgr.clears(4, REQUEST)
    cmgr.run()
    assert (cmgr.phase(4), cmgr.held(), len(cmgr.sent(StartContainer, "both"))) == (Phase.HEALTHY, [], 1)


def test_a_container_on_two_rings_is_stopped_once() -> None:
    cmgr = Cmgr(container("both", 0, 4))
    cmgr.fault(0)
    assert names(cmgr.fault(4)) == []


def test_a_fault_of_the_other_ring_while_it_is_started_stops_it_again() -> None:
    cmgr = Cmgr(container("both", 0, 4))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.fault(4)
    assert cmgr.pending
    cmgr.wait(10)
    assert (cmgr.phase(0), cmgr.phase(4), cmgr.held(), cmgr.booked("both").running) == (
        Phase.HEALTHY, Phase.HEALTHY, [], True,
    )  # fmt: skip


def test_started_by_hand_it_is_theirs_on_every_ring_in_an_episode() -> None:
    cmgr = Cmgr(container("both", 0, 4))
    cmgr.fault(0, REQUEST)
    cmgr.fault(4, REQUEST)
    cmgr.run()
    cmgr.starts_by_hand("both")
    cmgr.wait(100)
    assert cmgr.held() == []
    assert "both (started by hand, or forgotten)" in cmgr.ring(0).reason
    assert "both (started by hand, or forgotten)" in cmgr.ring(4).reason


def test_started_by_hand_it_is_theirs_on_no_ring_that_is_well() -> None:
    cmgr = Cmgr(container("both", 0, 4))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.starts_by_hand("both")
    assert (cmgr.ring(0).theirs, cmgr.ring(4).theirs) == (frozenset({key("both")}), frozenset())


def test_a_fault_touches_nothing_outside_its_ring() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 4))
    cmgr.fault(0)
    cmgr.wait(30)
    assert {c.name for c in cmgr.log if isinstance(c, StopContainer | StartContainer)} == {"a"}
    assert [c.ring for c in cmgr.sent(ResetRing)] == [0]


def test_rings_are_reset_one_at_a_time() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 4))
    cmgr.fault(0)
    cmgr.fault(4)
    cmgr.run_until(Phase.RESETTING)
    cmgr.run(StopContainer, ListContainers)
    assert (cmgr.phase(4), cmgr.ring(4).reason) == (Phase.WAITING, "ring 0 is being reset; 1 at once")
    cmgr.answer(ResetRing)
    cmgr.wait(5)
    assert (cmgr.phase(0), cmgr.phase(4)) == (Phase.HEALTHY, Phase.HEALTHY)
    assert [c.ring for c in cmgr.sent(ResetRing)] == [0, 4]


def test_a_ring_that_never_boots_keeps_no_other_from_its_reset() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 4))
    cmgr.unbooted = {2}
    cmgr.fault(0)
    cmgr.wait(5)
    assert (cmgr.phase(0), names(cmgr.log, StartContainer)) == (Phase.VERIFYING, [])
    cmgr.fault(4)
    cmgr.wait(0.1)
    assert (cmgr.phase(0), cmgr.phase(4), names(cmgr.log, StartContainer)) == (Phase.VERIFYING, Phase.HEALTHY, ["b"])


def boots_alone(cmgr: Cmgr) -> Cmgr:
    cmgr.node = replace(cmgr.node, chips={c: replace(chip, boots_alone=True) for c, chip in cmgr.node.chips.items()})
    return cmgr


def test_where_the_driver_wants_it_a_ring_that_boots_keeps_others_waiting_and_costs_them_nothing() -> None:
    cmgr = boots_alone(Cmgr(container("a", 0), container("b", 4)))
    cmgr.unbooted = {2}
    cmgr.fault(0)
    cmgr.wait(5)
    cmgr.fault(4)
    cmgr.wait(60)
    assert [c.ring for c in cmgr.sent(ResetRing)] == [0]
    assert cmgr.ring(4).reason == "ring 0 boots, and until it has, the driver resets no other chip of this machine"
    cmgr.unbooted = set()
    cmgr.wait(5)
    assert (cmgr.phase(0), cmgr.phase(4), cmgr.node.isolations) == (Phase.HEALTHY, Phase.HEALTHY, {})
    assert [len(cmgr.ring(r).resets) for r in (0, 4)] == [1, 1]


def test_a_ring_that_never_boots_keeps_others_waiting_for_as_long_as_a_boot_may_take() -> None:
    cmgr = boots_alone(Cmgr(container("a", 0), container("b", 4)))
    cmgr.unbooted = {2}
    cmgr.fault(0)
    cmgr.wait(5)
    cmgr.fault(4)
    cmgr.wait(140)
    assert [c.ring for c in cmgr.sent(ResetRing)] == [0]
    cmgr.wait(10)
    assert [c.ring for c in cmgr.sent(ResetRing)] == [0, 4]


def test_more_rings_are_reset_at_once_when_the_policy_says_so() -> None:
    cmgr = Cmgr(policy=replace(RING, reset=replace(RING.reset, at_once=2)))
    cmgr.fault(0)
    cmgr.fault(4)
    for _ in range(30):
        if len(cmgr.sent(ResetRing)) == 2:
            break
        cmgr.answer(next(type(c) for c in cmgr.pending if not isinstance(c, ResetRing)))
    assert (cmgr.phase(0), cmgr.phase(4)) == (Phase.RESETTING, Phase.RESETTING)


def test_each_ring_has_its_own_budget() -> None:
    cmgr = Cmgr()
    for _ in range(3):
        cmgr.fault(0)
        cmgr.wait(1)
    cmgr.fault(4)
    cmgr.fault(0)
    cmgr.wait(1)
    assert (len(cmgr.node.rings[RingId(0)].resets), len(cmgr.node.rings[RingId(4)].resets)) == (3, 1)
    assert list(cmgr.node.isolations) == [0]


def test_one_list_at_a_time_however_many_rings_want_one() -> None:
    cmgr = Cmgr(chips=64, ring=1)
    for chip in range(64):
        cmgr.fault(chip)
    assert len(cmgr.sent(ListContainers)) == 1
    cmgr.answer(ListContainers)
    assert (cmgr.phase(0), cmgr.phase(1)) == (Phase.WAITING, Phase.LISTING)
    assert len(cmgr.sent(ListContainers)) == 2
    cmgr.answer(ListContainers)
    assert {r.phase for r in cmgr.node.rings.values()} == {Phase.WAITING}


def test_of_many_rings_that_are_to_be_reset_one_takes_its_last_look_at_a_time() -> None:
    cmgr = Cmgr(chips=32, ring=1)
    for chip in range(32):
        cmgr.fault(chip)
    cmgr.run()
    assert {r.phase for r in cmgr.node.rings.values()} == {Phase.HEALTHY}
    assert len(cmgr.sent(ResetRing)) == 32
    assert len(cmgr.sent(ReadRing)) == 2 * 32


def test_a_ring_is_next_when_the_one_before_it_cannot_be_reset() -> None:
    cmgr = Cmgr()
    cmgr.processes[0] = "python3"
    cmgr.fault(0)
    cmgr.fault(4)
    cmgr.wait(1)
    assert (cmgr.phase(0), cmgr.phase(4), len(cmgr.sent(ResetRing))) == (Phase.WAITING, Phase.HEALTHY, 1)


def test_a_ring_that_waits_for_another_goes_on_in_the_turn_in_which_that_is_done() -> None:
    cmgr = Cmgr()
    cmgr.fault(4)
    cmgr.run_until(Phase.RESETTING, 4)
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.phase(0), cmgr.phase(4), len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, Phase.HEALTHY, 2)


def test_a_start_waits_until_each_of_its_rings_has_been_read_in_this_life() -> None:
    cmgr = Cmgr(container("both", 0, 4))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.begin()
    cmgr.silent = {4}
    cmgr.wait(5)
    assert (cmgr.phase(0), cmgr.ring(0).reason) == (Phase.RESUMING, "starting both: chip 4: not read yet")
    cmgr.silent = set()
    cmgr.wait(2)
    assert (cmgr.phase(0), cmgr.held(), cmgr.truth[key("both")].running) == (Phase.HEALTHY, [], True)


def test_a_container_that_two_rings_share_keeps_their_orders_apart_from_a_third() -> None:
    cmgr = Cmgr(container("high", 8, order=9), container("both", 0, 4, order=1), container("low", 4), chips=12)
    cmgr.fault(8)
    assert names(cmgr.fault(0)) == ["both"]
    assert names(cmgr.fault(4)) == []
    assert names(cmgr.tell(facts.Tick())) == []
    cmgr.run()
    assert (cmgr.held(), len(cmgr.sent(StartContainer))) == ([], 3)
