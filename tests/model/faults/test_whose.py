"""Faults of a program: they concern the container that it ran in, and nobody beside it on the chip."""

from dataclasses import replace

import pytest

from cmgr.model.scope import chip_blocker
from cmgr.model.values.chips import ChipId, Process, Share
from cmgr.model.values.faults import Assertion
from cmgr.model.values.handling.policy import LimitsPolicy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container
from tests.model.builders import BUSINESS, MINOR, REQUEST, RESET, RING, SINGLE, Cmgr, container

SHARES = tuple(Share(f"MIG-{n}", group=n, aliases=frozenset({f"MIG-{n}", f"0:{n}"})) for n in range(3))


def crashes(cmgr: Cmgr, *whose: str, code: str = BUSINESS, chip: int = 0) -> list[str]:
    """Let a program of these fault, and return the containers that are stopped for it."""
    before = len(cmgr.sent(StopContainer))
    cmgr.tell(facts.FaultReported(ChipId(chip), code, Assertion.ONCE, whose=frozenset(whose)))
    cmgr.run()
    return sorted(command.key.id for command in cmgr.sent(StopContainer)[before:])


@pytest.mark.parametrize("code", [REQUEST, BUSINESS])
@pytest.mark.parametrize("policy", [RING, SINGLE])
def test_neighbours_on_its_chip_and_its_ring_run_on(policy: object, code: str) -> None:
    cmgr = Cmgr(container("a", 0), container("b", 0), container("c", 1), policy=policy)  # type: ignore[arg-type]
    assert crashes(cmgr, "a", code=code) == ["a"]
    assert (cmgr.phase(), cmgr.booked("a").running) == (Phase.HEALTHY, True)


def test_a_program_of_no_container_stops_nobody() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 0))
    assert crashes(cmgr) == []
    assert crashes(cmgr, "somebody else's") == []
    assert cmgr.phase() is Phase.HEALTHY


def test_several_programs_that_crash_together_are_each_started_again() -> None:
    cmgr = Cmgr(*(container(name, 0) for name in "abcd"))
    cmgr.tell(facts.FaultReported(ChipId(0), BUSINESS, Assertion.ONCE, whose=frozenset("a")))
    assert crashes(cmgr, "b") == ["b"]
    assert sorted(command.key.id for command in cmgr.sent(StopContainer)) == ["a", "b"]


def test_where_one_of_them_is_not_told_all_on_the_chip_are_concerned_and_that_is_said() -> None:
    cmgr = Cmgr(*(container(name, 0) for name in "ab"))
    cmgr.once(0, BUSINESS)
    cmgr.run()
    assert sorted(command.key.id for command in cmgr.sent(StopContainer)) == ["a", "b"]
    assert any("program it came of is not reported, so it concerns all on the chip" in text for text in cmgr.notes())


def test_a_table_by_which_it_asks_for_a_reset_empties_the_chip() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 0))
    assert crashes(cmgr, "a", code=RESET) == ["a", "b"]


def test_a_fault_of_which_nothing_is_done_stops_nobody_either() -> None:
    cmgr = Cmgr(container("a", 0))
    assert crashes(cmgr, "a", code=MINOR) == []


def test_its_container_is_stopped_with_a_lasting_fault_of_the_chip_and_so_are_the_others() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 0))
    cmgr.tell(facts.FaultReported(ChipId(0), BUSINESS, Assertion.ONCE, whose=frozenset("a")))
    cmgr.fault(0, RESET)
    cmgr.run()
    assert sorted({command.key.id for command in cmgr.sent(StopContainer)}) == ["a", "b"]


@pytest.mark.parametrize("claim", ["MIG-1", "0:1"])
def test_of_a_part_of_the_chip_those_are_concerned_who_ask_for_it(claim: str) -> None:
    cmgr = Cmgr()
    cmgr.chips = (replace(cmgr.chips[0], shares=SHARES), *cmgr.chips[1:])
    cmgr.shares[0] = SHARES
    for name, claims in (("own", claim), ("next", "MIG-0")):
        cmgr.truth[container(name).key] = container(name, claims=frozenset({claims}))
    cmgr.begin()
    cmgr.run()
    assert crashes(cmgr, "MIG-1") == ["own"]


def test_of_a_part_those_are_concerned_whose_processes_are_on_it() -> None:
    cmgr = Cmgr(container("all", 0), container("idle", 0))
    report = cmgr.node.reports[ChipId(0)]
    processes = (Process(7, "python", container="all", share="MIG-1"),)
    cmgr.node = replace(cmgr.node, reports={**cmgr.node.reports, ChipId(0): replace(report, processes=processes)})
    assert crashes(cmgr, "MIG-1") == ["all"]


def test_a_program_that_crashes_again_and_again_keeps_no_other_ring_back() -> None:
    policy = replace(RING, limits=replace(LimitsPolicy(), episodes_per_hour=2))
    cmgr = Cmgr(container("a", 0), container("b", 4), policy=policy)
    for _ in range(4):
        crashes(cmgr, "a")
        cmgr.wait(400)
    cmgr.fault(4)
    cmgr.run()
    assert (cmgr.node.restraint.kept, cmgr.sent(StopContainer)[-1].key.id) == ({}, "b")


def test_nobody_else_waits_for_it_neither_to_be_started_nor_to_be_healed() -> None:
    cmgr = Cmgr(
        container("a", 0), container("b", 0), policy=replace(RING, limits=replace(LimitsPolicy(), rings_at_once=1))
    )
    cmgr.tell(facts.FaultReported(ChipId(0), BUSINESS, Assertion.ONCE, whose=frozenset("a")))
    cmgr.run(ListContainers)
    assert (cmgr.phase(), chip_blocker(cmgr.node, ChipId(0))) == (Phase.DRAINING, "")
    # Nor does another ring, though so many are in an episode as may be.
    cmgr.fault(4)
    assert (cmgr.ring(4).in_episode, cmgr.node.restraint.kept) == (True, {})
    # A fault that is the chip's own takes all that back.
    cmgr.fault(0)
    assert chip_blocker(cmgr.node, ChipId(0))
    cmgr.run()
    assert sorted({command.key.id for command in cmgr.sent(StopContainer)}) == ["a", "b"]


def test_it_is_started_later_each_time() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 0))
    crashes(cmgr, "a")
    assert cmgr.booked("a").running
    for wait in (1, 2, 4):
        crashes(cmgr, "a")
        assert (cmgr.phase(), cmgr.booked("a").running) == (Phase.RESUMING, False)
        cmgr.wait(wait - 0.5)
        assert not cmgr.booked("a").running
        cmgr.wait(0.6)
        assert (cmgr.phase(), cmgr.booked("a").running) == (Phase.HEALTHY, True)


def test_a_unit_is_stopped_for_what_it_runs() -> None:
    def unit(name: str) -> Container:
        return container(name, 0, runtime="systemd")

    cmgr = Cmgr(unit("llm.service"), unit("other.service"), runtimes=("docker", "systemd"))
    cmgr.truth[container("inside").key] = container("inside", 0, unit="llm.service")
    cmgr.begin()
    cmgr.run()
    assert crashes(cmgr, "other.service") == ["other.service"]
    assert "other.service" not in (stopped := crashes(cmgr, "inside"))
    assert "llm.service" in stopped
