"""Rings, chips and faults as a person or a program sees them."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import pytest

from cmgr.model.values.chips import ChipId, ChipReport, Process
from cmgr.model.values.faults import Level
from cmgr.model.values.holds import HoldState
from cmgr.model.values.node import Node
from cmgr.view import status as view
from cmgr.view.status import Own
from tests.support.picture import CODE, T0, faulty, held, hold, in_episode, isolated, key, machine

OWN = Own("ready", "sim", ("docker",))


def chip(node: Node, number: int) -> Mapping[str, object]:
    return view.chips(node)[number]


def test_the_status_has_the_documented_keys_and_is_json() -> None:
    told = view.status(in_episode(faulty(machine(), 0), 0), replace(OWN, pid=1, since=T0), T0)
    again = json.loads(json.dumps(told))
    assert again["service"] == {
        "state": "ready", "pid": 1, "since": "2026-03-01T03:00:00.000Z", "driver": "sim", "runtimes": ["docker"],
        "strategy": "never", "observe": False, "maintenance": False, "maintenance_until": None, "maintenance_by": None,
    }  # fmt: skip
    assert again["at"] == "2026-03-01T03:00:00.000Z"
    assert {"id", "chips", "phase", "reason", "episode", "since", "deadline"} <= again["rings"][0].keys()
    assert {
        "runtime", "namespace", "id", "name", "chips", "status", "since", "strategy", "held", "reason", "hint",
    } <= again["containers"][0].keys()  # fmt: skip
    assert {"id", "logical", "ring", "model", "healthy", "isolated", "reason", "faults"} <= again["chips"][0].keys()
    assert again["chips"][0]["faults"][0].keys() >= {"code", "level", "since", "count", "module"}


def test_a_chip_is_shown_with_all_that_it_is_called() -> None:
    node = machine()
    known = replace(node.chips[ChipId(3)], number=1, tool_name="NPU 1 chip 1", bus="0000:83:00.0", serial="A1-B2")
    shown = chip(replace(node, chips={**node.chips, ChipId(3): known}), 3)
    names = {name: shown[name] for name in ("id", "number", "tool_name", "bus", "serial")}
    assert names == {"id": 3, "number": 1, "tool_name": "NPU 1 chip 1", "bus": "0000:83:00.0", "serial": "A1-B2"}
    assert [chip(node, 2)[name] for name in ("number", "tool_name")] == [2, ""]


def test_the_same_state_is_shown_the_same_whatever_the_order_of_its_parts() -> None:
    node = machine()
    turned = replace(
        node,
        containers=dict(sorted(node.containers.items(), reverse=True)),
        chips=dict(sorted(node.chips.items(), reverse=True)),
        rings=dict(sorted(node.rings.items(), reverse=True)),
    )
    assert json.dumps(view.status(node, OWN, T0)) == json.dumps(view.status(turned, OWN, T0))


def test_a_ring_shows_its_episode_only_while_it_is_in_one() -> None:
    first, second = view.rings(in_episode(machine(), 2))
    assert (first["phase"], first["episode"], first["deadline"]) == ("healthy", None, None)
    assert (second["phase"], second["episode"], second["deadline"]) == ("waiting", 7, "2026-03-01T03:01:00.000Z")


@pytest.mark.parametrize("level", [Level.RestartRequest, Level.RestartNPU, Level.SeparateNPU])
def test_a_chip_with_a_fault_that_asks_for_something_is_not_healthy(level: Level) -> None:
    shown = chip(faulty(machine(), 3, level), 3)
    assert (shown["healthy"], shown["reason"]) == (False, f"fault 80E24E00 ({level.name})")


def test_a_chip_with_a_lesser_fault_is_healthy_and_shows_the_fault() -> None:
    shown = chip(faulty(machine(), 3, Level.NotHandleFault), 3)
    assert (shown["healthy"], shown["reason"]) == (True, "")
    assert [f["code"] for f in cast("list[dict[str, object]]", shown["faults"])] == [CODE]


def test_a_cleared_fault_is_not_shown() -> None:
    node = faulty(machine(), 3)
    cleared = {k: replace(f, cleared=T0) for k, f in node.faults[ChipId(3)].items()}
    assert chip(replace(node, faults={}, past_faults={ChipId(3): cleared}), 3)["faults"] == []


@pytest.mark.parametrize(
    ("report", "why"),
    [
        (ChipReport(ChipId(3), error="timed out"), "does not answer: timed out"),
        (ChipReport(ChipId(3), booted=False), "has not booted"),
    ],
)
def test_a_chip_that_does_not_answer_or_boot_is_not_healthy(report: ChipReport, why: str) -> None:
    node = machine()
    shown = chip(replace(node, reports={**node.reports, ChipId(3): report}), 3)
    assert (shown["healthy"], shown["reason"], shown["available"]) == (False, why, False)


def test_an_isolated_chip_says_why() -> None:
    shown = chip(isolated(machine(), 3), 3)
    assert (shown["healthy"], shown["isolated"], shown["reason"]) == (False, True, "fault 8C084E00")


def test_a_chip_shows_who_uses_it() -> None:
    node = machine()
    report = ChipReport(ChipId(2), processes=(Process(42, "python", 1024),))
    shown = chip(replace(node, reports={**node.reports, ChipId(2): report}), 2)
    assert (shown["containers"], shown["processes"]) == (["b"], [{"pid": 42, "name": "python", "memory": 1024}])


def test_chips_that_nobody_uses_are_available() -> None:
    assert view.available(machine()) == [3]
    assert view.available(replace(machine(), containers={}), 2) == [0, 1]


def test_a_chip_is_not_available_when_anything_speaks_against_it() -> None:
    node = machine()
    busy = ChipReport(ChipId(3), processes=(Process(42),))
    against = [
        faulty(node, 3),
        isolated(node, 3),
        in_episode(node, 2),
        replace(node, reports={**node.reports, ChipId(3): busy}),
        replace(node, reports={}),
        replace(node, holds={key("c"): hold("c", HoldState.DOWN, 3)}),
    ]
    assert [view.available(one) for one in against] == [[]] * len(against)


def test_the_chips_of_a_held_container_are_not_available() -> None:
    assert view.available(held(machine(), hold("a", HoldState.DOWN, 0, 1))) == [3]


def test_faults_are_listed_chip_by_chip() -> None:
    told = view.faults(faulty(faulty(machine(), 3), 1, Level.NotHandleFault))["faults"]
    assert [(f["chip"], f["level"], f["severity"], f["cleared"]) for f in told] == [
        (1, "NotHandleFault", "major", None),
        (3, "RestartNPU", "major", None),
    ]


def test_a_service_is_starting_until_every_chip_and_runtime_was_heard_in_this_life() -> None:
    heard = machine()
    runtime = next(iter(heard.runtimes))
    unlisted = replace(heard, runtimes={runtime: replace(heard.runtimes[runtime], listed=None)})
    unread = replace(heard, reports={c: r for c, r in heard.reports.items() if c > 1})
    assert view.state_of_service(heard, ()) == "ready"
    for node, silent in ((unlisted, runtime), (unread, "chips 0-1")):
        assert view.state_of_service(node, ()) == "starting"
        told = view.status(node, replace(OWN, state="starting"), T0)
        troubles = cast("list[dict[str, str]]", told["troubles"])
        assert [trouble["text"] for trouble in troubles] == [f"the service is starting: {silent} not heard yet"]


def test_a_runtime_that_does_not_answer_at_a_start_is_told_as_what_it_is() -> None:
    node = machine()
    runtime = next(iter(node.runtimes))
    deaf = replace(node, runtimes={runtime: replace(node.runtimes[runtime], listed=None, why_down="refused")})
    assert view.state_of_service(deaf, ()) == "degraded"


def test_a_service_that_answers_says_what_the_appliance_is_called() -> None:
    own = replace(OWN, version="0.2.0", name="appliance7\n")
    assert view.status(machine(), own, T0)["service"]["name"] == "appliance7 "
    assert "name" not in view.status(machine(), OWN, T0)["service"]
