"""containerd goes, comes back, or hangs; its tasks live on."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.errors import ContainerError, RuntimeDown
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.facts import RuntimeUp
from cmgr.model.values.services.containers import NO_RESTART, ContainerKey
from cmgr.runtimes.containerd.runtime import ContainerdRuntime
from cmgr.runtimes.containerd.wire import Limits
from tests.runtimes.containerd.world import ContainerdWorld
from tests.runtimes.told import Told
from tests.support.daemons.containerd import Containerd
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.containerd

LONG = timedelta(seconds=30)


@pytest.fixture
def world(containerd: Containerd) -> Iterator[ContainerdWorld]:
    world = ContainerdWorld(containerd, Limits(look=3.0, list=3.0, kill=3.0, pulse=0.5, echo=3.0))
    yield world
    containerd.thaw()
    world.close()


def test_whoever_listens_to_everything_can_read_what_cmgr_says_to_itself(
    world: ContainerdWorld, tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    with heard.open("wb") as out, world.containerd.foreground("events", out=out, err=subprocess.STDOUT) as listener:
        world.runtime.watch(Told().tell)
        eventually(lambda: heard.read_text().count("/cmgr/pulse") > 1)
        listener.terminate()
    assert {line.split(" ", 5)[-1] for line in heard.read_text().splitlines()} == {"/cmgr/pulse {}"}


def test_a_runtime_that_is_not_there_never_got_the_order() -> None:
    runtime = ContainerdRuntime("/nonexistent/containerd.sock")
    key = ContainerKey("containerd", "default", "web")
    for call in (
        runtime.list,
        lambda: runtime.stop(key, LONG),
        lambda: runtime.start(key, NO_RESTART),
        lambda: runtime.set_restart_policy(key, NO_RESTART),
    ):
        with pytest.raises(
            RuntimeDown, match=r"nothing answers at /nonexistent/containerd\.sock: No such file"
        ) as caught:
            call()
        assert "systemctl status containerd" in caught.value.hint
    runtime.close()


def test_one_that_comes_up_later_is_told(containerd: Containerd) -> None:
    containerd.stop()
    world, told = ContainerdWorld(containerd), Told()
    world.runtime.watch(told.tell)
    assert "nothing answers at" in told.first(facts.RuntimeDown).why
    containerd.start()
    assert told.first(RuntimeUp).restarted
    world.close()


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_containers_that_live_on_are_the_same_lives_afterwards(world: ContainerdWorld, told: Told, how: str) -> None:
    key = world.create("web")
    run = told.running(key).run
    getattr(world.containerd, how)()
    told.first(facts.RuntimeDown)
    world.containerd.start()
    eventually(lambda: len(told.of(RuntimeUp)) == 2)
    assert [(c.run, c.running) for c in world.runtime.list()] == [(run, True)]
    assert world.runtime.stop(key, LONG).run == run


def test_an_end_that_nobody_told_of_is_found_by_the_next_list(world: ContainerdWorld, told: Told) -> None:
    key = world.create("web")
    run = told.running(key).run
    pid = world.task(key)[0]
    world.containerd.stop()
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    world.containerd.start()
    eventually(lambda: len(told.of(RuntimeUp)) == 2)
    found = eventually(lambda: [c for c in world.runtime.list() if not c.running])
    assert [c.run for c in found] == [run]
    halt = world.runtime.stop(key, LONG)
    assert halt.run == run
    assert halt.before is None or halt.before.code == 137
    world.runtime.start(key, NO_RESTART)
    assert world.task(key)[1] == "RUNNING"


BROKEN_OFF = r"the connection to containerd broke|did not answer within"


def test_a_stop_that_breaks_off_may_have_worked_and_is_repeated_well(world: ContainerdWorld, told: Told) -> None:
    key = world.create("deaf", ignores_term=True)
    with ThreadPoolExecutor(1) as pool:
        stopping = pool.submit(world.runtime.stop, key, LONG)
        eventually(lambda: "cmgr.io/saved-io" in world.labels(key), why="the stop is under way")
        world.containerd.kill()
        # On a busy machine a call that was sent before may have had its time when the daemon dies.
        with pytest.raises(ContainerError, match=BROKEN_OFF) as caught:
            stopping.result(PATIENCE)
        assert not isinstance(caught.value, RuntimeDown)
    world.containerd.start()
    world.runtime.stop(key, timedelta())
    assert world.task(key)[1] in ("STOPPED", "")


def test_a_daemon_that_hangs_is_told_to_be_down_and_every_call_ends_in_time(world: ContainerdWorld, told: Told) -> None:
    key = world.create("web")
    told.running(key)
    world.containerd.freeze()
    told.first(facts.RuntimeDown)
    for call in (world.runtime.list, lambda: world.runtime.stop(key, timedelta())):
        with pytest.raises(ContainerError, match="containerd did not answer within") as caught:
            call()
        assert not isinstance(caught.value, RuntimeDown)
    world.containerd.thaw()
    eventually(lambda: len(told.of(RuntimeUp)) == 2)
    assert not told.of(RuntimeUp)[1].restarted
    assert len(world.runtime.list()) == 1


def test_a_silent_stream_stays_up(world: ContainerdWorld, told: Told) -> None:
    threading.Event().wait(5)
    assert told.facts == (RuntimeUp("containerd"),)


def test_closing_takes_no_time_though_the_daemon_hangs(world: ContainerdWorld, told: Told) -> None:
    world.containerd.freeze()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(world.runtime.close).result(PATIENCE)


def test_one_whose_shim_hangs_counts_as_running_and_holds_up_no_other(world: ContainerdWorld, told: Told) -> None:
    hangs, too, other = world.create("hangs"), world.create("too"), world.create("other")
    run = told.running(hangs).run
    told.running(other)
    shims = [
        int(Path(f"/proc/{world.task(key)[0]}/stat").read_text().rpartition(")")[2].split()[1]) for key in (hangs, too)
    ]
    for shim in shims:
        os.kill(shim, signal.SIGSTOP)
    try:
        # containerd itself waits 2 s for each of them, one after the other, before it tells of any container.
        with closing(ContainerdRuntime(world.containerd.socket, limits=Limits(list=3.5))) as impatient:
            assert [[c.running for c in impatient.list()] for _ in range(2)] == [[True] * 3] * 2
        with pytest.raises(ContainerError, match="cannot stop container hangs"):
            world.runtime.stop(hangs, LONG)
        with pytest.raises(ContainerError, match="cannot start container hangs"):
            world.runtime.start(hangs, NO_RESTART)
        world.runtime.stop(other, LONG)
    finally:
        for shim in shims:
            os.kill(shim, signal.SIGCONT)
    assert world.runtime.stop(hangs, LONG).run == run


def test_the_engine_is_known_again_by_its_root(world: ContainerdWorld, containerd: Containerd) -> None:
    runtime = ContainerdRuntime(containerd.socket)
    first = runtime.origin()
    containerd.stop()
    assert runtime.origin().word == "", "nobody answers"
    containerd.start()
    eventually(lambda: runtime.origin().word, why="it answers again")
    assert (runtime.origin(), first.word != "") == (first, True)
    runtime.close()
