"""Containers as a person or a program sees them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.handling.policy import Policy, Strategy
from cmgr.model.values.holds import Attempt, HoldState
from cmgr.model.values.node import Node, RuntimeState
from cmgr.view import status as view
from tests.support.picture import T0, decided, faulty, held, hold, in_episode, isolated, key, machine, running


def row(node: Node, name: str) -> Mapping[str, object]:
    return next(r for r in view.containers(node) if r["name"] == name)


@pytest.mark.parametrize(
    ("state", "word", "ours"),
    [
        (HoldState.TO_STOP, "pausing", True),
        (HoldState.STOPPING, "pausing", True),
        (HoldState.DOWN, "paused", True),
        (HoldState.STARTING, "resuming", True),
        (HoldState.SETTLING, "settling", True),
        (HoldState.FAILED, "failed", True),
        (HoldState.FORGOTTEN, "resuming", False),
        (HoldState.RETURNING, "running", False),
    ],
)
def test_each_hold_has_its_status_word(state: HoldState, word: str, ours: bool) -> None:
    shown = row(held(machine(), replace(hold("a", state, 0, 1), attempt=Attempt(tries=5))), "a")
    assert (shown["status"], shown["held"]) == (word, ours)


def test_a_container_without_a_hold_runs_and_needs_no_reason() -> None:
    shown = row(machine(), "b")
    assert (shown["status"], shown["held"], shown["reason"], shown["hint"]) == ("running", False, "", "")
    assert (shown["strategy"], shown["chips"]) == ("never", [2])


@pytest.mark.parametrize(
    ("fields", "strategy", "told"),
    [
        ({"auto_remove": True}, Strategy.SINGLE, True),
        ({"auto_remove": True}, Strategy.NEVER, False),
        ({"auto_remove": True, "strategy": Strategy.RING}, Strategy.SINGLE, False),
        ({"auto_remove": True, "enabled": False}, Strategy.SINGLE, False),
        ({}, Strategy.SINGLE, False),
    ],
)
def test_one_that_its_stop_would_remove_is_told_of_before_anything_happens(
    fields: dict[str, Any], strategy: Strategy, told: bool
) -> None:
    node = replace(machine(), policy=Policy(strategy=strategy))
    shown = row(replace(node, containers={key("a"): replace(running("a", 0), **fields)}), "a")
    assert (shown["spared"], "--rm" in str(shown["reason"]), "--rm" in str(shown["hint"])) == (told, told, told)


def test_one_that_somebody_has_paused_runs_and_says_so() -> None:
    node = machine()
    paused = replace(running("a", 0), frozen=True)
    shown = row(replace(node, containers={key("a"): paused}), "a")
    assert (shown["status"], shown["hint"]) == ("running", "")
    assert "somebody has paused it" in str(shown["reason"])
    settles = replace(hold("a", HoldState.SETTLING, 0), frozen=True, attempt=Attempt(retry_at=T0))
    assert str(row(held(node, settles), "a")["reason"]).startswith("is paused again, as it was")


def test_a_stopped_container_that_nobody_holds_is_not_shown() -> None:
    node = machine()
    down = replace(node, containers={key("a"): replace(running("a", 0), running=False)})
    assert view.containers(down) == []


def test_a_running_container_that_cannot_be_read_is_shown_with_its_warning() -> None:
    odd = replace(running("odd"), warnings=("asks for chip 99\x1b[2J",))
    shown = row(replace(machine(), containers={key("odd"): odd}), "odd")
    assert shown["warnings"] == ["asks for chip 99 [2J"]


def test_a_held_container_that_its_runtime_does_not_list_is_shown_from_the_hold() -> None:
    shown = row(replace(machine(), containers={}, holds={key("a"): hold("a", HoldState.DOWN, 0)}), "a")
    assert (shown["status"], shown["chips"]) == ("paused", [0])


def test_a_paused_container_says_that_its_ring_is_in_an_episode() -> None:
    shown = row(decided(in_episode(held(machine(), hold("a", HoldState.DOWN, 0, 1)), 0)), "a")
    assert shown["reason"] == "ring 0 is in an episode (waiting)"


def test_a_paused_container_names_the_isolated_chip_and_what_to_type() -> None:
    shown = row(decided(in_episode(isolated(held(machine(), hold("a", HoldState.DOWN, 0, 1)), 1), 0)), "a")
    assert shown["reason"] == "chip 1 is isolated: fault 8C084E00"
    assert "cmgr release 1" in str(shown["hint"])


def test_a_paused_container_says_how_often_its_start_failed_and_when_the_next_is() -> None:
    promise = replace(hold("a", HoldState.DOWN, 0), attempt=Attempt(tries=2, retry_at=T0, error="no space left"))
    assert row(held(machine(), promise), "a")["reason"] == (
        "start failed 2 times: no space left, next try at 2026-03-01T03:00:00.000Z"
    )


def test_a_paused_container_says_that_its_runtime_is_down() -> None:
    node = held(machine(), hold("a", HoldState.DOWN, 0))
    down = replace(node, runtimes={"docker": RuntimeState("docker", why_down="connection refused")})
    assert row(decided(down), "a")["reason"] == "cannot reach docker: connection refused"


def test_a_paused_container_with_nothing_in_its_way_waits_to_be_started() -> None:
    assert row(decided(held(machine(), hold("a", HoldState.DOWN, 0))), "a")["reason"] == "waits to be started"


def test_a_container_whose_stop_failed_says_so() -> None:
    why = "episode 1: a fault of chips 0-1"
    promise = replace(hold("a", HoldState.STOPPING, 0), attempt=Attempt(tries=1, error="timed out"), reason=why)
    assert row(held(faulty(machine(), 0), promise), "a")["reason"] == f"{why}; stop failed once: timed out"


def test_a_failed_container_says_why_and_what_to_type() -> None:
    promise = replace(hold("a", HoldState.FAILED, 0), attempt=Attempt(tries=5, error="no such image"))
    shown = row(held(machine(), promise), "a")
    assert shown["reason"] == "start failed 5 times: no such image"
    assert str(shown["hint"]).endswith("cmgr resume a")


def test_a_container_that_somebody_started_says_that_the_ring_waits_for_it() -> None:
    node = in_episode(machine(), 0)
    ring = replace(node.rings[RingId(0)], theirs=frozenset({key("a")}))
    shown = row(replace(node, rings={**node.rings, RingId(0): ring}), "a")
    assert shown["status"] == "running"
    assert "ring 0, which waits for it" in str(shown["reason"])


def test_a_container_that_is_hands_off_says_so() -> None:
    node = machine()
    alone = replace(node, containers={key("a"): replace(running("a", 0), enabled=False)})
    assert "cmgr.enable=false" in str(row(alone, "a")["reason"])


def test_a_container_that_runs_on_a_faulty_chip_says_so() -> None:
    assert row(faulty(machine(), 2), "b")["reason"] == "runs, but chip 2 has fault 80E24E00 (RestartNPU)"


@pytest.mark.parametrize("name", ["$(reboot)", "a; reboot", "a b", "-rf", "`id`", "a\nreboot", "", "a|b", "a>b", "'"])
def test_what_is_told_to_be_typed_is_one_word_whatever_a_label_made_the_name(name: str) -> None:
    promise = replace(hold("a", HoldState.FAILED, 0, 1), key=key("f00d"), attempt=Attempt(tries=5), name=name)
    node = replace(machine(), containers={}, holds={key("f00d"): promise})
    (shown,) = view.containers(node)
    assert str(shown["hint"]).endswith("type: cmgr resume f00d")


def test_a_stop_that_was_not_sent_says_why_although_it_counts_as_no_try() -> None:
    promise = replace(
        hold("b", HoldState.STOPPING, 2), attempt=Attempt(tries=0, delays=1, error="its hold could not be written")
    )
    reason = str(row(held(machine(), promise), "b")["reason"])
    assert "cannot stop it yet: its hold could not be written" in reason


def test_an_order_to_give_other_chips_that_waits_says_how_it_is_taken_back() -> None:
    waits = replace(hold("a", HoldState.STOPPING, 0, 1), wish=frozenset({ChipId(4), ChipId(5)}))
    assert row(held(machine(), waits), "a")["hint"] == "to leave it on its chips: cmgr slot assign a 0,1"
    assert row(held(machine(), replace(waits, wish=frozenset())), "a")["hint"] == ""
