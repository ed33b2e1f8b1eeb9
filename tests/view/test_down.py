"""Containers that ought to run and do not, as a person and a program are told of it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.values.holds import Attempt, HoldState
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Exit
from cmgr.view import advice, shapes
from cmgr.view import status as view
from cmgr.view.status import Own
from cmgr.view.text import reading, texts
from cmgr.words import stamp
from tests.support.picture import T0, decided, held, hold, in_episode, isolated, key, machine

SERVICE = Own("ready", "sim", ())


def ended(node: Node, name: str, end: Exit | None) -> Node:
    now = replace(
        node.containers[key(name)],
        running=False,
        exit=end,
        kept=replace(node.containers[key(name)].kept, wanted=True, since=T0),
    )
    return replace(node, containers={**node.containers, now.key: now})


def told(node: Node) -> shapes.Status:
    return view.status(node, SERVICE, T0 + timedelta(minutes=1))


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (Exit(1, T0, asked=False), "it exited by itself with code 1; cmgr does not hold it"),
        (Exit(137, T0), "it ended with code 137, and it is not known who ended it; cmgr does not hold it"),
        (
            Exit(0, T0, missed=True),
            "it ended with code 0 while docker was not there to say why, perhaps with it; cmgr does not hold it",
        ),
        (None, "it does not run, and nobody saw how it ended; cmgr does not hold it"),
    ],
)
def test_one_that_is_not_held_says_how_it_ended_and_what_to_do(end: Exit | None, reason: str) -> None:
    status = told(ended(machine(), "a", end))
    (down,) = status["down"]
    assert (down["name"], down["chips"], down["since"], down["reason"]) == ("a", [0, 1], stamp(T0), reason)
    assert down["hint"] == "start it (docker start a); or, if it is not to run, type: cmgr forget a"
    row = status["containers"][0]
    assert (row["name"], row["status"], row["reason"], row["held"]) == ("a", "down", reason, False)
    assert reading.troubles(status) == ["container a is down"]
    assert "a: start it (docker start a); or, if it is not to run, type: cmgr forget a" in reading.to_type(status)


def test_its_chips_are_not_called_used() -> None:
    node = ended(machine(), "a", Exit(1, T0, asked=False))
    assert [chip["containers"] for chip in view.chips(node)] == [[], [], ["b"], []]


def test_a_hold_whose_chip_is_gone_is_a_trouble() -> None:
    node = isolated(held(machine(), hold("b", HoldState.DOWN, 2)), 2)
    node = replace(node, isolations={}, chips={c: chip for c, chip in node.chips.items() if c != 2})
    status = told(decided(node))
    assert reading.troubles(status) == ["container b is down"]
    assert status["down"][0]["reason"] == "chip 2 is not there"


def test_several_are_counted() -> None:
    node = ended(ended(machine(), "a", Exit(1, T0, asked=False)), "b", Exit(1, T0, asked=False))
    assert texts.headline(told(node), 80) == "not well: 2 containers are down"


def test_all_is_well_is_never_said_while_one_is_down() -> None:
    failed = replace(hold("a", HoldState.FAILED, 0), attempt=Attempt(tries=5))
    for node in (
        held(machine(), hold("a", HoldState.DOWN, 0)),
        held(machine(), failed),
        in_episode(held(machine(), hold("a", HoldState.STARTING, 0)), 0),
        replace(held(machine(), hold("a", HoldState.DOWN, 0)), runtimes={}),
    ):
        assert told(node)["down"]
        assert reading.troubles(told(node))


def test_it_can_be_forgotten_by_its_name_and_not_resumed() -> None:
    node = ended(machine(), "a", Exit(1, T0, asked=False))
    assert (advice.forgettable(node, "a"), advice.named(node, "a")) == ([key("a")], [])
    assert advice.forgettable(node, "b") == [], "it runs"
