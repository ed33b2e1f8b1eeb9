"""The worked examples of docs/levels.md, minute by minute."""

from dataclasses import replace
from datetime import timedelta

from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import FaultCode, Handling, Level
from cmgr.model.values.handling.catalog import Catalog, Entry
from cmgr.model.values.handling.policy import DEFAULT_LEVELS, LimitsPolicy
from cmgr.model.values.handling.rules import DurationRule, FrequencyRule
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ResetRing
from cmgr.model.values.rings import Phase
from tests.model.builders import CATALOG, MINOR, RESET, RING, T0, Cmgr, container, seconds
from tests.model.faults.escalated import comes_and_goes, isolated, released, ruled, rules


def until(cmgr: Cmgr, time: float) -> None:
    """Let time pass until so many seconds after the beginning."""
    cmgr.wait((T0 + seconds(time) - cmgr.now).total_seconds())


def test_idle_a_tool_of_an_operator_puts_the_reset_off() -> None:
    idle = replace(DEFAULT_LEVELS[Level.RestartNPU], idle=seconds(60))
    policy = replace(RING, levels={**DEFAULT_LEVELS, Level.RestartNPU: idle})
    cmgr = Cmgr(container("a", 0), policy=policy)
    cmgr.fault(0, RESET)
    for at, there in ((30, True), (40, False)):
        until(cmgr, at)
        cmgr.processes = {1: "npu-smi"} if there else {}
        cmgr.tell(facts.Resync())
        cmgr.run()
    until(cmgr, 98)
    assert not cmgr.sent(ResetRing)
    until(cmgr, 102)
    assert (len(cmgr.sent(ResetRing)), cmgr.held()) == (1, [])


def test_a_code_that_is_separated_from_now_on_isolates_at_once() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 3))
    cmgr.cures = False
    cmgr.fault(3)
    cmgr.run_until(Phase.WAITING)
    own = Catalog({**CATALOG.entries, FaultCode(RESET): Entry(Handling.SeparateNPU, "the operator's table")})
    cmgr.tell(facts.Reconfigured(RING, own))
    cmgr.run()
    assert (isolated(cmgr), cmgr.held(), cmgr.booked("a").running) == ({3: "level"}, ["b"], True)


def test_frequency_three_times_a_day() -> None:
    cmgr = ruled(by=rules(FrequencyRule(timedelta(days=1), 3, Handling.SeparateNPU)))
    for hour in (10, 14, 23):
        until(cmgr, hour * 3600)
        assert isolated(cmgr) == {}
        cmgr.fault(0)
        cmgr.run()
    assert (isolated(cmgr), len(cmgr.ring().resets)) == ({0: "escalation"}, 2)
    assert cmgr.node.isolations[ChipId(0)].reason == f"{RESET} came 3 times within 1 d, only a person ends that"
    cmgr.faults[0].clear()
    released(cmgr)
    assert isolated(cmgr) == {}


def test_frequency_a_shipped_rule_waits_for_one_more_reset() -> None:
    cmgr = ruled(
        container("a", 3), by=rules(FrequencyRule(timedelta(days=1), 2, Handling.SeparateNPU, after_reset=True))
    )
    for hour in (10, 14):
        until(cmgr, hour * 3600)
        cmgr.fault(3)
        cmgr.run()
        assert (isolated(cmgr), cmgr.booked("a").running) == ({}, True)
    told = f"{RESET} on chip 3 came 2 times within 1 d: if it comes again after one more reset, it is isolated"
    assert told in cmgr.notes()
    until(cmgr, 20 * 3600)
    cmgr.fault(3)
    assert (isolated(cmgr), len(cmgr.ring().resets)) == ({3: "escalation"}, 2)


def test_frequency_the_next_after_a_day_is_the_first_of_another_count() -> None:
    cmgr = ruled(by=rules(FrequencyRule(timedelta(days=1), 2, Handling.SeparateNPU, after_reset=True)))
    for hour in (10, 14, 39):
        until(cmgr, hour * 3600)
        cmgr.fault(3)
        cmgr.run()
    assert isolated(cmgr) == {}


def test_frequency_the_first_of_three_is_older_than_a_day() -> None:
    cmgr = ruled(by=rules(FrequencyRule(timedelta(days=1), 3, Handling.SeparateNPU), code=MINOR))
    for hour in (10, 14, 35):
        until(cmgr, hour * 3600)
        comes_and_goes(cmgr)
    assert isolated(cmgr) == {}


def test_duration_a_link_goes_down_and_up() -> None:
    cmgr = ruled(by=rules(duration=DurationRule(seconds(20), seconds(60), Handling.SeparateNPU), code=MINOR))
    comes_and_goes(cmgr, lasts=15)
    until(cmgr, 60)
    cmgr.fault(0, MINOR)
    until(cmgr, 79)
    assert isolated(cmgr) == {}
    until(cmgr, 81)
    assert isolated(cmgr) == {0: "escalation"}
    until(cmgr, 300)
    cmgr.clears(0, MINOR)
    until(cmgr, 350)
    comes_and_goes(cmgr, lasts=1)
    until(cmgr, 410)
    assert isolated(cmgr) == {0: "escalation"}
    until(cmgr, 412)
    assert isolated(cmgr) == {}


def test_software_a_job_on_all_chips() -> None:
    rule = FrequencyRule(timedelta(days=1), 2, Handling.SeparateNPU, after_reset=True)
    cmgr = ruled(container("job", *range(8)), by=rules(rule))
    for _ in range(2):
        cmgr.fault(2)
        cmgr.wait(3600)
    assert (isolated(cmgr), len(cmgr.ring().resets)) == ({}, 2)
    cmgr.fault(2)
    assert isolated(cmgr) == {2: "escalation"}
    cmgr.wait(3)
    cmgr.fault(5)
    assert isolated(cmgr) == {}


def test_the_budget_is_used_up_and_the_fault_clears_at_night() -> None:
    cmgr = Cmgr(container("train", 0), container("b", 1))
    cmgr.cures = False
    cmgr.fault(0)
    cmgr.wait(3600)
    assert (isolated(cmgr), len(cmgr.ring().resets), cmgr.held()) == ({0: "budget"}, 3, ["train"])
    cmgr.clears(0)
    cmgr.wait(299)
    assert cmgr.held() == ["train"]
    cmgr.wait(2)
    assert (isolated(cmgr), cmgr.held()) == ({}, [])


def test_a_storm_that_was_the_driver_stops_nothing_else_and_one_that_was_not_goes_on() -> None:
    eight = [container(f"c{n}", n) for n in range(8)]
    for real in (False, True):
        cmgr = Cmgr(*eight, ring=1, policy=replace(RING, limits=LimitsPolicy(rings_at_once=2)))
        for chip in range(8):
            cmgr.fault(chip)
        cmgr.wait(600)
        assert len(cmgr.sent(ResetRing)) == 2
        if real:
            cmgr.tell(facts.ResumeAllOrdered("uid 0"))
        else:
            for chip in range(2, 8):
                cmgr.clears(chip)
        cmgr.wait(600)
        assert (len(cmgr.sent(ResetRing)), cmgr.held()) == (8 if real else 2, [])
