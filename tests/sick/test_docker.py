"""A Docker daemon that answers badly, late or never while containers are to be stopped and started."""

import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.runtimes.fake_dockerd import Answer, Request
from tests.sick.lively_dockerd import LivelyDockerd, everywhere, only
from tests.sick.wellbeing import recovered, survived, until_ready, until_told, well
from tests.support.figures import Figures
from tests.support.waiting import eventually
from tests.system.conftest import Install

SECTION = "Sick daemons"

AILS: Mapping[str, tuple[Answer, str]] = {
    "answers 500": (lambda request: request.refuse(500, "the disk is on fire"), "the disk is on fire"),
    "hangs up": (Request.hang_up, "Docker closed the connection"),
    "closes in mid-answer": (Request.close_midway, "Docker closed the connection"),
    "never answers": (Request.hang, "Docker did not answer within"),
    "answers for ever": (Request.trickle, "Docker did not answer within"),
    "answers without end": (Request.flood, "Docker's answer is longer than cmgr takes"),
    "talks rubbish": (lambda request: request.give_text("no json"), "Docker's answer cannot be read"),
}


def ended_well(lively: LivelyDockerd, resets: int) -> None:
    """Check that both containers of the ring were stopped and started once, and the other one was left alone."""
    assert sorted(lively.done("stop")) == ["one", "two"]
    assert sorted(lively.done("start")) == ["one", "two"]
    assert lively.all_running()
    assert resets == 1


@pytest.mark.parametrize("name", AILS)
def test_what_ails_docker_at_a_fault_is_told_and_nothing_is_lost(
    on_lively: Install, lively: LivelyDockerd, name: str, figures: Figures
) -> None:
    answer, words = AILS[name]
    service = on_lively({})
    service.start()
    eventually(lambda: service.container("beside"))
    lively.ail = everywhere(answer)
    service.inject(0)
    until_told(service, words, "degraded")
    assert (lively.done("stop"), service.resets()) == ([], ())
    lively.ail = None
    recovered(service)
    ended_well(lively, len(service.resets()))
    survived(figures, SECTION)


@pytest.mark.parametrize("name", ["answers 500", "closes in mid-answer", "never answers"])
def test_what_ails_docker_when_containers_are_to_be_started_loses_none(
    on_lively: Install, lively: LivelyDockerd, name: str, figures: Figures
) -> None:
    answer, words = AILS[name]
    service = on_lively({"sim.boot_time": "500ms", "retry.starts": 1000})
    service.start()
    service.inject(0)
    service.until_phase("verifying")
    lively.ail = everywhere(answer)
    until_told(service, "start failed", words)
    assert lively.done("start") == []
    lively.ail = None
    recovered(service)
    ended_well(lively, len(service.resets()))
    survived(figures, SECTION)


def test_a_stop_that_never_ends_delays_nobody_else_and_is_tried_again(
    on_lively: Install, lively: LivelyDockerd, figures: Figures
) -> None:
    service = on_lively({})
    service.start()
    lively.ail = only("/one/stop", Request.hang)
    service.inject(0)
    eventually(lambda: lively.done("stop") == ["two"], why="the other one is stopped meanwhile")
    until_told(service, "stop failed", "Docker did not answer within")
    assert service.resets() == (), "it still runs"
    # Another ring is served all the same.
    service.inject(4)
    eventually(lambda: lively.done("start") == ["beside"])
    assert [r.chips for r in service.resets()] == [(4, 5, 6, 7)]
    lively.ail = None
    recovered(service, episodes=2)
    assert sorted(lively.done("stop")) == sorted(lively.done("start")) == ["beside", "one", "two"]
    assert lively.all_running()
    survived(figures, SECTION)


def test_one_that_is_forgotten_during_its_stop_is_not_said_to_run_on(on_lively: Install, lively: LivelyDockerd) -> None:
    service = on_lively({})
    service.start()
    lively.ail = only("/one/stop", Request.hang)
    service.inject(0)
    eventually(lambda: lively.asked("POST /containers/one/stop"))
    told = service.cmgr("forget", "one")
    assert told.out == (
        "one: forgotten; its stop or start that is under way takes its course, and cmgr\n  does nothing more to it\n"
    )


def test_a_start_that_fails_five_times_is_given_up_until_a_person_says_otherwise(
    on_lively: Install, lively: LivelyDockerd, figures: Figures
) -> None:
    service = on_lively({})
    service.start()
    lively.ail = only("/one/start", lambda request: request.refuse(500, "no such device"))
    service.inject(0)

    def failed() -> dict[str, Any] | None:
        # Right after the start, cmgr may not have heard yet what runs.
        found = service.container("one")
        return found if found is not None and found["status"] == "failed" else None

    found = eventually(failed)
    assert found is not None
    assert found["hint"] == "mend the cause, then type: cmgr resume one"
    assert lively.asked("POST /containers/one/start") == 5
    assert lively.done("start") == ["two"]
    assert service.cmgr("status", "--check").code == 4
    lively.ail = None
    assert service.cmgr("resume", "one").code == 0
    eventually(lambda: lively.is_running("one"))
    service.until_over()
    ended_well(lively, len(service.resets()))
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
    on_lively: Install, lively: LivelyDockerd, name: str, figures: Figures
) -> None:
    lively.down()
    SOCKETS[name](Path(lively.socket))
    service = on_lively({})
    service.start()
    until_told(service, "cannot reach docker", lively.socket)
    service.inject(0)
    service.until_reason("cannot ask docker")
    assert service.resets() == (), "who uses the ring is not known"
    lively.up()
    recovered(service)
    ended_well(lively, len(service.resets()))
    survived(figures, SECTION)


def test_a_daemon_that_comes_and_goes_loses_nothing(
    on_lively: Install, lively: LivelyDockerd, figures: Figures
) -> None:
    service = on_lively({"levels.RestartRequest.reset_after": "3s"})
    service.start()
    service.inject(0, "80C98008")
    for _ in range(5):
        lively.down()
        until_told(service, "cannot reach docker")
        lively.up()
        until_ready(service)
    recovered(service)
    ended_well(lively, len(service.resets()))
    survived(figures, SECTION, faults=5)
