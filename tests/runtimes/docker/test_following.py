"""Following Docker's events: what is told, what is looked at again, and what survives a bad stream."""

import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from cmgr.errors import ContainerError
from cmgr.model.values.messages.facts import ContainerSeen, RuntimeDown, RuntimeUp
from cmgr.model.values.services.containers import NO_RESTART, ContainerKey, Exit
from cmgr.runtimes.docker.inspect import moment
from cmgr.runtimes.docker.runtime import DockerRuntime
from cmgr.runtimes.docker.wire import Limits
from tests.runtimes.docker.fake_dockerd import FakeDockerd, Request, document, event, fake_dockerd
from tests.runtimes.told import Told
from tests.support.waiting import eventually

KEY = ContainerKey("docker", "", "c1")
SECOND = 10**9
QUICK = Limits(first_delay=0.02, longest_delay=0.1)
IMPATIENT = Limits(opens=1, silence=0.3, first_delay=0.02, longest_delay=0.1)


class Followed:
    """A fake daemon with one container, and a runtime that follows it."""

    def __init__(self, daemon: FakeDockerd, limits: Limits = QUICK) -> None:
        self.daemon = daemon
        self.told = Told()
        self.runtime = DockerRuntime(daemon.socket, limits)
        self.at = 1_700_000_000 * SECOND

    def follow(self) -> None:
        self.runtime.watch(self.told.tell)
        self.told.first(RuntimeUp)

    def happens(self, action: str, id_: str = "c1", **attributes: str) -> None:
        self.at += SECOND
        # Whether an update came before or after what was read of the container counts.
        at = time.time_ns() + SECOND if action == "update" else self.at
        self.daemon.tell(event(action, id_, at, **attributes))

    def becomes(self, status: str, run: str = "2024-05-01T10:00:00.5Z") -> None:
        self.daemon.containers["c1"] = document("c1", status=status, run=run)

    def gets(self, policy: str) -> None:
        self.daemon.containers["c1"]["HostConfig"]["RestartPolicy"] = {"Name": policy, "MaximumRetryCount": 0}

    def ends(self) -> list[bool | None]:
        """Return what was told about whether the container's ends were asked for, once one was."""
        self.told.down(KEY)
        return [c.exit.asked for c in self.told.seen(KEY) if c.exit]

    def asked(self) -> bool | None:
        """Return what is listed about whether the container's end was asked for."""
        (container,) = self.runtime.list()
        assert container.exit is not None
        return container.exit.asked


@pytest.fixture
def world() -> Iterator[Followed]:
    with fake_dockerd() as daemon:
        daemon.containers["c1"] = document("c1")
        world = Followed(daemon)
        yield world
        world.runtime.close()


def test_a_malformed_event_is_counted_and_the_next_one_told(world: Followed) -> None:
    world.follow()
    for line in (
        b"no json",
        b"[]",
        b"{}",
        b'{"Action":"die"}',
        b'{"Actor":3,"Action":"die","timeNano":1}',
        b"\xff\xfe",
        b"",
    ):
        world.daemon.tell(line)
    world.happens("start")
    world.told.running(KEY)
    assert world.runtime.malformed == 6


def test_an_event_with_odd_attributes_is_told_all_the_same(world: Followed) -> None:
    world.follow()
    world.daemon.tell({"Action": "kill", "Actor": {"ID": "c1", "Attributes": {"signal": 9}}, "timeNano": 1})
    world.daemon.tell({"Action": "start", "Actor": {"ID": "c1"}, "timeNano": 2})
    world.told.running(KEY)


def test_listing_looks_only_at_what_is_new_or_has_changed(world: Followed) -> None:
    world.daemon.containers["other"] = document("other", Env=[])
    world.follow()
    first = world.runtime.list()
    for _ in range(5):
        assert world.runtime.list() == first
    assert world.daemon.asked("GET /containers/c1/json") == 1
    assert world.daemon.asked("GET /containers/other/json") == 1
    world.becomes("exited")
    assert not world.runtime.list()[0].running
    assert world.daemon.asked("GET /containers/c1/json") == 2


def test_an_update_is_looked_at(world: Followed) -> None:
    world.follow()
    world.runtime.list()
    world.gets("always")
    world.happens("update")
    eventually(lambda: (last := world.told.last(KEY)) is not None and last.restart_policy == "always:0")
    assert world.runtime.list()[0].restart_policy == "always:0"


@pytest.mark.parametrize(
    ("changes", "off"), [({}, True), ({"Memory": 2**30}, False), ({"CpuShares": 7}, False), ({"Memory": 0}, False)]
)
def test_an_update_that_changes_nothing_else_switches_off_a_restart_policy_that_was_off(
    changes: dict[str, int], off: bool, world: Followed
) -> None:
    """`docker update --restart=no` of one whose policy cmgr has switched off: Docker tells only of an update."""
    world.follow()
    world.runtime.list()
    world.daemon.containers["c1"]["HostConfig"] |= changes
    world.happens("update")
    assert world.told.running(KEY).switched_off is off


def test_what_was_read_after_an_update_does_not_tell_what_it_changed(world: Followed) -> None:
    """The look that an update of cmgr's own asks for may be as late as the next update, and have what that changed."""
    world.follow()
    world.daemon.containers["c1"]["HostConfig"] |= {"CpuShares": 7}
    world.runtime.list()
    world.daemon.tell(event("update", "c1", time.time_ns() - 60 * SECOND))
    assert not world.told.running(KEY).switched_off


def test_an_update_of_our_own_is_not_somebody_elses(world: Followed) -> None:
    world.becomes("exited")
    world.gets("always")
    world.follow()
    world.runtime.list()
    world.runtime.set_restart_policy(KEY, NO_RESTART)
    world.gets("no")
    world.happens("update")
    assert not world.told.down(KEY).switched_off
    world.happens("update")
    eventually(lambda: (last := world.told.last(KEY)) is not None and last.switched_off, why="the next one is")


def test_an_update_of_ours_that_docker_refuses_hides_none_of_somebody_elses(world: Followed) -> None:
    world.becomes("exited")
    world.gets("always")
    world.follow()
    world.runtime.list()
    world.daemon.on("POST /containers/c1/update", lambda request: request.refuse(409, "not now"))
    with pytest.raises(ContainerError, match="not now"):
        world.runtime.set_restart_policy(KEY, NO_RESTART)
    world.gets("no")
    world.happens("update")
    assert world.told.down(KEY).switched_off


def test_without_events_everything_of_ours_is_looked_at_each_time(world: Followed) -> None:
    world.daemon.containers["other"] = document("other", Env=[])
    world.runtime.list()
    world.runtime.list()
    assert world.daemon.asked("GET /containers/c1/json") == 2
    assert world.daemon.asked("GET /containers/other/json") == 1


@pytest.mark.parametrize(
    ("signal", "code", "asked"),
    [
        ("15", "3", True), ("2", "130", True), ("9", "137", True), ("3", "131", True),
        ("3", "3", False), ("3", "139", False), ("1", "1", False), ("1", "129", True), ("10", "3", False),
    ],
)  # fmt: skip
def test_a_signal_that_ends_containers_makes_the_death_asked_for(
    signal: str, code: str, asked: bool, world: Followed
) -> None:
    world.follow()
    world.happens("start")
    world.happens("kill", signal=signal)
    world.becomes("exited")
    world.happens("die", exitCode=code)
    assert world.ends() == [asked]
    assert world.asked() is asked


@pytest.mark.parametrize(("signal", "asked"), [("15", False), ("2", False), ("3", False), ("1", False), ("9", True)])
def test_what_kills_a_container_that_has_lived_on_nobody_asked_for(signal: str, asked: bool, world: Followed) -> None:
    """A thread dump, a reload, a stop that was given up: half an hour later its end is its own."""
    world.follow()
    world.happens("start")
    world.happens("kill", signal=signal)
    world.at += 1800 * SECOND
    world.becomes("exited")
    world.happens("die", exitCode="137")
    assert world.ends() == [asked], "nobody outlives SIGKILL, however late it takes effect"


def test_a_stop_counts_for_as_long_as_the_container_may_take(world: Followed) -> None:
    world.daemon.containers["c1"]["Config"]["StopTimeout"] = 600
    world.follow()
    world.happens("start")
    world.told.running(KEY)
    world.happens("kill", signal="15")
    world.at += 300 * SECOND
    world.daemon.containers["c1"] |= {"State": document("c1", status="exited")["State"]}
    world.happens("die", exitCode="1")
    assert world.ends() == [True]


def test_a_stop_that_was_given_longer_than_that_is_told_once_more_as_asked_for(world: Followed) -> None:
    """`docker stop -t 600` says nothing of the 600 before it is done."""
    world.follow()
    world.happens("start")
    world.happens("kill", signal="15")
    world.at += 300 * SECOND
    world.becomes("exited")
    world.happens("die", exitCode="0")
    world.happens("stop")
    eventually(lambda: world.ends() == [False, True])


def test_a_late_word_of_a_stop_says_nothing_of_the_life_after_it(world: Followed) -> None:
    """Two who stop a container are both told when it is down, and one of them may have started it again by then."""
    world.follow()
    for action in ("start", "kill", "die", "stop", "start", "stop"):
        world.happens(action, signal="15", exitCode="0")
    world.becomes("exited", "2024-05-02T00:00:00Z")
    world.happens("die", exitCode="1")
    eventually(lambda: world.ends()[-1] is False)


def test_a_containers_own_stop_signal_makes_the_death_asked_for(world: Followed) -> None:
    world.daemon.containers["c1"]["Config"]["StopSignal"] = "SIGUSR1"
    world.follow()
    world.happens("start")
    world.told.running(KEY)
    world.happens("kill", signal="10")
    world.becomes("exited")
    world.happens("die", exitCode="3")
    exit_ = world.told.down(KEY).exit
    assert exit_ is not None
    assert exit_.asked


def test_a_stop_whose_signal_nobody_knew_is_told_once_more_as_asked_for(world: Followed) -> None:
    world.follow()
    world.happens("kill", signal="10")
    world.becomes("exited")
    world.happens("die", exitCode="3")
    world.told.down(KEY)
    world.happens("stop")
    eventually(lambda: [c.exit.asked for c in world.told.seen(KEY) if c.exit] == [False, True])


def test_what_docker_remembers_says_whose_death_was_asked_for() -> None:
    with fake_dockerd() as daemon:
        world = Followed(daemon)
        world.becomes("exited")
        daemon.containers["c2"] = document("c2", status="exited")
        daemon.past = [
            b'{"Action":"kill","Actor":{"ID":"c1","Attributes":{"signal":"15"}},"timeNano":1}',
            b'{"Action":"die","Actor":{"ID":"c1","Attributes":{"exitCode":"1"}},"timeNano":2}',
            b"nonsense",
            b'{"Action":"die","Actor":{"ID":"c2","Attributes":{"exitCode":"1"}},"timeNano":3}',
        ]
        world.follow()
        ends = {c.key.id: c.exit.asked for c in world.runtime.list() if c.exit}
        assert ends == {"c1": True, "c2": None}
        assert world.told.facts == (RuntimeUp("docker"),)
        world.runtime.close()


def past(daemon: FakeDockerd, *actions: str) -> None:
    for at, action in enumerate(actions, 1):
        daemon.past.append(json.dumps(event(action, "c1", at, signal="15", exitCode="0")).encode())


@pytest.mark.parametrize(
    ("actions", "lives_on", "more", "asked"),
    [
        (("kill", "die", "stop"), False, 0, None),
        (("start", "kill", "die", "stop"), False, 0, True),
        (("kill", "die", "stop"), True, 0, True),
        (("kill", "die", "stop"), False, 256, True),
        (("kill", "die", "start", "kill", "die"), False, 0, True),
    ],
    ids=["found running", "begun by it", "live-restore", "perhaps begun long ago", "begun again"],
)
def test_a_daemon_that_came_while_nobody_followed_has_ended_what_it_had_not_begun(
    actions: tuple[str, ...], lives_on: bool, more: int, asked: bool | None
) -> None:
    """dockerd was killed and came back while cmgr was away: it ends what it finds running, as a person would."""
    with fake_dockerd() as daemon:
        daemon.on("GET /info", lambda request: request.give({"LiveRestoreEnabled": lives_on}))
        world = Followed(daemon)
        world.becomes("exited")
        daemon.past += [b'{"Type":"network","Action":"connect","Actor":{"ID":"n1"},"timeNano":1}'] * more
        past(daemon, *actions)
        world.follow()
        assert world.asked() is asked
        came = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC) if asked is None else None
        assert world.told.of(RuntimeUp) == [RuntimeUp("docker", restarted=asked is None, came=came)]
        world.runtime.close()


def test_our_own_stop_is_asked_for_though_no_event_says_so(world: Followed) -> None:
    def stops(request: Request) -> None:
        world.becomes("exited")
        request.give_text("", 204)

    world.daemon.on("POST /containers/c1/stop", stops)
    assert world.runtime.stop(KEY, timedelta()).before is None
    assert world.asked() is True


def test_the_event_says_how_a_container_ended_that_is_gone_already(world: Followed) -> None:
    world.follow()
    world.happens("start")
    world.told.running(KEY)
    del world.daemon.containers["c1"]
    world.happens("die", exitCode="137")
    at = moment("2023-11-14T22:13:22Z")
    assert at is not None
    assert world.told.down(KEY).exit == Exit(137, at, asked=False)
    world.happens("destroy")
    world.told.removed(KEY)


def test_a_container_of_nobodys_concern_is_never_told(world: Followed) -> None:
    world.daemon.containers["other"] = document("other", Env=[])
    world.follow()
    for action in ("create", "start", "die", "destroy"):
        world.happens(action, "other", exitCode="1")
    world.happens("start")
    world.told.running(KEY)
    assert world.daemon.asked("GET /containers/other/json") == 1
    assert [type(fact) for fact in world.told.facts] == [RuntimeUp, ContainerSeen]


def test_a_death_is_told_by_its_own_event_and_by_none_before(world: Followed) -> None:
    world.follow()
    world.becomes("exited")
    world.happens("start")
    world.happens("kill", signal="9")
    world.happens("rename")
    world.happens("die", exitCode="3")
    exit_ = world.told.down(KEY).exit
    assert exit_ is not None
    assert exit_.asked
    assert {c.exit.asked for c in world.told.seen(KEY) if c.exit} == {True}


def test_a_look_that_fails_does_not_end_the_following(world: Followed) -> None:
    world.follow()
    world.daemon.on("GET /containers/c1/json", lambda request: request.refuse(500, "not now"))
    world.happens("start")
    eventually(lambda: world.daemon.asked("GET /containers/c1/json"))
    world.daemon.on("GET /containers/c1/json", lambda request: request.give(world.daemon.containers["c1"]))
    world.happens("unpause")
    world.told.running(KEY)


def test_a_daemon_that_goes_and_comes_is_told_once_each(world: Followed) -> None:
    world.follow()
    world.happens("start")
    world.told.running(KEY)
    world.daemon.down()
    eventually(lambda: world.told.of(RuntimeDown))
    tries = world.told.of(RuntimeDown)
    world.daemon.version = "1.43"
    world.daemon.up()
    eventually(lambda: len(world.told.of(RuntimeUp)) == 2)
    assert world.told.of(RuntimeDown) == tries
    assert world.told.of(RuntimeUp) == [RuntimeUp("docker"), RuntimeUp("docker", restarted=True)]
    run = "2024-06-01T00:00:00Z"
    world.becomes("running", run)
    world.happens("start")
    assert world.told.running(KEY, not_run="2024-05-01T10:00:00.5Z").run == run
    assert any(path.startswith("/v1.43/events") for path in world.daemon.paths)
    assert any("since=1700000001.000000000" in path for path in world.daemon.paths)


def test_what_a_new_daemon_ends_as_it_comes_was_nobodys_order(world: Followed) -> None:
    world.follow()
    world.happens("start")
    world.told.running(KEY)
    world.daemon.down()
    eventually(lambda: world.told.of(RuntimeDown))
    world.becomes("exited")
    world.daemon.up()
    eventually(lambda: len(world.told.of(RuntimeUp)) == 2)
    for action in ("kill", "die", "stop"):
        world.happens(action, signal="15", exitCode="0")
    world.happens("update")
    end = world.told.down(KEY).exit
    assert end is not None
    assert (end.asked, end.missed) == (None, True)
    world.happens("start")
    world.happens("kill", signal="15")
    world.happens("die", exitCode="0")
    eventually(lambda: (c := world.told.last(KEY)) and c.exit and c.exit.asked, why="this one was asked for")


def test_what_a_daemon_ends_as_it_goes_was_nobodys_order(world: Followed) -> None:
    world.follow()
    world.happens("start")
    world.told.running(KEY)
    world.daemon.deafen()
    world.becomes("exited")
    for action in ("kill", "die", "stop"):
        world.happens(action, signal="15", exitCode="0")
    world.happens("update")
    end = world.told.down(KEY).exit
    assert end is not None
    assert (end.asked, end.missed) == (None, True)


def test_a_stop_by_hand_that_a_stop_of_the_daemon_overtakes_stays_one(world: Followed) -> None:
    world.follow()
    world.happens("start")
    world.told.running(KEY)
    before = len(world.told.seen(KEY))
    world.happens("kill", signal="15")
    world.happens("rename")
    eventually(lambda: len(world.told.seen(KEY)) > before, why="the first kill has been taken in")
    world.becomes("exited")
    world.daemon.deafen()
    for action in ("kill", "die", "stop"):
        world.happens(action, signal="9", exitCode="137")
    world.happens("update")
    assert world.told.down(KEY).exit is not None
    eventually(lambda: (c := world.told.last(KEY)) and c.exit and c.exit.asked, why="a person had asked for it")


def test_what_a_daemon_did_before_it_was_there_for_cmgr_was_nobodys_order(world: Followed) -> None:
    world.daemon.down()
    for action in ("kill", "die"):
        world.daemon.past.append(json.dumps(event(action, "c1", world.at, signal="15", exitCode="0")).encode() + b"\n")
    world.runtime.watch(world.told.tell)
    world.told.first(RuntimeDown)
    world.becomes("exited")
    world.daemon.up()
    world.told.first(RuntimeUp)
    assert world.asked() is None


def test_a_daemon_that_is_not_there_yet_is_told_when_it_comes(world: Followed) -> None:
    world.daemon.down()
    world.runtime.watch(world.told.tell)
    why = world.told.first(RuntimeDown).why
    assert why.startswith("nothing answers at ")
    world.daemon.up()
    world.told.first(RuntimeUp)
    assert len(world.told.of(RuntimeDown)) == 1


def test_a_stream_that_is_refused_is_a_runtime_that_is_down(world: Followed) -> None:
    world.daemon.on("GET /events", lambda request: request.refuse(500, "not today"))
    world.runtime.watch(world.told.tell)
    assert "not today" in world.told.first(RuntimeDown).why


def test_a_daemon_that_hangs_is_told_and_one_that_is_only_silent_is_not() -> None:
    with fake_dockerd() as daemon:
        daemon.containers["c1"] = document("c1")
        world = Followed(daemon, IMPATIENT)
        world.follow()
        eventually(lambda: daemon.asked("GET /events") >= 4, why="silent streams are opened anew")
        assert world.told.facts == (RuntimeUp("docker"),)
        daemon.on("GET /events", Request.hang)
        assert "did not answer within 1 s" in world.told.first(RuntimeDown).why
        daemon.on("GET /events", lambda request: request.stream(daemon.events))
        eventually(lambda: len(world.told.of(RuntimeUp)) == 2)
        assert not world.told.of(RuntimeUp)[1].restarted
        world.runtime.close()


@pytest.mark.parametrize("request_", ["GET /version", "GET /events"])
def test_close_ends_the_following_though_the_daemon_hangs(request_: str, world: Followed) -> None:
    world.daemon.on(request_, Request.hang)
    world.runtime.watch(world.told.tell)
    eventually(lambda: world.daemon.asked(request_))
    world.runtime.close()
    assert world.told.facts == ()
    assert "docker-events" not in [thread.name for thread in threading.enumerate()]


def test_close_ends_the_following_of_a_silent_stream(world: Followed) -> None:
    world.follow()
    world.runtime.close()
    assert "docker-events" not in [thread.name for thread in threading.enumerate()]
