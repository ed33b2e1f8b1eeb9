"""FaultDuration: a fault that lasts too long is graver than its code says, until it has stayed away for long enough."""

from dataclasses import replace

import pytest

from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion, Handling, Level
from cmgr.model.values.handling.rules import DurationRule
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ResetRing
from cmgr.model.values.rings import Phase
from tests.model.builders import MINOR, REQUEST, Cmgr, container, seconds
from tests.model.faults.escalated import LINK_DOWN, comes_and_goes, isolated, ruled, rules, said, tally

SENSOR = DurationRule(seconds(5), seconds(60), Handling.SeparateNPU)
"""81B18603 in the documentation of Ascend's plugin."""


@pytest.mark.parametrize("rule", [LINK_DOWN, SENSOR])
def test_a_fault_is_raised_when_it_has_lasted_and_no_longer_when_it_has_stayed_away(rule: DurationRule) -> None:
    cmgr = ruled(by=rules(duration=rule, code=MINOR))
    cmgr.fault(0, MINOR)
    cmgr.wait(rule.fault_timeout.total_seconds() - 0.1)
    assert (isolated(cmgr), cmgr.fault_of(0, MINOR).level) == ({}, Level.NotHandleFault)
    cmgr.wait(0.2)
    assert (isolated(cmgr), cmgr.fault_of(0, MINOR).level) == ({0: "escalation"}, Level.SeparateNPU)
    cmgr.wait(3600)
    cmgr.clears(0, MINOR)
    cmgr.wait(rule.recover_timeout.total_seconds() - 0.1)
    assert isolated(cmgr) == {0: "escalation"}
    cmgr.wait(0.2)
    assert isolated(cmgr) == {}
    assert said(cmgr, f"chip 0 is released: {MINOR} is no longer raised")


def test_one_that_flaps_and_never_lasts_is_not_raised() -> None:
    cmgr = ruled(by=rules(duration=LINK_DOWN, code=MINOR))
    for _ in range(20):
        comes_and_goes(cmgr, lasts=19)
        cmgr.wait(1)
    assert isolated(cmgr) == {}


def test_one_that_is_raised_and_flaps_stays_raised_until_it_stays_away() -> None:
    cmgr = ruled(by=rules(duration=LINK_DOWN, code=MINOR))
    comes_and_goes(cmgr, lasts=21)
    for _ in range(20):
        cmgr.wait(59)
        assert isolated(cmgr) == {0: "escalation"}
        comes_and_goes(cmgr, lasts=1)
    cmgr.wait(61)
    assert isolated(cmgr) == {}


def test_what_lasted_is_raised_also_when_nobody_looked_before_it_went() -> None:
    cmgr = ruled(by=rules(duration=LINK_DOWN, code=MINOR))
    cmgr.fault(0, MINOR)
    cmgr.now += seconds(25)
    cmgr.clears(0, MINOR)
    assert isolated(cmgr) == {0: "escalation"}
    cmgr.wait(61)
    assert isolated(cmgr) == {}


def test_a_restart_loses_neither_how_long_it_has_lasted_nor_that_it_was_raised() -> None:
    cmgr = ruled(by=rules(duration=LINK_DOWN, code=MINOR))
    cmgr.fault(0, MINOR)
    cmgr.wait(15)
    cmgr.begin()
    cmgr.wait(6)
    assert isolated(cmgr) == {0: "escalation"}
    cmgr.clears(0, MINOR)
    cmgr.wait(30)
    cmgr.begin()
    cmgr.wait(29)
    assert isolated(cmgr) == {0: "escalation"}
    cmgr.wait(2)
    assert isolated(cmgr) == {}


def test_a_fault_that_went_while_cmgr_was_dead_counts_as_there_until_somebody_looked() -> None:
    cmgr = ruled(by=rules(duration=LINK_DOWN, code=MINOR))
    cmgr.fault(0, MINOR)
    cmgr.wait(21)
    cmgr.faults[0].clear()
    cmgr.now += seconds(3600)
    cmgr.begin()
    assert isolated(cmgr) == {0: "escalation"}
    cmgr.run()
    cmgr.wait(59)
    assert isolated(cmgr) == {0: "escalation"}
    cmgr.wait(2)
    assert isolated(cmgr) == {}


def test_a_momentary_fault_lasts_no_time() -> None:
    at_once = DurationRule(seconds(0), seconds(0), Handling.SeparateNPU)
    cmgr = ruled(container("a", 0), by=rules(duration=at_once, code=REQUEST))
    cmgr.once(0, REQUEST)
    cmgr.wait(5, run=False)
    cmgr.run()
    assert (isolated(cmgr), cmgr.phase()) == ({}, Phase.HEALTHY)


def test_with_no_timeout_any_fault_that_is_there_is_raised_and_lowered_as_it_comes_and_goes() -> None:
    at_once = DurationRule(seconds(0), seconds(0), Handling.SeparateNPU)
    cmgr = ruled(by=rules(duration=at_once, code=MINOR))
    cmgr.fault(0, MINOR)
    assert isolated(cmgr) == {0: "escalation"}
    cmgr.clears(0, MINOR)
    assert isolated(cmgr) == {}


def test_a_fault_raised_to_a_level_that_is_reset_is_recovered() -> None:
    rule = DurationRule(seconds(20), seconds(60), Handling.RestartNPU)
    cmgr = ruled(container("a", 0), by=rules(duration=rule, code=MINOR))
    cmgr.fault(0, MINOR)
    cmgr.wait(19)
    assert cmgr.held() == []
    cmgr.wait(2)
    assert (len(cmgr.sent(ResetRing)), cmgr.phase(), cmgr.held()) == (1, Phase.HEALTHY, [])


def test_a_rule_that_comes_with_a_reload_knows_how_long_a_fault_has_lasted() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, MINOR)
    cmgr.wait(3600)
    longer = replace(cmgr.catalog, rules=rules(duration=LINK_DOWN, code=MINOR))
    cmgr.tell(facts.Reconfigured(cmgr.policy, longer))
    assert isolated(cmgr) == {0: "escalation"}


def test_the_fault_of_any_module_keeps_it() -> None:
    cmgr = ruled(by=rules(duration=LINK_DOWN, code=MINOR))
    cmgr.fault(0, MINOR, module="1.1")
    cmgr.fault(0, MINOR, module="1.2")
    cmgr.wait(15)
    cmgr.tell(facts.FaultReported(ChipId(0), MINOR, Assertion.CLEARED, "1.1"))
    assert tally(cmgr).risen is not None
    cmgr.wait(6)
    assert isolated(cmgr) == {0: "escalation"}
    cmgr.clears(0, MINOR, module="1.2")
    assert tally(cmgr).risen is None
