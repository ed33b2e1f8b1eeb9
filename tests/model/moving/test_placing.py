"""Containers without a slot whose runtime can give them other chips: what of them is held moves off isolated chips."""

from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.containers.moving.moves import NO_SPARE
from cmgr.model.containers.moving.placing import whole_for
from cmgr.model.holds.making import hold_on
from cmgr.model.holds.obstacles import start_blocker
from cmgr.model.invariants import unsafe
from cmgr.model.own_chips import given_away
from cmgr.model.values.chips import ALL_CHIPS, ChipId, Share
from cmgr.model.values.holds import Cause, HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Action, ListContainers, NoteKind, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import TIED, Container, Spare
from tests.model.builders import REQUEST, RESET, SEPARATE, Cmgr, container, died, key
from tests.model.moving.test_moves import STOPPING, chips, isolate, on_slot, order

AUTO: dict[str, Any] = {"spare": Spare.AUTO, "tied": ""}

UNTIL_STARTED: tuple[type[Action], ...] = (ListContainers, StopContainer)


def machine(*containers: Container, **fields: Any) -> Cmgr:
    """Return a machine in rings of 4 on which `chat` runs, made for chip 3, beside these."""
    return Cmgr(container("chat", 3, **{**AUTO, **fields}), *containers, policy=STOPPING)


def others(*free: int) -> list[Container]:
    return [container(f"c{number}", number) for number in range(8) if number not in free]


def pairs(command: StartContainer) -> list[tuple[int, int | None]]:
    return [(old.id, new.id if new is not None else None) for old, new in command.placing]


def test_what_is_held_on_an_isolated_chip_is_given_a_spare_with_its_start() -> None:
    cmgr = machine()
    isolate(cmgr, 3)
    cmgr.run()
    (start,) = cmgr.sent(StartContainer)
    assert pairs(start) == [(3, 0)]
    booked = cmgr.booked("chat")
    assert (booked.running, booked.kept.chips, cmgr.held()) == (True, chips(0), [])
    (text,) = [note for note in cmgr.notes(NoteKind.HOLD) if "moves" in note]
    assert text == "chat moves from chip 3 (chip 3 is isolated: it smells) to chip 0"
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (cmgr.booked("chat").kept.chips, cmgr.booked("chat").made_for) == (chips(0), frozenset({"3"}))


@pytest.mark.parametrize("fields", [{"spare": None}, {"spare": Spare.NEVER}, {"tied": TIED}])
def test_only_one_that_may_and_can_be_moved_is(fields: dict[str, Any]) -> None:
    cmgr = machine(**fields)
    isolate(cmgr, 3)
    cmgr.run()
    assert (cmgr.held(), cmgr.sent(StartContainer)) == (["chat"], [])


def test_one_on_a_chip_that_is_divided_stays_for_its_share_does() -> None:
    cmgr = machine()
    cmgr.shares = {3: (Share("100"),)}
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert cmgr.node.chips[ChipId(3)].shares
    cmgr.tell(facts.MoveOrdered(key("chat"), chips(5), "uid 0", stop=True))
    assert cmgr.held() == []
    isolate(cmgr, 3)
    cmgr.run()
    assert (cmgr.held(), cmgr.hold("chat").chips) == (["chat"], chips(3))


def test_nothing_moves_while_its_chip_may_still_be_cured() -> None:
    cmgr = machine()
    cmgr.fault(3, RESET)
    cmgr.run()
    (start,) = cmgr.sent(StartContainer)
    assert (start.placing, cmgr.booked("chat").kept.chips) == ((), chips(3))


@pytest.mark.parametrize("answered", range(4))
def test_a_move_that_is_cut_off_anywhere_goes_on_in_the_next_life(answered: int) -> None:
    cmgr = machine()
    isolate(cmgr, 3)
    for kind in (*UNTIL_STARTED, StartContainer)[:answered]:
        cmgr.answer(kind)
    cmgr.begin()
    cmgr.run()
    assert (cmgr.booked("chat").running, cmgr.booked("chat").kept.chips, cmgr.held()) == (True, chips(0), [])
    assert cmgr.truth[key("chat")].claims == {"0"}


def test_a_start_that_was_carried_out_and_not_answered_leaves_it_on_the_spare() -> None:
    cmgr = machine()
    isolate(cmgr, 3)
    for kind in UNTIL_STARTED:
        cmgr.answer(kind)
    known = cmgr.truth[key("chat")]
    cmgr.truth[key("chat")] = replace(known, claims=frozenset({"0"}), made_for=known.claims)  # Killed before the task.
    cmgr.begin()
    cmgr.run()
    assert (cmgr.booked("chat").running, cmgr.booked("chat").kept.chips) == (True, chips(0))
    assert pairs(cmgr.sent(StartContainer)[-1]) == [(3, 0)]


def test_a_spare_that_faults_while_it_is_started_on_is_left_too() -> None:
    cmgr = machine()
    isolate(cmgr, 3)
    for kind in UNTIL_STARTED:
        cmgr.answer(kind)
    cmgr.fault(0, SEPARATE)
    cmgr.run()
    assert (cmgr.booked("chat").running, cmgr.booked("chat").kept.chips) == (True, chips(1))
    assert pairs(cmgr.sent(StartContainer)[-1]) == [(3, 1)], "each move begins with what it was made for"


def test_one_that_finds_no_spare_has_the_chips_looked_at_whose_user_may_have_gone() -> None:
    cmgr = machine()
    cmgr.processes.update({ChipId(n): "somebody" for n in range(8)})
    cmgr.tell(facts.Resync())
    cmgr.run()
    del cmgr.processes[ChipId(6)]  # Of another ring than that of the chip that is isolated, which is read anyhow.
    isolate(cmgr, 3)
    cmgr.run()
    assert (cmgr.booked("chat").running, cmgr.booked("chat").kept.chips) == (True, chips(6))


def test_two_faults_and_one_spare_give_it_to_one() -> None:
    cmgr = machine(container("web", 4, **AUTO), *others(3, 4, 7))
    isolate(cmgr, 3)
    isolate(cmgr, 4)
    cmgr.run()
    assert (cmgr.booked("chat").kept.chips, cmgr.held()) == (chips(7), ["web"])
    assert cmgr.hold("web").short == NO_SPARE
    assert f"web stays on chip 4: {NO_SPARE}" in cmgr.notes(NoteKind.WARNING)


def test_slots_and_containers_without_one_never_get_the_same_chip() -> None:
    cmgr = machine(*others(3, 7))
    isolate(cmgr, 3)
    for kind in UNTIL_STARTED:
        cmgr.answer(kind)
    assert cmgr.hold("chat").chips == chips(7)
    order(cmgr, "late", 7)
    assert cmgr.node.slots == {}
    cmgr.run()
    assert cmgr.booked("chat").kept.chips == chips(7)


def test_a_person_moves_it_back_and_gets_just_what_was() -> None:
    cmgr = machine()
    isolate(cmgr, 3)
    cmgr.run()
    cmgr.tell(facts.ReleaseOrdered(ChipId(3), "a"))
    cmgr.run()
    assert cmgr.booked("chat").kept.chips == chips(0), "nothing moves back by itself"
    cmgr.tell(facts.MoveOrdered(key("chat"), chips(3), "uid 0", stop=True))
    cmgr.run()
    assert pairs(cmgr.sent(StartContainer)[-1]) == [(3, 3)]
    assert (cmgr.booked("chat").running, cmgr.booked("chat").kept.chips) == (True, chips(3))
    assert cmgr.truth[key("chat")].made_for == frozenset()


@pytest.mark.parametrize("numbers", [(1, 2), (5,), ()])
def test_an_order_that_cannot_be_is_none(numbers: tuple[int, ...]) -> None:
    cmgr = machine(*others(3))
    cmgr.tell(facts.MoveOrdered(key("chat"), chips(*numbers), "uid 0", stop=True))
    assert cmgr.held() == []


def test_an_order_that_has_become_impossible_is_not_obeyed() -> None:
    cmgr = machine()
    cmgr.tell(facts.MoveOrdered(key("chat"), chips(5), "uid 0", stop=True))
    isolate(cmgr, 5)
    cmgr.run()
    assert (cmgr.booked("chat").running, cmgr.booked("chat").kept.chips) == (True, chips(3))
    assert "chat keeps chip 3: chip 5 is isolated: it smells" in cmgr.notes(NoteKind.WARNING)


def test_without_a_spare_it_is_started_on_fewer_and_then_on_all_again() -> None:
    pair = container("pair", 2, 3, **AUTO, min_chips=1)
    cmgr = Cmgr(pair, *others(2, 3), policy=STOPPING)
    isolate(cmgr, 3)
    cmgr.run()
    assert pairs(cmgr.sent(StartContainer)[-1]) == [(2, 2), (3, None)]
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (cmgr.booked("pair").running, cmgr.booked("pair").kept.chips) == (True, chips(2))
    assert f"pair gets 1 of its 2 chips, without chip 3 (chip 3 is isolated: it smells): {NO_SPARE}" in cmgr.notes()
    assert whole_for(cmgr.node, cmgr.booked("pair")) == frozenset()
    cmgr.tell(facts.ReleaseOrdered(ChipId(3), "a"))
    cmgr.run()
    assert cmgr.booked("pair").kept.chips == chips(2), "it runs: nobody stops it for that"
    assert whole_for(cmgr.node, cmgr.booked("pair")) == chips(2, 3)
    cmgr.fault(2)
    cmgr.run()
    cmgr.clears(2)
    cmgr.run()
    assert (cmgr.booked("pair").running, cmgr.booked("pair").kept.chips) == (True, chips(2, 3))


def test_one_that_was_made_anew_meanwhile_is_moved_anew_or_not_at_all() -> None:
    cmgr = machine()
    isolate(cmgr, 3)
    for kind in UNTIL_STARTED:
        cmgr.answer(kind)
    cmgr.answer(StartContainer, error="no")
    assert cmgr.hold("chat").chips == chips(0)
    cmgr.sees(replace(cmgr.truth[key("chat")], tied="has a hook that names its chip"))
    assert cmgr.hold("chat").chips == chips(3), "it would be started on chip 3, whatever was decided"
    cmgr.wait(30)
    assert (cmgr.held(), cmgr.hold("chat").state) == (["chat"], HoldState.DOWN)


def test_whoever_starts_it_by_hand_starts_it_where_its_definition_says() -> None:
    cmgr = machine(*others(3))
    isolate(cmgr, 3)
    cmgr.run()
    cmgr.starts_by_hand("chat")
    assert (cmgr.booked("chat").kept.chips, cmgr.booked("chat").running) == (chips(3), True)


def test_one_that_died_of_the_fault_that_isolates_is_moved() -> None:
    cmgr = machine()
    cmgr.fault(3, SEPARATE)
    cmgr.sees(died("chat", 3, at=cmgr.now, **AUTO))
    cmgr.run()
    assert (cmgr.booked("chat").running, cmgr.booked("chat").kept.chips) == (True, chips(0))


def test_one_that_is_forgotten_where_it_was_to_go_is_left_alone_where_it_was() -> None:
    cmgr = machine()
    cmgr.fault(3, REQUEST)
    cmgr.fault(5, REQUEST)
    cmgr.sees(died("chat", 3, at=cmgr.now, **AUTO))
    cmgr.run(StopContainer, ListContainers)
    cmgr.tell(facts.MoveOrdered(key("chat"), chips(5), "uid 0", stop=True))
    assert cmgr.booked("chat").kept.chips == chips(5)
    cmgr.tell(facts.ForgetOrdered(key("chat"), "uid 0"))
    cmgr.tell(facts.Resync())
    cmgr.wait(3600)
    assert (cmgr.booked("chat").kept.chips, cmgr.held(), cmgr.sent(StartContainer)) == (chips(3), [], [])


def test_those_that_a_person_has_put_on_one_chip_are_started_there_again() -> None:
    cmgr = machine(*others(3, 4))
    isolate(cmgr, 3)
    cmgr.run()
    assert cmgr.booked("chat").kept.chips == chips(4)
    cmgr.sees(container("web", 4))
    cmgr.fault(4)
    cmgr.run()
    cmgr.clears(4)
    cmgr.run()
    runs = {name: (cmgr.booked(name).running, cmgr.booked(name).kept.chips) for name in ("chat", "web")}
    assert (runs, cmgr.held()) == ({"chat": (True, chips(4)), "web": (True, chips(4))}, [])


@pytest.mark.parametrize(("claim", "runs_on"), [("5", 0), (ALL_CHIPS, 5)])
def test_one_leaves_the_chip_on_which_somebody_has_started_what_is_at_home_there(claim: str, runs_on: int) -> None:
    cmgr = machine(container("other", claims=frozenset({claim}), running=False, enabled=False))
    cmgr.tell(facts.MoveOrdered(key("chat"), chips(5), "uid 0", stop=True))
    cmgr.run()
    cmgr.fault(5)
    cmgr.run(*UNTIL_STARTED)
    cmgr.starts_by_hand("other")
    cmgr.clears(5)
    cmgr.run()
    assert (cmgr.booked("chat").running, cmgr.booked("chat").kept.chips) == (True, chips(runs_on))


@pytest.mark.parametrize(("claim", "away"), [(ALL_CHIPS, {}), ("0", {0: "chat has chip 0 now"})])
def test_one_on_every_chip_shares_them_with_what_was_moved_there(claim: str, away: dict[ChipId, str]) -> None:
    other = container("other", claims=frozenset({claim}), running=False)
    cmgr = machine(other)
    isolate(cmgr, 3)
    cmgr.run()
    assert cmgr.booked("chat").kept.chips == chips(0)
    assert given_away(cmgr.node, hold_on(cmgr.node, cmgr.booked("other"), cmgr.now, Cause.EPISODE)) == away


def test_a_chip_that_was_given_to_a_slot_is_not_started_on() -> None:
    cmgr = Cmgr(container("web", 4), policy=STOPPING)
    cmgr.sees(died("web", 4, at=cmgr.now))
    order(cmgr, "late", 5)
    late = cmgr.node.slots["late"]
    cmgr.node = replace(cmgr.node, slots={"late": replace(late, chips=chips(4))})
    cmgr.fault(4)
    cmgr.run()
    cmgr.clears(4)
    cmgr.run()
    assert start_blocker(cmgr.node, cmgr.hold("web")).why == "chip 4 belongs to slot late"


@pytest.mark.parametrize("error", ["", "no"])
def test_the_chip_of_one_that_is_forgotten_while_it_is_started_is_nobody_elses_before_the_answer(error: str) -> None:
    cmgr = machine(container("web", 4, **AUTO), *others(3, 4, 7))
    isolate(cmgr, 3)
    for kind in UNTIL_STARTED:
        cmgr.answer(kind)
    assert cmgr.hold("chat").chips == chips(7)
    cmgr.tell(facts.ForgetOrdered(key("chat"), "uid 0"))
    isolate(cmgr, 4)
    cmgr.run(*UNTIL_STARTED)
    assert cmgr.hold("web").short == NO_SPARE
    cmgr.answer(StartContainer, error=error)
    cmgr.run()
    assert "chat" not in cmgr.held()
    where = {name: cmgr.booked(name).kept.chips for name in ("chat", "web") if cmgr.booked(name).running}
    assert where == ({"web": chips(7)} if error else {"chat": chips(7)})


def settling() -> Cmgr:
    """Return a machine on which `chat` was moved to chip 5 and has yet to show that it stays up."""
    cmgr = Cmgr(container("chat", 3, **AUTO), policy=STOPPING, settle=30)
    cmgr.tell(facts.MoveOrdered(key("chat"), chips(5), "uid 0", stop=True))
    cmgr.run()
    assert (cmgr.hold("chat").state, cmgr.booked("chat").kept.chips) == (HoldState.SETTLING, chips(5))
    return cmgr


def test_one_that_was_just_started_is_moved_by_order_too() -> None:
    cmgr = settling()
    cmgr.tell(facts.MoveOrdered(key("chat"), chips(6), "uid 0", stop=False))
    assert (cmgr.hold("chat").state, cmgr.hold("chat").wish) == (HoldState.SETTLING, frozenset())
    cmgr.tell(facts.MoveOrdered(key("chat"), chips(6), "uid 0", stop=True))
    cmgr.run()
    assert (cmgr.booked("chat").running, cmgr.booked("chat").kept.chips) == (True, chips(6))


def test_one_that_was_just_started_leaves_a_chip_that_is_isolated_at_once() -> None:
    cmgr = settling()
    isolate(cmgr, 5)
    cmgr.run()
    assert (cmgr.booked("chat").running, cmgr.booked("chat").kept.chips) == (True, chips(0))


def test_what_was_just_started_on_a_slot_is_moved_with_it_by_order() -> None:
    cmgr = Cmgr(on_slot("chat", restart_policy="always"), policy=STOPPING, settle=30)
    order(cmgr, "chat", 3)
    cmgr.run()
    for number in (5, 6):
        order(cmgr, "chat", number, stop=True)
        cmgr.run()
        assert cmgr.hold("chat").state is HoldState.SETTLING
        assert (cmgr.booked("chat").running, cmgr.booked("chat").kept.chips) == (True, chips(number))
    cmgr.wait(31)
    assert (cmgr.held(), cmgr.truth[key("chat")].restart_policy) == ([], "always")


def test_the_last_bar_before_a_start_knows_a_chip_that_is_somebody_elses() -> None:
    cmgr = machine()
    isolate(cmgr, 3)
    for kind in UNTIL_STARTED:
        cmgr.answer(kind)
    (start,) = cmgr.sent(StartContainer)
    assert not unsafe(cmgr.node, start)
    order(cmgr, "late", 5)
    stolen = {"late": replace(cmgr.node.slots["late"], chips=chips(0))}
    assert unsafe(replace(cmgr.node, slots=stolen), start) == "chip 0 belongs to slot late"


def test_one_that_was_forgotten_while_it_is_started_and_is_seen_to_run_is_moved_by_order() -> None:
    cmgr = machine()
    cmgr.fault(3, RESET)
    cmgr.run_until(Phase.RESUMING)
    cmgr.tell(facts.ForgetOrdered(key("chat"), "uid 0"))
    cmgr.starts("chat", "started")
    assert cmgr.hold("chat").state is HoldState.FORGOTTEN
    cmgr.tell(facts.MoveOrdered(key("chat"), chips(5), "uid 0", stop=True))
    assert cmgr.hold("chat").wish == chips(5)
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("chat").running, cmgr.booked("chat").kept.chips) == ([], True, chips(5))


def test_an_order_is_taken_back_while_it_waits_for_the_stop() -> None:
    cmgr = machine()
    cmgr.tell(facts.MoveOrdered(key("chat"), chips(5), "uid 0", stop=True))
    assert cmgr.hold("chat").wish == chips(5)
    cmgr.tell(facts.MoveOrdered(key("chat"), cmgr.hold("chat").chips, "uid 1"))
    cmgr.run()
    assert (cmgr.booked("chat").running, cmgr.booked("chat").kept.chips) == (True, chips(3))
    assert "uid 1 took back that chat gets chip 5" in cmgr.notes(NoteKind.ACTION)
