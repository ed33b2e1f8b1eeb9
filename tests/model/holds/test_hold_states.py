"""The life of one hold: it changes its state along its edges only."""

import ast
from datetime import timedelta
from itertools import pairwise, permutations
from typing import Any

import pytest

from cmgr.frozen import replace
from cmgr.model.turn import Turn
from cmgr.model.values.handling.policy import RetryPolicy
from cmgr.model.values.holds import CANNOT_HAPPEN, EDGES, Attempt, Hold, HoldState, entered
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import CommandId, ListContainers, StartContainer
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase
from tests.model.builders import RING, T0, Cmgr, container, key
from tests.model.diagram import hold_diagram
from tests.test_shape import sources

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


@pytest.mark.parametrize("first", [HoldState.DOWN, HoldState.FAILED])
def test_what_a_circle_of_tries_has_counted_is_kept_all_along_it(first: HoldState) -> None:
    """Else no container would ever be told as failed, or not for long."""
    circle = (first, HoldState.STARTING, HoldState.SETTLING, first)
    assert not any(edge.anew for pair in pairwise(circle) if (edge := EDGES[pair]) is not None)


def test_the_diagram_shows_every_edge_that_can_happen() -> None:
    lines = hold_diagram().splitlines()
    assert lines[:4] == ["```mermaid", "stateDiagram-v2", "    [*] --> to_stop", "    [*] --> down"]
    assert len(lines) - 5 == sum(edge is not CANNOT_HAPPEN for edge in EDGES.values())
    assert "    stopping --> down: its stop has worked (anew)" in lines
    assert "    starting --> settling: its start has worked" in lines


def test_the_state_of_a_hold_is_set_in_one_place() -> None:
    """`replace(..., state=...)` stands in `entered`, and in what makes the second record of holds that are kept."""
    others = {"EntryState", "State"}
    places = [
        path
        for path, tree in sources("cmgr")
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "replace"
        for given in call.keywords
        if given.arg == "state" and not others & {n.id for n in ast.walk(given.value) if isinstance(n, ast.Name)}
        if not isinstance(given.value, ast.Constant)  # The state of the service is a text.
    ]
    assert places == ["cmgr/model/values/holds.py", "cmgr/store/spare.py"]


def resuming(**fields: Any) -> Cmgr:
    cmgr = Cmgr(container("a", 0, restart_policy="always:0"), **fields)
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    return cmgr


def having_failed(**fields: Any) -> Cmgr:
    cmgr = resuming(**fields)
    for time in range(5):
        cmgr.wait(61 if time else 0, run=False)
        cmgr.answer(StartContainer, error="no such image")
    assert cmgr.hold("a").state is HoldState.FAILED
    return cmgr


def forgotten() -> Cmgr:
    cmgr = resuming()
    cmgr.tell(facts.ForgetOrdered(key("a"), "a person"))
    assert cmgr.hold("a").state is HoldState.FORGOTTEN
    return cmgr


def has_its_policy_back(cmgr: Cmgr) -> bool:
    assert cmgr.hold("a").state is HoldState.RETURNING
    starts = len(cmgr.sent(StartContainer))
    cmgr.wait(60)
    assert len(cmgr.sent(StartContainer)) == starts, "it is started for nobody"
    return (cmgr.held(), cmgr.truth[key("a")].restart_policy) == ([], "always:0")


def test_one_that_was_forgotten_and_could_not_be_started_has_its_restart_policy_back() -> None:
    cmgr = forgotten()
    cmgr.answer(StartContainer, error="no such image")
    assert has_its_policy_back(cmgr)


def test_one_that_was_forgotten_while_cmgr_started_it_and_died_has_its_restart_policy_back() -> None:
    cmgr = forgotten()
    cmgr.begin()
    assert has_its_policy_back(cmgr)


def test_one_that_has_failed_and_is_forgotten_has_its_restart_policy_back() -> None:
    cmgr = having_failed()
    cmgr.tell(facts.ForgetOrdered(key("a"), "a person"))
    assert has_its_policy_back(cmgr)


def test_one_that_runs_though_its_start_seemed_to_fail_is_told_nothing_where_its_restart_policy_is_back() -> None:
    cmgr = resuming()
    cmgr.answer(StartContainer, error="no answer", runtime_ails=True)
    assert cmgr.hold("a").state is HoldState.STARTING
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], restart_policy="always:0")
    cmgr.starts("a", "life 2")
    assert (cmgr.held(), cmgr.pending) == ([], [])


def test_one_that_has_failed_and_started_by_others_on_a_bad_chip_is_stopped_and_tried_anew() -> None:
    cmgr = having_failed(policy=replace(RING, retry=RetryPolicy(owner_window=timedelta(hours=1))))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.starts("a", "by an owner")
    cmgr.run(ListContainers)
    assert (cmgr.hold("a").state, cmgr.hold("a").attempt.tries) == (HoldState.TO_STOP, 0)
    cmgr.wait(120)
    assert (cmgr.hold("a").state, cmgr.truth[key("a")].running) == (HoldState.RETURNING, True)
