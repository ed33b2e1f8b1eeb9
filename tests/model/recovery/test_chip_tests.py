"""Chips are tested before work returns to them: after a reset, and when a person orders that."""

from collections.abc import Mapping
from dataclasses import replace

from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Note, NoteKind, ResetRing, RunTest, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.view.status import containers
from tests.model.builders import RESET, RING, Cmgr, container, names
from tests.model.builders import seconds as s

TESTED = replace(RING, reset=replace(RING.reset, test="/usr/share/cmgr/tests/npu-smi", backoff=s(1)))
WORDS = "npu-smi ended with code 1: NPU 1 is slow"


def until_tested(cmgr: Cmgr) -> RunTest:
    """Let everything happen until chips are being tested."""
    for _ in range(1000):
        if tests := [c for c in cmgr.pending if isinstance(c, RunTest)]:
            return tests[0]
        cmgr.wait(0.5, run=False)
        kinds = {type(c) for c in cmgr.pending}
        if kinds and RunTest not in kinds:
            cmgr.run(*kinds)
    raise AssertionError("they are not tested")


def fails(cmgr: Cmgr, words: Mapping[int, str]) -> None:
    until_tested(cmgr)
    cmgr.answer(RunTest, failed={ChipId(chip): text for chip, text in words.items()})


def faulty(policy: Policy = TESTED) -> Cmgr:
    cmgr = Cmgr(container("a", 0), container("b", 1), policy=policy)
    cmgr.fault(1)
    return cmgr


def test_nothing_is_started_on_a_ring_before_its_chips_have_passed() -> None:
    cmgr = faulty()
    order = until_tested(cmgr)
    assert (order.chips, order.reason) == ((0, 1, 2, 3), "chips 0-3 are tested")
    assert (cmgr.phase(), cmgr.ring().reason, cmgr.held()) == (Phase.VERIFYING, order.reason, ["a", "b"])
    cmgr.wait(7200, run=False)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing))) == (Phase.VERIFYING, 1)  # It has a time of its own.
    cmgr.answer(RunTest)
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.held(), len(cmgr.sent(RunTest))) == (Phase.HEALTHY, [], 1)
    edges = cmgr.notes(NoteKind.PHASE)
    assert "verifying → resuming: every chip has booted and is well, and has passed its test" in edges


def test_without_a_test_nothing_is_tested() -> None:
    cmgr = faulty(RING)
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.sent(RunTest)) == (Phase.HEALTHY, [])


def test_a_chip_that_fails_is_reset_again_and_its_ring_waits_for_that() -> None:
    cmgr = faulty()
    fails(cmgr, {1: WORDS})
    assert cmgr.phase() is Phase.WAITING
    assert cmgr.notes(NoteKind.PHASE)[-1].endswith(f"did not cure: chip 1 has failed the test: {WORDS}")
    until_tested(cmgr)
    second = cmgr.sent(ResetRing)[-1]
    assert (second.faulty, second.codes) == ((1,), frozenset())
    assert second.reason == "chip 1 failed the test; nobody is on chips 0-3"
    assert names(cmgr.log, StartContainer) == []
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.held(), dict(cmgr.node.isolations)) == (Phase.HEALTHY, [], {})
    assert cmgr.notes(NoteKind.CLOSED)[-1].startswith("episode 1 is over: recovered")


def test_who_comes_to_chips_that_have_failed_is_stopped_for_their_next_reset() -> None:
    cmgr = faulty()
    fails(cmgr, {1: WORDS})
    assert not any(cmgr.node.faults.values()), "the reset has cleared it"
    cmgr.sees(container("c", 2))
    until_tested(cmgr)
    assert (names(cmgr.log, StopContainer)[-1], len(cmgr.sent(ResetRing))) == ("c", 2)
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("c").running) == (Phase.HEALTHY, [], True)


def test_one_that_fails_to_the_end_of_the_budget_is_isolated_with_the_words_of_the_test() -> None:
    cmgr = faulty()
    for _ in range(3):
        fails(cmgr, {1: WORDS})
    cmgr.wait(60)
    isolation = cmgr.node.isolations[ChipId(1)]
    assert (isolation.by, len(cmgr.sent(ResetRing))) == ("test", 3)
    assert isolation.reason == f"it failed the test: {WORDS}, and 3 resets of its ring within 6 h are used up"
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("a").running) == (Phase.HEALTHY, ["b"], True)
    (row,) = [row for row in containers(cmgr.node) if row["name"] == "b"]
    assert WORDS in row["reason"]
    cmgr.wait(86_400)  # Its driver has nothing against it, all day long: that is no proof.
    assert list(cmgr.node.isolations) == [1]
    cmgr.tell(facts.ReleaseOrdered(ChipId(1), "uid 0"))
    cmgr.wait(60)
    assert cmgr.held() == []


def test_a_verdict_outlives_a_restart() -> None:
    cmgr = faulty()
    fails(cmgr, {1: WORDS})
    cmgr.begin()
    cmgr.wait(0.3)
    assert (cmgr.phase(), cmgr.held(), dict(cmgr.ring().failed)) == (Phase.WAITING, ["a", "b"], {1: WORDS})
    until_tested(cmgr)
    assert len(cmgr.sent(ResetRing)) == 2


def test_a_test_that_a_restart_has_cut_short_is_made_again() -> None:
    cmgr = faulty()
    first = until_tested(cmgr)
    cmgr.begin()
    second = until_tested(cmgr)
    assert (first.id != second.id, cmgr.phase(), cmgr.held()) == (True, Phase.VERIFYING, ["a", "b"])
    cmgr.wait(60)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, 1)


def test_a_test_that_cannot_be_made_fails_nobody_and_is_tried_again_until_there_is_none() -> None:
    cmgr = faulty()
    for _ in range(20):
        until_tested(cmgr)
        cmgr.answer(RunTest, error="/usr/share/cmgr/tests/npu-smi is not a regular file")
    why = "chips 0-3 cannot be tested (reset.test): /usr/share/cmgr/tests/npu-smi is not a regular file"
    assert (cmgr.phase(), cmgr.ring().reason, cmgr.held()) == (Phase.VERIFYING, why, ["a", "b"])
    assert (len(cmgr.sent(ResetRing)), cmgr.notes(NoteKind.WARNING).count(why)) == (1, 1)
    cmgr.tell(facts.Reconfigured(RING, cmgr.node.catalog))
    cmgr.wait(120)
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, [])


def test_a_fault_that_comes_while_chips_are_tested_waits_for_the_end_of_that() -> None:
    cmgr = faulty()
    until_tested(cmgr)
    cmgr.fault(2, RESET)
    cmgr.wait(30, run=False)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing))) == (Phase.VERIFYING, 1)
    cmgr.answer(RunTest)
    cmgr.wait(120)
    assert (cmgr.phase(), cmgr.held(), len(cmgr.sent(ResetRing)), len(cmgr.sent(RunTest))) == (Phase.HEALTHY, [], 2, 2)


def ordered(*, stop: bool = True, policy: Policy = TESTED, isolated: bool = False) -> Cmgr:
    cmgr = Cmgr(container("a", 0), container("b", 1), policy=policy)
    if isolated:
        cmgr.tell(facts.IsolateOrdered(ChipId(1), "it is loud", "uid 0"))
        cmgr.run()
    cmgr.tell(facts.ResetOrdered(ChipId(1), "uid 0", stop, test=True))
    return cmgr


def test_an_ordered_test_stops_the_ring_tests_it_and_starts_all_again_without_a_reset() -> None:
    cmgr = ordered()
    assert until_tested(cmgr).chips == (0, 1, 2, 3)
    assert cmgr.held() == ["a", "b"]
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.held(), cmgr.sent(ResetRing), cmgr.ring().resets) == (Phase.HEALTHY, [], [], ())
    assert dict(cmgr.node.reset_orders) == {}
    assert cmgr.notes(NoteKind.OPENED) == ["a test of chip 1 was ordered by uid 0"]
    assert cmgr.notes(NoteKind.CLOSED)[-1].startswith("episode 1 is over: cleared")


def test_a_chip_that_fails_an_ordered_test_is_reset_and_tested_once_more() -> None:
    cmgr = ordered()
    fails(cmgr, {1: WORDS})
    assert cmgr.notes(NoteKind.PHASE)[-1] == (
        f"verifying → waiting: the chips are not well: chip 1 has failed the test: {WORDS}"
    )
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.held(), len(cmgr.sent(ResetRing)), len(cmgr.sent(RunTest))) == (Phase.HEALTHY, [], 1, 2)
    assert cmgr.notes(NoteKind.CLOSED)[-1].startswith("episode 1 is over: recovered")


def test_an_isolated_chip_is_tested_where_it_is_the_one_that_is_named_and_stays_isolated() -> None:
    cmgr = ordered(isolated=True)
    assert until_tested(cmgr).chips == (0, 1, 2, 3)
    cmgr.wait(60)
    assert (cmgr.phase(), list(cmgr.node.isolations), cmgr.sent(ResetRing)) == (Phase.HEALTHY, [1], [])
    cmgr.fault(0)
    assert until_tested(cmgr).chips == (0, 2, 3)


def test_an_ordered_test_waits_for_who_is_there_and_can_be_taken_back() -> None:
    cmgr = ordered(stop=False)
    cmgr.wait(60)
    assert (cmgr.sent(RunTest), cmgr.phase(), cmgr.held()) == ([], Phase.WAITING, [])
    cmgr.tell(facts.ResetOrdered(ChipId(1), "uid 7", back=True))
    cmgr.wait(60)
    assert "uid 7 took back the test of chip 1 that uid 0 ordered" in cmgr.notes(NoteKind.ACTION)
    assert (cmgr.phase(), cmgr.sent(RunTest)) == (Phase.HEALTHY, [])


def test_an_ordered_test_survives_a_restart() -> None:
    cmgr = ordered()
    cmgr.begin()
    assert until_tested(cmgr).chips == (0, 1, 2, 3)
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.held(), cmgr.sent(ResetRing)) == (Phase.HEALTHY, [], [])


def test_a_fault_takes_the_place_of_an_ordered_test() -> None:
    cmgr = ordered()
    cmgr.fault(2, RESET)
    cmgr.wait(120)
    assert (cmgr.phase(), cmgr.held(), len(cmgr.sent(ResetRing)), len(cmgr.sent(RunTest))) == (Phase.HEALTHY, [], 1, 1)
    told = [note.text for note in cmgr.log if isinstance(note, Note)]
    assert "the test of chip 1 that uid 0 ordered is not done: its ring has a fault to recover from" in told


def test_without_a_test_an_ordered_one_lapses_at_once() -> None:
    cmgr = ordered(policy=RING)
    cmgr.wait(60)
    told = [note.text for note in cmgr.log if isinstance(note, Note)]
    assert "the test of chip 1 that uid 0 ordered is not done: there is none (reset.test)" in told
    assert (cmgr.phase(), cmgr.held(), cmgr.sent(RunTest)) == (Phase.HEALTHY, [], [])


def test_a_chip_that_a_person_has_taken_meanwhile_is_his_and_not_tested() -> None:
    cmgr = faulty()
    cmgr.run_until(Phase.VERIFYING)
    cmgr.starts_by_hand("a")
    assert until_tested(cmgr).chips == (1, 2, 3)
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, [])
