"""A person's orders about chips and containers: isolate, forget."""

from dataclasses import replace

import pytest

from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import OnIsolate
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ResetRing, SetRestartPolicy, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.troubles import Trouble, TroubleKind
from tests.model.builders import REQUEST, RESET, RING, SEPARATE, Cmgr, container, died, key, names

WHO = "uid 0 (root)"
STOP = replace(RING, isolation=replace(RING.isolation, on_isolate=OnIsolate.STOP))


def isolates(cmgr: Cmgr, chip: int = 0, reason: str = "its fan is loud") -> list[object]:
    return list(cmgr.tell(facts.IsolateOrdered(ChipId(chip), reason, WHO)))


def forgets(cmgr: Cmgr, name: str = "a") -> None:
    cmgr.tell(facts.ForgetOrdered(key(name), WHO))


def test_an_operators_isolation_says_whose_it_is_and_why_and_never_ends_by_itself() -> None:
    cmgr = Cmgr(container("a", 0))
    isolates(cmgr)
    isolation = cmgr.node.isolations[ChipId(0)]
    assert (isolation.by, isolation.reason, isolation.code) == ("operator", "its fan is loud", None)
    assert f"{WHO} ordered that chip 0 is isolated" in cmgr.notes(NoteKind.ACTION)
    cmgr.wait(100_000)
    assert list(cmgr.node.isolations) == [0]
    cmgr.tell(facts.ReleaseOrdered(ChipId(0), WHO))
    assert not cmgr.node.isolations


def test_of_a_chip_that_is_not_there_nothing_is_isolated() -> None:
    cmgr = Cmgr()
    assert isolates(cmgr, 99) == []
    assert not cmgr.node.isolations


def test_one_that_is_isolated_already_is_the_operators_from_now_on() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, SEPARATE)
    since = cmgr.node.isolations[ChipId(0)].since
    isolates(cmgr)
    isolation = cmgr.node.isolations[ChipId(0)]
    assert (isolation.by, isolation.reason, isolation.since) == ("operator", "its fan is loud", since)
    cmgr.clears(0, SEPARATE)
    cmgr.wait(1000)
    assert list(cmgr.node.isolations) == [0]


@pytest.mark.parametrize("phase", [Phase.LISTING, Phase.DRAINING, Phase.WAITING])
def test_an_episode_goes_on_without_the_chip_and_resets_nothing_when_it_was_the_only_faulty_one(phase: Phase) -> None:
    cmgr = Cmgr(container("a", 0), container("mate", 1))
    cmgr.fault(0)
    cmgr.run_until(phase)
    isolates(cmgr)
    cmgr.run()
    assert (cmgr.phase(), cmgr.sent(ResetRing), cmgr.held()) == (Phase.HEALTHY, [], ["a"])
    assert cmgr.booked("mate").running


def test_an_episode_goes_on_for_the_other_faulty_chip() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.fault(1)
    isolates(cmgr)
    cmgr.run()
    assert [c.faulty for c in cmgr.sent(ResetRing)] == [(1,)]


@pytest.mark.parametrize(("policy", "stopped"), [(RING, []), (STOP, ["a"])])
def test_its_containers_are_left_alone_or_stopped_as_on_isolate_says(policy: object, stopped: list[str]) -> None:
    cmgr = Cmgr(container("a", 0), container("mate", 1), policy=policy)  # type: ignore[arg-type]
    isolates(cmgr)
    cmgr.run()
    assert (names(cmgr.log), cmgr.held(), cmgr.phase()) == (stopped, stopped, Phase.HEALTHY)
    cmgr.tell(facts.ReleaseOrdered(ChipId(0), WHO))
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running) == ([], True)


@pytest.mark.parametrize("policy", ["", "always"])
def test_a_forgotten_container_stays_down_and_has_its_restart_policy_back(policy: str) -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=policy))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    forgets(cmgr)
    cmgr.run()
    assert (cmgr.held(), cmgr.truth[key("a")].restart_policy) == ([], policy)
    assert f"a is no longer held: {WHO} ordered that it is forgotten" in cmgr.notes(NoteKind.HOLD)
    cmgr.wait(100)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), cmgr.sent(StartContainer)) == (Phase.HEALTHY, 1, [])


def test_one_that_is_just_being_stopped_is_forgotten_and_not_held_anew() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always"))
    cmgr.fault(0)
    forgets(cmgr)
    cmgr.wait(30)
    assert (cmgr.held(), len(cmgr.sent(StopContainer)), cmgr.sent(StartContainer)) == ([], 1, [])
    assert cmgr.truth[key("a")].restart_policy == "always"


def test_one_that_still_runs_when_it_is_forgotten_keeps_the_ring_from_being_reset() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.answer(StopContainer, error="timed out")
    forgets(cmgr)
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.ring().theirs) == (Phase.WAITING, frozenset({key("a")}))
    assert (cmgr.sent(ResetRing), len(cmgr.sent(StopContainer))) == ([], 1)


def test_while_its_restart_policy_is_just_being_switched_off_it_is_put_back_after_that() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always"))
    cmgr.fault(0, REQUEST)
    cmgr.run(StopContainer)
    forgets(cmgr)
    assert [c.restart_policy for c in cmgr.sent(SetRestartPolicy)] == [""]
    cmgr.run()
    assert [c.restart_policy for c in cmgr.sent(SetRestartPolicy)] == ["", "always"]
    assert cmgr.truth[key("a")].restart_policy == "always"


@pytest.mark.parametrize("dies", [False, True], ids=["in one life of cmgr", "in the next"])
def test_the_next_fault_does_not_have_a_forgotten_container_started_again(*, dies: bool) -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.sees(died("a", 0, at=cmgr.now))
    cmgr.run()
    assert cmgr.held() == ["a"]
    forgets(cmgr)
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert cmgr.phase() is Phase.HEALTHY
    if dies:
        cmgr.begin()
        cmgr.run()
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.held(), cmgr.sent(StartContainer), cmgr.phase()) == ([], [], Phase.HEALTHY)
    cmgr.starts_by_hand("a")
    cmgr.fault(0)
    cmgr.run()
    assert [c.name for c in cmgr.sent(StartContainer)] == ["a"], "its next life is another matter"


def test_one_that_is_just_being_started_is_forgotten_and_runs() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    forgets(cmgr)
    assert (cmgr.hold("a").state, cmgr.phase()) == (HoldState.FORGOTTEN, Phase.HEALTHY)
    cmgr.run()
    assert (cmgr.held(), cmgr.truth[key("a")].running, len(cmgr.sent(StartContainer))) == ([], True, 1)


def test_one_that_has_failed_can_be_forgotten() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    for _ in range(5):
        cmgr.wait(61, run=False)
        cmgr.answer(StartContainer, error="no such image")
    assert cmgr.hold("a").state is HoldState.FAILED
    forgets(cmgr)
    assert cmgr.held() == []


def test_what_is_not_held_or_goes_back_already_cannot_be_forgotten() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always"))
    assert cmgr.tell(facts.ForgetOrdered(key("a"), WHO)) == []
    cmgr.fault(0, REQUEST)
    cmgr.run()
    forgets(cmgr)
    assert cmgr.hold("a").state is HoldState.RETURNING
    assert cmgr.tell(facts.ForgetOrdered(key("a"), WHO)) == []


def test_what_was_forgotten_in_one_episode_is_cared_for_in_the_next() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    forgets(cmgr)
    cmgr.clears(0, REQUEST)
    cmgr.run()
    cmgr.starts_by_hand("a")
    assert names(cmgr.fault(0, RESET)) == ["a"]


def test_a_trouble_that_stays_is_told_again_once_more_is_known_of_it_and_not_each_time_that_it_is_met() -> None:
    cmgr = Cmgr()
    found = Trouble(TroubleKind.DAMAGE, "database", "the database was damaged", "page 7 is torn", stays=True)
    kept = replace(found, why="it is kept as cmgr.db.damaged")
    for met in (found, found, kept, kept):
        cmgr.tell(facts.TroubleMet(met))
    told = [note for note in cmgr.notes(NoteKind.WARNING) if "damaged" in note]
    assert told == [found.words, kept.words]
