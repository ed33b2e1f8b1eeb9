"""Drills are held at their times, on rings where nothing is wrong, once, and told in the history."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.config.week import window
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Level
from cmgr.model.values.handling.calendar import Drill, Exercise, Opening
from cmgr.model.values.handling.policy import DEFAULT_LEVELS, Policy, ResetPolicy, Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, PretendFault, ResetRing
from cmgr.model.values.rings import Phase
from tests.model.builders import FREE, MINOR, RESET, SEPARATE, Cmgr, container, key, names, seconds

RESETTING = Drill("saturday", Exercise.RESET, chips=(1,))
FAULT = Drill("saturday", Exercise.FAULT, container="a", code=RESET)


def drilled(drill: Drill = RESETTING, **changes: object) -> Cmgr:
    policy = Policy(strategy=Strategy.RING, drills=(drill,))
    return Cmgr(container("a", 0), container("b", 4), policy=replace(policy, **changes))  # type: ignore[arg-type]


def due(cmgr: Cmgr, length: float = 600) -> facts.CalendarRead:
    """Tell that its time has come, which lasts so long, and return what was told."""
    opening = Opening("drills.saturday", open=True, until=cmgr.now + seconds(length), wall=cmgr.now)
    told = facts.CalendarRead((opening,))
    cmgr.tell(told)
    return told


@pytest.mark.parametrize("drill", [RESETTING, FAULT])
def test_its_ring_is_recovered_and_the_episode_tells_of_it(drill: Drill) -> None:
    cmgr = drilled(drill)
    due(cmgr)
    if cmgr.sent(PretendFault):
        cmgr.run()
        cmgr.fault(0)  # As the driver tells it.
    cmgr.wait(10)
    assert (names(cmgr.log), [c.ring for c in cmgr.sent(ResetRing)]) == (["a"], [0])
    assert (cmgr.phase(), cmgr.held(), cmgr.truth[key("a")].running) == (Phase.HEALTHY, [], True)
    assert "drill saturday is over: recovered" in cmgr.notes(NoteKind.RESULT)
    assert cmgr.notes(NoteKind.ACTION)[0].startswith("drill saturday: chip ")
    assert cmgr.node.occasions["drills.saturday"].rings == frozenset()


def test_it_is_held_once_for_each_of_its_times_in_this_life_and_the_next() -> None:
    cmgr = drilled()
    told = due(cmgr)
    cmgr.wait(10)
    cmgr.tell(told)
    cmgr.begin()
    cmgr.tell(told)
    cmgr.wait(10)
    assert len(cmgr.sent(ResetRing)) == 1
    due(cmgr)
    cmgr.wait(10)
    assert len(cmgr.sent(ResetRing)) == 2


def test_a_life_that_begins_in_its_time_waits_until_it_knows_what_runs() -> None:
    cmgr = drilled()
    opening = Opening("drills.saturday", open=True, until=cmgr.now + seconds(60), wall=cmgr.now)
    cmgr.node = replace(cmgr.node, occasions={})
    cmgr.tell(facts.Restarted(cmgr.chips, cmgr.runtimes, (opening,)))
    assert not cmgr.node.occasions
    cmgr.wait(10)
    assert len(cmgr.sent(ResetRing)) == 1


def test_one_that_is_cut_short_is_finished_and_not_begun_again() -> None:
    cmgr = drilled()
    told = due(cmgr)
    cmgr.run_until(Phase.WAITING)
    cmgr.begin()
    cmgr.tell(told)
    cmgr.wait(10)
    assert (len(cmgr.sent(ResetRing)), cmgr.held(), cmgr.phase()) == (1, [], Phase.HEALTHY)
    assert "drill saturday is over: recovered" in cmgr.notes(NoteKind.RESULT)


def test_one_that_is_cut_short_before_its_fault_was_there_is_told_of_and_no_later_episode_is_its() -> None:
    cmgr = drilled(FAULT)
    told = due(cmgr)
    assert cmgr.sent(PretendFault)
    cmgr.begin()
    cmgr.tell(told)
    cmgr.wait(10)
    assert len(cmgr.sent(PretendFault)) == 1, "it is not begun again"
    (warning,) = cmgr.notes(NoteKind.WARNING)
    assert warning == "drill saturday is left out: cmgr ended before its fault was simulated"
    cmgr.fault(0)
    cmgr.wait(10)
    assert not [text for text in cmgr.notes() if "drill saturday is over" in text]


def test_one_whose_fault_was_there_already_goes_on_in_the_next_life() -> None:
    cmgr = drilled(FAULT)
    told = due(cmgr)
    cmgr.faults[0].add(RESET)
    cmgr.begin()
    cmgr.tell(told)
    cmgr.wait(10)
    assert "drill saturday is over: recovered" in cmgr.notes(NoteKind.RESULT)


def test_its_time_is_over() -> None:
    cmgr = drilled()
    opening = Opening("drills.saturday", open=True, until=cmgr.now, wall=cmgr.now)
    cmgr.tell(facts.CalendarRead((opening,)))
    cmgr.wait(10)
    assert (cmgr.sent(ResetRing), cmgr.node.occasions) == ([], {})


def left_out(cmgr: Cmgr) -> str:
    """Return why the drill that is due is left out."""
    cmgr.run()
    cmgr.log.clear()
    due(cmgr)
    cmgr.wait(1)
    assert not [c for c in cmgr.log if isinstance(c, ResetRing | PretendFault)]
    (note,) = [text for text in cmgr.notes(NoteKind.WARNING) if text.startswith("drill ")]
    return note.removeprefix("drill saturday is left out: ")


def test_on_a_ring_with_trouble_it_is_left_out() -> None:
    cmgr = drilled(levels={**DEFAULT_LEVELS, Level.RestartNPU: replace(DEFAULT_LEVELS[Level.RestartNPU], reset=False)})
    cmgr.fault(0)
    assert left_out(cmgr) == "ring 0 is in an episode"
    cmgr = drilled()
    cmgr.tell(facts.IsolateOrdered(ChipId(3), "loud", "a person"))
    assert left_out(cmgr) == "chip 3 is isolated"
    cmgr = drilled()
    cmgr.silent = {2}
    cmgr.tell(facts.Resync())
    assert left_out(cmgr) == "chip 2 is not well"


def test_beside_a_container_that_would_not_come_back_or_not_be_stopped_too() -> None:
    cmgr = drilled()
    cmgr.dies("a")
    assert left_out(cmgr) == "container a is down"
    cmgr = drilled()
    cmgr.sees(replace(cmgr.truth[key("a")], enabled=False))
    assert left_out(cmgr) == "cmgr does not stop container a"


def test_in_maintenance_without_its_runtime_and_with_the_last_reset_too() -> None:
    cmgr = drilled()
    cmgr.tell(facts.MaintenanceOrdered(on=True, who="a person"))
    assert left_out(cmgr).startswith("maintenance until ")
    cmgr = drilled()
    cmgr.tell(facts.RuntimeDown("docker", "no answer"))
    due(cmgr)
    assert cmgr.notes(NoteKind.WARNING)[-1] == "drill saturday is left out: cannot reach docker: no answer"
    cmgr = drilled(reset=ResetPolicy(attempts=1))
    assert left_out(cmgr) == "the last reset of ring 0 is kept for a fault (reset.attempts)"


def test_trouble_on_another_ring_is_no_reason() -> None:
    cmgr = drilled()
    cmgr.tell(facts.IsolateOrdered(ChipId(5), "loud", "a person"))
    cmgr.run()
    due(cmgr)
    cmgr.wait(10)
    assert [c.ring for c in cmgr.sent(ResetRing)] == [0]


@pytest.mark.parametrize("code", [MINOR, SEPARATE, "hello"])
def test_no_fault_is_pretended_that_would_stay(code: str) -> None:
    why = left_out(drilled(FAULT._replace(code=code)))
    assert "so that the fault would stay" in why or why == "hello is no code"


def test_nor_one_that_would_wait_for_a_window() -> None:
    free = replace(DEFAULT_LEVELS[Level.FreeRestartNPU], reset=True, window=(window("Sat"),))
    cmgr = drilled(FAULT._replace(code=FREE), levels={**DEFAULT_LEVELS, Level.FreeRestartNPU: free})
    assert "waits for its window" in left_out(cmgr)
    assert "waits until nobody uses the chips" in left_out(drilled(FAULT._replace(code=FREE)))


def test_a_driver_that_pretends_nothing_is_told_of() -> None:
    cmgr = drilled(FAULT)
    due(cmgr)
    cmgr.answer(PretendFault, error="cannot simulate a fault on real chips: allow_injection = false")
    cmgr.wait(10)
    assert cmgr.notes(NoteKind.WARNING) == [
        "drill saturday is left out: cannot simulate a fault on real chips: allow_injection = false"
    ]
    assert cmgr.node.occasions["drills.saturday"].rings == frozenset()


def test_chips_and_containers_that_are_not_there_are_named() -> None:
    assert left_out(drilled(RESETTING._replace(chips=(1, 99)))) == "chip 99: not there"
    assert left_out(drilled(RESETTING._replace(chips=(), container="z"))) == "no container z runs on chips"


def test_a_wait_of_days_is_a_wait_of_days() -> None:
    cmgr = drilled()
    until = cmgr.now + timedelta(days=3)
    cmgr.tell(facts.CalendarRead((Opening("drills.saturday", open=False, until=until, wall=until),)))
    cmgr.wait(86400)
    assert not cmgr.sent(ResetRing)
