"""Faults that other programs report: booked, renewed, ended by them, by time or by a reset, and never by a read-out."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.scope import pre_isolating
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Fault, FaultClass, FaultCode, Handling, Level
from cmgr.model.values.handling.catalog import Catalog, Entry, normal_code
from cmgr.model.values.handling.rules import FrequencyRule, Rules
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ResetRing, StopContainer
from tests.model.builders import CATALOG, Cmgr, container, seconds

DISK, NAN, OWN = FaultCode("220001001"), FaultCode("220001002"), "storage/disk-7"
TABLE = Catalog(
    {
        **CATALOG.entries,
        DISK: Entry(Handling.SeparateNPU, "an operator's table"),
        NAN: Entry(Handling.RestartNPU, "an operator's table"),
    }
)


def report(
    cmgr: Cmgr, *chips: int, code: FaultCode = DISK, lasts: float | None = 60, highest: Handling | None = None
) -> None:
    until = None if lasts is None else cmgr.now + seconds(lasts)
    cmgr.tell(facts.ReportOrdered(code, OWN, frozenset(map(ChipId, chips)), until, "storage (uid 985)", highest))
    cmgr.run()


def fault(cmgr: Cmgr, chip: int, code: FaultCode = DISK) -> Fault:
    return cmgr.fault_of(chip, code, OWN)


def test_a_code_of_nine_digits_is_one_that_programs_report() -> None:
    assert (normal_code(" 220001001 "), CATALOG.class_of(DISK)) == (DISK, FaultClass.REPORTED)
    verdict = CATALOG.judge(DISK, None)
    assert (verdict.level, verdict.known) == (Level.NotHandleFault, False)


def test_what_no_table_knows_is_shown_and_nothing_is_done() -> None:
    cmgr = Cmgr(container("a", 0))
    report(cmgr, 0, 1, 2)
    told = fault(cmgr, 1)
    assert (told.level, told.fault_class, told.active) == (Level.NotHandleFault, FaultClass.REPORTED, True)
    assert (cmgr.node.isolations, cmgr.sent(StopContainer)) == ({}, [])


def test_a_table_says_what_a_report_asks_for_and_its_reporter_may_ask_for_less() -> None:
    cmgr = Cmgr(container("a", 0), catalog=TABLE)
    report(cmgr, 0, highest=Handling.PreSeparateNPU)
    assert (cmgr.node.isolations, [*pre_isolating(cmgr.node, ChipId(0))]) == ({}, [DISK])
    report(cmgr, 1)
    assert [*cmgr.node.isolations] == [1]


def test_a_rule_makes_no_more_of_a_report_than_its_reporter_may_ask_for() -> None:
    often = FrequencyRule(timedelta(days=1), 2, Handling.ManuallySeparateNPU)
    cmgr = Cmgr(container("a", 0), container("b", 1), catalog=replace(CATALOG, rules=Rules({DISK: often})))
    for _ in range(3):
        report(cmgr, 0, highest=Handling.SubHealthFault)
        report(cmgr, 0, lasts=None)
    assert cmgr.node.isolations == {}
    for _ in range(2):
        report(cmgr, 1)
        report(cmgr, 1, lasts=None)
    assert [*cmgr.node.isolations] == [1]


def test_a_report_is_over_when_it_says_so_wherever_it_was_made() -> None:
    cmgr = Cmgr()
    report(cmgr, 0, 1)
    cmgr.tell(facts.ReportOrdered(DISK, "other/disk-7", frozenset(), None, "other"))
    assert fault(cmgr, 0).active
    report(cmgr, lasts=None)
    assert [fault(cmgr, chip).active for chip in (0, 1)] == [False, False]


def test_a_reporter_that_is_silent_for_too_long_is_not_believed_for_ever() -> None:
    cmgr = Cmgr()
    report(cmgr, 0)
    cmgr.wait(50)
    report(cmgr, 0)
    cmgr.wait(50)
    assert (fault(cmgr, 0).active, fault(cmgr, 0).count) == (True, 1)
    cmgr.wait(15)
    assert not fault(cmgr, 0).active
    assert f"{DISK} ({OWN}) on chip 0 was not reported again in time: it counts as over" in cmgr.notes()


def test_a_report_outlives_cmgr_and_what_the_driver_lists() -> None:
    cmgr = Cmgr(catalog=TABLE)
    report(cmgr, 0, highest=Handling.PreSeparateNPU)
    cmgr.begin()
    cmgr.run()
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (fault(cmgr, 0).active, fault(cmgr, 0).handling) == (True, Handling.PreSeparateNPU)
    cmgr.wait(70)
    assert not fault(cmgr, 0).active


def test_a_reported_fault_is_reset_without_the_drivers_word_and_is_over_with_that() -> None:
    cmgr = Cmgr(container("a", 0), catalog=TABLE)
    report(cmgr, 0, code=NAN, lasts=3600)
    cmgr.wait(30)
    (reset,) = cmgr.sent(ResetRing)
    assert (reset.codes, reset.faulty) == (frozenset(), (0,))
    assert (fault(cmgr, 0, NAN).active, cmgr.booked("a").running) == (False, True)


@pytest.mark.parametrize("lasts", [60.0, None])
def test_chips_that_are_not_there_are_no_bodys_fault(lasts: float | None) -> None:
    cmgr = Cmgr()
    report(cmgr, 99, lasts=lasts)
    assert cmgr.node.faults == {}


def test_a_clock_that_was_set_back_between_two_lives_makes_no_report_last_longer() -> None:
    cmgr = Cmgr(container("a", 0), catalog=TABLE)
    report(cmgr, 0, lasts=60)
    cmgr.now -= timedelta(days=1)
    cmgr.begin()
    cmgr.wait(59)
    assert fault(cmgr, 0).active
    cmgr.wait(2)
    assert not fault(cmgr, 0).active
