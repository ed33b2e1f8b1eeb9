"""No more is stopped at once than the limits allow: a storm is more often the driver than the chips."""

from dataclasses import replace

import pytest

from cmgr.model.values.handling.policy import LimitsPolicy, Policy, Strategy
from cmgr.model.values.holds import Attempt, HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ResetRing, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container
from tests.model.builders import MINOR, REQUEST, RESET, RING, SEPARATE, Cmgr, container, names, seconds

TWO = replace(RING, limits=LimitsPolicy(rings_at_once=2))
EIGHT = tuple(container(f"c{chip}", chip) for chip in range(8))


def machine(*containers: Container, policy: Policy = TWO) -> Cmgr:
    """Return eight rings of one chip, with a container on each unless others are given."""
    return Cmgr(*(containers or EIGHT), policy=policy, ring=1)


def storm(cmgr: Cmgr, chips: int = 8, code: str = RESET) -> None:
    for chip in range(chips):
        cmgr.fault(chip, code)


def kept(cmgr: Cmgr) -> list[int]:
    return sorted(cmgr.node.restraint.kept)


def resume_all(cmgr: Cmgr) -> None:
    cmgr.tell(facts.ResumeAllOrdered("uid 0"))


def test_a_storm_over_the_machine_stops_only_so_much_and_waits_for_a_person() -> None:
    cmgr = machine()
    storm(cmgr)
    assert (cmgr.held(), kept(cmgr)) == (["c0", "c1"], [2, 3, 4, 5, 6, 7])
    cmgr.run()
    cmgr.wait(3600)
    # That the first two are through makes no difference: a person has not looked.
    assert names([*cmgr.sent(StopContainer)], StopContainer) == ["c0", "c1"]
    assert (cmgr.phase(0), kept(cmgr)) == (Phase.HEALTHY, [2, 3, 4, 5, 6, 7])
    assert cmgr.ring(5).reason == (
        "kept back, because 2 rings are in an episode that stops containers (limits.rings_at_once); "
        "cmgr resume --all lets it begin"
    )
    warnings = cmgr.notes(NoteKind.WARNING)
    assert sum("until a person has looked: cmgr resume --all" in w for w in warnings) == 1
    assert sum("is kept back" in w for w in warnings) == 6


def test_a_person_lets_all_begin_that_was_kept_back() -> None:
    cmgr = machine()
    storm(cmgr)
    cmgr.run()
    cmgr.wait(600)
    resume_all(cmgr)
    assert kept(cmgr) == []
    cmgr.run()
    cmgr.wait(60)
    assert (cmgr.held(), {cmgr.phase(c) for c in range(8)}) == ([], {Phase.HEALTHY})
    assert len(cmgr.sent(ResetRing)) == 8
    assert (cmgr.node.restraint.since, cmgr.ring(5).reason) == (None, "")


def test_after_that_the_limits_hold_again() -> None:
    cmgr = machine()
    storm(cmgr, 3)
    cmgr.run()
    resume_all(cmgr)
    cmgr.run()
    cmgr.wait(60)
    storm(cmgr)
    assert len(kept(cmgr)) == 6


def test_it_ends_by_itself_when_the_faults_go() -> None:
    cmgr = machine()
    storm(cmgr, 3)
    cmgr.run()
    assert kept(cmgr) == [2]
    cmgr.clears(2)
    assert (kept(cmgr), cmgr.node.restraint.since, cmgr.ring(2).reason) == ([], None, "")
    cmgr.fault(3)
    assert "c3" in cmgr.held()


def test_a_restart_forgets_nothing_of_it() -> None:
    cmgr = machine()
    storm(cmgr, 4)
    cmgr.run()
    cmgr.begin()
    cmgr.run()
    assert kept(cmgr) == [2, 3]
    resume_all(cmgr)
    cmgr.run()
    cmgr.wait(60)
    assert len(cmgr.sent(ResetRing)) == 4


def test_rings_without_containers_to_stop_do_not_count() -> None:
    cmgr = machine(container("c6", 6), container("c7", 7), container("hands-off", 5, enabled=False))
    storm(cmgr)
    assert (kept(cmgr), cmgr.held()) == ([], ["c6", "c7"])


def test_so_many_episodes_an_hour_also_one_after_the_other() -> None:
    cmgr = machine(policy=replace(RING, limits=LimitsPolicy(episodes_per_hour=3)))
    for chip in range(4):
        cmgr.fault(chip)
        cmgr.run()
        cmgr.wait(600)
    assert kept(cmgr) == [3]
    assert "3 episodes that stop containers began within an hour" in cmgr.node.restraint.reason
    cmgr.clears(3)
    cmgr.wait(1200)
    cmgr.fault(3)
    assert (kept(cmgr), cmgr.held()) == ([], ["c3"])


def test_containers_that_died_while_their_ring_was_kept_back_are_started_again() -> None:
    cmgr = machine()
    storm(cmgr, 3)
    cmgr.run()
    cmgr.wait(600)
    cmgr.dies("c2")
    cmgr.run()
    cmgr.wait(60)
    # Nothing is left to stop on it, so nothing keeps it back; and that died of the fault although long after it came.
    assert (cmgr.held(), cmgr.booked("c2").running, kept(cmgr)) == ([], True, [])


def test_what_is_only_observed_is_not_kept_back() -> None:
    cmgr = machine(policy=replace(TWO, observe=True))
    storm(cmgr)
    assert (kept(cmgr), cmgr.held()) == ([], [])


def test_who_begins_to_observe_keeps_nothing_back_any_more() -> None:
    cmgr = machine()
    storm(cmgr, 3)
    cmgr.tell(facts.Reconfigured(replace(TWO, observe=True), cmgr.catalog))
    assert (kept(cmgr), cmgr.node.restraint.since) == ([], None)


def test_faults_that_stop_nothing_yet_count_by_what_they_will_stop() -> None:
    later = replace(
        TWO, levels={**TWO.levels, **{level: replace(p, stop_after=seconds(30)) for level, p in TWO.levels.items()}}
    )
    cmgr = machine(policy=later)
    storm(cmgr, 3, REQUEST)
    assert kept(cmgr) == [2]


def test_resume_all_tries_what_was_given_up_again_also_when_nothing_is_kept_back() -> None:
    cmgr = Cmgr(container("a", 0), policy=RING)
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    given_up = {k: replace(h, state=HoldState.FAILED, attempt=Attempt()) for k, h in cmgr.node.holds.items()}
    cmgr.node = replace(cmgr.node, holds=given_up)
    cmgr.pending.clear()
    resume_all(cmgr)
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running) == ([], True)


def test_a_fault_that_was_there_once_does_not_keep_a_chip_isolated_whose_ring_was_kept_back() -> None:
    cmgr = machine()
    storm(cmgr, 2)
    cmgr.once(2)
    cmgr.fault(2, SEPARATE)
    cmgr.clears(2, SEPARATE)
    cmgr.run()
    cmgr.wait(400)
    assert cmgr.node.isolations == {}


def test_before_the_runtimes_have_been_heard_every_ring_may_have_something_to_stop() -> None:
    cmgr = Cmgr(policy=TWO, ring=1)
    cmgr.begin()
    storm(cmgr, 4)
    assert kept(cmgr) == [2, 3]
    # There is nothing to stop after all.
    cmgr.run()
    assert (kept(cmgr), len(cmgr.sent(ResetRing))) == ([], 4)


@pytest.mark.parametrize("strategy", [Strategy.SINGLE, Strategy.RING])
def test_a_fault_that_disturbs_nobody_is_no_storm(strategy: Strategy) -> None:
    cmgr = machine(policy=replace(TWO, strategy=strategy))
    storm(cmgr, code=MINOR)
    assert (kept(cmgr), cmgr.node.restraint.opened) == ([], ())
