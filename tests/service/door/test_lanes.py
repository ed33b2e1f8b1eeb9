"""Lanes of an episode: what its timeline says, as spans of time."""

from datetime import UTC, datetime, timedelta

from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion, FaultCode
from cmgr.model.values.messages.commands import FaultSaid, NoteKind
from cmgr.model.values.services.containers import ContainerKey
from cmgr.service.door.lanes import lanes
from cmgr.service.door.records import timeline
from cmgr.store.history import NoteRow

AT = datetime(2026, 3, 2, tzinfo=UTC)
CHAT = ContainerKey("docker", "", "0123")

Spans = list[tuple[str, float, float | None]]


def told(*rows: NoteRow) -> dict[tuple[str, str], Spans]:
    """Return the spans of each lane by its kind and name, in the order of the lanes."""
    return {
        (lane["kind"], lane["name"]): [(span["state"], span["start"], span["end"]) for span in lane["spans"]]
        for lane in lanes(timeline(rows, AT))
    }


def note(
    at: float, kind: NoteKind, text: str, chip: int | None = None, fault: FaultSaid | None = None, *, chat: bool = False
) -> NoteRow:
    moment, about = AT + timedelta(seconds=at), None if chip is None else ChipId(chip)
    return NoteRow(0, moment, kind, text, None, 1, about, CHAT if chat else None, "", fault=fault)


def test_phases_and_resets_follow_one_another_and_end_with_the_episode() -> None:
    found = told(
        note(0, NoteKind.PHASE, "healthy → listing: 80E24E00 (RestartNPU) on chip 1"),
        note(1, NoteKind.PHASE, "listing → resetting: reset 1 of 3: nobody is on chips 0-3"),
        note(3, NoteKind.PHASE, "resetting → verifying: the driver took the reset"),
        note(9, NoteKind.PHASE, "verifying → healthy: every chip is well"),
    )
    assert found == {
        ("ring", ""): [("listing", 0, 1), ("resetting", 1, 3), ("verifying", 3, 9)],
        ("reset", ""): [("reset 1 of 3", 1, 3)],
    }


def test_a_container_is_stopped_held_and_started_and_has_its_name() -> None:
    found = told(
        note(0, NoteKind.HOLD, "chat will be stopped, and started again when the fault is over", chat=True),
        note(0.5, NoteKind.ACTION, "stop chat (grace 10 s)", chat=True),
        note(2, NoteKind.RESULT, "chat is stopped", chat=True),
        note(4, NoteKind.ACTION, "start chat", chat=True),
        note(5, NoteKind.RESULT, "chat runs again", chat=True),
    )
    states = [("running", 0, 0.5), ("stopping", 0.5, 2), ("held", 2, 4), ("starting", 4, 5), ("running", 5, None)]
    assert found["container", "chat"] == states


def test_a_fault_goes_by_its_field_and_in_older_lines_by_its_words() -> None:
    came, went = (
        FaultSaid(FaultCode("80E24E00"), "RestartNPU", "RestartNPU", each)
        for each in (Assertion.OCCURRED, Assertion.CLEARED)
    )
    assert told(
        note(-1, NoteKind.FAULT, "chip 12 reports 80E24E00 now: level RestartNPU", 12, came),
        note(1, NoteKind.FAULT, "chip 2 reports 8C084E00 now: level RestartNPU", 2),
        note(2, NoteKind.FAULT, "chip 2 reports 8C084E00 now: level SeparateNPU", 2),
        note(3, NoteKind.FAULT, "chip 2 no longer reports 8C084E00", 2),
        note(4, NoteKind.FAULT, "chip 12: 80E24E00 has cleared", 12, went),
        note(5, NoteKind.FAULT, "chip 2 reports 8C084E00 now: level RestartNPU", 2),
    ) == {
        ("ring", ""): [],
        ("chip", "2"): [("8C084E00", 1, 3), ("8C084E00", 5, None)],
        ("chip", "12"): [("80E24E00", 0, 4)],
    }


def test_appliances_of_a_group_are_told_until_they_are_left_out() -> None:
    assert told(
        note(1, NoteKind.HOLD, "group tp4: appliance b is halting: rank2 is stopping"),
        note(2, NoteKind.HOLD, "group tp4: appliance b is left out"),
    )["appliance", "b (tp4)"] == [("running", 0, 1), ("halting", 1, 2), ("out", 2, None)]
