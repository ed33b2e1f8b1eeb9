"""Faults of the machine around the chips: shown, counted, and never a reason to stop, reset or isolate anything."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.faults.machine import MOST
from cmgr.model.reduce import next_deadline
from cmgr.model.scope import pre_isolating
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion, FaultCode, Handling
from cmgr.model.values.handling.catalog import Catalog, Entry
from cmgr.model.values.machine import Symptom
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import FaultSaid, Note, NoteKind, ResetRing, StartContainer, StopContainer
from cmgr.view.machine import machine_faults
from cmgr.view.status import available, chips
from cmgr.view.troubles import troubles
from tests.model.builders import CATALOG, RESET, SEPARATE, T0, Cmgr, container, key, names, seconds

NOTED, TOLD, KEPT, GONE = "memory-corrected", "raid-degraded", "memory-uncorrected", "raid-failed"
HANDLINGS = {
    NOTED: Handling.NotHandleFault,
    TOLD: Handling.SubHealthFault,
    KEPT: Handling.PreSeparateNPU,
    GONE: Handling.SeparateNPU,
}
TABLE = Catalog({**CATALOG.entries, **{FaultCode(c): Entry(h, "a test", f"a {c}") for c, h in HANDLINGS.items()}})
DAY = 86400


def machine(*containers: str) -> Cmgr:
    return Cmgr(*(container(name, chip) for chip, name in enumerate(containers)), catalog=TABLE)


def state(code: str, part: str = "md0", **fields: object) -> Symptom:
    return replace(Symptom(FaultCode(code), part), **fields)  # type: ignore[arg-type]


def event(code: str, mark: str, part: str = "mc0", **fields: object) -> Symptom:
    return state(code, part, mark=mark, **fields)


def told(cmgr: Cmgr, *found: Symptom, source: str = "raid") -> None:
    cmgr.tell(facts.MachineTold(source, found))


def active(cmgr: Cmgr) -> dict[str, int]:
    return {f"{row['code']} {row['part']}": row["count"] for row in machine_faults(cmgr.node)}


def lines(cmgr: Cmgr) -> list[str]:
    return cmgr.notes(NoteKind.FAULT)


@pytest.mark.parametrize("code", [KEPT, GONE])
def test_a_grave_one_keeps_new_work_from_all_chips_and_touches_nothing_that_runs(code: str) -> None:
    cmgr = machine("a")
    told(cmgr, state(code))
    cmgr.run()
    assert {c for c in cmgr.node.chips if [*pre_isolating(cmgr.node, c)] == [code]} == set(cmgr.node.chips)
    assert (available(cmgr.node), cmgr.node.isolations) == ([], {})
    assert (cmgr.sent(StopContainer), cmgr.sent(ResetRing)) == ([], [])
    assert all(chip["pre_isolated"] and chip["healthy"] for chip in chips(cmgr.node))
    told(cmgr)
    assert len(available(cmgr.node)) == 7


@pytest.mark.parametrize("code", [NOTED, TOLD])
def test_a_lesser_one_keeps_nothing_back(code: str) -> None:
    cmgr = machine("a")
    told(cmgr, state(code))
    assert (active(cmgr), len(available(cmgr.node))) == ({f"{code} md0": 1}, 7)
    assert [t.about for t in troubles(cmgr.node)] == ([TOLD] if code == TOLD else [])


def test_what_is_held_comes_back_on_a_machine_that_ails_and_its_ring_is_recovered_as_ever() -> None:
    cmgr = machine("a")
    told(cmgr, state(KEPT))
    cmgr.fault(0, RESET)
    cmgr.wait(30)
    assert (len(cmgr.sent(ResetRing)), names(cmgr.log, StartContainer)) == (1, ["a"])
    cmgr.fault(1, SEPARATE)
    cmgr.run()
    assert set(cmgr.node.isolations) == {ChipId(1)}


def test_parts_with_the_same_fault_are_one_trouble_and_no_trouble_of_the_chips() -> None:
    cmgr = machine()
    told(cmgr, *(state(KEPT, f"dimm{n}", text=f"{n} errors") for n in range(3)))
    (trouble,) = troubles(cmgr.node)
    assert trouble.words == (
        f"{KEPT} on dimm0, dimm1, dimm2: a {KEPT}; what runs goes on, and nothing new is to be started on this machine"
    )
    assert (trouble.id, trouble.kind.event, trouble.stays) == (f"machine-{KEPT}", "trouble", False)
    told(cmgr, *(state(KEPT, f"dimm{n}") for n in range(9)))
    assert troubles(cmgr.node)[0].text == f"{KEPT} on 9 parts of this machine"
    told(cmgr, state(TOLD, text="1 of 2 disks missing"))
    assert troubles(cmgr.node)[0].words == f"{TOLD} on md0: 1 of 2 disks missing"


def test_a_state_lasts_while_its_source_finds_it_and_no_other_source_ends_it() -> None:
    cmgr = machine()
    told(cmgr, state(TOLD))
    told(cmgr, source="disks")
    told(cmgr, state(TOLD, text="rebuilt"))
    assert active(cmgr) == {f"{TOLD} md0": 1}
    told(cmgr)
    assert active(cmgr) == {}
    assert lines(cmgr) == [
        f"the machine reports {TOLD} (md0): level SubHealthFault (a test)",
        f"the machine no longer reports {TOLD} (md0), rebuilt",
    ]


def test_what_happened_counts_each_time_anew_and_is_over_when_it_has_not_happened_for_long() -> None:
    cmgr = machine()
    told(cmgr, event(KEPT, "1"))
    told(cmgr, event(KEPT, "1"))
    assert active(cmgr) == {f"{KEPT} mc0": 1}
    cmgr.wait(DAY - 60)
    told(cmgr, event(KEPT, "2"))
    assert active(cmgr) == {f"{KEPT} mc0": 2}
    cmgr.wait(DAY - 60)
    told(cmgr)
    assert active(cmgr) == {f"{KEPT} mc0": 2}
    told(cmgr, event(KEPT, "2"))
    cmgr.wait(120)
    assert active(cmgr) == {}
    told(cmgr, event(KEPT, "2"))
    assert active(cmgr) == {}
    assert sum("reports" in line for line in lines(cmgr)) == 1
    assert lines(cmgr)[-1] == f"{KEPT} (mc0) has not happened again for 1 d: it counts as over"


def test_what_happened_long_ago_is_remembered_and_not_told() -> None:
    cmgr = machine()
    told(cmgr, event(KEPT, "old", age=timedelta(days=2)), event(TOLD, "new", age=timedelta(hours=23)))
    assert (active(cmgr), lines(cmgr)) == (
        {f"{TOLD} mc0": 1},
        [f"the machine reports {TOLD} (mc0): level SubHealthFault (a test)"],
    )
    cmgr.wait(3601)
    assert active(cmgr) == {}


def test_another_life_takes_nothing_for_new_that_the_last_one_knew() -> None:
    cmgr = machine()
    told(cmgr, event(KEPT, "boot:3"))
    cmgr.wait(DAY + 1)
    cmgr.begin()
    told(cmgr, event(KEPT, "boot:3"))
    assert active(cmgr) == {}
    told(cmgr, event(KEPT, "boot:4"))
    assert active(cmgr) == {f"{KEPT} mc0": 2}


def test_states_of_a_source_that_is_asked_no_more_are_dropped_and_events_run_out() -> None:
    cmgr = machine()
    told(cmgr, state(TOLD), event(KEPT, "1"))
    cmgr.begin()
    assert active(cmgr) == {f"{KEPT} mc0": 1}
    cmgr.wait(DAY + 1)
    assert active(cmgr) == {}


def test_a_person_ends_what_happened_and_not_what_is_so() -> None:
    cmgr = machine()
    told(cmgr, state(KEPT, "a"), event(KEPT, "1", "b"))
    assert troubles(cmgr.node)[0].stays
    cmgr.tell(facts.AcknowledgeOrdered((f"machine-{KEPT}",), "uid 0"))
    assert active(cmgr) == {f"{KEPT} a": 1}
    told(cmgr, state(KEPT, "a"), event(KEPT, "1", "b"))
    assert active(cmgr) == {f"{KEPT} a": 1}
    told(cmgr, state(KEPT, "a"), event(KEPT, "2", "b"))
    assert active(cmgr) == {f"{KEPT} a": 1, f"{KEPT} b": 2}


def test_another_table_gives_them_other_levels_at_once() -> None:
    cmgr = machine()
    told(cmgr, state(TOLD), event("SXid 20034", "1", "nvidia-nvswitch0", grave=True))
    assert [row["handling"] for row in machine_faults(cmgr.node)] == ["PreSeparateNPU", "SubHealthFault"]
    entries = {**TABLE.entries, FaultCode(TOLD): Entry(Handling.NotHandleFault, "an operator")}
    cmgr.tell(facts.Reconfigured(cmgr.node.policy, Catalog(entries)))
    assert [row["handling"] for row in machine_faults(cmgr.node)] == ["PreSeparateNPU", "NotHandleFault"]
    assert f"{TOLD} (md0) is NotHandleFault now; it was SubHealthFault" in lines(cmgr)


@pytest.mark.parametrize(("asked", "given"), [("RestartNPU", "SubHealthFault"), ("ManuallySeparateNPU", "SeparateNPU")])
def test_no_table_has_anything_reset_for_them(asked: str, given: str) -> None:
    catalog = Catalog({FaultCode(TOLD): Entry(Handling[asked], "an operator")})
    verdict = catalog.judge(FaultCode(TOLD), None)
    assert (verdict.handling.name, verdict.level.name) == (given, "NotHandleFault")


def test_memory_that_a_container_used_up_is_told_with_its_name_and_a_stranger_s_is_not() -> None:
    cmgr = machine("chat")
    told(cmgr, event(NOTED, "1", container=key("chat").id), event(NOTED, "2", container="f" * 64))
    assert active(cmgr) == {f"{NOTED} chat": 1}


def test_whatever_a_source_says_fits_into_the_books() -> None:
    cmgr = machine()
    flood = [state(TOLD, f"disk {n}") for n in range(2 * MOST)]
    odd = [state("80E24E00"), state(""), state("Disk-Gone"), state(TOLD, "a\nb" * 999, text="\x1b[2J" * 999)]
    told(cmgr, *odd, *flood)
    assert len(machine_faults(cmgr.node)) == MOST
    assert all(len(row["part"]) <= 200 and "\n" not in row["part"] + row["text"] for row in machine_faults(cmgr.node))
    assert {row["code"] for row in machine_faults(cmgr.node)} == {TOLD}


def test_a_clock_that_was_set_back_between_two_lives_makes_nothing_last_longer() -> None:
    cmgr = machine()
    cmgr.wait(10 * DAY)
    told(cmgr, event(KEPT, "1"))
    cmgr.now = T0
    cmgr.begin()
    assert active(cmgr) == {f"{KEPT} mc0": 1}
    cmgr.wait(DAY + 1)
    assert active(cmgr) == {}


def test_it_is_known_who_looks_in_this_life() -> None:
    cmgr = machine()
    told(cmgr, source="raid")
    cmgr.tell(facts.MachineTold("ipmi", (), off=True))
    assert cmgr.node.watched == {"raid"}
    cmgr.tell(facts.MachineTold("raid", (), off=True))
    assert cmgr.node.watched == frozenset()
    told(cmgr, source="raid")
    cmgr.begin()
    assert cmgr.node.watched == frozenset()


def test_time_is_waited_for() -> None:
    cmgr = machine()
    told(cmgr, event(KEPT, "1"))
    assert next_deadline(cmgr.node, cmgr.now) == cmgr.now + seconds(DAY)


def test_lines_about_them_say_the_code_for_programs() -> None:
    cmgr = machine()
    told(cmgr, state(KEPT))
    said = [c.fault for c in cmgr.log if isinstance(c, Note) and c.fault is not None]
    assert said == [FaultSaid(FaultCode(KEPT), "NotHandleFault", "PreSeparateNPU", Assertion.OCCURRED)]
