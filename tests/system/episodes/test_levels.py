"""Levels on real containers: rules of escalation, isolation and release, the budget, and what is kept back."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.service import NOW, Service
from tests.support.waiting import eventually
from tests.system import checks
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

SEPARATE = "80818C00"
"""A fault whose own level isolates the chip (SeparateNPU)."""

TWICE = {"EventId": [NOW], "TimeWindow": 86400, "Times": 2, "FaultHandling": "ManuallySeparateNPU"}
LASTS = {"EventId": ["80E18400"], "FaultTimeout": 1, "RecoverTimeout": 1, "FaultHandling": "SeparateNPU"}


def rules(folder: Path, **kinds: Sequence[object]) -> str:
    path = folder / "rules.json"
    path.write_text(json.dumps(kinds))
    path.chmod(0o640)
    return str(path)


def isolated(service: Service) -> dict[int, str]:
    return {c["id"]: c["isolated_by"] for c in service.status()["chips"] if c["isolated"]}


def until_isolated(service: Service, *chips: int) -> None:
    eventually(lambda: set(isolated(service)) == set(chips), why=f"{chips} are the isolated chips")


def until_closed(service: Service, episodes: int) -> None:
    eventually(lambda: sum(e.ended is not None for e in service.episodes()) == episodes, why=f"{episodes} are closed")


def explained(service: Service, code: str) -> dict[str, Any]:
    return dict(json.loads(service.cmgr("explain", code, "--json").out))


def test_a_fault_that_came_back_isolates_its_chip_and_its_container_waits_for_a_person(
    on_docker: Install, containers: Containers, folder: Path
) -> None:
    settings = {"faults.rules": rules(folder, FaultFrequency=[TWICE]), "isolation.on_isolate": "stop"}
    service = on_docker(settings)
    containers.run(Spec("c0", "0"), Spec("c1", "1"))
    service.start()
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    service.kill9()
    service.start()
    assert [(c["chip"], c["counted"], c["times"]) for c in explained(service, NOW)["chips"]] == [(0, 1, 2)]
    service.inject(0)
    until_isolated(service, 0)
    until_closed(service, 2)
    assert isolated(service) == {0: "escalation"}
    assert (containers.is_running("c0"), containers.is_running("c1"), len(service.resets())) == (False, True, 1)
    held = service.container("c0")
    assert held is not None
    assert held["status"] == "paused"
    assert "cmgr release 0" in held["hint"]
    assert f"{NOW} came 2 times within 1 d, only a person ends that" in held["reason"]
    assert service.cmgr("status", "--check").code == 4
    assert "0" not in service.cmgr("chips", "--available").out.strip().split(",")
    service.kill9()
    service.start()
    assert isolated(service) == {0: "escalation"}
    service.inject(0, assertion="cleared")
    assert service.cmgr("release", "0").code == 0
    eventually(containers.all_running, why="c0 is back")
    service.until_over()
    assert (isolated(service), explained(service, NOW)["chips"]) == ({}, [])


def test_a_chip_whose_fault_asks_for_it_is_isolated_and_its_containers_are_left_alone(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"isolation.release_after": "1s"})
    containers.run(Spec("c0", "0"))
    service.start()
    service.inject(0, SEPARATE)
    until_isolated(service, 0)
    assert (isolated(service), service.ring()["episode"]) == ({0: "level"}, None)
    free = service.cmgr("chips", "--available").out.strip().split(",")
    assert free == ["1", "2", "3", "4", "5", "6", "7"]
    assert not containers.was_restarted("c0")
    # It is a mate of the faulty chip, and its own container is recovered as ever.
    containers.run(Spec("c1", "1"))
    service.inject(1)
    service.until_said("is over: recovered")
    service.inject(0, SEPARATE, "cleared")
    until_isolated(service)
    eventually(containers.all_running, why="its mate waited for its chip only")


def test_a_fault_that_lasts_is_raised_and_no_longer_when_it_stays_away(
    on_docker: Install, containers: Containers, folder: Path
) -> None:
    service = on_docker({"faults.rules": rules(folder, FaultDuration=[LASTS]), "isolation.on_isolate": "stop"})
    containers.run(Spec("c2", "2"), Spec("c3", "3"))
    service.start()
    service.inject(2, "80E18400")
    until_isolated(service, 2)
    eventually(lambda: not containers.is_running("c2"), why="c2 is stopped")
    service.inject(2, "80E18400", "cleared")
    until_isolated(service)
    eventually(containers.all_running, why="c2 is back")
    checks.each_was_stopped_once(containers, ["c2"])
    assert service.resets() == ()


def test_a_fault_that_no_reset_cures_ends_in_isolation_and_a_release_brings_its_container_back(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"sim.incurable": [NOW], "reset.attempts": 2, "sim.ring": 2})
    containers.run(Spec("c0", "0"), Spec("c1", "1"))
    service.start()
    service.inject(0)
    until_isolated(service, 0)
    until_closed(service, 1)
    assert (isolated(service), len(service.resets())) == ({0: "budget"}, 2)
    assert (containers.is_running("c0"), containers.is_running("c1")) == (False, True)
    checks.resets_were_safe(service, containers, ["c0", "c1"])
    service.inject(0, assertion="cleared")
    assert service.cmgr("release", "0").code == 0
    eventually(containers.all_running, why="c0 is back")
    assert [e.outcome for e in service.episodes()][-1] == "isolated"


def test_a_storm_over_the_machine_stops_so_much_and_no_more_until_a_person_has_looked(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"sim.ring": 1, "limits.rings_at_once": 2})
    containers.run(*(Spec(f"c{n}", str(n)) for n in range(4)))
    service.start()
    for chip in range(4):
        service.inject(chip)
    eventually(lambda: len(service.resets()) == 2, why="two rings are reset")
    eventually(lambda: service.status()["restraint"] is not None, why="the others are kept back")
    kept = service.status()["restraint"]["rings"]
    assert len(kept) == 2
    assert not any(containers.was_restarted(f"c{n}") for n in kept)
    shown = service.cmgr("status", "--check")
    assert (shown.code, "cmgr resume --all" in shown.out) == (4, True)
    service.kill9()
    service.start()
    assert service.status()["restraint"]["rings"] == kept
    assert service.cmgr("resume", "--all").code == 0
    eventually(lambda: len(service.resets()) == 4, why="the others are reset, too")
    service.until_over()
    checks.each_was_stopped_once(containers, containers.names)
    assert service.status()["restraint"] is None
