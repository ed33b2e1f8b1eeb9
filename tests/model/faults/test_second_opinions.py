"""Opinions of others than the driver about chips after a reset, and what is told beside a recovery."""

from dataclasses import replace

from cmgr.model.values.chips import ChipReport
from cmgr.model.values.handling.policy import ResetPolicy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Note, NoteKind, ReadRing, StartContainer
from cmgr.model.values.rings import Phase
from cmgr.view.status import chips
from tests.model.builders import RING, Cmgr, container, names
from tests.model.builders import seconds as s

NO = "hook after_reset ended with code 1"


def doubted(cmgr: Cmgr) -> None:
    """Answer the oldest read-out with a doubt on every chip."""
    asked = next(c for c in cmgr.pending if isinstance(c, ReadRing))
    cmgr.answer(ReadRing, reports=tuple(replace(cmgr._report(chip), unwell=NO) for chip in asked.chips))


def until_verifying(cmgr: Cmgr) -> None:
    cmgr.fault(1)
    cmgr.run_until(Phase.VERIFYING)


def test_only_read_outs_after_a_reset_are_asked_for_another_opinion() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.Resync())
    until_verifying(cmgr)
    asked = cmgr.sent(ReadRing)
    assert [c.after_reset for c in asked] == [c.reason.startswith("did chips") for c in asked]
    assert asked[-1].after_reset


def test_chips_that_are_called_unwell_are_not_used_and_the_reason_says_why() -> None:
    cmgr = Cmgr(container("a", 0))
    until_verifying(cmgr)
    doubted(cmgr)
    assert (cmgr.phase(), cmgr.ring().reason) == (Phase.VERIFYING, NO)
    assert cmgr.held() == ["a"]
    found = chips(cmgr.node)
    assert [c["reason"] for c in found if not c["healthy"]] == [NO] * 4
    cmgr.wait(1)
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, [])


def test_a_chip_that_has_not_booted_may_say_what_it_waits_for() -> None:
    cmgr = Cmgr(container("a", 0))
    until_verifying(cmgr)
    asked = next(c for c in cmgr.pending if isinstance(c, ReadRing))
    cmgr.answer(ReadRing, reports=tuple(ChipReport(chip, booted=False, unwell="it waits") for chip in asked.chips))
    assert cmgr.ring().reason == "chips 0-3 not booted yet: it waits"
    assert [c["reason"] for c in chips(cmgr.node)][:4] == ["has not booted: it waits"] * 4


def test_a_doubt_that_stays_makes_the_reset_a_failed_one_and_still_nothing_is_started() -> None:
    cmgr = Cmgr(container("a", 0), policy=replace(RING, reset=ResetPolicy(boot_timeout=s(5), backoff=s(1))))
    until_verifying(cmgr)
    for _ in range(40):
        cmgr.wait(0.5, run=False)
        while any(isinstance(c, ReadRing) for c in cmgr.pending):
            doubted(cmgr)
    assert (cmgr.phase(), cmgr.ring().reason) == (Phase.WAITING, NO)
    failures = [text for text in cmgr.notes(NoteKind.PHASE) if "did not cure" in text]
    assert len(failures) == 1
    assert failures[0].endswith(f"{NO} 5 s after the reset")
    assert cmgr.held() == ["a"]
    before = len(cmgr.log)
    cmgr.wait(60)
    assert names(cmgr.log[before:], StartContainer) == ["a"]
    assert cmgr.phase() is Phase.HEALTHY


def test_a_restart_asks_for_the_opinion_again() -> None:
    cmgr = Cmgr(container("a", 0))
    until_verifying(cmgr)
    doubted(cmgr)
    cmgr.begin()
    asked = [c for c in cmgr.pending if isinstance(c, ReadRing) and c.ring == 0]
    assert [c.after_reset for c in asked] == [True]
    cmgr.run()
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, [])


def test_a_remark_stands_in_the_timeline_and_changes_nothing() -> None:
    cmgr = Cmgr(container("a", 0))
    until_verifying(cmgr)
    before = cmgr.node
    (told,) = cmgr.tell(facts.Remarked("hook after_reset was killed", cmgr.ring().id, 1, loud=True))
    assert told == Note(cmgr.now, NoteKind.WARNING, "hook after_reset was killed", cmgr.ring().id, 1)
    assert cmgr.node == before


def test_a_change_of_phase_says_from_where_to_where() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(1)
    cmgr.wait(1)
    edges = [c.edge for c in cmgr.log if isinstance(c, Note) and c.edge is not None]
    assert edges == [
        ("healthy", "listing"),
        ("listing", "draining"),
        ("draining", "waiting"),
        ("waiting", "resetting"),
        ("resetting", "verifying"),
        ("verifying", "resuming"),
        ("resuming", "healthy"),
    ]
