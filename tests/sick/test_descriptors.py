"""No file descriptor is left: what is open goes on, what cannot be opened is told, and all is well afterwards."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cmgr.errors import CmgrError
from cmgr.service.reception import GUESTS
from tests.sick.lively_containerd import LivelyContainerd
from tests.sick.lively_dockerd import LivelyDockerd
from tests.sick.wellbeing import recovered, survived, threads
from tests.support.figures import Figures
from tests.support.service import LATER, Service
from tests.support.waiting import eventually
from tests.system.conftest import Install

SECTION = "Sick host"


def open_files(service: Service) -> int:
    return len(list(Path(f"/proc/{service.pid}/fd").iterdir()))


@contextmanager
def none_left(service: Service) -> Iterator[None]:
    """Let the service open nothing more, whatever it closes: the numbers below the limit are its standard streams."""
    _, most = resource.prlimit(service.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(service.pid, resource.RLIMIT_NOFILE, (3, most))
    yield
    resource.prlimit(service.pid, resource.RLIMIT_NOFILE, (most, most))


def due_soon(install: Install) -> Service:
    """Return a service that has a fault whose containers are to be stopped in a moment."""
    service = install({"levels.RestartRequest.stop_after": "2s", "levels.RestartRequest.reset_after": "2s"})
    service.start()
    eventually(lambda: service.container("two"))
    service.inject(0, LATER)
    return service


def test_without_descriptors_docker_is_served_as_far_as_it_goes_and_nothing_is_lost(
    on_lively: Install, lively: LivelyDockerd, figures: Figures
) -> None:
    service = due_soon(on_lively)
    with none_left(service):
        lively.down()
        lively.up()
        service.until_said("Too many open files")
        assert service.running()
    recovered(service)
    assert sorted(lively.done("stop")) == sorted(lively.done("start")) == ["one", "two"]
    survived(figures, SECTION)


def test_without_descriptors_containerd_is_followed_again_when_there_are_some(
    on_tasks: Install, tasks: LivelyContainerd, figures: Figures
) -> None:
    service = due_soon(on_tasks)
    with none_left(service):
        tasks.down()
        tasks.up()
        service.until_said("Too many open files")
        assert service.running()
    eventually(lambda: len(tasks.events) == 1, why="its events are followed again")
    recovered(service)
    assert sorted(tasks.done("stop")) == sorted(tasks.done("start")) == ["one", "two"]
    survived(figures, SECTION)


CROWD = 300


def test_a_crowd_at_the_socket_takes_no_more_descriptors_than_there_are_guests_taken_in(
    on_lively: Install, lively: LivelyDockerd, figures: Figures
) -> None:
    service = due_soon(on_lively)
    before = open_files(service)
    with ExitStack() as crowd:
        for _ in range(CROWD):
            peer = crowd.enter_context(socket.socket(socket.AF_UNIX))
            peer.setblocking(False)
            peer.connect_ex(str(service.socket))
        service.until_said("is over: recovered")
        assert open_files(service) < before + GUESTS + 16
        assert threads(service) < 80
    eventually(lambda: _answers(service), within=30, why="it answers again")
    recovered(service)
    assert sorted(lively.done("start")) == ["one", "two"]
    survived(figures, SECTION, faults=CROWD)


def _answers(service: Service) -> bool:
    try:
        return bool(service.status())
    except CmgrError:
        return False
