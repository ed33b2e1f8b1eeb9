"""A container's own command before its stop, and one that does not hear its stop signal."""

from dataclasses import replace

from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages.commands import NoteKind, StopContainer
from cmgr.model.values.services.containers import Exit
from tests.model.builders import RING, Cmgr, container, key

SAVE = ("save", "--now")
DEAF = "its first process (sh) does not take SIGTERM"


def stopping() -> Cmgr:
    cmgr = Cmgr(container("a", 0, before_stop=SAVE))
    cmgr.fault(0)
    return cmgr


def commands(cmgr: Cmgr) -> list[tuple[str, ...]]:
    return [stop.before for stop in cmgr.sent(StopContainer)]


def test_the_command_goes_with_the_stop_and_what_became_of_it_is_told() -> None:
    cmgr = stopping()
    assert commands(cmgr) == [SAVE]
    cmgr.answer(StopContainer, words="ran save: code 0 after 2 s; it wrote: saved")
    assert "before its stop a ran save: code 0 after 2 s; it wrote: saved" in cmgr.notes(NoteKind.RESULT)


def test_a_stop_that_fails_does_not_run_it_again_and_again() -> None:
    cmgr = stopping()
    cmgr.answer(StopContainer, error="the daemon said no", words="ran save: code 0 after 2 s; it wrote: saved")
    cmgr.wait(2)
    assert commands(cmgr) == [SAVE, ()]
    assert sum("ran save" in text for text in cmgr.notes(NoteKind.RESULT)) == 1


def test_one_that_reached_nobody_is_run_with_the_next_order() -> None:
    cmgr = stopping()
    cmgr.answer(StopContainer, error="nobody there", unreachable=True)
    cmgr.wait(2)
    assert commands(cmgr) == [SAVE, SAVE]


def test_a_next_life_of_cmgr_runs_it_too_because_nobody_knows_whether_the_last_one_did() -> None:
    cmgr = stopping()
    cmgr.begin()
    cmgr.run()
    assert commands(cmgr) == [SAVE, SAVE]
    assert cmgr.held() == []


def test_what_had_ended_by_then_has_no_last_words() -> None:
    cmgr = stopping()
    cmgr.answer(
        StopContainer, before=Exit(1, cmgr.now, asked=False), words="could not run save to its end: not running"
    )
    assert not any("save" in text for text in cmgr.notes(NoteKind.RESULT))


def test_a_paused_one_can_run_nothing() -> None:
    cmgr = Cmgr(container("a", 0, before_stop=SAVE, frozen=True))
    cmgr.fault(0)
    assert commands(cmgr) == [()]


def test_one_that_does_not_hear_its_stop_signal_is_told_once_and_not_again_in_another_life() -> None:
    cmgr = Cmgr(container("a", 0), policy=RING)
    for _ in range(2):
        cmgr.fault(0)
        cmgr.answer(StopContainer, deaf=DEAF)
        assert cmgr.hold("a").state is HoldState.DOWN
        cmgr.run()
        cmgr.begin()
        cmgr.run()
    (told,) = (text for text in cmgr.notes(NoteKind.RESULT) if DEAF in text)
    assert told.startswith(f"a was killed after its whole grace of 10 s: {DEAF} (hint: ")
    cmgr.sees(replace(cmgr.truth[key("a")], name="a"))
    assert cmgr.booked("a").kept.deaf
