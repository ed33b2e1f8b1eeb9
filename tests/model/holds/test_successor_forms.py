"""Successors of every form: whatever runs a container and however it names its chips, one job stays one job."""

from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.values.chips import ALL_CHIPS, SLOT, UNCLEAR, ChipId
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ResetRing, StartContainer, StopContainer
from cmgr.model.values.node import SYSTEMD
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container, Spare
from cmgr.model.values.troubles import TroubleKind
from cmgr.view.troubles import troubles
from tests.model.builders import REQUEST, Cmgr, container, key, names
from tests.model.moving.test_moves import STOPPING, isolate

OF_ONE_IMAGE: dict[str, Any] = {"image": "jobs:1"}
PLACED: dict[str, Any] = {"spare": Spare.AUTO, "tied": "", **OF_ONE_IMAGE}


def told(cmgr: Cmgr, kind: TroubleKind) -> list[str]:
    return [trouble.words for trouble in troubles(cmgr.node) if trouble.kind is kind]


def waits_with(*containers: Container, **of_cmgr: Any) -> Cmgr:
    """Return a machine whose ring 0 waits for its fault to have lasted, with its containers held."""
    cmgr = Cmgr(*containers, **of_cmgr)
    cmgr.fault(0, REQUEST)
    cmgr.run()
    return cmgr


def recovered(cmgr: Cmgr) -> list[str]:
    cmgr.wait(120)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, 1)
    return sorted(names(cmgr.sent(StartContainer), StartContainer))


@pytest.mark.parametrize("runtime", ["podman", "containerd"])
def test_one_of_another_runtime(runtime: str) -> None:
    cmgr = waits_with(container("job-1", 0, runtime=runtime), runtimes=("docker", "podman", "containerd"))
    cmgr.sees(container("job-2", 0, run="second", runtime=runtime))
    assert recovered(cmgr) == ["job-2"]
    assert told(cmgr, TroubleKind.DOWN) == ["job-1 is not started: job-2 was made in its place"]


def test_one_that_asks_for_all_chips_as_the_one_before() -> None:
    every = frozenset({ALL_CHIPS})
    cmgr = waits_with(container("job-1", claims=every), container("exporter", claims=every), container("mate", 1))
    cmgr.sees(container("job-2", claims=every, run="second"))
    assert cmgr.booked("job-2").kept.instead_of == {key("job-1")}
    assert recovered(cmgr) == ["exporter", "job-2", "mate"]


def test_one_that_asks_for_all_chips_takes_the_place_of_nobody_on_one() -> None:
    cmgr = waits_with(container("job-1", 0))
    cmgr.sees(container("exporter", claims=frozenset({ALL_CHIPS}), run="first"))
    assert recovered(cmgr) == ["exporter", "job-1"]


def test_one_of_which_only_its_process_tells_which_chips_it_uses() -> None:
    unclear: dict[str, Any] = {"claims": frozenset({UNCLEAR})}
    cmgr = Cmgr(container("job-1", **unclear))
    cmgr.inside[0] = key("job-1")
    cmgr.tell(facts.Resync())
    cmgr.run()
    cmgr.fault(0, REQUEST)
    cmgr.run()
    assert cmgr.held() == ["job-1"]
    cmgr.inside[0] = key("job-2")
    cmgr.sees(container("job-2", run="second", **unclear))
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert recovered(cmgr) == ["job-2"]


def test_one_of_a_group_goes_on_in_its_round_in_the_place_of_the_one_before() -> None:
    cmgr = waits_with(container("job-1", 0, group="tp"), container("rank", 4, group="tp"))
    cmgr.sees(container("job-2", 0, run="second", group="tp"))
    assert recovered(cmgr) == ["job-2", "rank"]
    assert cmgr.held() == ["job-1"]


def test_one_of_a_slot() -> None:
    cmgr = Cmgr(policy=STOPPING)
    cmgr.tell(facts.SlotOrdered("llm", "a", frozenset({ChipId(0)})))
    cmgr.run()
    cmgr.sees(container("job-1", claims=frozenset({SLOT + "llm"})))
    cmgr.run()
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.sees(container("job-2", claims=frozenset({SLOT + "llm"}), run="second"))
    assert recovered(cmgr) == ["job-2"]


def test_one_that_is_made_when_the_one_before_has_been_given_a_spare() -> None:
    cmgr = Cmgr(container("job-1", 0, **PLACED), policy=STOPPING, ring=1)
    isolate(cmgr, 0)
    cmgr.run()
    cmgr.wait(300)
    assert (cmgr.booked("job-1").running, cmgr.booked("job-1").kept.chips) == (True, frozenset({ChipId(1)}))
    cmgr.sees(container("job-2", 0, run="second", **PLACED))
    cmgr.wait(300)
    assert names(cmgr.sent(StartContainer), StartContainer) == ["job-1"]


def test_units_that_a_client_makes_one_after_the_other() -> None:
    cmgr = Cmgr(runtimes=("docker", SYSTEMD))
    for name in ("job-1", "job-2"):
        cmgr.sees(container(f"{name}.service", runtime=SYSTEMD, run=f"unit {name}"))
        cmgr.sees(container(name, 0, run=f"life of {name}", unit=f"{name}.service"))
        cmgr.run()
        if name == "job-1":
            cmgr.fault(0, REQUEST)
            cmgr.run()
            assert cmgr.held() == ["job-1.service"]
            cmgr.dies("job-1", 143, asked=True)
    assert recovered(cmgr) == ["job-2.service"]


@pytest.mark.parametrize("late", [50, 1000])
def test_one_that_a_slow_client_makes_when_the_one_before_has_run_for_long_is_told(late: int) -> None:
    cmgr = waits_with(container("job-1", 0, **OF_ONE_IMAGE), settle=30)
    assert recovered(cmgr) == ["job-1"]
    cmgr.wait(late)
    assert cmgr.held() == []
    cmgr.sees(container("side", 0, image="other:1"))
    cmgr.sees(container("job-2", 0, run="second", **OF_ONE_IMAGE))
    assert told(cmgr, TroubleKind.CROWDED) == [
        "chip 0 is used by job-2 and job-1: job-2 was made in the place of job-1, which runs again"
    ]
    cmgr.dies("job-2", 143, asked=True)
    assert troubles(cmgr.node) == []


def test_of_one_beside_which_a_person_has_said_that_another_is_to_run_nothing_is_told() -> None:
    cmgr = waits_with(container("job-1", 0, **OF_ONE_IMAGE), settle=30)
    recovered(cmgr)
    cmgr.sees(container("job-2", 0, run="second", **OF_ONE_IMAGE))
    (trouble,) = troubles(cmgr.node)
    assert "cmgr forget job-2" in trouble.hint
    cmgr.tell(facts.ForgetOrdered(key("job-2"), "a person"))
    assert troubles(cmgr.node) == []


def test_one_that_is_made_after_a_day_is_a_persons() -> None:
    cmgr = waits_with(container("job-1", 0, **OF_ONE_IMAGE))
    recovered(cmgr)
    cmgr.wait(24 * 3600)
    cmgr.sees(container("job-2", 0, run="second", **OF_ONE_IMAGE))
    assert troubles(cmgr.node) == []


def test_a_client_that_tries_on_another_chip_of_the_ring_each_time_is_not_fought_without_end() -> None:
    cmgr = waits_with(container("job-1", 0))
    for number, chip in ((2, 1), (3, 2), (4, 3), (5, 0)):
        cmgr.sees(container(f"job-{number}", chip, run=f"life of {number}"))
        cmgr.wait(10)
    assert len(cmgr.sent(StopContainer)) == 4
    assert told(cmgr, TroubleKind.OWNER)
    cmgr.wait(600)
    assert cmgr.sent(ResetRing) == []


def test_those_that_are_made_at_one_time_are_one_try() -> None:
    cmgr = waits_with(*(container(f"job-{chip}", chip) for chip in range(4)))
    for chip in range(4):
        cmgr.sees(container(f"again-{chip}", chip, run=f"second of {chip}"))
    assert recovered(cmgr) == [f"again-{chip}" for chip in range(4)]


def test_one_that_never_is_stopped_and_came_meanwhile_runs_in_its_place() -> None:
    cmgr = waits_with(container("job-1", 0), policy=STOPPING)
    cmgr.sees(replace(container("job-2", 0, run="second"), strategy=Strategy.NEVER))
    cmgr.wait(60)
    assert cmgr.sent(StartContainer) == []
