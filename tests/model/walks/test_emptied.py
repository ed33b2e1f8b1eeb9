"""Where isolated chips are to be without users, `World` takes what is stopped there for no mistake.

Longer walks than those of every day had found both.
"""

import pytest

from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.handling.policy import IsolationPolicy, OnIsolate, Policy, Strategy
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from tests.model.world import World

EMPTIED = Policy(strategy=Strategy.SINGLE, isolation=IsolationPolicy(on_isolate=OnIsolate.STOP))
OF_A_PROGRAM = facts.FaultReported(ChipId(2), "80C98008", Assertion.ONCE, "1.2", 2, whose=frozenset({"c2"}))
THAT_WAITS = facts.FaultReported(ChipId(2), "80E20000", Assertion.OCCURRED, "1.2", 2)


@pytest.mark.parametrize("fault", [OF_A_PROGRAM, THAT_WAITS])
def test_a_chip_is_isolated_beside_a_fault_that_does_not_concern_its_users(fault: facts.FaultReported) -> None:
    world = World(1, EMPTIED)
    world.machine.calm = True
    while world.under_way:
        world.answer()
    world.step(fault)
    world.step(facts.IsolateOrdered(ChipId(3), "loud", "a test"))
    stopped = {hold.name: hold.state for hold in world.node.holds.values() if hold.chips == {3}}
    assert stopped == {"c3": HoldState.STOPPING}
