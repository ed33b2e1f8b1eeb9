"""The life of one hold: it changes its state along its edges only."""

from datetime import timedelta

import pytest

from cmgr.frozen import replace
from cmgr.model.turn import Turn
from cmgr.model.values.holds import EDGES, Hold, HoldState, entered
from cmgr.model.values.node import Node
from tests.model.builders import T0, key


def hold(state: HoldState) -> Hold:
    return Hold(key("a"), "a", frozenset(), 1, T0, state, "life 1", tries=2, error="no", retry_at=T0 + timedelta(1))


@pytest.mark.parametrize("before", HoldState)
@pytest.mark.parametrize("after", HoldState)
def test_a_hold_changes_its_state_along_its_edges_only(before: HoldState, after: HoldState) -> None:
    if before is after or (before, after) in EDGES:
        assert entered(hold(before), after).state is after
        return
    with pytest.raises(AssertionError, match=f"no edge {before} -> {after}"):
        entered(hold(before), after)
    with pytest.raises(AssertionError, match=f"no edge {before} -> {after}"):
        # Nor is another hold put in its place that begins where no edge leads.
        Turn(Node(holds={key("a"): hold(before)}), T0).put_hold(replace(hold(before), state=after))


def test_every_state_of_a_hold_can_be_left() -> None:
    assert {before for before, _ in EDGES} == set(HoldState)
