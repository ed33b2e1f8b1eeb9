"""Slots: made, given other chips, and what is held on them moved off isolated chips."""

from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.containers.moving.moves import NO_SPARE, whole_with
from cmgr.model.invariants import doubled, unsafe
from cmgr.model.turn import REDEPLOY
from cmgr.model.values.chips import SLOT, Chip, ChipId
from cmgr.model.values.handling.policy import IsolationPolicy, OnIsolate, Packing, Policy, SparePolicy
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    Action,
    ListContainers,
    NoteKind,
    StartContainer,
    StopContainer,
    WriteCdi,
)
from cmgr.model.values.services.containers import Container, Spare
from tests.model.builders import RESET, SEPARATE, SINGLE, Cmgr, container, key, names

STOPPING = replace(SINGLE, isolation=IsolationPolicy(on_isolate=OnIsolate.STOP))

UNTIL_STARTED: tuple[type[Action], ...] = (ListContainers, WriteCdi, StopContainer, WriteCdi)
"""The orders that are answered, one after the other, from the isolation of a chip to the start on another one."""


def on_slot(name: str, *slots: str, **fields: Any) -> Container:
    return container(name, claims=frozenset(SLOT + slot for slot in slots or (name,)), **fields)


def chips(*numbers: int) -> frozenset[ChipId]:
    return frozenset(map(ChipId, numbers))


def order(cmgr: Cmgr, name: str, *numbers: int, stop: bool = False) -> None:
    cmgr.tell(facts.SlotOrdered(name, "uid 0", chips(*numbers), stop=stop))


def with_slot(*numbers: int, policy: Policy = STOPPING, **fields: Any) -> Cmgr:
    """Return a machine on which `chat` runs on a slot of its name with these chips, in rings of 4."""
    cmgr = Cmgr(on_slot("chat", **fields), policy=policy)
    order(cmgr, "chat", *numbers)
    cmgr.run()
    cmgr.log.clear()
    return cmgr


def of(cmgr: Cmgr, name: str = "chat") -> set[int]:
    return set(cmgr.node.slots[name].chips)


def written(cmgr: Cmgr) -> dict[str, list[int]]:
    """Return the chips that each slot's file gives now; none where it refuses."""
    return {d.name: [] if d.refusal else [c.id for c in d.chips] for spec in cmgr.files for d in spec.devices}


def isolate(cmgr: Cmgr, chip: int) -> None:
    cmgr.tell(facts.IsolateOrdered(ChipId(chip), "it smells", "a"))


def test_what_is_held_on_an_isolated_chip_is_started_on_a_spare() -> None:
    cmgr = with_slot(3)
    isolate(cmgr, 3)
    cmgr.run()
    assert (of(cmgr), written(cmgr), cmgr.booked("chat").kept.chips) == ({0}, {"chat": [0]}, chips(0))
    assert cmgr.booked("chat").running
    assert not cmgr.node.holds
    (text,) = [note for note in cmgr.notes(NoteKind.HOLD) if "moves" in note]
    assert text == "chat moves from chip 3 (chip 3 is isolated: it smells) to chip 0"
    assert cmgr.node.slots["chat"].home == chips(3)


def test_the_choice_is_noted_before_the_file_is_written_and_that_before_the_start() -> None:
    cmgr = with_slot(3)
    isolate(cmgr, 3)
    cmgr.answer(ListContainers)
    cmgr.answer(WriteCdi)
    assert written(cmgr) == {"chat": []}, "as long as it has no other, its file refuses"
    commands = cmgr.answer(StopContainer)
    assert of(cmgr) == {0}
    assert [type(command) for command in commands if isinstance(command, WriteCdi | StartContainer)] == [WriteCdi]
    assert names(cmgr.answer(WriteCdi), StartContainer) == ["chat"]


@pytest.mark.parametrize("answered", range(5))
def test_a_move_that_is_cut_off_anywhere_goes_on_in_the_next_life(answered: int) -> None:
    cmgr = with_slot(3)
    isolate(cmgr, 3)
    for kind in UNTIL_STARTED[:answered]:
        cmgr.answer(kind)
    cmgr.begin()
    cmgr.run()
    assert (of(cmgr), written(cmgr), cmgr.booked("chat").running) == ({0}, {"chat": [0]}, True)
    assert not cmgr.node.holds


def test_what_runs_on_is_not_moved() -> None:
    cmgr = with_slot(3, policy=SINGLE)
    isolate(cmgr, 3)
    cmgr.run()
    assert (of(cmgr), cmgr.booked("chat").running, cmgr.sent(StopContainer)) == ({3}, True, [])
    assert written(cmgr) == {"chat": []}, "whoever starts it by hand now is refused"


def test_nothing_moves_while_its_chip_may_still_be_cured() -> None:
    cmgr = with_slot(3)
    cmgr.fault(3, RESET)
    cmgr.run()
    assert (of(cmgr), cmgr.booked("chat").running) == ({3}, True)
    assert not any("moves" in note for note in cmgr.notes())


def test_a_fault_that_isolates_and_kills_moves_it() -> None:
    cmgr = with_slot(3, policy=SINGLE)
    cmgr.fault(3, SEPARATE)
    cmgr.dies("chat")
    cmgr.run()
    assert (of(cmgr), cmgr.booked("chat").running) == ({0}, True)


def test_two_faults_and_one_spare_give_it_to_one() -> None:
    others = [container(f"c{n}", n) for n in range(2, 7)]
    cmgr = Cmgr(on_slot("a"), on_slot("b"), *others, policy=STOPPING)
    order(cmgr, "a", 0)
    order(cmgr, "b", 1)
    cmgr.run()
    isolate(cmgr, 0)
    isolate(cmgr, 1)
    cmgr.run()
    assert (of(cmgr, "a"), of(cmgr, "b")) == ({7}, {1})
    assert (cmgr.booked("a").running, cmgr.held()) == (True, ["b"])


def test_a_spare_that_faults_while_it_is_started_on_is_left_too() -> None:
    cmgr = with_slot(3)
    isolate(cmgr, 3)
    for kind in UNTIL_STARTED:
        cmgr.answer(kind)
    assert cmgr.hold("chat").state is HoldState.STARTING
    cmgr.fault(0, SEPARATE)
    assert of(cmgr) == {0}, "it may run there by now"
    cmgr.run()
    assert (of(cmgr), cmgr.booked("chat").running, cmgr.booked("chat").kept.chips) == ({1}, True, chips(1))


def test_a_spare_that_is_isolated_before_it_is_used_is_not_started_on() -> None:
    cmgr = with_slot(3)
    isolate(cmgr, 3)
    for kind in UNTIL_STARTED[:3]:
        cmgr.answer(kind)
    isolate(cmgr, 0)
    cmgr.run()
    assert of(cmgr) == {1}
    assert [command.name for command in cmgr.sent(StartContainer)] == ["chat"]


def test_several_chips_of_one_ring_stay_in_one() -> None:
    cmgr = with_slot(2, 3)
    isolate(cmgr, 3)
    cmgr.run()
    assert of(cmgr) == {0, 2}
    for chip in (0, 1):
        isolate(cmgr, chip)
    cmgr.run()
    assert of(cmgr) == {4, 5}, "its ring has no second one left, so both move"


def test_chips_of_several_rings_are_replaced_one_by_one() -> None:
    cmgr = with_slot(3, 7)
    isolate(cmgr, 3)
    cmgr.run()
    assert of(cmgr) & {7} == {7}
    assert len(of(cmgr)) == 2


@pytest.mark.parametrize(("packing", "chosen"), [(Packing.BINPACK, 1), (Packing.SPREAD, 4)])
def test_the_policy_says_from_which_ring(packing: Packing, chosen: int) -> None:
    cmgr = with_slot(0, policy=replace(STOPPING, spares=SparePolicy(packing)))
    isolate(cmgr, 0)
    cmgr.run()
    assert of(cmgr) == {chosen}


def test_only_a_chip_of_the_same_model_is_a_spare() -> None:
    cmgr = with_slot(3)
    cmgr.chips = tuple(replace(c, model="other" if c.id < 3 else "same") for c in cmgr.chips)
    cmgr.begin()
    cmgr.run()
    isolate(cmgr, 3)
    cmgr.run()
    assert of(cmgr) == {4}


def test_what_others_use_hold_or_were_given_is_no_spare() -> None:
    cmgr = Cmgr(on_slot("chat"), container("runs", 0), policy=STOPPING)
    order(cmgr, "chat", 3)
    order(cmgr, "other", 1)
    cmgr.run()
    cmgr.processes[2] = "a stranger"
    cmgr.tell(facts.Resync())
    cmgr.run()
    isolate(cmgr, 3)
    cmgr.run()
    assert of(cmgr) == {4}


@pytest.mark.parametrize(("blind", "moves"), [({5}, False), (set[int](), True)])
def test_nothing_moves_while_somebody_may_be_on_chips_of_which_nobody_can_tell(blind: set[int], moves: bool) -> None:
    cmgr = Cmgr(on_slot("chat"), container("reaches", claims=frozenset({"?"})), policy=STOPPING)
    cmgr.blind = blind
    cmgr.tell(facts.Resync())
    order(cmgr, "chat", 3)
    isolate(cmgr, 3)
    cmgr.run()
    assert (of(cmgr) != {3}) is moves


def test_a_label_keeps_it_where_it_is() -> None:
    cmgr = with_slot(3, spare=Spare.NEVER)
    isolate(cmgr, 3)
    cmgr.run()
    assert (of(cmgr), cmgr.held(), cmgr.node.slots["chat"].short) == ({3}, ["chat"], "")


def test_a_released_chip_takes_nothing_back_by_itself_and_a_person_does() -> None:
    cmgr = with_slot(3)
    isolate(cmgr, 3)
    cmgr.run()
    cmgr.tell(facts.ReleaseOrdered(ChipId(3), "a"))
    cmgr.run()
    assert of(cmgr) == {0}
    order(cmgr, "chat", 3)
    cmgr.run()
    assert (of(cmgr), cmgr.booked("chat").kept.chips) == ({0}, chips(0)), (
        "it runs: it would be on chips that nobody booked"
    )
    order(cmgr, "chat", 3, stop=True)
    cmgr.run()
    assert (of(cmgr), written(cmgr), cmgr.booked("chat").running) == ({3}, {"chat": [3]}, True)
    assert cmgr.node.slots["chat"].home == chips(3)
    assert cmgr.notes(NoteKind.RESULT)[-3:] == [
        "chat is stopped",
        "slot chat has chip 3 now, and had chip 0",
        "chat runs again",
    ]


def test_an_order_that_has_become_impossible_is_not_obeyed() -> None:
    cmgr = with_slot(3)
    order(cmgr, "chat", 5, stop=True)
    isolate(cmgr, 5)
    cmgr.run()
    assert (of(cmgr), cmgr.booked("chat").running, cmgr.node.slots["chat"].wish) == ({3}, True, frozenset())
    assert "slot chat keeps chip 3: chip 5 is isolated: it smells" in cmgr.notes(NoteKind.WARNING)


@pytest.mark.parametrize("numbers", [(4,), (9,), (3, 4), ()])
def test_a_slot_that_cannot_be_is_not_made(numbers: tuple[int, ...]) -> None:
    cmgr = with_slot(4)
    order(cmgr, "other", *numbers)
    assert set(cmgr.node.slots) == {"chat"}


def test_a_slot_gets_free_chips_of_one_ring_and_leaves_the_reserve() -> None:
    cmgr = Cmgr(container("a", 0), policy=replace(SINGLE, spares=SparePolicy(reserve=2)))
    for name, count in (("one", 2), ("two", 3), ("three", 1)):
        cmgr.tell(facts.SlotOrdered(name, "uid 0", count=count))
    assert {name: set(slot.chips) for name, slot in cmgr.node.slots.items()} == {"one": {1, 2}, "two": {4, 5, 6}}


def test_concurrent_askers_get_different_chips() -> None:
    cmgr = Cmgr()
    for name in ("one", "two", "three"):
        cmgr.tell(facts.SlotOrdered(name, "uid 0", count=4))
    assert [set(slot.chips) for slot in cmgr.node.slots.values()] == [{0, 1, 2, 3}, {4, 5, 6, 7}]
    assert not doubled(cmgr.node)


def test_a_slot_that_is_asked_for_stays_and_another_goes() -> None:
    cmgr = with_slot(3)
    order(cmgr, "other", 5)
    for name in ("chat", "other"):
        cmgr.tell(facts.SlotRemoveOrdered(name, "uid 0"))
    cmgr.run()
    assert (set(cmgr.node.slots), written(cmgr)) == ({"chat"}, {"chat": [3]})


def test_nothing_is_started_for_which_there_is_no_slot() -> None:
    cmgr = with_slot(3)
    cmgr.fault(3)
    cmgr.answer(StopContainer)
    cmgr.node = replace(cmgr.node, slots={})
    cmgr.run()
    assert cmgr.held() == ["chat"]
    assert cmgr.phase() == "healthy", "its ring does not wait for a person"


def test_the_last_bar_before_a_start_and_a_write() -> None:
    cmgr = with_slot(3)
    isolate(cmgr, 3)
    for kind in UNTIL_STARTED:
        cmgr.answer(kind)
    (start,) = cmgr.sent(StartContainer)
    assert not unsafe(cmgr.node, start)
    slot = cmgr.node.slots["chat"]
    moved = replace(cmgr.node, slots={"chat": replace(slot, chips=chips(5))})
    assert unsafe(moved, start) == "the file of slot chat is not written yet"
    twice = replace(cmgr.node, slots={"chat": slot, "b": replace(slot, name="b")})
    assert unsafe(twice, cmgr.sent(WriteCdi)[0]) == "slots chat and b both hold chip 0"


def test_a_failed_start_has_the_files_looked_at() -> None:
    cmgr = with_slot(3)
    cmgr.fault(3)
    while not cmgr.sent(StartContainer):
        cmgr.answer(type(cmgr.pending[0]))
    before = len(cmgr.sent(WriteCdi))
    cmgr.answer(StartContainer, error="unresolvable CDI devices cmgr.io/slot=chat")
    assert len(cmgr.sent(WriteCdi)) == before + 1
    cmgr.wait(5)
    assert cmgr.booked("chat").running


def test_a_chip_that_is_not_there_is_refused_by_the_file() -> None:
    cmgr = with_slot(3, running=False)
    cmgr.chips = tuple(chip for chip in cmgr.chips if chip.id != 3)
    cmgr.begin()
    cmgr.run()
    (device,) = cmgr.files[0].devices
    assert device.refusal == "chip 3 of slot chat is not there"


def test_several_containers_of_one_slot_move_together() -> None:
    cmgr = Cmgr(on_slot("a", "chat"), on_slot("b", "chat"), policy=STOPPING)
    order(cmgr, "chat", 3)
    cmgr.run()
    isolate(cmgr, 3)
    cmgr.answer(WriteCdi)
    cmgr.answer(StopContainer)
    assert of(cmgr) == {3}, "the other still runs there"
    cmgr.run()
    assert (of(cmgr), cmgr.booked("a").kept.chips, cmgr.booked("b").kept.chips) == ({0}, chips(0), chips(0))
    assert cmgr.booked("a").running
    assert cmgr.booked("b").running


def test_a_new_chip_of_the_machine_is_a_spare() -> None:
    cmgr = Cmgr(on_slot("chat"), policy=STOPPING, chips=1, ring=1)
    order(cmgr, "chat", 0)
    cmgr.run()
    isolate(cmgr, 0)
    cmgr.run()
    assert cmgr.held() == ["chat"]
    cmgr.chips = (*cmgr.chips, Chip(ChipId(1), cmgr.chips[0].ring, 1))
    cmgr.faults[1] = set()
    cmgr.tell(facts.ChipsListed(cmgr.chips))
    cmgr.run()
    assert of(cmgr) == {1}
    assert key("chat") not in cmgr.node.holds


def short(*numbers: int, least: int = 1, **fields: Any) -> Cmgr:
    """Return a machine without a spare, on which `chat` would run on fewer than these chips."""
    others = [container(f"c{n}", n) for n in range(8) if n not in numbers]
    cmgr = Cmgr(on_slot("chat", min_chips=least, **fields), *others, policy=STOPPING)
    order(cmgr, "chat", *numbers)
    cmgr.run()
    cmgr.log.clear()
    return cmgr


def test_without_a_spare_it_is_started_on_fewer_where_its_label_agrees() -> None:
    cmgr = short(2, 3)
    isolate(cmgr, 3)
    cmgr.run()
    slot = cmgr.node.slots["chat"]
    assert (of(cmgr), set(slot.given), written(cmgr)) == ({2, 3}, {2}, {"chat": [2]})
    assert (cmgr.booked("chat").running, cmgr.booked("chat").kept.chips, cmgr.held()) == (True, chips(2), [])
    assert cmgr.files[0].devices[0].full == 2
    assert cmgr.notes(NoteKind.WARNING)[-1] == (
        f"slot chat gives 1 of its 2 chips, without chip 3 (chip 3 is isolated: it smells): {NO_SPARE}"
    )


def test_a_spare_comes_before_fewer_chips() -> None:
    cmgr = with_slot(2, 3, min_chips=1)
    isolate(cmgr, 3)
    cmgr.run()
    assert (of(cmgr), cmgr.node.slots["chat"].without) == ({0, 2}, frozenset())


@pytest.mark.parametrize("least", [0, 2])
def test_fewer_than_the_label_says_is_nothing(least: int) -> None:
    cmgr = short(2, 3, least=least)
    isolate(cmgr, 3)
    cmgr.run()
    assert (cmgr.held(), written(cmgr)) == (["chat"], {"chat": []})


def test_it_gets_all_again_with_a_start_and_by_order_at_once() -> None:
    cmgr = short(2, 3)
    isolate(cmgr, 3)
    cmgr.run()
    cmgr.tell(facts.ReleaseOrdered(ChipId(3), "a"))
    cmgr.run()
    assert written(cmgr) == {"chat": [2]}, "it runs: nobody stops it for that"
    assert whole_with(cmgr.node, cmgr.node.slots["chat"]) == chips(2, 3)
    order(cmgr, "chat", 2, 3, stop=True)
    cmgr.run()
    assert (written(cmgr), cmgr.booked("chat").kept.chips, cmgr.booked("chat").running) == (
        {"chat": [2, 3]},
        chips(2, 3),
        True,
    )


def test_the_next_recovery_starts_it_on_all_again() -> None:
    cmgr = short(2, 3)
    isolate(cmgr, 3)
    cmgr.run()
    cmgr.tell(facts.ReleaseOrdered(ChipId(3), "a"))
    cmgr.fault(2)
    cmgr.run()
    cmgr.clears(2)
    cmgr.run()
    assert (written(cmgr), cmgr.booked("chat").kept.chips, cmgr.booked("chat").running) == (
        {"chat": [2, 3]},
        chips(2, 3),
        True,
    )


def test_a_second_chip_that_is_isolated_takes_another_from_it_down_to_what_it_needs() -> None:
    cmgr = short(1, 2, 3)
    for chip, left in ((3, [1, 2]), (2, [1]), (1, [])):
        isolate(cmgr, chip)
        cmgr.run()
        assert written(cmgr) == {"chat": left}
        assert cmgr.booked("chat").running is bool(left)


def test_a_spare_that_has_come_meanwhile_makes_it_whole_with_the_next_start() -> None:
    cmgr = short(2, 3)
    isolate(cmgr, 3)
    cmgr.run()
    for name in ("c4", "c5"):
        cmgr.dies(name, code=0, asked=True)
    cmgr.wait(REDEPLOY.total_seconds())
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert written(cmgr) == {"chat": [2]}
    cmgr.fault(2)
    cmgr.run()
    cmgr.clears(2)
    cmgr.run()
    assert (cmgr.node.slots["chat"].without, written(cmgr)) == (frozenset(), {"chat": [4, 5]})


def test_all_on_a_slot_have_to_agree_to_fewer() -> None:
    others = [container(f"c{n}", n) for n in range(8) if n not in (2, 3)]
    cmgr = Cmgr(on_slot("a", "chat", min_chips=1), on_slot("b", "chat"), *others, policy=STOPPING)
    order(cmgr, "chat", 2, 3)
    cmgr.run()
    isolate(cmgr, 3)
    cmgr.run()
    assert cmgr.held() == ["a", "b"]
    cmgr.removes("b")
    cmgr.run()
    assert (cmgr.booked("a").running, written(cmgr)) == (True, {"chat": [2]})
    cmgr.sees(on_slot("new", "chat", running=False))
    cmgr.dies("a", code=0, asked=True)
    cmgr.run()
    assert written(cmgr) == {"chat": []}, "one that has not agreed would be started on fewer by hand"


@pytest.mark.parametrize("answered", range(5))
def test_a_start_on_fewer_that_is_cut_off_anywhere_goes_on_in_the_next_life(answered: int) -> None:
    cmgr = short(2, 3)
    isolate(cmgr, 3)
    for kind in UNTIL_STARTED[:answered]:
        cmgr.answer(kind)
    cmgr.begin()
    cmgr.run()
    assert (written(cmgr), cmgr.booked("chat").running, cmgr.held()) == ({"chat": [2]}, True, [])


def test_an_order_is_taken_back_while_it_waits_for_the_stop() -> None:
    cmgr = with_slot(3)
    before = cmgr.node.slots["chat"].chips
    cmgr.tell(facts.SlotOrdered("chat", "uid 0", chips(5), stop=True))
    assert cmgr.node.slots["chat"].wish == chips(5)
    cmgr.tell(facts.SlotOrdered("chat", "uid 1", before))
    cmgr.run()
    assert (cmgr.node.slots["chat"].chips, cmgr.held()) == (before, [])
    assert "uid 1 took back that slot chat gets chip 5" in cmgr.notes(NoteKind.ACTION)
