"""Pretended containers, beyond what every runtime does: failures to order, and a world that outlives the process."""

import json
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cmgr.errors import ContainerError, ContainerGone, RuntimeDown
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.services.containers import NO_RESTART, ContainerKey, Exit
from cmgr.runtimes.sim import world as sim_world
from cmgr.runtimes.sim.world import State
from tests.runtimes.sim.by_hand import RuntimeByHand, pretended
from tests.runtimes.told import Told
from tests.support.waiting import PATIENCE, eventually

LONG = timedelta(seconds=60)
CHIP = "0"


@pytest.fixture
def runtime() -> Iterator[RuntimeByHand]:
    """`web` and `db` run."""
    runtime = RuntimeByHand([pretended("web", CHIP), pretended("db", "1", restart_policy="on-failure:3")])
    yield runtime
    runtime.close()


def key(runtime: RuntimeByHand, name: str = "web") -> ContainerKey:
    return runtime.container(name).key


def test_what_was_asked_is_logged(runtime: RuntimeByHand) -> None:
    runtime.list()
    runtime.stop(key(runtime), timedelta(seconds=5))
    runtime.start(key(runtime), "always:0")
    assert [(call.operation, call.name, call.detail) for call in runtime.calls] == [
        ("list", "", ""),
        ("stop", "web", "5 s"),
        ("start", "web", "always:0"),
    ]
    assert sorted(call.at for call in runtime.calls) == [call.at for call in runtime.calls]


def test_the_next_calls_fail_as_often_as_told(runtime: RuntimeByHand) -> None:
    runtime.fail_next("stop", 2)
    for name in ("web", "db"):
        with pytest.raises(ContainerError, match=f"cannot stop container {name}"):
            runtime.stop(key(runtime, name), LONG)
    assert runtime.stop(key(runtime), LONG).before is None


def test_a_failure_may_be_meant_for_one_container(runtime: RuntimeByHand) -> None:
    runtime.fail_next("stop", -1, name="web")
    assert runtime.stop(key(runtime, "db"), LONG).before is None
    for _ in range(3):
        with pytest.raises(ContainerError):
            runtime.stop(key(runtime), LONG)


def test_failures_may_come_with_the_description() -> None:
    runtime = RuntimeByHand([pretended("web", CHIP, fail_stops=1, fail_starts=-1)])
    with pytest.raises(ContainerError):
        runtime.stop(key(runtime), LONG)
    runtime.stop(key(runtime), LONG)
    for _ in range(2):
        with pytest.raises(ContainerError):
            runtime.start(key(runtime), NO_RESTART)


def test_a_slow_stop_ends_when_the_container_dies(runtime: RuntimeByHand) -> None:
    slow = runtime.create(pretended("slow", CHIP, stop_time=timedelta(hours=1)))
    with ThreadPoolExecutor(1) as pool:
        stopping = pool.submit(runtime.stop, slow, timedelta(hours=2))
        eventually(lambda: runtime.calls)
        assert runtime.container("slow").running
        runtime.kill("slow", 1)
        assert stopping.result(PATIENCE).before is None
    assert not runtime.container("slow").running


def test_nobody_waits_for_a_pretended_stop_after_close(runtime: RuntimeByHand) -> None:
    slow = runtime.create(pretended("slow", CHIP, stop_time=timedelta(hours=1)))
    runtime.close()
    assert runtime.stop(slow, timedelta(hours=2)).before is None


def test_while_it_is_down_nothing_works_and_it_says_so(runtime: RuntimeByHand) -> None:
    told = Told()
    runtime.watch(told.tell)
    runtime.set_down("no power")
    for call in (runtime.list, lambda: runtime.stop(key(runtime), LONG), lambda: runtime.start(key(runtime), "")):
        with pytest.raises(RuntimeDown, match="no power"):
            call()
    runtime.set_up(restarted=False)
    eventually(lambda: len(told.facts) == 3)
    up = facts.RuntimeUp("sim")
    assert told.facts == (up, facts.RuntimeDown("sim", "no power"), up)
    assert runtime.container("web").running


def test_a_restarted_daemon_does_what_restart_policies_say() -> None:
    policies = ("", "always:0", "unless-stopped:0", "on-failure:3")
    runtime = RuntimeByHand(
        [pretended(f"{state}{policy}", CHIP, restart_policy=policy) for policy in policies for state in ("up", "down")]
    )
    for policy in policies:
        runtime.stop_by_hand(f"down{policy}")
    runtime.set_down()
    runtime.set_up()
    running = {container.name for container in runtime.list() if container.running}
    assert running == {"upalways:0", "downalways:0", "upunless-stopped:0", "upon-failure:3", "downon-failure:3"}


def test_a_container_that_nobody_made_is_gone(runtime: RuntimeByHand) -> None:
    with pytest.raises(ContainerGone):
        runtime.kill("nobody")
    with pytest.raises(ContainerGone):
        runtime.stop(ContainerKey("sim", "", "nobody"), LONG)


def test_the_world_outlives_the_process(tmp_path: Path) -> None:
    file = tmp_path / "world.json"
    likes = [
        pretended("web", CHIP, strategy=Strategy.RING, order=3, grace=LONG),
        pretended("db", "1", restart_policy="always:0"),
        pretended("off", CHIP, running=False),
    ]
    first = RuntimeByHand(likes, path=file)
    first.kill("web", 1)
    first.set_restart_policy(key(first, "db"), NO_RESTART)
    before = first.list()
    second = RuntimeByHand([*likes, pretended("new", CHIP)], path=file)
    assert second.list()[:3] == before
    assert [container.name for container in second.list()[3:]] == ["new"]
    assert second.start(key(second), NO_RESTART) not in {container.run for container in before}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_world_that_cannot_be_read_is_not_thrown_away(tmp_path: Path) -> None:
    file = tmp_path / "world.json"
    for text in ("", "[]", "{}", '{"serial": 1, "containers": [{}]}'):
        file.write_text(text)
        with pytest.raises(ContainerError, match="cannot read the simulated containers"):
            RuntimeByHand(path=file)
        assert file.read_text() == text


def test_a_world_that_cmgr_0_1_wrote_is_read() -> None:
    like = {"name": "web", "claims": ["0"], "crashes_on": [], "grace": 10.0, "strategy": "ringRecover"}
    life = {"like": like, "id": "web.1", "restart_policy": "", "state": "exited", "run": 1}
    end = {"exit": [137, "2026-01-01T00:00:00+00:00", None], "health": ""}
    (read,), serial = sim_world.read(json.dumps({"serial": 3, "containers": [life | end]}))
    assert (read.exit, serial) == (Exit(137, datetime(2026, 1, 1, tzinfo=UTC)), 3)
    assert (read.claims, read.like.strategy, read.state) == (frozenset({CHIP}), Strategy.RING, State.EXITED)


def test_a_world_is_the_same_after_writing_and_reading() -> None:
    life = sim_world.created(pretended("web", CHIP), 7, auto_remove=True)
    assert sim_world.read(sim_world.written([life], 9)) == ((life,), 9)


def test_one_without_chips_is_told_of_if_it_wishes_something() -> None:
    wishes = [pretended("healed", heal=True), pretended("kv", group="tp"), pretended("other")]
    runtime = RuntimeByHand(wishes)
    assert [container.name for container in runtime.list()] == ["healed", "kv"]
    runtime.close()
