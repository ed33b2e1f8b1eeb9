"""The reason that a paused container is shown with is the one that cmgr goes by: `World` looks in every random walk.

This holds what it looks with to find what it is to find.
"""

from dataclasses import replace

from cmgr.model.values.holds import Hold
from cmgr.model.values.node import Node
from tests.model.builders import REQUEST, Cmgr, container
from tests.model.walks.reasons import misled, untold

IN_EPISODE = "ring 0 is in an episode (waiting)"


def _paused() -> Cmgr:
    cmgr = Cmgr(container("a", 0), container("b", 1))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    return cmgr


def _with(cmgr: Cmgr, hold: Hold) -> Node:
    return replace(cmgr.node, holds={**cmgr.node.holds, hold.key: hold})


def test_a_hold_with_the_reason_that_it_waits_for_is_told() -> None:
    cmgr = _paused()
    assert cmgr.hold("a").reason == IN_EPISODE
    assert untold(cmgr.node, cmgr.now) == misled(cmgr.node) == []


def test_a_hold_with_another_reason_and_one_with_none_are_found() -> None:
    cmgr = _paused()
    other = _with(cmgr, replace(cmgr.hold("a"), reason="it rains"))
    assert untold(other, cmgr.now) == [f"a waits for {IN_EPISODE!r} and has 'it rains'"]
    none = _with(cmgr, replace(cmgr.hold("a"), reason=""))
    assert [text.partition(":")[0] for text in untold(none, cmgr.now)] == [
        f"a waits for {IN_EPISODE!r} and has ''",
        "a waits, and nothing says for what",
    ]


def test_one_that_is_shown_with_its_reason_is_not_told_whatever_that_is() -> None:
    cmgr = _paused()
    assert misled(_with(cmgr, replace(cmgr.hold("a"), reason="it rains"))) == []
