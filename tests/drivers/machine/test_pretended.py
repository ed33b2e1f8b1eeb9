"""Faults of the machine that are pretended: told as a source tells them, by all that it finds."""

from cmgr.drivers.machine.pretended import Pretended
from cmgr.model.values.faults import Assertion, FaultCode
from cmgr.model.values.messages.facts import MachineTold

FAN, MEMORY = FaultCode("fan-failed"), FaultCode("memory-uncorrected")


def test_what_lasts_is_told_until_it_is_cleared() -> None:
    told: list[MachineTold] = []
    drill = Pretended(told.append)
    drill.inject(FAN, "1", Assertion.OCCURRED)
    drill.inject(FAN, "2", Assertion.OCCURRED)
    drill.inject(FAN, "1", Assertion.CLEARED)
    drill.inject(FAN, "2", Assertion.CLEARED)
    drill.inject(FAN, "2", Assertion.CLEARED)
    assert [[s.part for s in each.found] for each in told] == [["1"], ["1", "2"], ["2"], [], []]
    assert [each.off for each in told] == [False, False, False, True, True]


def test_what_happened_is_another_occurrence_each_time_and_is_no_look_at_the_machine() -> None:
    told: list[MachineTold] = []
    drill = Pretended(told.append)
    drill.inject(MEMORY, "DIMM3", Assertion.ONCE)
    drill.inject(MEMORY, "DIMM3", Assertion.ONCE)
    drill.inject(FAN, "1", Assertion.OCCURRED)
    marks = [each.found[0].mark for each in told]
    assert len(set(marks[:2])) == 2
    assert all(marks[:2])
    assert [s.code for s in told[2].found] == [FAN], "the books remember what has happened"
    assert [each.off for each in told] == [True, True, False]
