"""FaultFrequency: a code that comes too often is graver than it says."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion, FaultCode, Handling, Level
from cmgr.model.values.handling.rules import DurationRule, FrequencyRule, RuleKind, Rules
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Note
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container
from tests.model.builders import CATALOG, MINOR, REQUEST, RESET, RING, SEPARATE, T0, Cmgr, container, died, seconds
from tests.model.faults.escalated import (
    DAY,
    FIVE_A_DAY,
    RESET_FIRST,
    TWICE_A_DAY,
    comes_and_goes,
    isolated,
    released,
    ruled,
    rules,
    said,
    tally,
)

THRICE_A_DAY = FrequencyRule(DAY, 3, Handling.SeparateNPU)
HOURLY = FrequencyRule(timedelta(hours=1), 3, Handling.RestartNPU, release=timedelta(minutes=10))


def reborn(cmgr: Cmgr) -> None:
    """Let cmgr be killed and begin another life."""
    cmgr.begin()
    cmgr.run()


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("rule", [TWICE_A_DAY, THRICE_A_DAY, FIVE_A_DAY])
def test_the_last_of_so_many_occurrences_isolates_also_with_a_restart_between_any_two(
    rule: FrequencyRule, dies: bool
) -> None:
    cmgr = ruled(by=rules(rule, code=MINOR))
    for _ in range(rule.times):
        assert isolated(cmgr) == {}
        comes_and_goes(cmgr, lasts=30)
        if dies:
            reborn(cmgr)
        cmgr.wait(3600)
    assert isolated(cmgr) == {0: "escalation"}
    assert cmgr.node.isolations[ChipId(0)].reason.startswith(f"{MINOR} came {rule.times} times within 1 d")


@pytest.mark.parametrize("there", [(), (container("a", 1),), (died("a", 0, at=T0 - DAY),)])
def test_of_a_chip_that_nobody_uses_nothing_is_counted_and_a_level_that_isolates_does_so(
    there: tuple[Container, ...],
) -> None:
    cmgr = Cmgr(*there, catalog=replace(CATALOG, rules=rules(TWICE_A_DAY, code=MINOR)))
    for _ in range(3):
        comes_and_goes(cmgr)
        cmgr.wait(120)
    assert isolated(cmgr) == {}
    cmgr.fault(0, SEPARATE)
    assert isolated(cmgr) == {0: "level"}


def stopped_by_a_person(cmgr: Cmgr) -> None:
    cmgr.dies("a", 143, asked=True)
    cmgr.wait(120)
    cmgr.tell(facts.Resync())
    cmgr.run()


def killed_by_it(cmgr: Cmgr) -> None:
    cmgr.dies("a", 137)
    cmgr.wait(120)


def a_process(cmgr: Cmgr) -> None:
    cmgr.processes[0] = "train"
    stopped_by_a_person(cmgr)


def left_down(cmgr: Cmgr) -> None:
    cmgr.policy = replace(RING, observe=True)
    killed_by_it(cmgr)


@pytest.mark.parametrize(
    ("meanwhile", "counts"), [(stopped_by_a_person, False), (killed_by_it, True), (a_process, True), (left_down, True)]
)
def test_a_chip_is_used_by_what_runs_on_it_or_is_to_run_on_it_again(
    meanwhile: Callable[[Cmgr], None], counts: bool
) -> None:
    cmgr = ruled(container("a", 0), by=rules(TWICE_A_DAY, code=MINOR))
    comes_and_goes(cmgr)
    meanwhile(cmgr)
    comes_and_goes(cmgr)
    assert (0 in isolated(cmgr)) is counts


def test_occurrences_older_than_the_window_do_not_count() -> None:
    cmgr = ruled(by=rules(THRICE_A_DAY, code=MINOR))
    for _ in range(10):
        comes_and_goes(cmgr)
        cmgr.wait(13 * 3600)
    assert isolated(cmgr) == {}
    comes_and_goes(cmgr)
    comes_and_goes(cmgr)
    assert isolated(cmgr) == {0: "escalation"}


def test_chips_and_codes_are_counted_each_for_itself() -> None:
    both = Rules({FaultCode(MINOR): TWICE_A_DAY, FaultCode("80000009"): TWICE_A_DAY})
    cmgr = ruled(by=both)
    cmgr.catalog = replace(cmgr.catalog, unknown=Level.NotHandleFault)
    reborn(cmgr)
    comes_and_goes(cmgr, 0, MINOR)
    comes_and_goes(cmgr, 1, MINOR)
    comes_and_goes(cmgr, 0, "80000009")
    assert isolated(cmgr) == {}
    # Both reach their number on one chip in one turn: each has its own counter to begin anew.
    comes_and_goes(cmgr, 0, MINOR)
    comes_and_goes(cmgr, 0, "80000009")
    assert (tally(cmgr).has(RuleKind.FREQUENCY), tally(cmgr, code="80000009").has(RuleKind.FREQUENCY)) == (True, True)
    assert isolated(cmgr) == {0: "escalation"}


def test_an_event_that_is_told_twice_counts_once() -> None:
    cmgr = ruled(by=rules(TWICE_A_DAY, code=MINOR))
    for _ in range(3):
        cmgr.fault(0, MINOR)
    cmgr.tell(facts.FaultReported(ChipId(0), MINOR, Assertion.OCCURRED, earlier=4, repeated=4))
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (isolated(cmgr), len(tally(cmgr).times)) == ({}, 1)


@pytest.mark.parametrize(
    ("merged", "rises"),
    [
        (facts.FaultReported(ChipId(0), MINOR, Assertion.OCCURRED, first=Assertion.CLEARED), 1),
        (facts.FaultReported(ChipId(0), MINOR, Assertion.OCCURRED, earlier=1, first=Assertion.OCCURRED), 1),
        (facts.FaultReported(ChipId(0), MINOR, Assertion.CLEARED, earlier=2, first=Assertion.CLEARED), 2),
        (facts.FaultReported(ChipId(0), MINOR, Assertion.ONCE), 1),
        (facts.FaultReported(ChipId(0), MINOR, Assertion.OCCURRED, earlier=1, first=Assertion.OCCURRED, repeated=1), 0),
    ],
)
def test_what_was_merged_in_the_queue_counts_as_often_as_it_came_anew(merged: facts.FaultReported, rises: int) -> None:
    cmgr = ruled(by=rules(FIVE_A_DAY, code=MINOR))
    cmgr.fault(0, MINOR)
    cmgr.tell(merged)
    assert len(tally(cmgr).times) == 1 + rises


def test_a_fault_that_is_there_once_each_time_counts_each_time() -> None:
    cmgr = ruled(by=rules(TWICE_A_DAY, code=MINOR))
    cmgr.once(0, MINOR)
    cmgr.wait(5)
    cmgr.once(0, MINOR)
    assert isolated(cmgr) == {0: "escalation"}


def test_a_fault_that_a_reset_cured_and_that_comes_back_isolates_the_chip_instead_of_another_reset() -> None:
    cmgr = ruled(container("a", 0), container("b", 1), by=rules(TWICE_A_DAY))
    cmgr.fault(0)
    cmgr.run()
    assert (len(cmgr.ring().resets), cmgr.phase(), cmgr.held()) == (1, Phase.HEALTHY, [])
    cmgr.wait(3600)
    cmgr.fault(0)
    cmgr.run()
    assert (len(cmgr.ring().resets), isolated(cmgr), cmgr.phase()) == (1, {0: "escalation"}, Phase.HEALTHY)


def test_only_a_person_ends_what_asks_for_one_and_counting_begins_anew() -> None:
    cmgr = ruled(by=rules(TWICE_A_DAY, code=MINOR))
    comes_and_goes(cmgr)
    comes_and_goes(cmgr)
    cmgr.wait(30 * 86400)
    reborn(cmgr)
    assert isolated(cmgr) == {0: "escalation"}
    assert "only a person ends that" in cmgr.node.isolations[ChipId(0)].reason
    released(cmgr)
    assert isolated(cmgr) == {}
    comes_and_goes(cmgr)
    assert isolated(cmgr) == {}
    comes_and_goes(cmgr)
    assert isolated(cmgr) == {0: "escalation"}


def test_a_person_releases_a_chip_that_still_has_its_fault_and_that_is_handled_by_its_own_level_again() -> None:
    cmgr = ruled(container("a", 0), by=rules(TWICE_A_DAY))
    cmgr.cures = False
    cmgr.fault(0)
    cmgr.clears(0)
    cmgr.wait(3600)
    cmgr.fault(0)
    cmgr.run()
    assert cmgr.fault_of(0).level is Level.SeparateNPU
    cmgr.cures = True
    released(cmgr)
    assert (isolated(cmgr), cmgr.phase(), cmgr.held(), len(cmgr.ring().resets)) == ({}, Phase.HEALTHY, [], 1)


def test_it_ends_when_the_fault_has_stayed_away_and_every_occurrence_puts_that_off() -> None:
    cmgr = ruled(by=rules(FIVE_A_DAY, code=MINOR))
    for _ in range(5):
        comes_and_goes(cmgr)
    cmgr.wait(86400)
    comes_and_goes(cmgr)
    reborn(cmgr)
    cmgr.wait(2 * 86400 - 60)
    assert isolated(cmgr) == {0: "escalation"}
    cmgr.wait(120)
    assert isolated(cmgr) == {}
    assert said(cmgr, f"{MINOR} on chip 0 is no longer raised to SeparateNPU (FaultFrequency)")
    # Nothing of before counts: another five are needed.
    for _ in range(4):
        comes_and_goes(cmgr)
    assert isolated(cmgr) == {}


def test_a_code_can_be_raised_to_a_level_that_is_reset() -> None:
    cmgr = ruled(container("a", 0), by=rules(HOURLY, code=MINOR))
    comes_and_goes(cmgr)
    comes_and_goes(cmgr)
    cmgr.run()
    assert cmgr.held() == []
    cmgr.fault(0, MINOR)
    assert (cmgr.fault_of(0, MINOR).level, cmgr.held()) == (Level.RestartNPU, ["a"])
    cmgr.run()
    assert (len(cmgr.ring().resets), cmgr.phase()) == (1, Phase.HEALTHY)
    cmgr.fault(0, MINOR)
    assert cmgr.fault_of(0, MINOR).level is Level.RestartNPU
    cmgr.run()
    cmgr.wait(601)
    cmgr.fault(0, MINOR)
    assert cmgr.fault_of(0, MINOR).level is Level.NotHandleFault


def test_lines_about_what_is_raised_say_code_and_level_for_programs_too() -> None:
    cmgr = ruled(by=rules(HOURLY, code=MINOR))
    for _ in range(3):
        comes_and_goes(cmgr)
        cmgr.wait(1)
    cmgr.wait(700)
    found = [n for n in cmgr.log if isinstance(n, Note) and "raised to" in n.text]
    levels = [(n.chip, n.fault.code, n.fault.level, n.fault.handling) for n in found if n.fault is not None]
    assert [n.text.partition(" raised to")[0] for n in found] == [
        f"{MINOR} on chip 0 is",
        f"{MINOR} on chip 0 is no longer",
    ]
    assert levels == [(0, MINOR, "RestartNPU", "RestartNPU"), (0, MINOR, "NotHandleFault", "NotHandleFault")]


def test_a_rule_never_lowers_a_level() -> None:
    low = replace(HOURLY, times=1, handling=Handling.RestartRequest)
    cmgr = ruled(by=rules(low))
    cmgr.fault(0)
    assert cmgr.fault_of(0).level is Level.RestartNPU


def test_with_a_rule_of_both_kinds_only_what_lasts_is_counted() -> None:
    lasting = DurationRule(seconds(20), seconds(60), Handling.RestartRequest)
    cmgr = ruled(by=rules(TWICE_A_DAY, lasting, code=MINOR))
    for _ in range(4):
        comes_and_goes(cmgr, lasts=5)
        cmgr.wait(100)
    assert (isolated(cmgr), tally(cmgr).times) == ({}, ())
    comes_and_goes(cmgr, lasts=25)
    cmgr.wait(100)
    assert len(tally(cmgr).times) == 1
    cmgr.fault(0, MINOR)
    cmgr.wait(25)
    assert isolated(cmgr) == {0: "escalation"}


def test_other_rules_level_what_stands_anew_and_end_what_has_none() -> None:
    cmgr = ruled(by=rules(FIVE_A_DAY, code=MINOR))
    for _ in range(5):
        comes_and_goes(cmgr)
    weaker = replace(FIVE_A_DAY, handling=Handling.RestartRequest)
    cmgr.tell(facts.Reconfigured(cmgr.policy, replace(CATALOG, rules=rules(weaker, code=MINOR))))
    assert (isolated(cmgr), tally(cmgr).level) == ({}, Level.RestartRequest)
    cmgr.tell(facts.Reconfigured(cmgr.policy, replace(CATALOG, rules=rules(FIVE_A_DAY, code=MINOR))))
    assert isolated(cmgr) == {0: "escalation"}
    cmgr.tell(facts.Reconfigured(cmgr.policy, CATALOG))
    assert (isolated(cmgr), tally(cmgr).raised) == ({}, ())


def test_what_only_a_person_ends_outlives_its_rule() -> None:
    cmgr = ruled(by=rules(TWICE_A_DAY, code=MINOR))
    comes_and_goes(cmgr)
    comes_and_goes(cmgr)
    cmgr.catalog = CATALOG
    reborn(cmgr)
    assert isolated(cmgr) == {0: "escalation"}
    released(cmgr)
    assert isolated(cmgr) == {}


def test_a_clock_that_was_set_back_between_two_lives_leaves_no_counter_in_the_future() -> None:
    cmgr = ruled(by=rules(FIVE_A_DAY, code=MINOR))
    for _ in range(5):
        comes_and_goes(cmgr)
    cmgr.now -= timedelta(days=400)
    reborn(cmgr)
    cmgr.wait(2 * 86400 + 5)
    assert isolated(cmgr) == {}


def test_counters_that_count_nothing_are_forgotten() -> None:
    cmgr = ruled(by=rules(TWICE_A_DAY, code=MINOR))
    comes_and_goes(cmgr)
    cmgr.wait(86400)
    assert list(cmgr.node.tallies) == [(0, MINOR)]
    cmgr.tell(facts.Resync())
    assert cmgr.node.tallies == {}


def test_a_code_without_a_rule_is_not_counted() -> None:
    cmgr = ruled(by=rules(TWICE_A_DAY, code=MINOR))
    cmgr.fault(0, REQUEST)
    cmgr.fault(0, RESET)
    assert cmgr.node.tallies == {}


def test_a_shipped_rule_isolates_only_when_the_fault_comes_again_after_one_more_reset() -> None:
    cmgr = ruled(container("a", 0), by=rules(RESET_FIRST))
    for resets in (1, 2):
        cmgr.fault(0)
        cmgr.wait(3600)
        assert (isolated(cmgr), len(cmgr.ring().resets), cmgr.booked("a").running) == ({}, resets, True)
    assert said(cmgr, f"{RESET} on chip 0 came 2 times within 1 d: if it comes again after one more reset")
    reborn(cmgr)
    cmgr.fault(0)
    cmgr.run()
    assert (isolated(cmgr), len(cmgr.ring().resets)) == ({0: "escalation"}, 2)


def test_after_that_reset_the_window_of_the_rule_counts_as_before() -> None:
    cmgr = ruled(by=rules(RESET_FIRST))
    for _ in range(2):
        cmgr.fault(0)
        cmgr.wait(3600)
    cmgr.wait(DAY.total_seconds())
    cmgr.fault(0)
    cmgr.run()
    assert isolated(cmgr) == {}


def test_a_fault_that_goes_before_its_reset_is_due_isolates_nobody_by_a_shipped_rule() -> None:
    cmgr = ruled(container("a", 0), by=rules(RESET_FIRST, code=REQUEST))
    for _ in range(6):
        comes_and_goes(cmgr, code=REQUEST, lasts=5)
        cmgr.wait(3600)
    assert (isolated(cmgr), len(cmgr.ring().resets)) == ({}, 0)
    for _ in range(2):
        cmgr.fault(0, REQUEST)
        cmgr.wait(3600)
    assert (isolated(cmgr), len(cmgr.ring().resets)) == ({0: "escalation"}, 1)


def test_a_shipped_rule_isolates_at_once_where_the_level_asks_for_no_reset() -> None:
    cmgr = ruled(by=rules(RESET_FIRST, code=MINOR))
    for _ in range(2):
        assert isolated(cmgr) == {}
        comes_and_goes(cmgr, lasts=30)
    assert isolated(cmgr) == {0: "escalation"}


def test_a_shipped_rule_isolates_at_once_where_the_budget_is_used_up() -> None:
    policy = replace(RING, reset=replace(RING.reset, attempts=1))
    cmgr = ruled(by=rules(RESET_FIRST), policy=policy)
    cmgr.fault(0)
    cmgr.wait(3600)
    assert (isolated(cmgr), len(cmgr.ring().resets)) == ({}, 1)
    cmgr.fault(0)
    assert isolated(cmgr) == {0: "escalation"}
