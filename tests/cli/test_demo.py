"""`cmgr demo` as a whole: a real service in a process of its own, killed in the middle."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.sentences.test_chinese_lines import COMMAND, ENGLISH
from tests.support.daemons.dockerd import Dockerd
from tests.support.waiting import PATIENCE, eventually, rest

pytestmark = pytest.mark.alone


def demo(*words: str, folder: Path, **variables: str) -> "subprocess.Popen[str]":
    """Start a demo that makes what it makes in this folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CMGR_")}
    return subprocess.Popen(
        [sys.executable, "-m", "cmgr", "demo", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment, "TMPDIR": str(folder), **variables},
    )


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: a unix socket's path may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="cmgr-t-") as made:
        yield Path(made)


def services(folder: Path) -> set[int]:
    """Return the pids of the services that run with a configuration in this folder."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if bytes(folder) in command and b"\0run\0" in command:
                found.add(int(entry.name))
    return found


def assert_a_whole_story(shown: str) -> None:
    assert shown.count("$ cmgr status") == 4
    assert shown.count("is over: recovered") == 2
    assert shown.count("cmgr-demo-chat runs again") == 2
    assert shown.count("cmgr-demo-search") == 4, "the container on the other ring is shown by status only"
    assert shown.count("all is well: 8 chips healthy, 3 containers running") == 3
    assert shown.count("not well: ") == 1
    history = shown.partition("$ cmgr history")[2].splitlines()
    assert [line.split()[0] for line in history if line] == ["EPISODE", "2", "1", "#"]
    assert shown.endswith("# The same on a page in a browser: cmgr demo --web\n")


def test_the_demo_tells_the_whole_story_and_leaves_nothing(folder: Path) -> None:
    running = demo("--runtime", "sim", folder=folder)
    shown, remarks = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, remarks
    assert_a_whole_story(shown)
    assert "from the database" in remarks
    assert list(folder.iterdir()) == []
    assert services(folder) == set()


def test_the_story_is_told_in_chinese_where_the_locale_is_that(folder: Path) -> None:
    running = demo("--runtime", "sim", folder=folder, LC_ALL="zh_CN.UTF-8")
    shown, remarks = running.communicate(timeout=PATIENCE)
    assert (running.returncode, shown.count("$ cmgr status")) == (0, 4), remarks
    assert [line for line in (shown + remarks).splitlines() if ENGLISH.search(COMMAND.sub("", line))] == []


def test_the_demo_on_a_page_prints_a_link_and_leaves_nothing(folder: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    running = demo("--runtime", "sim", "--web", "--listen", f"127.0.0.1:{port}", folder=folder)
    assert running.stdout is not None
    link = next(line.strip() for line in running.stdout if "#t=" in line)
    assert link.startswith(f"http://127.0.0.1:{port}/#t=")

    def entered() -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        ticket = json.dumps({"ticket": link.partition("#t=")[2]})
        with suppress(ConnectionRefusedError), closing(connection):
            connection.request("POST", "/api/enter", ticket, {"Content-Type": "application/json"})
            return connection.getresponse().status == 200
        return False

    eventually(entered)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert list(folder.iterdir()) == []
    assert services(folder) == set()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_demo_that_is_ended_leaves_nothing(folder: Path, number: signal.Signals, code: int) -> None:
    running = demo("--runtime", "sim", folder=folder)
    assert running.stdout is not None
    for line in running.stdout:
        if "is stopped" in line:
            break
    running.send_signal(number)
    _, remarks = running.communicate(timeout=PATIENCE)
    assert running.returncode == code
    assert "Traceback" not in remarks
    assert list(folder.iterdir()) == []
    assert services(folder) == set()


def test_a_demo_falls_back_to_pretended_containers_and_keeps_what_is_asked_for(folder: Path) -> None:
    running = demo("--keep", folder=folder, CMGR_DOCKER_SOCKET=str(folder / "none.sock"))
    assert running.stdout is not None
    assert running.stdout.readline().startswith("The containers are simulated: cannot reach Docker")
    for line in running.stdout:
        if "is stopped" in line:
            break
    running.send_signal(signal.SIGINT)
    shown, _ = rest(running)
    (kept,) = folder.iterdir()
    assert f"kept: {kept}" in shown
    assert (kept / "state" / "cmgr.db").exists()


def test_real_containers_that_cannot_be_made_are_an_error_when_asked_for(folder: Path) -> None:
    running = demo("--runtime", "docker", folder=folder, CMGR_DOCKER_SOCKET=str(folder / "none.sock"))
    shown, remarks = running.communicate(timeout=PATIENCE)
    assert (running.returncode, shown) == (1, "")
    assert remarks.startswith("cmgr: cannot ")
    assert list(folder.iterdir()) == []


@pytest.mark.docker
def test_the_demo_with_real_containers_tells_the_same_story_and_leaves_nothing(dockerd: Dockerd, folder: Path) -> None:
    empty(dockerd)
    running = demo("--runtime", "docker", folder=folder, CMGR_DOCKER_SOCKET=dockerd.socket)
    shown, remarks = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, remarks
    assert_a_whole_story(shown)
    assert_nothing_is_left(dockerd)
    client = dockerd.client()
    try:
        host = client.create_host_config(network_mode="none")
        other = client.create_container(
            "cmgr-test", ["sh"], name="llm", environment=["ASCEND_VISIBLE_DEVICES=0"], host_config=host
        )
        refused = demo("--runtime", "docker", folder=folder, CMGR_DOCKER_SOCKET=dockerd.socket)
        _, remarks = refused.communicate(timeout=PATIENCE)
        assert refused.returncode == 1
        assert "others here ask for chips: llm" in remarks
        client.remove_container(other, force=True)
    finally:
        client.close()
    assert_nothing_is_left(dockerd)


def empty(dockerd: Dockerd) -> None:
    """Remove what tests before this one have left on their daemon: the demo refuses where others ask for chips."""
    with closing(dockerd.client()) as client:
        for container in client.containers(all=True):
            client.remove_container(container, force=True)


def assert_nothing_is_left(dockerd: Dockerd) -> None:
    client = dockerd.client()
    try:
        assert client.containers(all=True, filters={"label": "cmgr-demo"}) == []
        assert client.images("cmgr-demo") == []
    finally:
        client.close()
