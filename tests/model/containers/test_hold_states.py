"""The life of one hold: it changes its state along its edges only."""

from itertools import pairwise, permutations

import pytest

from cmgr.frozen import replace
from cmgr.model.turn import Turn
from cmgr.model.values.holds import EDGES, Attempt, Hold, HoldState, entered
from cmgr.model.values.messages.commands import CommandId
from cmgr.model.values.node import Node
from tests.model.builders import T0, key

ORDER = CommandId("policy-1")


def hold(state: HoldState) -> Hold:
    return Hold(key("a"), "a", frozenset(), 1, T0, state, "life 1", attempt=Attempt(tries=2, error="no", command=ORDER))


@pytest.mark.parametrize("before", HoldState)
@pytest.mark.parametrize("after", HoldState)
def test_a_hold_changes_its_state_along_its_edges_only(before: HoldState, after: HoldState) -> None:
    edge = None if before is after else EDGES[before, after]
    if before is after or edge is not None:
        changed = entered(hold(before), after)
        anew = edge is not None and edge.anew
        assert (changed.state, changed.attempt.tries, changed.attempt.error) == (
            after,
            *((0, "") if anew else (2, "no")),
        )
        assert changed.attempt.command == ORDER, "an order that is under way is answered all the same"
        return
    with pytest.raises(AssertionError, match=f"no edge {before} -> {after}"):
        entered(hold(before), after)
    with pytest.raises(AssertionError, match=f"no edge {before} -> {after}"):
        # Nor is another hold put in its place that begins where no edge leads.
        Turn(Node(holds={key("a"): hold(before)}), T0).put_hold(replace(hold(before), state=after))


def test_each_pair_of_states_is_in_the_table_and_every_state_can_be_left() -> None:
    assert set(EDGES) == set(permutations(HoldState, 2))
    assert {before for (before, _), edge in EDGES.items() if edge is not None} == set(HoldState)


def test_what_a_circle_of_tries_has_counted_is_kept_all_along_it() -> None:
    """Else no container would ever be given up."""
    circle = (HoldState.DOWN, HoldState.STARTING, HoldState.SETTLING, HoldState.DOWN)
    assert not any(edge.anew for pair in pairwise(circle) if (edge := EDGES[pair]) is not None)
