"""Chips that the driver does not list when cmgr is started: what was promised about them is not forgotten."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.values.chips import ALL_CHIPS, ChipId
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Note, NoteKind, ResetRing, StartContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container
from cmgr.view.status import rings
from tests.model.builders import MINOR, REQUEST, RESET, Cmgr, container, key, names, reset_timed_out, topology
from tests.model.faults.escalated import LINK_DOWN, ruled, rules


def restart(cmgr: Cmgr, *absent: int) -> None:
    """Let cmgr be started anew, with a driver that does not list these chips."""
    cmgr.chips = tuple(c for c in topology(8, 4) if c.id not in absent)
    cmgr.begin()
    cmgr.run()


def come_back(cmgr: Cmgr) -> None:
    cmgr.chips = topology(8, 4)
    cmgr.tell(facts.ChipsListed(cmgr.chips))
    cmgr.run()


def all_chips(name: str) -> Container:
    return container(name, claims=frozenset({ALL_CHIPS}))


def test_what_a_person_isolated_stays_isolated_while_the_driver_does_not_list_it() -> None:
    cmgr = Cmgr(container("a", 3))
    cmgr.tell(facts.IsolateOrdered(ChipId(3), "it is broken", "uid 0"))
    restart(cmgr, 3)
    cmgr.wait(1000)
    restart(cmgr, 3)
    come_back(cmgr)
    cmgr.wait(1000)
    assert cmgr.node.isolations[ChipId(3)].reason == "it is broken"


def test_a_person_can_release_a_chip_that_was_taken_out_for_good() -> None:
    cmgr = Cmgr()
    cmgr.tell(facts.IsolateOrdered(ChipId(3), "it is broken", "uid 0"))
    restart(cmgr, 3)
    cmgr.tell(facts.ReleaseOrdered(ChipId(3), "uid 0"))
    assert cmgr.node.isolations == {}
    assert cmgr.notes(NoteKind.ISOLATION)[-1] == "chip 3 is released by uid 0"


def test_the_budget_holds_while_the_driver_lists_none_of_the_ring() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.cures = False
    cmgr.fault(0)
    for _ in range(20):
        cmgr.wait(12)
        restart(cmgr, 0, 1, 2, 3)
        come_back(cmgr)
        cmgr.fault(0)
    cmgr.wait(1000)
    assert len(cmgr.sent(ResetRing)) == 3
    assert list(cmgr.node.isolations) == [0]


def test_an_episode_whose_chips_are_all_gone_ends_and_what_it_held_is_started_when_they_are_back_and_well() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    restart(cmgr, 0, 1, 2, 3)
    assert (cmgr.held(), cmgr.phase()) == (["a"], Phase.HEALTHY)
    assert [n.outcome for n in cmgr.log if isinstance(n, Note) and n.kind is NoteKind.CLOSED] == ["failed"]
    assert [row["id"] for row in rings(cmgr.node)] == [4]
    cmgr.faults[0] = set()
    come_back(cmgr)
    assert (cmgr.held(), cmgr.booked("a").running) == ([], True)
    assert [row["id"] for row in rings(cmgr.node)] == [0, 4]


def test_no_reset_is_made_of_a_ring_whose_chips_are_all_gone() -> None:
    cmgr = Cmgr()
    cmgr.fault(0)
    cmgr.wait(1)
    cmgr.processes = {0: "somebody"}
    cmgr.tell(facts.ResetOrdered(ChipId(0), "uid 0"))
    cmgr.run()
    assert cmgr.node.reset_orders
    restart(cmgr, 0, 1, 2, 3)
    cmgr.wait(10)
    assert len(cmgr.sent(ResetRing)) == 1
    assert not cmgr.node.reset_orders


def test_a_container_on_all_chips_waits_for_a_chip_that_came_while_it_was_held() -> None:
    cmgr = Cmgr(all_chips("every"), container("one", 0))
    cmgr.chips = topology(4, 4)
    cmgr.begin()
    cmgr.run()
    cmgr.fault(0, REQUEST)
    cmgr.run()
    assert cmgr.held() == ["every", "one"]
    cmgr.faults[4] = {REQUEST}
    come_back(cmgr)
    cmgr.clears(0, REQUEST)
    cmgr.wait(5)
    assert names(cmgr.log, StartContainer) == ["one"]
    cmgr.clears(4, REQUEST)
    cmgr.wait(5)
    assert cmgr.held() == []


def test_a_container_that_was_held_while_one_of_its_chips_was_away_waits_for_that_one_too() -> None:
    cmgr = Cmgr(container("both", 1, 5))
    restart(cmgr, 1)
    cmgr.fault(5, REQUEST)
    cmgr.run()
    assert cmgr.hold("both").chips == {5}
    come_back(cmgr)
    cmgr.tell(facts.IsolateOrdered(ChipId(1), "it is broken", "uid 0"))
    cmgr.clears(5, REQUEST)
    cmgr.wait(5)
    assert cmgr.held() == ["both"]
    cmgr.tell(facts.ReleaseOrdered(ChipId(1), "uid 0"))
    cmgr.wait(5)
    assert cmgr.held() == []


def test_a_container_on_all_chips_does_not_wait_for_one_that_is_gone() -> None:
    cmgr = Cmgr(all_chips("every"), container("seventh", 7))
    cmgr.fault(7, REQUEST)
    cmgr.run()
    assert cmgr.held() == ["every", "seventh"]
    restart(cmgr, 7)
    cmgr.wait(5)
    assert cmgr.held() == ["seventh"]
    assert cmgr.hold("seventh").chips == {7}


def test_a_container_that_was_made_anew_under_its_name_waits_for_the_chips_that_it_asks_for_now() -> None:
    cmgr = Cmgr(container("a", 0, runtime="containerd"), runtimes=("containerd",))
    cmgr.fault(0, REQUEST)
    cmgr.fault(4, RESET)
    cmgr.processes = {4: "somebody"}
    cmgr.run()
    assert cmgr.held() == ["a"]
    known = cmgr.truth[key("a", "containerd")]
    cmgr.sees(replace(known, claims=frozenset({"4"})))
    cmgr.clears(0, REQUEST)
    cmgr.wait(5)
    assert (cmgr.held(), cmgr.sent(StartContainer)) == (["a"], [])
    assert cmgr.hold("a", "containerd").chips == {4}


def test_what_a_rule_isolated_is_released_when_the_chip_is_back_and_the_rule_is_over() -> None:
    cmgr = ruled(by=rules(duration=LINK_DOWN, code=MINOR))
    cmgr.fault(0, MINOR)
    cmgr.wait(25)
    assert cmgr.node.isolations[ChipId(0)].by == "escalation"
    cmgr.clears(0, MINOR)
    restart(cmgr, 0, 1, 2, 3)
    cmgr.wait(100)
    come_back(cmgr)
    assert cmgr.node.isolations == {}


def test_nothing_is_started_on_chips_that_come_back_before_they_have_booted() -> None:
    cmgr = reset_timed_out()
    restart(cmgr, 0, 1, 2, 3)
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, ["a"])
    come_back(cmgr)
    cmgr.wait(20)
    assert (cmgr.held(), cmgr.sent(StartContainer)) == (["a"], [])
    cmgr.unbooted = set()
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running) == ([], True)


def test_one_that_was_made_in_the_place_of_another_on_a_chip_that_was_away_is_its_successor() -> None:
    cmgr = Cmgr(container("job-1", 3))
    cmgr.fault(3, REQUEST)
    cmgr.run()
    restart(cmgr, 3)
    cmgr.wait(1)
    cmgr.sees(container("job-2", 3, run="life of 2"))
    cmgr.now -= timedelta(minutes=1)  # The clock is set back between two lives: that changes nothing.
    restart(cmgr, 3)
    come_back(cmgr)
    cmgr.clears(3, REQUEST)
    cmgr.wait(600)
    assert (cmgr.held(), cmgr.booked("job-1").running, cmgr.booked("job-2").running) == (["job-1"], False, True)


@pytest.mark.parametrize("back", [come_back, restart])
def test_who_is_made_while_a_chip_is_away_is_in_the_place_of_one_that_is_held_on_it(
    back: Callable[[Cmgr], None],
) -> None:
    cmgr = Cmgr(container("first", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    restart(cmgr, 0)
    cmgr.sees(container("second", 0, run="its life"))
    cmgr.faults[0].clear()
    back(cmgr)
    cmgr.wait(100)
    assert (cmgr.held(), cmgr.booked("second").running) == (["first"], True)
    assert cmgr.hold("first").reason == "second was made in its place"


@pytest.mark.parametrize("back", [come_back, restart])
def test_who_is_made_while_a_chip_is_away_and_held_for_another_is_in_the_place_of_one_that_is_held_on_it(
    back: Callable[[Cmgr], None],
) -> None:
    cmgr = Cmgr(container("first", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    restart(cmgr, 0)
    cmgr.fault(4, REQUEST)
    cmgr.sees(container("second", 0, 4, run="its life"))
    cmgr.run()
    assert cmgr.held() == ["first", "second"]
    cmgr.faults[0].clear()
    back(cmgr)
    cmgr.clears(4, REQUEST)
    cmgr.wait(100)
    assert (cmgr.held(), cmgr.booked("second").running) == (["first"], True)
    assert cmgr.hold("first").reason == "second was made in its place"


@pytest.mark.parametrize("first", [0, 4])
def test_two_that_had_run_on_a_chip_that_was_away_when_they_were_held_are_two_again(first: int) -> None:
    cmgr = Cmgr(container("a", 1, 0), container("b", 1, 4))
    restart(cmgr, 1)
    for chip in (first, 4 - first):
        cmgr.fault(chip, REQUEST)
        cmgr.wait(1)
    assert cmgr.held() == ["a", "b"]
    come_back(cmgr)
    for chip in (0, 4):
        cmgr.clears(chip, REQUEST)
    cmgr.wait(100)
    assert (cmgr.held(), cmgr.booked("a").running, cmgr.booked("b").running) == ([], True, True)


def test_whose_place_it_took_on_a_chip_that_was_there_all_the_time_it_keeps() -> None:
    cmgr = Cmgr(container("first", 0), container("other", 4))
    for chip in (0, 4):
        cmgr.fault(chip, REQUEST)
        cmgr.tell(facts.IsolateOrdered(ChipId(chip), "it is broken", "uid 0"))
    cmgr.run()
    for chip in (0, 4):
        cmgr.clears(chip, REQUEST)
    restart(cmgr, 0)
    cmgr.sees(container("both", 0, 4, run="its life"))
    come_back(cmgr)
    for chip in (0, 4):
        cmgr.tell(facts.ReleaseOrdered(ChipId(chip), "uid 0"))
    cmgr.wait(100)
    assert (cmgr.held(), cmgr.booked("both").running) == (["first", "other"], True)
