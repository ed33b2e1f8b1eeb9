"""A restart policy goes back while its container is down: of one that runs Docker is never told to change anything."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from cmgr.errors import ContainerError, RuntimeAils
from cmgr.model.values.services.containers import NO_RESTART, ContainerKey
from cmgr.runtimes.docker.runtime import DockerRuntime
from tests.runtimes.docker.fake_dockerd import FakeDockerd, Request, document, fake_dockerd
from tests.runtimes.docker.test_following import Followed
from tests.support.waiting import eventually

KEY = ContainerKey("docker", "", "c1")
ALWAYS = "always:0"
UPDATE, START, LOOK = "POST /containers/c1/update", "POST /containers/c1/start", "GET /containers/c1/json"


@pytest.fixture
def daemon() -> Iterator[FakeDockerd]:
    """One container is down in it, without its restart policy."""
    with fake_dockerd() as daemon:
        daemon.containers["c1"] = document("c1", status="exited")

        def updated(request: Request) -> None:
            policy = json.loads(daemon.requests[-1][1])["RestartPolicy"]
            daemon.containers["c1"]["HostConfig"]["RestartPolicy"] = policy
            request.give({"Warnings": []})

        daemon.on(UPDATE, updated)
        daemon.on(START, lambda request: started(daemon, request))
        yield daemon


@pytest.fixture
def runtime(daemon: FakeDockerd) -> Iterator[DockerRuntime]:
    with closing(DockerRuntime(daemon.socket)) as runtime:
        runtime.list()
        daemon.requests.clear()
        yield runtime


def started(daemon: FakeDockerd, request: Request) -> None:
    daemon.containers["c1"]["State"] |= {"Status": "running", "Running": True, "StartedAt": "2024-05-01T12:00:00Z"}
    request.give_text("", 204)


def policy(daemon: FakeDockerd) -> str:
    return str(daemon.containers["c1"]["HostConfig"]["RestartPolicy"]["Name"])


def asked(daemon: FakeDockerd) -> list[str]:
    return [request for request, _ in daemon.requests]


def test_it_goes_back_before_the_start_and_nothing_is_changed_after_that(
    daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    runtime.start(KEY, ALWAYS)
    assert asked(daemon) == [LOOK, UPDATE, START, LOOK]
    assert policy(daemon) == "always"


@pytest.mark.parametrize("status", ["running", "paused", "restarting"])
def test_one_that_runs_is_not_changed_whatever_is_wanted(
    daemon: FakeDockerd, runtime: DockerRuntime, status: str
) -> None:
    daemon.containers["c1"] = document("c1", status=status)
    with pytest.raises(RuntimeAils, match="something else has started it"):
        runtime.start(KEY, ALWAYS)
    with pytest.raises(ContainerError, match="it runs"):
        runtime.set_restart_policy(KEY, ALWAYS)
    daemon.containers["c1"]["HostConfig"]["RestartPolicy"] = {"Name": "always", "MaximumRetryCount": 0}
    daemon.requests.clear()
    with pytest.raises(ContainerError, match="it runs"):
        runtime.set_restart_policy(KEY, NO_RESTART)
    assert runtime.start(KEY, ALWAYS), "it has its policy"
    assert (daemon.asked(UPDATE), policy(daemon)) == (0, "always")


def test_a_start_that_fails_takes_it_off_again(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    daemon.on(START, lambda request: request.refuse(500, "no such image"))
    with pytest.raises(ContainerError, match="no such image"):
        runtime.start(KEY, ALWAYS)
    assert (asked(daemon), policy(daemon)) == ([LOOK, UPDATE, START, LOOK, LOOK, UPDATE], "no")


def test_one_that_keeps_it_though_its_start_has_failed_is_told_so_that_it_is_taken_off_later(
    daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    def refused(request: Request) -> None:
        daemon.on(UPDATE, lambda request: request.refuse(500, "busy"))
        request.refuse(500, "no such image")

    daemon.on(START, refused)
    with pytest.raises(RuntimeAils, match="no such image"):
        runtime.start(KEY, ALWAYS)


def test_a_start_that_fails_takes_nothing_off_that_it_had_not_put_back(
    daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    daemon.containers["c1"]["HostConfig"]["RestartPolicy"] = {"Name": "always", "MaximumRetryCount": 0}
    daemon.on(START, lambda request: request.refuse(500, "no such image"))
    with pytest.raises(ContainerError, match="no such image"):
        runtime.start(KEY, ALWAYS)
    assert (daemon.asked(UPDATE), policy(daemon)) == (0, "always")


def test_one_that_may_be_on_its_way_up_keeps_it(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    daemon.on(START, Request.hang_up)
    with pytest.raises(RuntimeAils):
        runtime.start(KEY, ALWAYS)
    assert (daemon.asked(UPDATE), policy(daemon)) == (1, "always")


def test_one_that_runs_although_its_start_was_refused_keeps_it(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    def started_and_refused(request: Request) -> None:
        daemon.containers["c1"]["State"] |= {"Status": "running", "Running": True}
        request.refuse(500, "it is up, and Docker does not say so")

    daemon.on(START, started_and_refused)
    assert runtime.start(KEY, ALWAYS)
    assert (daemon.asked(UPDATE), policy(daemon)) == (1, "always")


def test_one_that_something_else_has_started_is_paused_all_the_same(
    daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    daemon.containers["c1"] = document("c1")
    with pytest.raises(RuntimeAils, match="something else has started it"):
        runtime.start(KEY, ALWAYS, frozen=True)
    assert (daemon.asked("POST /containers/c1/pause"), daemon.asked(UPDATE)) == (1, 0)


def test_without_a_policy_nothing_is_asked_for_but_the_start(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    runtime.start(KEY, NO_RESTART)
    assert asked(daemon) == [START, LOOK]


def test_the_answer_to_an_update_of_ours_may_come_in_the_midst_of_the_look_that_its_event_asks_for() -> None:
    """Docker tells of an update before it answers. The look that follows counts all the same."""
    looks, answered = threading.Event(), threading.Event()
    with fake_dockerd() as daemon:
        daemon.containers["c1"] = document("c1", status="exited")
        world = Followed(daemon)

        def slowly(request: Request) -> None:
            looks.set()
            answered.wait()
            request.give(daemon.containers["c1"])

        def tells_first(request: Request) -> None:
            world.gets("no")
            daemon.on(LOOK, slowly)
            world.happens("update")
            looks.wait()
            request.give({"Warnings": []})

        world.gets("always")
        world.follow()
        daemon.on(UPDATE, tells_first)
        world.runtime.set_restart_policy(KEY, NO_RESTART)
        answered.set()
        world.told.down(KEY)
        daemon.containers["c1"]["HostConfig"] |= {"CpuShares": 7}
        world.happens("update")
        eventually(lambda: len(world.told.seen(KEY)) == 2, why="the other update is told")
        assert [container.switched_off for container in world.told.seen(KEY)] == [False, False]
        world.happens("update")
        eventually(lambda: world.told.seen(KEY)[-1].switched_off, why="this one is about the policy")
        world.runtime.close()
