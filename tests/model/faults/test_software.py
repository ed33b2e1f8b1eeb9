"""The same code on several chips of one container is rather the software's doing, and no chip is isolated for it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.model.builders import MINOR, RESET, RING, container, seconds
from tests.model.faults.escalated import TWICE_A_DAY, comes_and_goes, isolated, ruled, rules, said, tally


def test_one_buggy_job_isolates_no_chip() -> None:
    cmgr = ruled(container("job", 0, 1, 2, 3), by=rules(TWICE_A_DAY))
    for _ in range(3):
        for chip in range(4):
            cmgr.fault(chip)
        cmgr.run()
        cmgr.wait(600)
    assert isolated(cmgr) == {}
    assert said(cmgr, "of one container within 30 s: not counted, it may be the software")


def test_the_same_code_within_the_window_takes_back_what_the_first_one_had_made() -> None:
    cmgr = ruled(container("job", 0, 1), by=rules(TWICE_A_DAY, code=MINOR))
    comes_and_goes(cmgr, 0)
    cmgr.wait(3600)
    cmgr.fault(0, MINOR)
    assert isolated(cmgr) == {0: "escalation"}
    cmgr.wait(29)
    cmgr.fault(1, MINOR)
    assert (isolated(cmgr), len(tally(cmgr, 0).times), tally(cmgr, 1).times) == ({}, 1, ())
    cmgr.wait(3600)
    comes_and_goes(cmgr, 0)
    assert tally(cmgr, 0).raised == ()  # It never went, so it did not come.
    comes_and_goes(cmgr, 0)
    assert isolated(cmgr) == {0: "escalation"}


@pytest.mark.parametrize(
    ("window", "apart", "of_one_container", "counted"),
    [
        (30, 29, True, False),
        (30, 31, True, True),
        (30, 1, False, True),
        (5, 6, True, True),
        (0, 0, True, True),
    ],
)
def test_it_takes_one_container_and_a_short_time(
    window: int, apart: int, of_one_container: bool, counted: bool
) -> None:
    users = [container("job", 0, 1)] if of_one_container else [container("a", 0), container("b", 1)]
    policy = replace(RING, software_window=seconds(window))
    cmgr = ruled(*users, policy=policy, by=rules(TWICE_A_DAY, code=MINOR))
    comes_and_goes(cmgr, 0)
    cmgr.wait(apart)
    comes_and_goes(cmgr, 1)
    assert [len(tally(cmgr, chip).times) for chip in (0, 1)] == ([1, 1] if counted else [0, 0])


def test_a_container_that_is_held_or_has_died_of_the_first_fault_is_still_the_one() -> None:
    cmgr = ruled(container("job", 0, 1), by=rules(TWICE_A_DAY))
    cmgr.fault(0)
    cmgr.run()
    cmgr.wait(2)
    cmgr.dies("job", 1)
    cmgr.fault(1)
    assert [len(tally(cmgr, chip, RESET).times) for chip in (0, 1)] == [0, 0]


def test_a_restart_between_the_two_makes_no_difference() -> None:
    cmgr = ruled(container("job", 0, 1), by=rules(TWICE_A_DAY, code=MINOR))
    comes_and_goes(cmgr, 0)
    cmgr.begin()
    cmgr.run()
    comes_and_goes(cmgr, 1)
    assert [len(tally(cmgr, chip).times) for chip in (0, 1)] == [0, 0]


def test_an_older_occurrence_goes_on_counting() -> None:
    cmgr = ruled(container("job", 0, 1), by=rules(TWICE_A_DAY, code=MINOR))
    comes_and_goes(cmgr, 0)
    cmgr.wait(timedelta(hours=1).total_seconds())
    comes_and_goes(cmgr, 1)
    assert [len(tally(cmgr, chip).times) for chip in (0, 1)] == [1, 1]
