"""Docker holds the lock of a container whose shim hangs. No list waits long for that: other rings wait for lists."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import timedelta

import pytest

from cmgr.errors import ContainerError
from cmgr.model.values.messages.facts import RuntimeUp
from cmgr.model.values.services.containers import NO_RESTART, ContainerKey
from cmgr.runtimes.docker.runtime import DockerRuntime
from cmgr.runtimes.docker.wire import Limits
from tests.runtimes.docker.fake_dockerd import FakeDockerd, Request, document, fake_dockerd
from tests.runtimes.told import Told
from tests.support.waiting import PATIENCE, eventually

KEY = ContainerKey("docker", "", "c1")
LOOK = "GET /containers/c1/json"
LIMITS = Limits(look=PATIENCE, list=2 * PATIENCE, start=PATIENCE, after_grace=PATIENCE, locked=0.1)


@pytest.fixture
def daemon() -> Iterator[FakeDockerd]:
    with fake_dockerd() as daemon:
        daemon.containers |= {"c1": document("c1"), "c2": document("c2")}
        yield daemon


@pytest.fixture
def runtime(daemon: FakeDockerd) -> Iterator[DockerRuntime]:
    with closing(DockerRuntime(daemon.socket, LIMITS)) as runtime:
        assert [c.unread for c in runtime.list()] == ["", ""]
        yield runtime


def told(runtime: DockerRuntime) -> dict[str, str]:
    """Return what a list says of the containers that it could not read."""
    return {c.key.id: c.unread for c in runtime.list()}


HANGS = {"c1": "Docker did not answer within 0.1 s", "c2": ""}

ORDERS: dict[str, tuple[str, str, Callable[[DockerRuntime], object]]] = {
    "stop": ("running", "POST /containers/c1/stop", lambda runtime: runtime.stop(KEY, timedelta())),
    "start": ("exited", "POST /containers/c1/start", lambda runtime: runtime.start(KEY, NO_RESTART)),
}


@pytest.mark.parametrize("order", ORDERS)
def test_no_list_waits_for_a_container_that_has_an_order_under_way(
    daemon: FakeDockerd, runtime: DockerRuntime, order: str
) -> None:
    status, request, act = ORDERS[order]
    daemon.containers["c1"] = document("c1", status=status)
    assert told(runtime) == {"c1": "", "c2": ""}
    daemon.on(request, Request.hang)
    daemon.on(LOOK, Request.hang)

    def ordered() -> None:
        with suppress(ContainerError):
            act(runtime)

    thread = threading.Thread(target=ordered)
    thread.start()
    try:
        eventually(lambda: daemon.asked(request) == 1)
        # Its state is another one by now, so that what was known of it does not do.
        daemon.containers["c1"] = document("c1", status="paused")
        assert told(runtime) == HANGS
    finally:
        daemon.down()
        thread.join()


def test_no_list_waits_for_one_that_did_not_answer_to_the_last_look(daemon: FakeDockerd) -> None:
    with closing(DockerRuntime(daemon.socket, Limits(look=1, list=2 * PATIENCE, locked=0.1))) as runtime:
        daemon.on(LOOK, Request.hang)
        assert told(runtime) == {"c1": "Docker did not answer within 1 s", "c2": ""}
        assert told(runtime) == HANGS
        daemon.on(LOOK, lambda request: request.give(document("c1")))
        assert told(runtime) == {"c1": "", "c2": ""}
        daemon.containers["c1"] = document("c1", status="exited")
        daemon.on(LOOK, Request.hang)
        assert told(runtime) == {"c1": "Docker did not answer within 1 s", "c2": ""}, "it had answered in between"


def test_no_list_waits_for_one_of_which_everything_was_told_since_it_was_read(daemon: FakeDockerd) -> None:
    told, checked = Told(), document("c1", Healthcheck={"Test": ["CMD", "true"]})
    # That its check is late is asked for, so that what is known of it has to be read again.
    checked["State"]["Health"] = {"Status": "healthy", "Log": [{"End": "2024-05-01T10:00:01Z"}]}
    daemon.containers["c1"] = checked
    with closing(DockerRuntime(daemon.socket, LIMITS)) as runtime:
        runtime.watch(told.tell)
        told.first(RuntimeUp)
        assert [c.unread for c in runtime.list()] == ["", ""]
        daemon.on(LOOK, Request.hang)
        asked = daemon.asked(LOOK)
        assert [(c.unread, c.unchecked is None) for c in runtime.list()] == [("", False), ("", True)]
        assert daemon.asked(LOOK) == asked + 1
