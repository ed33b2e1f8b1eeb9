"""nerdctl writes down that a person has stopped a container, also one that is down because cmgr has stopped it.

Reported of nerdctl (issues 5153, 2991 and 1980; containerd pull request 6966). Tried in 2026 on cmgr as it was:
`nerdctl stop` of a held container changed its label alone, cmgr started it after the reset, and all was well; and an
end by SIGKILL was nobody's although the label said that nobody had asked for it.
"""

from contextlib import suppress

import pytest

from tests.runtimes.containerd.world import STOPPED_BY_HAND
from tests.support.service import LATER
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Spec
from tests.system.tasks import Tasks

pytestmark = pytest.mark.containerd

WELL, WRONG = 0, 4


def test_one_that_a_person_stops_while_it_is_held_stays_down(on_containerd: Install, tasks: Tasks) -> None:
    service = on_containerd({"levels.RestartRequest.reset_after": "1h"})
    tasks.run(Spec("a", "0"), Spec("b", "0"), Spec("stale", "0", labels={STOPPED_BY_HAND: "true"}))
    service.start()
    service.inject(0, LATER)
    eventually(lambda: not any(map(tasks.is_running, ("a", "b", "stale"))), why="cmgr has stopped them")
    tasks.world.label(tasks.keys["b"], STOPPED_BY_HAND, "true")
    service.until_said("b is no longer held: its record says that somebody has stopped it")
    service.inject(0, LATER, assertion="cleared")
    service.until_over()
    assert [name for name in ("a", "b", "stale") if tasks.is_running(name)] == ["a", "stale"]
    assert service.cmgr("status", "--check").code == WELL


@pytest.mark.parametrize("first", ["person", "fault"])
def test_one_that_a_person_stops_in_the_second_of_the_fault_stays_down(
    on_containerd: Install, tasks: Tasks, first: str
) -> None:
    """nerdctl writes its label, and then sends the stop signal, whatever becomes of the task meanwhile."""
    service = on_containerd({"levels.RestartRequest.reset_after": "1h"})
    tasks.run(Spec("a", "0"), Spec("b", "0"))
    service.start()
    if first == "fault":
        service.inject(0, LATER)
    tasks.world.label(tasks.keys["b"], STOPPED_BY_HAND, "true")
    with suppress(AssertionError):  # It may have ended this moment.
        tasks.world.kill(tasks.keys["b"])
    if first == "person":
        service.inject(0, LATER)
    eventually(lambda: not (tasks.is_running("a") or tasks.is_running("b")), why="both are down")
    service.inject(0, LATER, assertion="cleared")
    service.until_over()
    eventually(lambda: tasks.is_running("a"), why="a is started again")
    assert not tasks.is_running("b")
    assert service.cmgr("status", "--check").code == WELL


def test_one_that_nerdctl_was_not_asked_to_end_has_died_whatever_its_code(on_containerd: Install, tasks: Tasks) -> None:
    service = on_containerd({})
    tasks.run(Spec("b", "0", labels={STOPPED_BY_HAND: "false"}))
    service.start()
    tasks.world.die(tasks.keys["b"])
    eventually(lambda: service.cmgr("status", "--check").code == WRONG)
    assert "it exited by itself with code 137" in " ".join(service.cmgr("status").out.split())


def test_one_of_which_nothing_is_written_down_and_nobody_knows_who_has_ended_it(
    on_containerd: Install, tasks: Tasks
) -> None:
    """By earlyoom, say: hashicorp/nomad issue 12735."""
    service = on_containerd({})
    tasks.run(Spec("b", "0"))
    service.start()
    tasks.world.die(tasks.keys["b"])
    eventually(lambda: service.cmgr("status", "--check").code == WRONG)
    assert "it is not known who ended it" in " ".join(service.cmgr("status").out.split())
    service.inject(0)
    service.until_said("is over")
    assert not tasks.is_running("b")
