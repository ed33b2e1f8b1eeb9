"""After a stop and a start the output goes on where it went before."""

import os
import re
import signal
import stat
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.model.values.services.containers import NO_RESTART, ContainerKey
from cmgr.runtimes.containerd.runtime import ContainerdRuntime
from tests.runtimes.containerd.world import ContainerdWorld
from tests.support.daemons.containerd import IMAGE
from tests.support.daemons.dockerd import OBEYS
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.containerd

LONG = timedelta(seconds=30)

LOGGER = """#!/bin/sh
# What nerdctl is to containerd: told where by its arguments, it says that it is ready by closing descriptor 5.
printf '%s %s\\n' "$CONTAINER_NAMESPACE/$CONTAINER_ID" "$*" >>"$2/calls"
exec 5>&-
cat <&3 >>"$2/out" &
cat <&4 >>"$2/out" &
wait
"""


def logger(folder: Path, text: str = LOGGER) -> str:
    """Make a program that stands in for nerdctl's logger, and return the address it is called by."""
    program = folder / "nerdctl"
    program.write_text(text)
    program.chmod(0o755)
    place = folder / "data"
    place.mkdir(mode=0o755, exist_ok=True)
    return f"binary://{program}?_NERDCTL_INTERNAL_LOGGING={place}"


def again(world: ContainerdWorld, key: ContainerKey) -> None:
    world.runtime.stop(key, LONG)
    world.runtime.start(key, NO_RESTART)


def lines(path: Path) -> Callable[[], int]:
    return lambda: path.read_text().count("ready") if path.exists() else 0


def anew(world: ContainerdWorld) -> None:
    """Let cmgr begin a new life."""
    world.runtime.close()
    world.runtime = ContainerdRuntime(world.containerd.socket)


def test_a_log_file_goes_on(world: ContainerdWorld, key: ContainerKey) -> None:
    world.run(key, *OBEYS)
    world.ready(key, 0)
    again(world, key)
    eventually(lambda: world.said(key) == "ready\nready\n")


def test_a_nerdctl_container_goes_on_in_the_same_file_by_the_same_logger(
    world: ContainerdWorld, key: ContainerKey, tmp_path: Path
) -> None:
    address = logger(tmp_path)
    world.run(key, *OBEYS, labels={"nerdctl/log-uri": address}, options=("--log-uri", address))
    eventually(lambda: lines(tmp_path / "data/out")() == 1)
    again(world, key)
    eventually(lambda: lines(tmp_path / "data/out")() == 2)
    called = (tmp_path / "data/calls").read_text().splitlines()
    assert called == [f"{key.namespace}/web _NERDCTL_INTERNAL_LOGGING {tmp_path}/data"] * 2


def test_nothing_is_written_down_that_the_record_says_already(
    world: ContainerdWorld, key: ContainerKey, tmp_path: Path
) -> None:
    address = logger(tmp_path)
    world.run(key, *OBEYS, labels={"nerdctl/log-uri": address}, options=("--log-uri", address))
    again(world, key)
    assert "cmgr.io" not in world.labels(key)


def test_one_made_in_the_foreground_of_nerdctl_goes_on_in_its_logger(
    world: ContainerdWorld, key: ContainerKey, tmp_path: Path
) -> None:
    address = logger(tmp_path)
    world.run_in_foreground(key, OBEYS, "0", {"nerdctl/log-uri": address}, rm=False)
    world.ready(key, 0)
    again(world, key)
    eventually(lambda: lines(tmp_path / "data/out")() == 1)


def test_fifos_are_the_same_again(world: ContainerdWorld, key: ContainerKey) -> None:
    fifo = world.containerd.folder / "fifo" / "out"
    fifo.parent.mkdir(exist_ok=True)
    world.run(key, *OBEYS, options=("--fifo-dir", str(fifo.parent)))
    path = fifos(world)[0]
    again(world, key)
    assert fifos(world)[0] == path
    reader = os.open(path, os.O_RDONLY)
    assert os.read(reader, 100).startswith(b"ready")
    os.close(reader)


def test_fifos_that_have_gone_are_made_again(world: ContainerdWorld, key: ContainerKey) -> None:
    folder = world.containerd.folder / "fifo"
    world.run(key, *OBEYS, options=("--fifo-dir", str(folder)))
    paths = fifos(world)
    world.runtime.stop(key, LONG)
    world.containerd.ctr("tasks", "delete", "web")
    assert not any(os.path.exists(path) for path in paths)
    world.runtime.start(key, NO_RESTART)
    assert fifos(world) == paths
    assert all(stat.S_ISFIFO(os.stat(path).st_mode) for path in paths if path)


def fifos(world: ContainerdWorld) -> list[str]:
    """Return where the one container's output goes, as containerd says."""
    seen = world.runtime._looks.inside(world.namespace, 5)[0]
    assert seen.task is not None
    return [seen.task.streams.stdout, seen.task.streams.stderr]


def test_one_that_says_nothing_goes_on_saying_nothing(world: ContainerdWorld, key: ContainerKey) -> None:
    world.run(key, *OBEYS, options=("--null-io",))
    again(world, key)
    assert fifos(world) == ["", ""]


def test_a_terminal_stays_a_terminal(world: ContainerdWorld, key: ContainerKey, tmp_path: Path) -> None:
    labels = ["--label", f"nerdctl/log-uri={logger(tmp_path)}", "--env", "ASCEND_VISIBLE_DEVICES=0"]
    # It goes on: of one that ends at once the shim may lose what a terminal had yet to say.
    command = ["sh", "-c", f"/bin/busybox tty; {OBEYS[-1]}"]
    world.containerd.ctr("containers", "create", "-t", "--snapshotter", "native", *labels, "--", IMAGE, "web", *command)
    said = tmp_path / "data/out"
    world.runtime.start(key, NO_RESTART)
    eventually(lambda: lines(said)() == 1)
    again(world, key)
    eventually(lambda: lines(said)() == 2)
    assert said.read_text().count("/dev/") == 2


def test_where_the_log_was_survives_cmgr_and_the_task(world: ContainerdWorld, key: ContainerKey) -> None:
    world.run(key, *OBEYS)
    world.ready(key, 0)
    world.runtime.stop(key, LONG)
    # As containerd 1.7 does by itself when it is restarted.
    world.containerd.ctr("tasks", "delete", "web")
    anew(world)
    world.runtime.start(key, NO_RESTART)
    eventually(lambda: world.said(key) == "ready\nready\n")


def test_where_the_log_was_is_known_though_its_client_took_the_task_away(
    world: ContainerdWorld, key: ContainerKey
) -> None:
    world.run(key, *OBEYS)
    world.ready(key, 0)
    world.runtime.list()
    world.kill(key)
    world.containerd.ctr("tasks", "delete", "web")
    world.runtime.start(key, NO_RESTART)
    eventually(lambda: world.said(key) == "ready\nready\n")


@pytest.mark.parametrize("label", ["nerdctl/log-uri", "containerd.io/restart.loguri", "cmgr.io/saved-io"])
def test_a_label_that_an_image_may_have_brought_makes_root_run_nothing(
    world: ContainerdWorld, key: ContainerKey, tmp_path: Path, label: str
) -> None:
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/done\nexec 5>&-\nsleep 1\n")
    program.chmod(0o755)
    address = f"binary://{program}?a=b"
    value = f'{{"made":"0.0","stdout":"{address}","stderr":"{address}"}}' if label.startswith("cmgr") else address
    world.run(key, *OBEYS, labels={label: value}, options=("--null-io",))
    world.kill(key, signal.SIGKILL)  # It has no log that would tell when it hears SIGTERM.
    world.containerd.ctr("tasks", "delete", "web")
    world.runtime.start(key, NO_RESTART)
    assert world.task(key)[1] == "RUNNING"
    assert fifos(world) == ["", ""]
    assert not (tmp_path / "done").exists()


def test_many_writers_at_once_lose_no_line(world: ContainerdWorld) -> None:
    keys = [ContainerKey("containerd", world.namespace, f"w{n}") for n in range(4)]
    for each in keys:
        world.run(each, *OBEYS)
    threads = [threading.Thread(target=again, args=(world, each)) for each in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    for each in keys:
        eventually(lambda each=each: re.fullmatch("ready\n(ready\n)", world.said(each)))  # type: ignore[misc]
