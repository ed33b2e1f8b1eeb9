"""Parts of a unit that went down with a stop of cmgr's are not left down in silence: cases, and random walks."""

from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.values.handling.policy import Policy, RetryPolicy, Strategy
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import StartContainer, StopContainer
from tests.model.acts import check_end, heal
from tests.model.builders import REQUEST, SINGLE, Cmgr, container, key, names, seconds
from tests.model.holds.parts import PartedWorld
from tests.model.holds.test_consequences import is_ended, service
from tests.model.walks.test_walks import UNITED, UNITED_TOO, WALKS, walk

KINDS = {
    "single": (Policy(strategy=Strategy.SINGLE), UNITED),
    "ring": (Policy(strategy=Strategy.RING, retry=RetryPolicy(starts=3)), UNITED_TOO),
}

LLM, WEB = key("llm.service", "systemd"), key("web.service", "systemd")


def with_a_part(**more: Any) -> Cmgr:
    llm = container("llm.service", 0, runtime="systemd", takes=frozenset({"web.service"}))
    return Cmgr(llm, container("web.service", runtime="systemd"), policy=SINGLE, runtimes=("systemd",), **more)


def goes_down(cmgr: Cmgr) -> None:
    """Have systemd stop the part with its unit."""
    is_ended(cmgr, "web.service", runtime="systemd")


def comes_back(cmgr: Cmgr) -> bool:
    cmgr.wait(70)
    cmgr.run()
    cmgr.wait(70)
    return cmgr.held() == [] and cmgr.booked("web.service", "systemd").running


def test_a_part_comes_back_that_has_yet_to_show_that_it_stays_up() -> None:
    cmgr = with_a_part(settle=30)
    cmgr.fault(0)
    cmgr.run(StopContainer)
    goes_down(cmgr)
    cmgr.run()
    assert {hold.state for hold in cmgr.node.holds.values()} == {HoldState.SETTLING}
    cmgr.fault(0)
    cmgr.run(StopContainer)
    goes_down(cmgr)
    assert cmgr.node.holds[WEB].follows == {LLM}
    cmgr.run()
    assert comes_back(cmgr)


def test_so_does_one_of_a_project() -> None:
    cmgr = Cmgr(service("llm", 0), service("web", 4), policy=SINGLE, settle=30)
    for _ in range(2):
        cmgr.fault(0)
        cmgr.run(StopContainer)
        is_ended(cmgr, "web")
        assert cmgr.held() == ["llm", "web"]
        cmgr.run()
    cmgr.wait(70)
    assert (cmgr.held(), cmgr.booked("web").running) == ([], True)


def test_so_does_one_whose_life_has_begun_while_its_unit_was_being_stopped() -> None:
    cmgr = with_a_part()
    cmgr.fault(0, REQUEST)
    cmgr.sees(replace(cmgr.truth[WEB], run="life 2"))
    cmgr.now += seconds(10)
    cmgr.run(StopContainer)
    goes_down(cmgr)
    assert cmgr.held() == ["llm.service", "web.service"]
    assert comes_back(cmgr)


def test_so_does_one_that_is_heard_of_in_maintenance_once_that_is_over() -> None:
    cmgr = with_a_part()
    cmgr.fault(0, REQUEST)
    cmgr.run(StopContainer)
    cmgr.tell(facts.MaintenanceOrdered(on=True, who="a person"))
    goes_down(cmgr)
    cmgr.wait(3600)
    assert cmgr.sent(StartContainer) == []
    cmgr.tell(facts.MaintenanceOrdered(on=False, who="a person"))
    cmgr.run()
    assert comes_back(cmgr)


def test_none_is_started_whose_unit_is_down_and_was_forgotten_for_systemd_would_start_both() -> None:
    cmgr = with_a_part()
    cmgr.fault(0, REQUEST)
    cmgr.run(StopContainer)
    goes_down(cmgr)
    cmgr.tell(facts.ForgetOrdered(LLM, "a person"))
    cmgr.wait(3600)
    cmgr.run()
    assert (cmgr.sent(StartContainer), cmgr.held()) == ([], ["web.service"])
    assert cmgr.node.holds[WEB].reason == "it is started with llm.service"
    cmgr.starts_by_hand("llm.service", runtime="systemd")
    cmgr.run()
    assert (names(cmgr.sent(StartContainer), StartContainer), cmgr.held()) == (["web.service"], [])


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_that_went_down_with_its_unit_comes_back_with_it(kind: str) -> None:
    for seed in range(WALKS):
        world = PartedWorld(seed, *KINDS[kind])
        walk(world)
        heal(world)
        world.forget_those_without_whole()
        check_end(world)
        world.check_parts()
