"""A chip that is given to somebody is nobody else's: he runs on it, ought to, may come back, or is made anew."""

from typing import Any

import pytest

from cmgr.model.containers.moving.moves import why_not
from cmgr.model.containers.moving.spares import free_chips, to_hand_out
from cmgr.model.turn import REDEPLOY
from cmgr.model.values.messages import facts
from cmgr.model.values.services.containers import Container, Exit, Spare
from tests.model.builders import Cmgr, container, key
from tests.model.moving.test_moves import STOPPING, chips, isolate

AUTO: dict[str, Any] = {"spare": Spare.AUTO, "tied": ""}
ALWAYS = "always:0"


def waiting(*others: Container) -> Cmgr:
    """Return a machine of two chips: `chat` waits on chip 0, which is isolated, for chip 1."""
    cmgr = Cmgr(container("chat", 0, **AUTO), *others, policy=STOPPING, chips=2, ring=1)
    isolate(cmgr, 0)
    cmgr.run()
    assert cmgr.held() == ["chat"]
    return cmgr


def stays(cmgr: Cmgr) -> bool:
    cmgr.tell(facts.Resync())
    cmgr.run()
    return cmgr.held() == ["chat"] and not cmgr.booked("chat").running


def after_redeploy(cmgr: Cmgr) -> bool:
    """Return whether it has moved once nobody may be redeploying any more."""
    cmgr.wait(REDEPLOY.total_seconds())
    return cmgr.booked("chat").chips == chips(1) and cmgr.booked("chat").running


def test_what_crashed_keeps_its_chip_until_a_person_says_that_it_is_not_to_run() -> None:
    cmgr = waiting(container("dd", 1))
    cmgr.dies("dd")
    cmgr.wait(3600)
    assert stays(cmgr)
    assert free_chips(cmgr.node) == ()
    assert to_hand_out(cmgr.node, 1) == frozenset()
    assert why_not(cmgr.node, "new", chips(1)) == "dd is down, and is to run again on chip 1"
    cmgr.tell(facts.ForgetOrdered(key("dd"), "uid 0"))
    cmgr.run()
    assert after_redeploy(cmgr)


@pytest.mark.parametrize("back", ["the same", "another"])
def test_what_is_stopped_and_started_again_by_a_person_keeps_its_chip_meanwhile(back: str) -> None:
    cmgr = waiting(container("dd", 1))
    cmgr.dies("dd", 0, asked=True)
    assert stays(cmgr)
    if back == "another":
        cmgr.removes("dd")
        assert stays(cmgr)
        cmgr.sees(container("dd", 1, key=key("dd 2"), run="life 1 of 2"))
    else:
        cmgr.starts("dd", "life 2")
    cmgr.wait(3 * REDEPLOY.total_seconds())
    assert stays(cmgr)


def test_what_is_removed_while_it_runs_keeps_its_chip_for_another_only_for_a_while() -> None:
    cmgr = waiting(container("dd", 1))
    cmgr.removes("dd")
    assert stays(cmgr)
    assert after_redeploy(cmgr)


def test_who_asks_for_chips_gets_those_of_what_he_has_just_removed() -> None:
    cmgr = Cmgr(container("dd", 1), policy=STOPPING, chips=2, ring=1)
    cmgr.removes("dd")
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert free_chips(cmgr.node) == (0, 1)
    assert why_not(cmgr.node, "new", chips(1)) == ""


@pytest.mark.parametrize(("policy", "free"), [(ALWAYS, ()), ("", (1,))])
def test_a_runtime_that_does_not_answer_may_bring_back_what_was_stopped(policy: str, free: tuple[int, ...]) -> None:
    stopped = container("dd", 1, running=False, exit=Exit(0, Cmgr().now, asked=True), restart_policy=policy)
    cmgr = Cmgr(container("chat", 0), stopped, chips=2, ring=1)
    assert free_chips(cmgr.node) == (1,)
    cmgr.tell(facts.RuntimeDown("docker", "it restarts"))
    assert free_chips(cmgr.node) == free
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    assert free_chips(cmgr.node) == free, "it is listed first"
    cmgr.run()
    assert free_chips(cmgr.node) == (1,)


def test_a_service_that_ends_with_its_daemon_keeps_its_chip() -> None:
    cmgr = waiting(container("dd", 1, restart_policy=ALWAYS))
    cmgr.dies("dd", 143, asked=True)
    assert stays(cmgr)
    cmgr.tell(facts.RuntimeDown("docker", "it restarts"))
    cmgr.wait(2 * REDEPLOY.total_seconds(), run=False)
    assert free_chips(cmgr.node, "") == ()
    cmgr.truth[key("dd")] = container("dd", 1, run="life 2", restart_policy=ALWAYS)
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    assert stays(cmgr)
