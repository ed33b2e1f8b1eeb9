"""A chip that is given to somebody is nobody else's: he runs on it, ought to, may come back, or is made anew."""

from datetime import timedelta
from typing import Any

import pytest

from cmgr.model.containers.moving.moves import NO_SPARE, why_not
from cmgr.model.containers.moving.spares import free_chips, to_hand_out
from cmgr.model.own_chips import crowded
from cmgr.model.turn import REDEPLOY
from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, StartContainer
from cmgr.model.values.services.containers import Container, Exit, Spare
from cmgr.model.values.troubles import TroubleKind
from cmgr.view import troubles as view
from cmgr.view.containers import containers
from tests.model.builders import RESET, SEPARATE, SINGLE, Cmgr, container, key
from tests.model.moving.test_moves import STOPPING, chips, isolate, of, on_slot, order

AUTO: dict[str, Any] = {"spare": Spare.AUTO, "tied": ""}
ALWAYS = "always:0"


def waiting(*others: Container) -> Cmgr:
    """Return a machine of two chips: `chat` waits on chip 0, which is isolated, for chip 1."""
    cmgr = Cmgr(container("chat", 0, **AUTO), *others, policy=STOPPING, chips=2, ring=1)
    isolate(cmgr, 0)
    cmgr.run()
    assert cmgr.held() == ["chat"]
    return cmgr


def stays(cmgr: Cmgr) -> bool:
    cmgr.tell(facts.Resync())
    cmgr.run()
    return cmgr.held() == ["chat"] and not cmgr.booked("chat").running


def after_redeploy(cmgr: Cmgr) -> bool:
    """Return whether it has moved once nobody may be redeploying any more."""
    cmgr.wait(REDEPLOY.total_seconds())
    return cmgr.booked("chat").kept.chips == chips(1) and cmgr.booked("chat").running


def test_what_crashed_keeps_its_chip_until_a_person_says_that_it_is_not_to_run() -> None:
    cmgr = waiting(container("dd", 1))
    cmgr.dies("dd")
    cmgr.wait(3600)
    assert stays(cmgr)
    assert free_chips(cmgr.node) == ()
    assert to_hand_out(cmgr.node, 1) == frozenset()
    assert why_not(cmgr.node, "new", chips(1)) == "dd is down, and is to run again on chip 1"
    cmgr.tell(facts.ForgetOrdered(key("dd"), "uid 0"))
    cmgr.run()
    assert after_redeploy(cmgr)


@pytest.mark.parametrize("back", ["the same", "another"])
def test_what_is_stopped_and_started_again_by_a_person_keeps_its_chip_meanwhile(back: str) -> None:
    cmgr = waiting(container("dd", 1))
    cmgr.dies("dd", 0, asked=True)
    assert stays(cmgr)
    if back == "another":
        cmgr.removes("dd")
        assert stays(cmgr)
        cmgr.sees(container("dd", 1, key=key("dd 2"), run="life 1 of 2"))
    else:
        cmgr.starts("dd", "life 2")
    cmgr.wait(3 * REDEPLOY.total_seconds())
    assert stays(cmgr)


def test_no_spare_is_said_and_the_first_that_comes_is_taken() -> None:
    others = [container(f"c{n}", n) for n in range(8) if n != 3]
    cmgr = Cmgr(on_slot("chat"), *others, policy=STOPPING)
    order(cmgr, "chat", 3)
    cmgr.run()
    isolate(cmgr, 3)
    cmgr.run()
    assert (of(cmgr), cmgr.hold("chat").state, cmgr.node.slots["chat"].short) == ({3}, HoldState.DOWN, NO_SPARE)
    assert cmgr.notes(NoteKind.WARNING) == [f"slot chat stays on chip 3: {NO_SPARE}"]
    cmgr.dies("c5", code=0, asked=True)
    cmgr.wait(REDEPLOY.total_seconds())
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (of(cmgr), cmgr.booked("chat").running, cmgr.node.slots["chat"].short) == ({5}, True, "")


def test_what_is_removed_while_it_runs_keeps_its_chip_for_another_only_for_a_while() -> None:
    cmgr = waiting(container("dd", 1))
    cmgr.removes("dd")
    assert stays(cmgr)
    assert after_redeploy(cmgr)


def test_who_asks_for_chips_gets_those_of_what_he_has_just_removed() -> None:
    cmgr = Cmgr(container("dd", 1), policy=STOPPING, chips=2, ring=1)
    cmgr.removes("dd")
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert free_chips(cmgr.node) == (0, 1)
    assert why_not(cmgr.node, "new", chips(1)) == ""


@pytest.mark.parametrize(("policy", "free"), [(ALWAYS, ()), ("", (1,))])
def test_a_runtime_that_does_not_answer_may_bring_back_what_was_stopped(policy: str, free: tuple[int, ...]) -> None:
    stopped = container("dd", 1, running=False, exit=Exit(0, Cmgr().now, asked=True), restart_policy=policy)
    cmgr = Cmgr(container("chat", 0), stopped, chips=2, ring=1)
    assert free_chips(cmgr.node) == (1,)
    cmgr.tell(facts.RuntimeDown("docker", "it restarts"))
    assert free_chips(cmgr.node) == free
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    assert free_chips(cmgr.node) == free, "it is listed first"
    cmgr.run()
    assert free_chips(cmgr.node) == (1,)


def test_a_service_that_ends_with_its_daemon_keeps_its_chip() -> None:
    cmgr = waiting(container("dd", 1, restart_policy=ALWAYS))
    cmgr.dies("dd", 143, asked=True)
    assert stays(cmgr)
    cmgr.tell(facts.RuntimeDown("docker", "it restarts"))
    cmgr.wait(2 * REDEPLOY.total_seconds(), run=False)
    assert free_chips(cmgr.node, "") == ()
    cmgr.truth[key("dd")] = container("dd", 1, run="life 2", restart_policy=ALWAYS)
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    assert stays(cmgr)


# The replaced.


def crashed_and_replaced(*more: Container) -> Cmgr:
    cmgr = Cmgr(container("blue", 0), *more, policy=SINGLE, chips=2, ring=1)
    cmgr.dies("blue")
    cmgr.now += timedelta(seconds=5)
    cmgr.sees(container("green", 0, run="life of green"))
    return cmgr


def test_one_that_crashed_is_not_started_beside_its_replacement() -> None:
    cmgr = crashed_and_replaced()
    cmgr.fault(0, RESET)
    cmgr.run()
    assert [start.name for start in cmgr.sent(StartContainer)] == ["green"]
    (trouble,) = [t for t in view.troubles(cmgr.node) if t.kind is TroubleKind.DOWN]
    assert "green has chip 0 now" in trouble.words
    assert "docker start blue" not in trouble.hint
    assert "cmgr forget blue" in trouble.hint


def test_of_two_that_died_of_a_fault_the_one_that_had_replaced_the_other_is_started() -> None:
    cmgr = crashed_and_replaced()
    cmgr.dies("green")
    cmgr.fault(0, RESET)
    cmgr.run()
    assert [start.name for start in cmgr.sent(StartContainer)] == ["green"]


def replaced_while_it_is_held(**fields: Any) -> Cmgr:
    cmgr = Cmgr(container("blue", 0, **fields), container("mate", 1), policy=STOPPING, chips=2, ring=1)
    cmgr.dies("blue")
    cmgr.fault(0, SEPARATE)
    cmgr.run()
    assert cmgr.held() == ["blue"]
    cmgr.sees(container("green", 0, run="life of green", strategy=Strategy.NEVER))
    cmgr.clears(0, SEPARATE)
    cmgr.tell(facts.ReleaseOrdered(ChipId(0), "a"))
    cmgr.run()
    return cmgr


def test_one_that_was_stopped_is_not_started_beside_what_was_made_there_meanwhile() -> None:
    cmgr = Cmgr(container("blue", 0), policy=STOPPING, chips=2, ring=1)
    isolate(cmgr, 0)
    cmgr.run()
    cmgr.sees(container("by hand", 0, strategy=Strategy.NEVER))
    cmgr.tell(facts.ReleaseOrdered(ChipId(0), "a"))
    cmgr.run()
    assert cmgr.held() == ["blue"]
    cmgr.removes("by hand")
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("blue").running) == ([], True)


def test_one_that_died_and_is_held_waits_for_what_was_started_in_its_place_meanwhile() -> None:
    cmgr = replaced_while_it_is_held()
    (shown,) = [row for row in containers(cmgr.node) if row["name"] == "blue"]
    assert (shown["status"], shown["reason"]) == ("paused", "green was made in its place")
    assert shown["hint"] == "stop green if it is to run instead; if not, type: cmgr forget blue"
    cmgr.removes("green")
    cmgr.run()
    assert cmgr.booked("blue").running


def test_one_that_may_be_moved_is_not_moved_beside_what_was_made_in_its_place() -> None:
    cmgr = replaced_while_it_is_held(**AUTO)
    cmgr.removes("mate")
    cmgr.wait(REDEPLOY.total_seconds())
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("blue").kept.chips) == (["blue"], chips(0))
    assert [row["reason"] for row in containers(cmgr.node) if row["name"] == "blue"] == ["green was made in its place"]


def test_two_that_have_shared_a_chip_are_both_started_though_one_came_back_before_the_fault_was_told() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 0, restart_policy=ALWAYS), policy=SINGLE, chips=2, ring=1)
    cmgr.dies("a")
    cmgr.dies("b")
    cmgr.now += timedelta(seconds=1)
    cmgr.starts("b", "life 2")
    cmgr.fault(0, RESET)
    cmgr.run()
    assert sorted(start.name for start in cmgr.sent(StartContainer)) == ["a", "b"]


# Two on one chip.


def test_somebody_else_on_the_chip_that_cmgr_has_moved_one_to_is_a_trouble() -> None:
    cmgr = Cmgr(container("chat", 0, **AUTO), policy=STOPPING, chips=2, ring=1)
    isolate(cmgr, 0)
    cmgr.run()
    assert cmgr.booked("chat").kept.chips == chips(1)
    assert crowded(cmgr.node) == {}
    cmgr.sees(container("late", 1))
    (trouble,) = [t for t in view.troubles(cmgr.node) if t.kind is TroubleKind.CROWDED]
    assert trouble.words == "chip 1 is used by chat and late: cmgr has moved chat there"
    cmgr.removes("late")
    assert crowded(cmgr.node) == {}


def test_two_that_persons_put_on_one_chip_are_no_trouble() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 0), chips=2, ring=1)
    assert crowded(cmgr.node) == {}
