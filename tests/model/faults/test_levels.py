"""The treatment that each level asks for, and when: delays, several faults at once, codes in no table."""

from dataclasses import replace

import pytest

from cmgr.model.values.faults import Assertion, FaultCode, Level
from cmgr.model.values.handling.policy import DEFAULT_LEVELS, LevelPolicy, Policy, Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import FaultSaid, Note, ResetRing
from cmgr.model.values.rings import Phase
from tests.model.builders import BUSINESS, CATALOG, MINOR, REQUEST, RESET, RING, Cmgr, container, names, seconds


def levels(level: Level, **changes: object) -> Policy:
    changed: LevelPolicy = replace(DEFAULT_LEVELS[level], **changes)  # type: ignore[arg-type]
    return Policy(strategy=Strategy.RING, levels={**DEFAULT_LEVELS, level: changed})


def test_a_fault_that_asks_for_a_reset_gets_it_when_everybody_is_down() -> None:
    cmgr = Cmgr(container("a", 0))
    assert names(cmgr.fault(0, RESET)) == ["a"]
    cmgr.run()
    assert len(cmgr.ring().resets) == 1


@pytest.mark.parametrize("code", [REQUEST, BUSINESS])
def test_a_fault_that_asks_for_a_restart_is_reset_when_it_has_lasted(code: str) -> None:
    cmgr = Cmgr(container("a", 0))
    assert names(cmgr.fault(0, code)) == ["a"]
    cmgr.wait(59)
    assert cmgr.phase() is Phase.WAITING
    assert cmgr.ring().reason == f"{code} ({Level(int(code[-1]) - 1).name}) on chip 0 is reset when it has lasted 60 s"
    assert cmgr.ring().deadline == cmgr.fault_of(0, code).risen + seconds(60)
    cmgr.wait(2)
    assert (len(cmgr.ring().resets), cmgr.phase()) == (1, Phase.HEALTHY)


def test_the_highest_level_decides() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.wait(5)
    assert not cmgr.ring().resets
    cmgr.fault(1, RESET)
    cmgr.wait(1)
    (reset,) = cmgr.sent(ResetRing)
    assert list(reset.faulty) == [0, 1]
    assert sorted(reset.codes) == [REQUEST, RESET]


def test_when_the_highest_fault_clears_the_next_one_decides() -> None:
    cmgr = Cmgr(container("a", 0), container("mine", 1, enabled=False))
    cmgr.fault(0, RESET)
    cmgr.fault(0, REQUEST)
    cmgr.wait(5)
    assert "waits for mine" in cmgr.ring().reason
    cmgr.clears(0, RESET)
    assert cmgr.ring().reason.startswith(f"{REQUEST} (RestartRequest) on chip 0 is reset when")


def test_of_one_level_the_fault_that_lasted_longest_decides() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.wait(30)
    cmgr.fault(1, REQUEST)
    cmgr.wait(31)
    assert len(cmgr.ring().resets) == 1


def test_containers_are_stopped_only_when_the_fault_has_lasted_as_long_as_its_level_says() -> None:
    cmgr = Cmgr(container("a", 0), policy=levels(Level.RestartNPU, stop_after=seconds(20), reset_after=seconds(20)))
    assert names(cmgr.fault(0)) == []
    cmgr.wait(19)
    assert (cmgr.phase(), cmgr.held()) == (Phase.WAITING, [])
    cmgr.wait(2)
    assert (names(cmgr.log), cmgr.phase(), cmgr.booked("a").running) == (["a"], Phase.HEALTHY, True)


def test_a_fault_that_clears_before_its_containers_were_due_stops_nobody() -> None:
    cmgr = Cmgr(container("a", 0), policy=levels(Level.RestartNPU, stop_after=seconds(20)))
    cmgr.fault(0)
    cmgr.wait(10)
    cmgr.clears(0)
    cmgr.wait(60)
    assert (names(cmgr.log), cmgr.phase()) == ([], Phase.HEALTHY)


def test_a_level_that_stops_nobody_still_resets_a_ring_that_nobody_uses() -> None:
    cmgr = Cmgr(container("a", 0), policy=levels(Level.RestartNPU, stop=False))
    assert names(cmgr.fault(0)) == []
    cmgr.wait(10)
    assert (cmgr.phase(), names(cmgr.log)) == (Phase.WAITING, [])
    cmgr.dies("a", 0, asked=True)
    cmgr.run()
    assert (len(cmgr.ring().resets), cmgr.held()) == (1, [])


def test_a_level_without_reset_waits_for_the_fault_to_clear() -> None:
    cmgr = Cmgr(container("a", 0), policy=levels(Level.RestartRequest, reset=False))
    cmgr.fault(0, REQUEST)
    cmgr.wait(3600)
    assert cmgr.ring().reason == f"{REQUEST} (RestartRequest) on chip 0 asks for no reset: it has to clear"
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert (cmgr.phase(), cmgr.booked("a").running, cmgr.ring().resets) == (Phase.HEALTHY, True, ())


@pytest.mark.parametrize(
    ("severity", "level"),
    [
        (None, Level.SeparateNPU), (0, Level.NotHandleFault), (1, Level.NotHandleFault), (2, Level.SeparateNPU),
        (3, Level.SeparateNPU), (17, Level.SeparateNPU),
    ],
)  # fmt: skip
def test_a_code_in_no_table_is_judged_by_how_grave_the_driver_calls_it(severity: int | None, level: Level) -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, "DEADBEEF", severity=severity)
    assert cmgr.fault_of(0, "DEADBEEF").level is level
    assert (0 in cmgr.node.isolations) is (level is Level.SeparateNPU)
    assert names(cmgr.log) == []


def test_a_code_in_no_table_can_be_given_one_level() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.Reconfigured(RING, replace(CATALOG, unknown=Level.RestartNPU)))
    assert names(cmgr.fault(0, "DEADBEEF", severity=0)) == ["a"]


def test_a_new_table_judges_the_faults_that_are_there() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, MINOR)
    entries = {**CATALOG.entries, FaultCode(MINOR): CATALOG.entries[FaultCode(RESET)]}
    assert names(cmgr.tell(facts.Reconfigured(RING, replace(CATALOG, entries=entries)))) == ["a"]
    assert f"{MINOR} on chip 0 is RestartNPU now; it was NotHandleFault" in cmgr.notes()


def test_lines_about_a_fault_say_its_code_and_level_for_programs_too() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, MINOR)
    cmgr.clears(0, MINOR)
    lines = [n for n in cmgr.log if isinstance(n, Note) and n.fault is not None]
    level = Level.NotHandleFault.name
    assert [n.fault for n in lines] == [
        FaultSaid(FaultCode(MINOR), level, level, said) for said in (Assertion.OCCURRED, Assertion.CLEARED)
    ]
    assert {(n.chip, n.card, n.device) for n in lines} == {(cmgr.chips[0].id, cmgr.chips[0].card, cmgr.chips[0].device)}


def test_a_new_table_that_leaves_a_level_as_it_was_says_nothing() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, MINOR)
    assert cmgr.tell(facts.Reconfigured(RING, CATALOG)) == []


@pytest.mark.parametrize("code", ["0", "00000000", "", "xyz", "1234567890"])
def test_what_is_no_code_is_no_fault(code: str) -> None:
    cmgr = Cmgr(container("a", 0))
    assert cmgr.fault(0, code) == []
    assert not cmgr.node.faults.get(cmgr.chips[0].id)


def test_every_spelling_of_a_code_is_the_same_fault() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, "0x8000abcd", severity=1)
    cmgr.fault(0, "8000ABCD", severity=1)
    assert cmgr.fault_of(0, "8000ABCD").count == 2


def test_a_fault_of_a_chip_that_is_not_there_is_ignored_and_told_of_once() -> None:
    cmgr = Cmgr(container("a", 0), chips=4)
    report = facts.FaultReported(cmgr.chips[0].id, RESET, Assertion.OCCURRED)
    strange = replace(report, chip=type(report.chip)(9))
    cmgr.tell(strange)
    cmgr.tell(strange)
    assert cmgr.notes() == [f"the driver reported {RESET} on chip 9, which this machine does not have: ignored"]
    assert (cmgr.held(), 9 in cmgr.node.faults) == ([], False)
