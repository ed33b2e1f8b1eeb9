"""A Docker daemon that answers badly, late or never: each gives cmgr's own error, and the right one."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta

import pytest

from cmgr.errors import ContainerError, ContainerGone, RunsAgain, RuntimeAils, RuntimeDown
from cmgr.model.values.services.containers import NO_RESTART, Container, ContainerKey
from cmgr.runtimes import ears
from cmgr.runtimes.docker.runtime import DockerRuntime
from cmgr.runtimes.docker.wire import Limits
from tests.runtimes.docker.fake_dockerd import Answer, FakeDockerd, Request, document, fake_dockerd
from tests.support.waiting import eventually

KEY = ContainerKey("docker", "", "c1")
NOW = timedelta()
HURRIED = Limits(look=0.3, list=0.3, update=0.3, start=0.3, after_grace=0.3)

CALLS: dict[str, tuple[str, Callable[[DockerRuntime], object]]] = {
    "list": ("GET /containers/json", lambda runtime: runtime.list()),
    "look": ("GET /containers/c1/json", lambda runtime: runtime.set_restart_policy(KEY, "always:0")),
    "stop": ("POST /containers/c1/stop", lambda runtime: runtime.stop(KEY, NOW)),
    "start": ("POST /containers/c1/start", lambda runtime: runtime.start(KEY, NO_RESTART)),
    "update": ("POST /containers/c1/update", lambda runtime: runtime.set_restart_policy(KEY, "always:0")),
}


@pytest.fixture
def daemon() -> Iterator[FakeDockerd]:
    """One container runs in it."""
    with fake_dockerd() as daemon:
        daemon.containers["c1"] = document("c1")
        yield daemon


@pytest.fixture
def runtime(daemon: FakeDockerd) -> Iterator[DockerRuntime]:
    with closing(DockerRuntime(daemon.socket)) as runtime:
        yield runtime


@pytest.fixture
def hurried(daemon: FakeDockerd) -> Iterator[DockerRuntime]:
    """One for requests that are not answered: whichever it gives up, for want of a processor too, it says the same."""
    with closing(DockerRuntime(daemon.socket, HURRIED)) as runtime:
        yield runtime


def error_of(call: str, daemon: FakeDockerd, runtime: DockerRuntime, answer: Answer) -> ContainerError:
    """Return what the call raises when its request is answered so."""
    request, act = CALLS[call]
    if call in ("start", "update"):
        daemon.containers["c1"] = document("c1", status="exited")
    daemon.on(request, answer)
    with pytest.raises(ContainerError) as caught:
        act(runtime)
    assert str(caught.value).startswith("cannot ")
    return caught.value


@pytest.mark.parametrize("call", CALLS)
def test_a_refusal_carries_the_daemons_words(call: str, daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    error = error_of(call, daemon, runtime, lambda request: request.refuse(500, "the disk is on fire"))
    assert type(error) is ContainerError
    assert "the disk is on fire" in str(error)


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        *((call, Request.hang_up) for call in CALLS),
        *((call, Request.close_midway) for call in ("list", "look", "update")),
    ],
)
def test_a_broken_connection_is_no_runtime_that_is_down(
    call: str, answer: Answer, daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    error = error_of(call, daemon, runtime, answer)
    assert not isinstance(error, RuntimeDown | ContainerGone)
    assert "closed the connection" in str(error)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("answer", [Request.hang, Request.trickle])
def test_an_answer_that_does_not_end_is_given_up(
    call: str, answer: Answer, daemon: FakeDockerd, hurried: DockerRuntime
) -> None:
    error = error_of(call, daemon, hurried, answer)
    assert not isinstance(error, RuntimeDown | ContainerGone)
    assert "did not answer within 0.3 s" in str(error)


@pytest.mark.parametrize("call", ["list", "look", "update"])
def test_an_answer_without_end_is_given_up_before_it_fills_the_memory(
    call: str, daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    error = error_of(call, daemon, runtime, Request.flood)
    assert "Docker's answer is longer than cmgr takes" in str(error)


@pytest.mark.parametrize("call", ["list", "look"])
@pytest.mark.parametrize(
    "text", ["", "no json", "[1, 2]", "{}x", '"x"', "3", '{"message": 1}', "[[]]", '[{"Id": "x"}]']
)
def test_an_answer_of_another_shape_cannot_be_read(
    call: str, text: str, daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    error = error_of(call, daemon, runtime, lambda request: request.give_text(text))
    assert not isinstance(error, RuntimeDown | ContainerGone)


@pytest.mark.parametrize(
    ("call", "status"), [*((call, 200) for call in ("list", "look", "update")), *((call, 500) for call in CALLS)]
)
def test_an_answer_that_nests_too_deeply_cannot_be_read_as_any_other_that_is_none(
    call: str, status: int, daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    error = error_of(call, daemon, runtime, lambda request: request.give_text('{"message":' * 200_000, status))
    assert (type(error), str(error).rpartition(": ")[2]) == (ContainerError, "Docker's answer cannot be read")


def test_a_container_whose_description_nests_too_deeply_hides_no_other(
    daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    daemon.containers["c2"] = document("c2")
    daemon.on("GET /containers/c2/json", lambda request: request.give_text("[" * 100_000))
    assert [(c.key.id, c.unread) for c in runtime.list()] == [("c1", ""), ("c2", "Docker's answer cannot be read")]


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"x": 1}', "3"])
def test_a_refusal_of_another_shape_is_a_refusal(text: str, daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    error = error_of("stop", daemon, runtime, lambda request: request.give_text(text, 500))
    assert type(error) is ContainerError


@pytest.mark.parametrize("call", CALLS)
def test_a_daemon_that_is_not_there_is_down(call: str, daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    runtime.list()
    daemon.down()
    with pytest.raises(RuntimeDown, match=r"nothing answers at .*: ") as caught:
        CALLS[call][1](runtime)
    assert caught.value.hint


def test_a_daemon_that_goes_between_order_and_look_leaves_the_outcome_open(
    daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    def last_words(request: Request) -> None:
        daemon.on("GET /containers/c1/json", Request.hang_up)
        request.give_text("", 204)

    daemon.on("POST /containers/c1/stop", last_words)
    with pytest.raises(ContainerError) as caught:
        runtime.stop(KEY, NOW)
    assert not isinstance(caught.value, RuntimeDown | ContainerGone)


def test_a_runtime_may_come_up_after_its_first_use() -> None:
    with fake_dockerd() as daemon:
        daemon.down()
        runtime = DockerRuntime(daemon.socket)
        with pytest.raises(RuntimeDown):
            runtime.list()
        daemon.containers["c1"] = document("c1")
        daemon.up()
        assert [c.key for c in runtime.list()] == [KEY]
        runtime.close()


def test_a_known_container_that_cannot_be_looked_at_again_is_as_the_list_bears_out(
    daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    daemon.containers["c2"] = document("c2")
    before = runtime.list()
    daemon.on("GET /containers/c2/json", lambda request: request.refuse(500, "corrupt"))
    assert runtime.list() == before
    assert [(c.key.id, c.unread) for c in before] == [("c1", ""), ("c2", "")]


def test_a_known_container_whose_look_hangs_is_as_the_list_bears_out(
    daemon: FakeDockerd, hurried: DockerRuntime
) -> None:
    def all_read() -> Sequence[Container]:
        found = hurried.list()
        return [] if any(c.unread for c in found) else found

    # On a busy machine a look that is answered may take longer than the hurried limits, too.
    before = eventually(all_read)
    daemon.on("GET /containers/c1/json", Request.hang)
    assert hurried.list() == before


def test_a_known_container_that_cannot_be_looked_at_and_has_changed_is_told_with_what_the_list_says(
    daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    daemon.containers["c2"] = document("c2")
    runtime.list()
    daemon.containers["c2"] = document("c2", status="exited")
    daemon.on("GET /containers/c2/json", lambda request: request.refuse(500, "corrupt"))
    told = {c.key.id: c for c in runtime.list()}
    assert (told["c1"].unread, told["c2"].unread, told["c2"].running) == ("", "corrupt", False)


@pytest.mark.parametrize("status", ["running", "paused", "restarting", "removing", "exited", "created", "dead"])
def test_a_container_that_cannot_be_looked_at_hides_no_other(
    daemon: FakeDockerd, runtime: DockerRuntime, status: str
) -> None:
    daemon.containers["c2"] = document("c2", status=status, Labels={"cmgr.heal": "true", "cmgr.order": "3"})
    daemon.on("GET /containers/c2/json", lambda request: request.refuse(500, "corrupt"))
    first, second = runtime.list()
    assert (first.name, first.claims, first.unread) == ("c1-name", frozenset("0"), "")
    assert (second.name, second.claims, second.unread) == ("c2-name", frozenset(), "corrupt")
    assert (second.heal is not None, second.order) == (True, 0), "what its image brought is not known yet"
    assert second.running is (status not in ("exited", "created", "dead"))


def test_one_that_can_be_read_again_is_as_it_is(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    daemon.on("GET /containers/c1/json", lambda request: request.refuse(500, "corrupt"))
    assert runtime.list()[0].unread
    daemon.on("GET /containers/c1/json", lambda request: request.give(document("c1")))
    assert (runtime.list()[0].unread, runtime.list()[0].claims) == ("", frozenset("0"))


def test_a_container_that_goes_while_it_is_listed_hides_no_other(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    daemon.containers["c2"] = document("c2")
    daemon.on("GET /containers/c2/json", lambda request: request.refuse(404, "No such container: c2"))
    assert [c.key for c in runtime.list()] == [KEY]


def test_many_slow_looks_do_not_add_up(daemon: FakeDockerd) -> None:
    runtime = DockerRuntime(daemon.socket, Limits(look=2, list=4))
    for n in range(2, 30):
        daemon.containers[f"c{n}"] = document(f"c{n}")
        daemon.on(f"GET /containers/c{n}/json", Request.hang)
    told = runtime.list()
    assert [c.unread.startswith("Docker did not answer within") for c in told] == [False] + [True] * 28
    runtime.close()


def test_not_found_is_gone_only_when_a_look_says_so_too(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    error = error_of("start", daemon, runtime, lambda request: request.refuse(404, "network web not found"))
    assert not isinstance(error, ContainerGone)
    assert "network web not found" in str(error)
    gone = 64 * "a"

    def refuse(request: Request) -> None:
        daemon.containers["c1"]["NetworkSettings"] = {"Networks": {"llmnet": {"NetworkID": gone}, "bridge": {}}}
        request.refuse(404, f"network {gone} not found")

    error = error_of("start", daemon, runtime, refuse)
    remedy = "docker network create llmnet; docker network connect llmnet c1-name"
    assert f"its network llmnet was removed: {remedy}" in str(error)
    del daemon.containers["c1"]
    with pytest.raises(ContainerGone, match="No such container"):
        runtime.start(KEY, NO_RESTART)


def test_a_request_that_is_not_known_makes_no_container_gone(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    # Podman 4.3 cannot change a restart policy, and says just this.
    daemon.containers["c1"] = document("c1", status="exited")
    daemon.on("POST /containers/c1/update", lambda request: request.refuse(404, "Not Found"))
    with pytest.raises(ContainerError, match="of container c1-name: this podman cannot change one") as error:
        runtime.set_restart_policy(KEY, "always:0")
    assert type(error.value) is ContainerError


def test_a_stop_that_fails_on_a_container_that_is_down_is_success(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    daemon.containers["c1"] = document("c1", status="exited", run="2024-05-01T09:00:00Z")
    daemon.on("POST /containers/c1/stop", lambda request: request.refuse(500, "no such process"))
    halt = runtime.stop(KEY, NOW)
    assert (halt.run, halt.before) == ("2024-05-01T09:00:00Z", None)


def test_a_container_that_runs_after_its_stop_is_not_stopped(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    runtime.list()
    with pytest.raises(ContainerError, match="it runs still"):
        runtime.stop(KEY, NOW)


def test_one_that_something_starts_again_before_anybody_looks_is_told_with_its_new_life(
    daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    runtime.list()
    daemon.containers["c1"] = document("c1", run="2024-05-01T09:30:00Z")
    with pytest.raises(RunsAgain, match="it runs again") as info:
        runtime.stop(KEY, NOW)
    assert info.value.run == "2024-05-01T09:30:00Z"


def test_a_container_that_never_ran_has_not_died_of_anything(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    daemon.containers["c1"] = document("c1", status="created", run="0001-01-01T00:00:00Z")
    daemon.containers["c1"]["State"]["FinishedAt"] = "0001-01-01T00:00:00Z"
    daemon.on("POST /containers/c1/stop", lambda request: request.give_text("", 304))
    before = runtime.stop(KEY, NOW).before
    assert before is not None
    assert not before.by_itself


@pytest.mark.parametrize(
    ("grace", "seconds"),
    [
        (timedelta(), "0"),
        (timedelta(milliseconds=1), "1"),
        (timedelta(seconds=45), "45"),
        (timedelta(days=9999), str(7 * 86400)),
        (timedelta(seconds=-1), "0"),
    ],
)
def test_the_grace_is_said_in_whole_seconds(
    grace: timedelta, seconds: str, daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    daemon.containers["c1"] = document("c1", status="exited")
    runtime.stop(KEY, grace)
    assert any(path.endswith(f"/containers/c1/stop?t={seconds}") for path in daemon.paths)


def test_a_stop_is_the_first_thing_that_a_warm_client_asks(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    runtime.list()
    daemon.containers["c1"] = document("c1", status="exited")
    daemon.requests.clear()
    runtime.stop(KEY, NOW)
    assert [request for request, _ in daemon.requests] == ["POST /containers/c1/stop", "GET /containers/c1/json"]


def test_a_name_from_the_database_is_never_a_path(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    with pytest.raises(ContainerError):
        runtime.stop(ContainerKey("docker", "", "../../images/x?force=1"), NOW)
    assert not any(path.startswith("/v1.41/images") for path in daemon.paths)
    assert "/v1.41/containers/..%2F..%2Fimages%2Fx%3Fforce%3D1/stop?t=0" in daemon.paths


def test_a_policy_that_is_right_already_is_not_set(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    runtime.set_restart_policy(KEY, NO_RESTART)
    runtime.start(KEY, NO_RESTART)
    assert daemon.asked("POST /containers/c1/update") == 0


def test_a_bad_policy_is_refused_before_anything_is_sent(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    daemon.containers["c1"] = document("c1", status="exited")
    with pytest.raises(ContainerError, match="none of Docker's"):
        runtime.set_restart_policy(KEY, "nonsense")
    assert daemon.asked("POST") == 0


def test_close_may_be_repeated_and_leaves_the_runtime_usable_for_answers(
    daemon: FakeDockerd, runtime: DockerRuntime
) -> None:
    runtime.close()
    runtime.close()
    assert len(runtime.list()) == 1


DEAD = (
    "failed to create task for container: task 4d43be7a0c0d8f1b2c3d4e5f60718293a4b5c6d7e8f9012a3b4c5d6e7f801234: "
    "already exists: unknown"
)


def test_a_start_that_a_dead_task_is_in_the_way_of_names_the_cure(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    error = error_of("start", daemon, runtime, lambda request: request.refuse(500, DEAD))
    assert isinstance(error, RuntimeAils)
    assert error.message.endswith(
        "already exists: unknown (containerd keeps its dead task: systemctl restart containerd)"
    )


@pytest.mark.parametrize(("answer", "ails"), [(Request.hang, True), (Request.hang_up, True), (None, False)])
def test_only_what_the_daemon_itself_fails_at_is_no_try_of_a_start(
    daemon: FakeDockerd, runtime: DockerRuntime, hurried: DockerRuntime, answer: Answer | None, ails: bool
) -> None:
    asking = hurried if answer is Request.hang else runtime
    error = error_of("start", daemon, asking, answer or (lambda request: request.refuse(500, "no such image")))
    assert isinstance(error, RuntimeAils) is ails


def test_a_pause_that_fails_is_no_try_of_a_start(daemon: FakeDockerd, runtime: DockerRuntime) -> None:
    daemon.on("POST /containers/c1/pause", lambda request: request.refuse(500, "no freezer cgroup"))
    with pytest.raises(RuntimeAils, match=r"cannot pause container .*no freezer cgroup"):
        runtime.start(KEY, NO_RESTART, frozen=True)
    daemon.containers["c1"]["State"]["Paused"] = True
    assert runtime.start(KEY, NO_RESTART, frozen=True), "it is paused already"
    assert daemon.asked("POST /containers/c1/pause") == 1


def test_nothing_is_looked_at_before_a_stop_is_asked_for(
    daemon: FakeDockerd, runtime: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = "POST /containers/c1/stop"

    def deaf(*_: object) -> str:
        eventually(lambda: daemon.asked(asked) == 1, why="the daemon has the request")
        return ""

    runtime.list()
    with monkeypatch.context() as patch:
        patch.setattr(ears, "deaf", deaf)  # Files of /proc, which no fake can make wait.
        with pytest.raises(ContainerError, match="it runs still"):
            runtime.stop(KEY, NOW)
    assert daemon.asked(asked) == 1
