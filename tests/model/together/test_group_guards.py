"""The guards of a group's round: who begins one, who is in it, and who is not. Each test fails without its guard."""

from dataclasses import replace

import pytest

from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, StartContainer, StopContainer
from cmgr.model.values.services.containers import UNHEALTHY, Exit, Heal
from cmgr.model.values.services.groups import GroupPhase
from tests.model.builders import SEPARATE, Cmgr, container, key, names
from tests.model.together.test_groups import group, halted, phase, running, tp

ALL = ["kv", "r0", "r1", "router"]


def left_behind() -> Cmgr:
    """Return a machine whose group runs again but for r0, whose chip is isolated."""
    cmgr = tp()
    cmgr.fault(0, SEPARATE)
    cmgr.tell(facts.GroupRestartOrdered("tp", "a"))
    cmgr.run()
    cmgr.tell(facts.GroupResumeOrdered("tp", "a"))
    cmgr.run()
    assert (running(cmgr), group(cmgr).out, group(cmgr).round) == (["kv", "r1", "router"], frozenset({key("r0")}), 1)
    return cmgr


def test_in_maintenance_a_member_that_appears_in_mid_round_is_not_promised_a_stop() -> None:
    cmgr = halted(tp())
    cmgr.tell(facts.MaintenanceOrdered(on=True, who="a"))
    cmgr.sees(container("late", 5, group="tp"))
    assert "late" not in cmgr.held()
    cmgr.tell(facts.MaintenanceOrdered(on=False, who="a"))
    assert "late" in cmgr.held()
    cmgr.run()
    assert running(cmgr) == sorted([*ALL, "late"])


def test_a_member_that_late_news_have_as_down_is_looked_at_before_a_person_has_all_started() -> None:
    cmgr = tp()
    cmgr.tell(facts.ContainerSeen(replace(cmgr.truth[key("r1")], running=False, exit=Exit(0, cmgr.now, asked=True))))
    assert not cmgr.booked("r1").running
    cmgr.tell(facts.GroupRestartOrdered("tp", "a"))
    cmgr.run(StopContainer)
    assert (phase(cmgr), cmgr.sent(StartContainer)) == (GroupPhase.HALTING, []), "nobody knows that r1 is down"
    cmgr.run()
    assert (running(cmgr), cmgr.held()) == (ALL, [])
    assert group(cmgr).history[-1].outcome == "recovered"


def test_one_that_was_left_behind_is_in_no_later_round_while_it_is_down() -> None:
    cmgr = left_behind()
    cmgr.log.clear()
    cmgr.fault(4)
    cmgr.run()
    assert (sorted(names(cmgr.log)), running(cmgr)) == (["kv", "r1"], ["kv", "r1", "router"])
    assert (group(cmgr).round, group(cmgr).out) == (2, frozenset({key("r0")}))


def test_one_that_was_left_behind_is_a_member_again_once_it_runs() -> None:
    cmgr = left_behind()
    cmgr.faults[0].clear()
    cmgr.clears(0, SEPARATE)
    cmgr.tell(facts.ReleaseOrdered(ChipId(0), "a"))
    cmgr.run()
    assert running(cmgr) == ALL
    cmgr.fault(0)
    cmgr.run()
    assert (group(cmgr).round, running(cmgr)) == (2, ALL)


def test_a_member_whose_strategy_is_never_stops_no_other_when_a_person_has_its_ring_reset() -> None:
    cmgr = tp(strategy=Strategy.NEVER)
    cmgr.tell(facts.ResetOrdered(ChipId(4), "a", stop=True))
    assert "r1" in cmgr.held()
    cmgr.run()
    assert (names(cmgr.log), running(cmgr), cmgr.node.groups) == (["r1"], ALL, {})


def test_a_member_whose_strategy_is_never_is_not_waited_for_while_a_person_has_its_ring_reset() -> None:
    cmgr = tp(strategy=Strategy.NEVER)
    cmgr.unbooted = {4}
    cmgr.tell(facts.ResetOrdered(ChipId(4), "a", stop=True))
    cmgr.run()
    cmgr.fault(0)
    cmgr.run()
    assert "r1" in cmgr.held()
    assert (running(cmgr), phase(cmgr)) == (["kv", "r0", "router"], GroupPhase.RUNNING)


def test_the_others_are_stopped_together_with_one_that_is_unhealthy() -> None:
    cmgr = tp(heal=Heal())
    cmgr.sees(replace(cmgr.truth[key("r1")], health=UNHEALTHY))
    for _ in range(40):
        if cmgr.sent(StopContainer):
            break
        cmgr.run(ListContainers)
        cmgr.wait(1, run=False)
    assert sorted(names(cmgr.pending)) == ["kv", "r0", "r1"], "no stop was answered yet"


def test_a_death_stops_the_others_only_after_its_wait_and_when_a_list_bears_it_out() -> None:
    cmgr = tp(heal=Heal())
    cmgr.dies("r1")
    cmgr.run()
    assert not cmgr.sent(StopContainer), "its wait is not over"
    cmgr.wait(60, run=False)
    assert not cmgr.sent(StopContainer), "no list was made since"
    cmgr.truth[key("r1")] = replace(cmgr.truth[key("r1")], exit=Exit(1, cmgr.now, asked=True))
    cmgr.run()
    assert not cmgr.sent(StopContainer), "a person had stopped it"


def test_in_a_new_life_a_member_is_not_stopped_on_the_word_of_old_books() -> None:
    cmgr = tp(container("r2", 1, group="tp"))
    cmgr.dies("r1", asked=True)
    cmgr.starts("r1", "again")
    cmgr.begin()
    cmgr.fault(0)
    assert "r1" not in cmgr.held(), "it was not seen in this life"
    cmgr.run()
    assert running(cmgr) == sorted([*ALL, "r2"])


def test_a_member_that_never_stays_up_is_given_up_in_the_end() -> None:
    cmgr = halted(tp(settle=30))
    cmgr.run()
    for _ in range(30):
        if cmgr.truth[key("r1")].running:
            cmgr.dies("r1")
        cmgr.wait(20)
    assert cmgr.hold("r1").state is HoldState.FAILED
    assert (phase(cmgr), running(cmgr)) == (GroupPhase.HALTING, ["router"])


@pytest.mark.parametrize("code", [137, 143])
def test_one_that_a_person_may_have_stopped_does_not_come_back_with_the_others(code: int) -> None:
    cmgr = tp()
    cmgr.sees(replace(cmgr.truth[key("r1")], running=False, exit=Exit(code, cmgr.now, asked=None)))
    cmgr.fault(0)
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "router"]


def test_one_that_died_long_before_does_not_come_back_with_the_others() -> None:
    cmgr = tp()
    cmgr.dies("r1")
    cmgr.wait(3600)
    cmgr.fault(0)
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "router"]


def test_one_that_died_and_was_forgotten_does_not_come_back_with_the_others() -> None:
    cmgr = tp()
    cmgr.dies("r1")
    cmgr.tell(facts.ForgetOrdered(key("r1"), "a"))
    cmgr.fault(0)
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "router"]


def test_one_that_died_and_is_removed_by_that_is_promised_nothing() -> None:
    cmgr = tp(auto_remove=True)
    cmgr.dies("r1")
    cmgr.fault(0)
    assert "r1" not in cmgr.held()


def test_a_paused_member_is_paused_again_after_the_round() -> None:
    cmgr = halted(tp(frozen=True))
    cmgr.run()
    assert [c.frozen for c in cmgr.sent(StartContainer, "r1")] == [True]
    assert cmgr.truth[key("r1")].frozen


def test_what_is_started_soon_after_it_died_in_a_round_is_an_owners_and_is_stopped_again() -> None:
    cmgr = tp()
    cmgr.dies("r1")
    cmgr.fault(0)
    assert "r1" in cmgr.held()
    cmgr.run(StopContainer, ListContainers)
    cmgr.log.clear()
    cmgr.starts("r1", "a unit")
    cmgr.wait(4, run=False)
    assert "r1" in names(cmgr.log)


def test_the_restart_policy_from_before_the_round_goes_back_though_the_books_do_not_know_it_yet() -> None:
    cmgr = halted(tp(settle=30, restart_policy="always:0"))
    cmgr.run()
    cmgr.sees(replace(cmgr.truth[key("r1")], restart_policy=""))
    cmgr.fault(0)
    cmgr.wait(120)
    assert (running(cmgr), cmgr.truth[key("r1")].restart_policy) == (ALL, "always:0")
