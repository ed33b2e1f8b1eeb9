"""Resets that may wait do wait for their window, and maintenance begins and ends by its own."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from cmgr.config.week import window
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Level
from cmgr.model.values.handling.calendar import MAINTENANCE_WINDOWS, RESET_WINDOWS, Opening
from cmgr.model.values.handling.policy import DEFAULT_LEVELS, LimitsPolicy, Policy, ResetPolicy, Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ResetRing, StopContainer
from cmgr.model.values.rings import Phase
from tests.model.builders import FREE, REQUEST, RESET, Cmgr, container, key, names, seconds

FREELY = "levels.FreeRestartNPU.window"
SATURDAY = (window("Sat 02:00-04:00"),)
DAY = 86400.0


def windowed(strategy: Strategy = Strategy.RING, **changes: object) -> Policy:
    free = replace(DEFAULT_LEVELS[Level.FreeRestartNPU], reset=True, window=SATURDAY, **changes)  # type: ignore[arg-type]
    return Policy(strategy=strategy, levels={**DEFAULT_LEVELS, Level.FreeRestartNPU: free})


def told(cmgr: Cmgr, name: str, length: float, *, is_open: bool) -> None:
    """Tell that the windows of this setting are open, or shut, for so long."""
    until = cmgr.now + seconds(length)
    cmgr.tell(facts.CalendarRead((Opening(name, is_open, until, until),)))


def waiting(policy: Policy | None = None, *names_: str) -> Cmgr:
    """Return a machine with a fault on chip 0 that waits for a window."""
    cmgr = Cmgr(*(container(name, chip) for chip, name in enumerate(names_ or ("a",))), policy=policy or windowed())
    told(cmgr, FREELY, 3 * DAY, is_open=False)
    cmgr.fault(0, FREE)
    cmgr.run()
    return cmgr


def test_nothing_is_stopped_or_reset_outside_of_the_window_and_the_ring_says_until_when() -> None:
    cmgr = waiting()
    cmgr.wait(2 * DAY)
    assert (cmgr.held(), cmgr.sent(ResetRing), cmgr.sent(StopContainer)) == ([], [], [])
    assert cmgr.phase() is Phase.HEALTHY
    words = f"the reset of chips 0-3 waits for its window ({FREELY}), which opens Sun 2026-01-04 00:00 UTC"
    assert cmgr.ring().reason == words
    assert cmgr.ring().deadline == cmgr.node.calendar[FREELY].until
    assert cmgr.notes().count(words) == 1


def test_when_it_opens_the_ring_recovers() -> None:
    cmgr = waiting()
    cmgr.wait(3 * DAY)
    assert not cmgr.held()
    told(cmgr, FREELY, 7200, is_open=True)
    cmgr.run()
    cmgr.wait(10)
    assert (names(cmgr.log), len(cmgr.sent(ResetRing)), cmgr.held()) == (["a"], 1, [])
    assert (cmgr.phase(), cmgr.ring().reason, cmgr.ring().deadline) == (Phase.HEALTHY, "", None)


def test_a_fault_that_goes_away_before_leaves_nothing_behind() -> None:
    cmgr = waiting()
    cmgr.clears(0, FREE)
    cmgr.run()
    assert (cmgr.phase(), cmgr.ring().reason, cmgr.ring().deadline) == (Phase.HEALTHY, "", None)


def test_in_the_window_nothing_waits() -> None:
    cmgr = Cmgr(container("a", 0), policy=windowed())
    told(cmgr, FREELY, 3600, is_open=True)
    cmgr.fault(0, FREE)
    cmgr.run()
    assert len(cmgr.sent(ResetRing)) == 1


def test_a_window_of_which_the_calendar_has_said_nothing_is_shut() -> None:
    cmgr = Cmgr(container("a", 0), policy=windowed())
    cmgr.fault(0, FREE)
    cmgr.wait(60)
    assert (cmgr.held(), cmgr.sent(ResetRing)) == ([], [])
    assert cmgr.ring().reason.endswith("which never opens")


def test_a_graver_fault_waits_for_nothing_and_the_reset_cures_both() -> None:
    cmgr = waiting(None, "a", "b")
    cmgr.fault(1, RESET)
    cmgr.run()
    cmgr.wait(10)
    assert (sorted(names(cmgr.log)), len(cmgr.sent(ResetRing)), cmgr.phase()) == (["a", "b"], 1, Phase.HEALTHY)


def test_so_does_a_lesser_one_without_a_window() -> None:
    cmgr = waiting()
    cmgr.fault(1, REQUEST)
    cmgr.wait(70)
    assert (names(cmgr.log), len(cmgr.sent(ResetRing)), cmgr.phase()) == (["a"], 1, Phase.HEALTHY)


def test_nothing_waits_once_a_container_died_of_the_fault() -> None:
    cmgr = waiting(None, "a", "b")
    cmgr.wait(3600)
    cmgr.dies("a")
    cmgr.run()
    cmgr.wait(10)
    assert (names(cmgr.log), len(cmgr.sent(ResetRing))) == (["b"], 1)
    assert all(c.running for c in cmgr.truth.values())


def test_one_that_was_stopped_by_a_person_is_no_reason() -> None:
    cmgr = waiting(None, "a", "b")
    cmgr.dies("a", 143, asked=True)
    cmgr.wait(600)
    assert (names(cmgr.log), cmgr.sent(ResetRing)) == ([], [])


def test_nor_is_one_that_does_not_need_the_faulty_chip() -> None:
    cmgr = waiting(windowed(Strategy.SINGLE), "a", "b")
    cmgr.dies("b")
    cmgr.wait(3600)
    assert (cmgr.held(), names(cmgr.log), cmgr.sent(ResetRing)) == ([], [], [])


def test_what_has_begun_in_the_window_is_finished_after_it() -> None:
    cmgr = waiting(None, "a", "b")
    cmgr.cures = False
    told(cmgr, FREELY, 60, is_open=True)
    cmgr.run_until(Phase.RESETTING)
    told(cmgr, FREELY, 7 * DAY, is_open=False)
    cmgr.answer(ResetRing, error="timed out")
    cmgr.cures = True
    cmgr.wait(600)
    assert (len(cmgr.sent(ResetRing)), cmgr.held(), cmgr.phase()) == (2, [], Phase.HEALTHY)


def test_also_when_cmgr_dies_meanwhile() -> None:
    cmgr = waiting(None, "a", "b")
    told(cmgr, FREELY, 60, is_open=True)
    cmgr.run_until(Phase.WAITING)
    cmgr.begin()
    told(cmgr, FREELY, 7 * DAY, is_open=False)
    cmgr.wait(10)
    assert (len(cmgr.sent(ResetRing)), cmgr.held(), cmgr.phase()) == (1, [], Phase.HEALTHY)


def test_what_was_not_stopped_yet_when_it_closes_goes_on_running() -> None:
    cmgr = waiting(None, "a")
    told(cmgr, FREELY, 60, is_open=True)
    cmgr.pending.clear()
    cmgr.begin()
    told(cmgr, FREELY, 7 * DAY, is_open=False)
    cmgr.wait(60)
    # Its stop may have been sent: whether it was, nobody knows, and so it is finished.
    assert (cmgr.held(), cmgr.phase()) == ([], Phase.HEALTHY)
    assert cmgr.truth[key("a")].running


def test_a_wait_is_as_long_in_the_next_life() -> None:
    cmgr = waiting()
    openings = tuple(cmgr.node.calendar.values())
    cmgr.begin()
    cmgr.run()
    assert "never opens" in cmgr.ring().reason
    cmgr.tell(facts.Restarted(cmgr.chips, cmgr.runtimes, openings))
    cmgr.run()
    assert cmgr.ring().reason.endswith("which opens Sun 2026-01-04 00:00 UTC")
    assert not cmgr.held()


def test_a_person_need_not_wait() -> None:
    cmgr = waiting()
    cmgr.tell(facts.ResetOrdered(ChipId(0), "uid 0 (root)", stop=True))
    cmgr.wait(10)
    assert (names(cmgr.log), len(cmgr.sent(ResetRing)), cmgr.phase()) == (["a"], 1, Phase.HEALTHY)


def test_without_a_window_of_its_own_a_level_that_stops_nobody_goes_by_that_of_all_resets() -> None:
    levels = {
        **DEFAULT_LEVELS,
        Level.FreeRestartNPU: replace(DEFAULT_LEVELS[Level.FreeRestartNPU], stop=False, reset=True),
    }
    policy = Policy(strategy=Strategy.RING, levels=levels, reset=ResetPolicy(window_hours=SATURDAY))
    cmgr = Cmgr(policy=policy)
    told(cmgr, RESET_WINDOWS, 3 * DAY, is_open=False)
    cmgr.fault(0, FREE)
    cmgr.fault(4, RESET)
    cmgr.wait(600)
    assert [c.ring for c in cmgr.sent(ResetRing)] == [4]
    assert f"({RESET_WINDOWS})" in cmgr.ring(0).reason
    told(cmgr, RESET_WINDOWS, 3600, is_open=True)
    cmgr.wait(1)
    assert [c.ring for c in cmgr.sent(ResetRing)] == [4, 0]


def test_rings_that_wait_for_a_window_keep_no_other_back_and_the_limit_holds_when_it_opens() -> None:
    policy = replace(windowed(), limits=LimitsPolicy(rings_at_once=1))
    cmgr = Cmgr(container("a", 0), container("b", 4), container("c", 8), policy=policy, chips=12)
    told(cmgr, FREELY, 3 * DAY, is_open=False)
    cmgr.fault(0, FREE)
    cmgr.fault(4, FREE)
    cmgr.fault(8, RESET)
    cmgr.wait(60)
    assert [c.ring for c in cmgr.sent(ResetRing)] == [8]
    told(cmgr, FREELY, 3600, is_open=True)
    assert (cmgr.phase(0), cmgr.phase(4)) == (Phase.LISTING, Phase.HEALTHY)
    assert cmgr.ring(4).reason.startswith("kept back")


def test_a_fault_that_comes_while_the_ring_resumes_waits_too() -> None:
    cmgr = Cmgr(container("a", 0), policy=windowed())
    told(cmgr, FREELY, 3 * DAY, is_open=False)
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.run()
    cmgr.fault(1, FREE)
    cmgr.wait(60)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), cmgr.truth[key("a")].running) == (Phase.HEALTHY, 1, True)
    assert "waits for its window" in cmgr.ring().reason


def maintained(cmgr: Cmgr) -> tuple[str, datetime | None] | None:
    known = cmgr.node.maintenance
    return None if known is None else (known.who, known.until)


def test_maintenance_begins_and_ends_by_its_windows_and_says_so() -> None:
    cmgr = Cmgr(container("a", 0))
    told(cmgr, MAINTENANCE_WINDOWS, DAY, is_open=False)
    assert maintained(cmgr) is None
    told(cmgr, MAINTENANCE_WINDOWS, 3600, is_open=True)
    assert maintained(cmgr) == (MAINTENANCE_WINDOWS, cmgr.now - timedelta(milliseconds=1) + seconds(3600))
    cmgr.fault(0)
    cmgr.wait(3590)
    assert not cmgr.sent(ResetRing)
    cmgr.wait(20)
    assert (maintained(cmgr), len(cmgr.sent(ResetRing))) == (None, 1)
    begun, over = (note for note in cmgr.notes(NoteKind.ACTION) if note.startswith("maintenance"))
    assert begun.startswith("maintenance is begun by maintenance.windows, for 1 h")
    assert over == "maintenance is over: its window has closed; what is true now is acted on"
    assert not cmgr.notes(NoteKind.WARNING)


def test_one_that_a_person_ends_is_not_begun_again_in_the_same_window_in_this_life_or_the_next() -> None:
    cmgr = Cmgr()
    told(cmgr, MAINTENANCE_WINDOWS, 3600, is_open=True)
    same = facts.CalendarRead(tuple(cmgr.node.calendar.values()))
    cmgr.tell(facts.MaintenanceOrdered(on=False, who="uid 0 (root)"))
    cmgr.tell(same)
    assert maintained(cmgr) is None
    cmgr.begin()
    cmgr.tell(same)
    assert maintained(cmgr) is None
    cmgr.wait(3600)
    told(cmgr, MAINTENANCE_WINDOWS, DAY, is_open=False)
    told(cmgr, MAINTENANCE_WINDOWS, 3600, is_open=True)
    assert maintained(cmgr) is not None


def test_a_window_that_is_half_over_when_cmgr_starts_is_kept_for_the_rest() -> None:
    cmgr = Cmgr(container("a", 0))
    until = cmgr.now + seconds(900)
    opening = Opening(MAINTENANCE_WINDOWS, open=True, until=until, wall=until)
    cmgr.tell(facts.Restarted(cmgr.chips, cmgr.runtimes, (opening,)))
    assert maintained(cmgr) == (MAINTENANCE_WINDOWS, until)


def test_one_that_closed_while_cmgr_was_down_is_over() -> None:
    cmgr = Cmgr()
    told(cmgr, MAINTENANCE_WINDOWS, 3600, is_open=True)
    cmgr.now += seconds(600)
    until = cmgr.now + seconds(DAY)
    cmgr.tell(facts.Restarted(cmgr.chips, cmgr.runtimes, (Opening(MAINTENANCE_WINDOWS, False, until, until),)))
    assert maintained(cmgr) is None


@pytest.mark.parametrize("by", [-3000, 3000])
def test_a_clock_that_is_set_moves_its_end(by: int) -> None:
    cmgr = Cmgr()
    told(cmgr, MAINTENANCE_WINDOWS, 3600, is_open=True)
    (opening,) = cmgr.node.calendar.values()
    assert opening.until is not None
    moved = replace(opening, until=opening.until - seconds(by))
    cmgr.tell(facts.CalendarRead((moved,)))
    assert maintained(cmgr) == (MAINTENANCE_WINDOWS, moved.until)
    assert len([note for note in cmgr.notes() if "begun" in note]) == 1


@pytest.mark.parametrize(("length", "whose"), [(7200, "uid 0 (root)"), (600, MAINTENANCE_WINDOWS)])
def test_beside_a_persons_the_longer_one_counts(length: float, whose: str) -> None:
    cmgr = Cmgr()
    cmgr.tell(facts.MaintenanceOrdered(on=True, who="uid 0 (root)", until=cmgr.now + seconds(length)))
    told(cmgr, MAINTENANCE_WINDOWS, 3600, is_open=True)
    known = maintained(cmgr)
    assert known is not None
    assert known[0] == whose
    assert known[1] is not None
    assert known[1] >= cmgr.now + seconds(3590)


@pytest.mark.parametrize("lengths", [(20,), (7200, 20), (7200, 7100, 600)])
def test_no_order_to_begin_shortens_a_window(lengths: Sequence[float]) -> None:
    cmgr = Cmgr()
    told(cmgr, MAINTENANCE_WINDOWS, 3600, is_open=True)
    window = maintained(cmgr)
    for length in lengths:
        cmgr.tell(facts.MaintenanceOrdered(on=True, who="uid 0 (root)", until=cmgr.now + seconds(length)))
    assert maintained(cmgr) == window
    assert "it lasts longer, its window is open" in cmgr.notes(NoteKind.ACTION)[-1 - (len(lengths) > 1)]


def test_after_a_person_has_ended_a_windows_maintenance_an_order_lasts_as_long_as_it_says() -> None:
    cmgr = Cmgr()
    told(cmgr, MAINTENANCE_WINDOWS, 3600, is_open=True)
    cmgr.tell(facts.MaintenanceOrdered(on=False, who="uid 0 (root)"))
    until = cmgr.now + seconds(20)
    cmgr.tell(facts.MaintenanceOrdered(on=True, who="uid 0 (root)", until=until))
    assert maintained(cmgr) == ("uid 0 (root)", until)


def test_windows_that_are_taken_out_of_the_configuration_end_it() -> None:
    cmgr = Cmgr()
    told(cmgr, MAINTENANCE_WINDOWS, 3600, is_open=True)
    cmgr.tell(facts.CalendarRead(()))
    assert maintained(cmgr) is None
