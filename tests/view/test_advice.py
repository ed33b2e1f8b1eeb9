"""Waits that take too long, and what a person is told to type."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.holds import Attempt, Hold, HoldState
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.values.standing import Maintenance
from cmgr.view import status as view
from cmgr.view.advice import called, named, overdue
from cmgr.view.status import Own
from cmgr.view.text.reading import to_type
from tests.support.picture import T0, faulty, held, hold, in_episode, key, machine


def stopping(grace: float = 10) -> Node:
    promise = replace(
        hold("a", HoldState.STOPPING, 0, 1), grace=timedelta(seconds=grace), attempt=Attempt(error="timed out")
    )
    return held(machine(), promise)


@pytest.mark.parametrize(
    ("node", "after", "warned"),
    [
        (stopping(), 30, []), (stopping(), 31, ["container a"]),
        (stopping(60), 120, []), (stopping(60), 121, ["container a"]),
        (in_episode(machine(), 0), 400, []), (in_episode(machine(), 0), 401, ["ring 0"]),
        (in_episode(machine(), 0, Phase.RESETTING), 401, ["ring 0"]),
        (in_episode(machine(), 0, Phase.RESUMING), 30, []),
        (in_episode(machine(), 0, Phase.RESUMING), 31, ["ring 0"]),
        (replace(stopping(), policy=Policy(observe=True)), 1000, []),
        (replace(in_episode(machine(), 0), maintenance=Maintenance(T0, None, "a")), 1000, []),
        (machine(), 100_000, []),
    ],
)  # fmt: skip
def test_what_takes_too_long_is_warned_of(node: Node, after: float, warned: list[str]) -> None:
    found = overdue(node, T0 + timedelta(seconds=after))
    assert [w["subject"] for w in found] == warned
    assert all(w["text"] and w["hint"] for w in found)


def test_one_that_was_held_for_long_and_is_stopped_anew_is_not_late_at_once() -> None:
    node = stopping()
    begun = replace(
        node.containers[key("a")], kept=replace(node.containers[key("a")].kept, since=T0 + timedelta(hours=1))
    )
    node = replace(node, containers={**node.containers, key("a"): begun})
    assert overdue(node, T0 + timedelta(hours=1, seconds=30)) == []


def test_a_service_that_does_not_run_is_late_with_nothing() -> None:
    assert view.status(stopping(), Own("stopped", "sim", ()), T0 + timedelta(days=1))["warnings"] == []


def twin(node: Node, runtime: str, namespace: str, name: str, id_: str) -> Node:
    where = ContainerKey(runtime, namespace, id_)
    promise = Hold(where, name, frozenset({ChipId(3)}), 1, T0, HoldState.DOWN, "1")
    return replace(
        node,
        containers={**node.containers, where: Container(where, name)},
        holds={**node.holds, where: promise},
    )


def several() -> Node:
    node = twin(machine(), "docker", "", "web", "d0")
    node = twin(node, "containerd", "blue", "web", "c1")
    node = twin(node, "containerd", "green", "web", "c2")
    node = twin(node, "containerd", "green", "only", "c3")
    node = twin(node, "containerd", "green", "same", "c4")
    node = twin(node, "containerd", "green", "same", "c5")
    node = twin(node, "containerd", "green", "", "c6")
    return twin(node, "docker", "", "$(reboot)", "d7")


@pytest.mark.parametrize(
    ("id_", "name"),
    [
        ("d0", "docker/web"), ("c1", "blue/web"), ("c2", "green/web"), ("c3", "only"), ("c4", "c4"), ("c6", "c6"),
        ("d7", "d7"),
    ],
)  # fmt: skip
def test_a_container_is_called_by_as_little_as_tells_it_from_the_others(id_: str, name: str) -> None:
    node = several()
    where = next(k for k in node.holds if k.id == id_)
    assert called(node, where) == name
    assert named(node, name) == [where]


def test_what_names_several_names_them_all_and_what_names_nobody_nobody() -> None:
    node = several()
    assert {k.id for k in named(node, "web")} == {"d0", "c1", "c2"}
    assert [k.id for k in named(node, "c")] == ["c1", "c2", "c3", "c4", "c5", "c6"]
    assert named(node, "a") == [], "it runs, and is not held"
    assert named(node, "nobody") == []


def test_one_whose_restart_policy_goes_back_is_nobodys_to_order_about() -> None:
    assert named(held(machine(), hold("a", HoldState.RETURNING, 0)), "a") == []


def waiting_for_a(**changes: Any) -> Node:
    """Chip 1 is faulty, and the reset of its ring waits for container a."""
    node = faulty(in_episode(machine(), 0), 1)
    ring = replace(node.rings[RingId(0)], blocked=T0)
    return replace(
        node,
        rings={**node.rings, ring.id: ring},
        containers={**node.containers, key("a"): replace(node.containers[key("a")], **changes)},
    )


@pytest.mark.parametrize(
    ("node", "hint"),
    [
        (waiting_for_a(), "to stop a too, and start it all again after the reset: cmgr reset 1 --stop"),
        (waiting_for_a(enabled=False), "to have it reset, stop a yourself"),
        (waiting_for_a(running=False), ""),
        (faulty(in_episode(machine(), 0), 1), ""),
        (replace(waiting_for_a(), maintenance=Maintenance(T0, None, "me")), "cmgr maintenance off"),
    ],
)
def test_a_ring_that_waits_for_containers_says_what_to_type(node: Node, hint: str) -> None:
    shown = view.status(node, Own("ready", "sim", ()), T0)
    assert view.rings(node)[0]["hint"] == hint
    assert any(line in (f"ring 0: {hint}", f"maintenance: {hint}") for line in to_type(shown)) == bool(hint)


def test_one_that_somebody_started_by_hand_says_so_itself() -> None:
    node = waiting_for_a()
    ring = replace(node.rings[RingId(0)], theirs=frozenset({key("a")}))
    node = replace(node, rings={**node.rings, ring.id: ring})
    assert view.rings(node)[0]["hint"] == ""
    assert [c["hint"] for c in view.containers(node) if c["name"] == "a"] == ["stop it to let ring 0 be reset"]


def test_a_ring_says_who_has_ordered_its_reset_and_how_maintenance_ends() -> None:
    node = replace(in_episode(machine(), 0), maintenance=Maintenance(T0, None, "uid 0 (root)"))
    assert view.rings(node)[0]["hint"] == "cmgr maintenance off"
    assert view.rings(node)[0]["ordered_by"] is None
    assert view.service(node, Own("ready", "sim", ()))["maintenance_by"] == "uid 0 (root)"
    assert RingId(2) in node.rings
