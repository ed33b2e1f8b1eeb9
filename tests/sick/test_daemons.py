"""Docker and containerd that answer badly, late or never, and whose events cannot be understood or do not end."""

import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.sick import lively_containerd, lively_dockerd
from tests.sick.daemons import Daemon
from tests.sick.wellbeing import ROOM, memory, recovered, survived, threads, until_ready, until_told, well
from tests.support.figures import Figures
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system.conftest import Install

SECTION = "Sick daemons"

AILS = [*(("docker", ail) for ail in lively_dockerd.AILS), *(("containerd", ail) for ail in lively_containerd.AILS)]
AT_STARTS = [
    *(("docker", ail) for ail in ("answers 500", "closes in mid-answer", "never answers")),
    *(("containerd", ail) for ail in ("refuses", "never answers")),
]
ENDLESS = [
    *(("docker", events) for events in lively_dockerd.ENDLESS),
    *(("containerd", events) for events in lively_containerd.ENDLESS),
]


def ended_well(daemon: Daemon, service: Service) -> None:
    """Check that both containers of the ring were stopped and started once, and the other one was left alone."""
    assert sorted(daemon.done("stop")) == ["one", "two"]
    assert sorted(daemon.done("start")) == ["one", "two"]
    assert daemon.all_running()
    assert len(service.resets()) == 1


@pytest.mark.parametrize(("daemon", "ail"), AILS, indirect=["daemon"])
def test_what_ails_it_at_a_fault_is_told_and_nothing_is_lost(
    on_daemon: Install, daemon: Daemon, ail: str, figures: Figures
) -> None:
    service = on_daemon({})
    service.start()
    eventually(lambda: service.container("beside"))
    words = daemon.suffer(ail)
    service.inject(0)
    until_told(service, words, "degraded")
    assert (daemon.done("stop"), service.resets()) == ([], ())
    daemon.heal()
    recovered(service)
    ended_well(daemon, service)
    survived(figures, SECTION)


@pytest.mark.parametrize(("daemon", "ail"), AT_STARTS, indirect=["daemon"])
def test_what_ails_it_when_containers_are_to_be_started_loses_none(
    on_daemon: Install, daemon: Daemon, ail: str, figures: Figures
) -> None:
    service = on_daemon({"sim.boot_time": "3s", "retry.starts": 1000})
    service.start()
    service.inject(0)
    service.until_phase("verifying")
    words = daemon.suffer(ail)
    service.until_phase("resuming")
    until_told(service, words)
    assert daemon.done("start") == []
    daemon.heal()
    recovered(service)
    ended_well(daemon, service)
    survived(figures, SECTION)


def test_a_stop_that_never_ends_delays_nobody_else_and_is_tried_again(
    on_daemon: Install, daemon: Daemon, figures: Figures
) -> None:
    service = on_daemon({})
    service.start()
    words = daemon.never_stop("one")
    service.inject(0)
    eventually(lambda: daemon.done("stop") == ["two"], why="the other one is stopped meanwhile")
    until_told(service, "stop failed", words)
    assert service.resets() == (), "it still runs"
    # Another ring is served all the same.
    service.inject(4)
    eventually(lambda: daemon.done("start") == ["beside"])
    assert [r.chips for r in service.resets()] == [(4, 5, 6, 7)]
    daemon.heal()
    recovered(service, episodes=2)
    assert sorted(daemon.done("stop")) == sorted(daemon.done("start")) == ["beside", "one", "two"]
    assert daemon.all_running()
    survived(figures, SECTION)


def status_of(service: Service, name: str) -> object:
    """Return its status, if cmgr has heard of it: not yet, perhaps, right after a start."""
    return (service.container(name) or {}).get("status")


def test_one_that_is_forgotten_during_its_stop_is_not_said_to_run_on(on_daemon: Install, daemon: Daemon) -> None:
    # So long that the stop is still under way when the order comes.
    service = on_daemon({"docker.timeout": "60s", "containerd.timeout": "60s"})
    service.start()
    daemon.never_stop("one")
    service.inject(0)
    eventually(lambda: status_of(service, "one") == "pausing")
    assert "its stop or start that is under way takes its course" in service.cmgr("forget", "one").out


def test_a_start_that_fails_five_times_is_given_up_until_a_person_says_otherwise(
    on_daemon: Install, daemon: Daemon, figures: Figures
) -> None:
    service = on_daemon({})
    service.start()
    daemon.cannot_start("one", "no such device")
    service.inject(0)
    eventually(lambda: status_of(service, "one") == "failed")
    until_told(service, "no such device", "cmgr resume one")
    assert daemon.refused == 5
    assert daemon.done("start") == ["two"]
    assert service.cmgr("status", "--check").code == 4
    daemon.heal()
    assert service.cmgr("resume", "one").code == 0
    eventually(lambda: daemon.is_running("one"))
    service.until_over()
    ended_well(daemon, service)
    well(service)
    survived(figures, SECTION)


def _nothing(path: Path) -> None:
    assert not path.exists()


def _stale(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))


SOCKETS: Mapping[str, Callable[[Path], object]] = {
    "is missing": _nothing,
    "is of a dead daemon": _stale,
    "is a file": Path.touch,
}


@pytest.mark.parametrize("name", SOCKETS)
def test_a_socket_that_is_not_there_at_the_start_may_appear_later(
    on_daemon: Install, daemon: Daemon, name: str, figures: Figures
) -> None:
    daemon.down()
    SOCKETS[name](Path(daemon.socket))
    service = on_daemon({})
    service.start()
    until_told(service, "cannot reach", daemon.socket)
    service.inject(0)
    service.until_reason("cannot ask")
    assert service.resets() == (), "who uses the ring is not known"
    daemon.up()
    recovered(service)
    ended_well(daemon, service)
    survived(figures, SECTION)


def test_a_daemon_that_comes_and_goes_loses_nothing(on_daemon: Install, daemon: Daemon, figures: Figures) -> None:
    service = on_daemon({"levels.RestartRequest.reset_after": "3s"})
    service.start()
    service.inject(0, "80C98008")
    for _ in range(5):
        daemon.down()
        until_told(service, "cannot reach")
        daemon.up()
        until_ready(service)
    recovered(service)
    ended_well(daemon, service)
    survived(figures, SECTION, faults=5)


def test_events_that_cannot_be_understood_hide_no_other(on_daemon: Install, daemon: Daemon, figures: Figures) -> None:
    # So long between two lists that only events can tell.
    service = on_daemon({"resync": "60s"})
    service.start()
    eventually(lambda: service.container("beside"))
    babbled = daemon.babble()
    daemon.crash("beside")
    eventually(lambda: not service.runs("beside"), why="the death after them was heard of")
    service.inject(4)
    service.until_said("beside died by itself (exit code 139)")
    recovered(service)
    assert daemon.done("start") == ["beside"]
    survived(figures, SECTION, faults=babbled)


ENOUGH = 64 * 2**20
"""So many bytes are more than cmgr may keep."""

MANY = 3000
TOO_LONG = "Docker's answer is longer than cmgr takes"


@pytest.mark.parametrize(("daemon", "events"), ENDLESS, indirect=["daemon"])
def test_events_without_end_cost_no_memory_and_nobody_waits_for_them(
    on_daemon: Install, daemon: Daemon, events: str, figures: Figures
) -> None:
    service = on_daemon({})
    service.start()
    eventually(lambda: service.container("beside"))
    before, sent = memory(service), daemon.poured
    daemon.pour(events)
    eventually(
        lambda: sum(sent) > ENOUGH or len(sent) > MANY or service.said().count(TOO_LONG) > 1,
        why="it has said a lot",
    )
    service.inject(0)
    service.until_said("is over: recovered")
    assert memory(service) < before + ROOM
    assert threads(service) < 64
    daemon.heal()
    recovered(service)
    ended_well(daemon, service)
    survived(figures, SECTION, faults=len(sent))
