"""No file descriptor is left: what is open goes on, what cannot be opened is told, and all is well afterwards."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cmgr.errors import CmgrError
from cmgr.service.door.http.reception import GUESTS
from tests.sick.daemons import Daemon
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


def test_without_descriptors_a_daemon_is_served_as_far_as_it_goes_and_nothing_is_lost(
    on_daemon: Install, daemon: Daemon, figures: Figures
) -> None:
    service = due_soon(on_daemon)
    with none_left(service):
        daemon.down()
        daemon.up()
        service.until_said("Too many open files")
        assert service.running()
    eventually(daemon.followers, why="its events are followed again")
    recovered(service)
    assert sorted(daemon.done("stop")) == sorted(daemon.done("start")) == ["one", "two"]
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
    eventually(lambda: _answers(service), why="it answers again")
    recovered(service)
    assert sorted(lively.done("start")) == ["one", "two"]
    survived(figures, SECTION, faults=CROWD)


def _answers(service: Service) -> bool:
    try:
        return bool(service.status())
    except CmgrError:
        return False
