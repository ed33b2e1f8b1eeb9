"""A thread dump, a reload, a stop that was given up: what kills the container later, nobody has asked for.

moby 47792, 41302, 11065, 53415. Tried in 2026 on cmgr as it was: after `docker kill -s QUIT llm`, which has a JVM, Go
or Python's faulthandler write its threads, any later crash in that life counted as a person's stop. The container was
not told as down, not healed, not started after its chip's fault, and all was well. The same after SIGINT, and after a
stop that the process had survived. Docker 20.10 itself drops the restart policy of such a life: nobody else helps.
"""

import pytest

from tests.runtimes.containerd.world import STOPPED_BY_HAND
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec
from tests.system.tasks import Tasks

DUMPS = (
    "sh",
    "-c",
    "trap 'echo dump' QUIT HUP USR1; trap 'exit 0' TERM; echo ready; while :; do sleep 1 & wait $!; done",
)
"""A command that writes a line when it is told to, and goes on."""

DIES_LATER = ("sh", "-c", "trap 'sleep 6; exit 3' INT TERM; echo ready; while :; do sleep 1 & wait $!; done")
"""A command that takes an order to end for a reload, of which it dies when that order is over."""

HEALED = {"cmgr.heal": "true", "cmgr.heal-backoff": "1"}
SHORT = {"cmgr.stop-timeout": "1"}


@pytest.mark.docker
@pytest.mark.parametrize("signal", ["QUIT", "HUP", "USR1"])
def test_a_crash_after_a_thread_dump_is_told_healed_and_recovered(
    signal: str, on_docker: Install, containers: Containers
) -> None:
    service = on_docker({})
    containers.run(Spec("llm", "0", DUMPS), Spec("healed", "1", DUMPS, labels=HEALED), Spec("faulty", "4", DUMPS))
    # Its policy is ended by the signal, too, where Docker is as old as that.
    containers.run(Spec("armed", "2", DUMPS, policy="always", labels=HEALED))
    service.start()
    for name in containers.names:
        containers.tell(name, signal)
    for name in containers.names:
        containers.crash(name)
    eventually(lambda: service.container("llm"), why="it is told")
    eventually(lambda: (row := service.container("llm")) is not None and row["status"] == "down", why="it is told")
    assert service.cmgr("status", "--check").code == 4
    eventually(lambda: all(map(containers.is_running, ("healed", "armed"))), why="they wish to be healed")
    service.inject(4)
    service.until_said("faulty died by itself (exit code 137) and will be started again")
    eventually(lambda: containers.is_running("faulty"), why="its chip is well again")
    service.until_over()


@pytest.mark.docker
@pytest.mark.parametrize("signal", ["INT", "TERM"])
def test_what_it_dies_of_after_an_order_that_it_survived_is_its_own(
    signal: str, on_docker: Install, containers: Containers
) -> None:
    service = on_docker({})
    containers.run(
        Spec("llm", "0", DIES_LATER, labels=SHORT), Spec("healed", "1", DIES_LATER, labels={**HEALED, **SHORT})
    )
    service.start()
    for name in containers.names:
        containers.tell(name, signal)
    eventually(lambda: (row := service.container("llm")) is not None and row["status"] == "down", why="it is told")
    eventually(lambda: containers.was_restarted("healed"), why="it wishes to be healed")


@pytest.mark.docker
def test_what_ends_by_such_a_signal_itself_was_asked_to(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    # As the container's first process it would not take a signal that it has no handler for.
    dies_of_it = ("sh", "-c", "trap 'trap - QUIT; exit 131' QUIT; echo ready; while :; do sleep 1 & wait $!; done")
    containers.run(Spec("llm", "0", dies_of_it), Spec("mate", "1"))
    service.start()
    containers.tell("llm", "QUIT")
    eventually(lambda: not service.runs("llm"))
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    assert not containers.is_running("llm")
    assert service.cmgr("status", "--check").code == 0


@pytest.mark.containerd
def test_nerdctl_writes_down_that_a_person_stops_it_for_each_signal(on_containerd: Install, tasks: Tasks) -> None:
    """`nerdctl kill -s QUIT` sets the same label as `nerdctl stop`, and nothing takes it back before the next start."""
    service = on_containerd({})
    tasks.run(Spec("llm", "0", DIES_LATER, labels={"nerdctl/stop-timeout": "1"}))
    service.start()
    key = tasks.keys["llm"]
    tasks.world.label(key, STOPPED_BY_HAND, "true")
    tasks.containerd.ctr("tasks", "kill", "-s", "INT", key.id, namespace=key.namespace)
    eventually(lambda: (row := service.container("llm")) is not None and row["status"] == "down", why="it is told")
