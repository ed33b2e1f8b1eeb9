"""Why a container is not started yet, or is stopped: what was decided stays on its hold, word for word."""

import pytest

from cmgr.frozen import replace
from cmgr.model.holds.obstacles import Block, start_blocker
from cmgr.model.values.handling.policy import Policy, Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import StartContainer, StopContainer
from cmgr.model.values.node import RuntimeState
from cmgr.model.values.rings import Phase
from tests.model.builders import CATALOG, Cmgr, container, key


def _in_order() -> Cmgr:
    cmgr = Cmgr(container("first", 0), container("then", 0, order=1))
    cmgr.fault(0)
    return cmgr


def test_one_that_is_stopped_has_the_reason_of_its_stop() -> None:
    cmgr = _in_order()
    (stop,) = cmgr.sent(StopContainer)
    assert (stop.name, cmgr.hold("then").reason) == ("then", stop.reason)


def test_one_whose_stop_waits_for_another_says_for_which() -> None:
    assert _in_order().hold("first").reason == "then is stopped first"


def test_one_whose_start_waits_for_another_says_for_which() -> None:
    cmgr = _in_order()
    cmgr.run_until(Phase.RESUMING)
    assert (cmgr.hold("first").reason, cmgr.hold("then").reason) == ("", "first is started first")


def test_one_that_waits_for_its_ring_says_so_and_no_more_when_that_is_well() -> None:
    cmgr = _in_order()
    cmgr.run_until(Phase.RESETTING)
    assert cmgr.hold("first").reason == "ring 0 is in an episode (resetting)"
    cmgr.run_until(Phase.RESUMING)
    assert cmgr.hold("first").reason == ""


@pytest.mark.parametrize("observe", [True, False])
def test_a_reason_is_over_with_what_it_tells_of(observe: bool) -> None:
    cmgr = _in_order()
    cmgr.run_until(Phase.RESUMING)
    start = next(c for c in cmgr.pending if isinstance(c, StartContainer))
    cmgr.tell(facts.Reconfigured(Policy(strategy=Strategy.RING, observe=observe), CATALOG))
    cmgr.tell(facts.ContainerStarted(start.id, key("first"), error="down", unreachable=True))
    assert cmgr.hold("first").reason == ("cmgr only observes" if observe else "")
    cmgr.tell(facts.Reconfigured(Policy(strategy=Strategy.RING), CATALOG))
    assert cmgr.hold("first").reason == ""


def test_one_of_which_only_the_hold_is_known_waits_until_its_runtime_has_answered() -> None:
    """The second record has holds and no containers: that is all there is when the database is lost."""
    cmgr = _in_order()
    cmgr.run_until(Phase.RESUMING)
    node = replace(cmgr.node, containers={}, runtimes={"docker": RuntimeState("docker")})
    found = start_blocker(node, cmgr.hold("first"))
    assert (found.kind, found.why) == (Block.ANSWER, "docker has not answered yet")
