"""A chip has no more users after a recovery than before, whoever makes containers meanwhile."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ResetRing, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container, Exit
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.view.containers import containers
from cmgr.view.troubles import troubles
from tests.model.builders import REQUEST, Cmgr, container, key, names


def job(number: int, chip: int = 0, **fields: Any) -> Container:
    return container(f"job-{number}", chip, run=f"life of {number}", **fields)


def tried_again(times: int, *others: Container, **fields: Any) -> Cmgr:
    """Return a ring that waits for its fault to have lasted, while a client has made so many, one after the other."""
    cmgr = Cmgr(job(1, **fields), *others)
    cmgr.fault(0, REQUEST)
    cmgr.run()
    for number in range(2, 2 + times):
        cmgr.sees(job(number, **fields))
        cmgr.wait(10)
    return cmgr


def recovers(cmgr: Cmgr) -> list[str]:
    """Let the ring be reset; return those that cmgr starts."""
    cmgr.wait(60)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, 1)
    return names(cmgr.sent(StartContainer), StartContainer)


def of_kind(cmgr: Cmgr, kind: TroubleKind) -> list[Trouble]:
    return [trouble for trouble in troubles(cmgr.node) if trouble.kind is kind]


def test_of_those_that_a_client_makes_one_after_the_other_the_last_is_started_alone() -> None:
    cmgr = tried_again(3)
    assert recovers(cmgr) == ["job-4"]
    assert cmgr.held() == ["job-1", "job-2", "job-3"]


def test_the_others_are_told_at_once_with_what_takes_it_otherwise() -> None:
    cmgr = tried_again(2)
    recovers(cmgr)
    (trouble,) = of_kind(cmgr, TroubleKind.DOWN)
    assert trouble.words == "job-1, job-2 are not started: job-3 was made in their place"
    assert trouble.hint == (
        "stop job-3 if they are to run instead, and the last is started; "
        "if not, type: cmgr forget job-1; cmgr forget job-2"
    )
    shown = {row["name"]: row for row in containers(cmgr.node)}
    assert (shown["job-1"]["status"], shown["job-1"]["reason"]) == ("paused", "job-3 was made in its place")
    for name in ("job-1", "job-2"):
        cmgr.tell(facts.ForgetOrdered(key(name), "a person"))
    assert troubles(cmgr.node) == []


def test_when_a_person_stops_the_last_one_the_one_before_is_started() -> None:
    cmgr = tried_again(2)
    recovers(cmgr)
    cmgr.dies("job-3", 143, asked=True)
    cmgr.run()
    assert (cmgr.booked("job-2").running, cmgr.held()) == (True, ["job-1"])


def test_when_the_last_one_is_removed_the_one_before_is_started() -> None:
    cmgr = tried_again(2)
    recovers(cmgr)
    cmgr.removes("job-3")
    cmgr.run()
    assert (cmgr.booked("job-2").running, cmgr.held()) == (True, ["job-1"])


def test_that_one_in_between_is_removed_frees_nobody() -> None:
    cmgr = tried_again(2)
    cmgr.removes("job-2")
    assert recovers(cmgr) == ["job-3"]
    assert cmgr.held() == ["job-1"]


def test_the_last_one_is_started_although_it_began_and_ended_with_its_daemon_unseen() -> None:
    cmgr = tried_again(0)
    cmgr.tell(facts.RuntimeDown("docker", "gone"))
    cmgr.now += timedelta(seconds=1)
    end = Exit(0, cmgr.now, asked=None, missed=True)
    cmgr.truth[key("job-2")] = job(2, running=False, exit=end)
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    cmgr.run()
    assert (recovers(cmgr), cmgr.held()) == (["job-2"], ["job-1"])


def test_two_that_persons_had_put_there_are_two_again_with_a_new_one_in_the_place_of_the_like_named() -> None:
    cmgr = tried_again(2, container("side", 0))
    assert sorted(recovers(cmgr)) == ["job-3", "side"]
    assert cmgr.held() == ["job-1", "job-2"]


def test_what_is_made_in_the_place_of_one_that_was_removed_takes_nobody_elses() -> None:
    cmgr = Cmgr(job(1), container("side", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.removes("job-1")
    cmgr.sees(job(2))
    cmgr.run()
    assert sorted(recovers(cmgr)) == ["job-2", "side"]


def test_one_that_was_down_and_wanted_before_takes_nobodys_place() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 0))
    cmgr.dies("b")
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.starts("b", "by a person")
    assert cmgr.booked("b").kept.instead_of == frozenset()


def test_an_existing_one_that_a_person_starts_there_runs_beside_it() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 0))
    cmgr.dies("b", 143, asked=True)
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.starts_by_hand("b")
    cmgr.run()
    assert sorted(recovers(cmgr)) == ["a", "b"]


def test_one_that_was_only_made_and_is_started_then_is_new() -> None:
    cmgr = tried_again(0)
    cmgr.sees(replace(job(2), running=False, run=""))  # As Docker's event "create" has it.
    assert cmgr.booked("job-2").kept.instead_of == frozenset()
    cmgr.sees(job(2))
    assert recovers(cmgr) == ["job-2"]


def test_when_a_person_starts_the_old_one_by_hand_the_new_one_is_not_started() -> None:
    cmgr = tried_again(1)
    cmgr.wait(40, run=False)
    cmgr.starts("job-1", "by hand")
    cmgr.dies("job-1")
    cmgr.starts("job-1", "by hand again")
    assert len(recovers(cmgr)) == 1


def test_of_one_on_more_chips_the_new_one_takes_the_places_on_all_of_them() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.sees(container("wide", 0, 1, run="life of wide"))
    assert cmgr.booked("wide").kept.instead_of == {key("a"), key("b")}
    assert recovers(cmgr) == ["wide"]


def test_one_on_another_chip_takes_nobodys_place() -> None:
    cmgr = tried_again(0)
    cmgr.sees(job(2, chip=1, strategy=Strategy.NEVER))
    assert cmgr.booked("job-2").kept.instead_of == frozenset()


def test_the_fourth_newcomer_is_not_fought_and_the_reset_waits_for_it() -> None:
    cmgr = tried_again(4)
    assert len(cmgr.sent(StopContainer)) == 4
    cmgr.wait(600)
    assert (cmgr.sent(ResetRing), cmgr.sent(StartContainer)) == ([], [])
    assert "the reset of chips 0-3 waits for job-5 (something starts it again" in cmgr.ring().reason
    (trouble,) = of_kind(cmgr, TroubleKind.OWNER)
    assert "or another in its place" in trouble.words
    cmgr.dies("job-5", 143, asked=True)
    cmgr.wait(60)
    assert (len(cmgr.sent(ResetRing)), names(cmgr.sent(StartContainer), StartContainer)) == (1, ["job-4"])


def test_those_whose_end_removes_them_are_counted_too() -> None:
    fields: dict[str, Any] = {"auto_remove": True, "strategy": Strategy.RING}
    cmgr = Cmgr(job(1, **fields))
    cmgr.fault(0, REQUEST)
    for number in range(2, 8):
        cmgr.run()
        cmgr.wait(10)
        cmgr.removes(f"job-{number - 1}")
        cmgr.sees(job(number, **fields))
    assert len(cmgr.sent(StopContainer)) <= 4
    assert of_kind(cmgr, TroubleKind.OWNER)


def test_a_client_that_is_later_than_the_start_is_told_as_two_on_one_chip() -> None:
    cmgr = Cmgr(job(1), settle=30)
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.run(StartContainer)
    assert cmgr.booked("job-1").running
    cmgr.sees(job(2))
    (trouble,) = of_kind(cmgr, TroubleKind.CROWDED)
    assert trouble.words == (
        "chip 0 is used by job-2 and job-1: job-2 was made in the place of job-1, which runs again"
    )
    cmgr.dies("job-2", 143, asked=True)
    assert of_kind(cmgr, TroubleKind.CROWDED) == []


def test_so_is_one_after_a_start_whose_answer_said_no_though_it_had_worked() -> None:
    cmgr = Cmgr(job(1, image="trainer"))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.answer(StartContainer, error="timed out")
    cmgr.starts("job-1", "ours after all")
    assert cmgr.held() == []
    cmgr.sees(job(2, image="trainer"))
    (trouble,) = of_kind(cmgr, TroubleKind.CROWDED)
    assert trouble.words.startswith("chip 0 is used by job-2 and job-1")


def test_after_the_next_fault_only_the_later_of_the_two_runs_again() -> None:
    cmgr = Cmgr(job(1), settle=30)
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.run(StartContainer)
    cmgr.sees(job(2))
    cmgr.wait(300)
    cmgr.log.clear()
    cmgr.fault(0)
    cmgr.wait(60)
    assert names(cmgr.sent(StartContainer), StartContainer) == ["job-2"]


@pytest.mark.parametrize("alive", [True, False])
def test_the_places_outlive_cmgr(alive: bool) -> None:
    cmgr = tried_again(2)
    if not alive:
        cmgr.begin()
        cmgr.run()
    assert recovers(cmgr) == ["job-3"]
