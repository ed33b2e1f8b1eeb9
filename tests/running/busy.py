"""Two tests that start all that tests start, say so, and go on for ever: `test_reaper` runs them, and ends them."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.runtimes.containerd.world import ContainerdWorld
from tests.runtimes.docker.world import DockerWorld
from tests.sick.disks import CannotMount, Disk
from tests.support.daemons.daemon import CannotRun, is_dead
from tests.support.daemons.journald import Journald
from tests.support.service import Service
from tests.support.waiting import eventually

LOST = "setsid sh -c 'sleep 1000 & echo $$; exec sleep 1000' & wait"
"""Processes that nobody knows of."""

HEADLESS = """
import ctypes, subprocess, threading
threading.Thread(target=subprocess.Popen(["sleep", "1000"]).wait).start()
ctypes.CDLL(None).pthread_exit(None)
"""
"""A process that looks as one that has ended, as its first thread has, and goes on with a child."""


def up(what: str, *daemons: object) -> None:
    """Say that these are up; some could not be had."""
    Path(os.environ["BUSY"], what).write_text(str(sum(each is not None for each in daemons)))
    threading.Event().wait()


def had(request: pytest.FixtureRequest, fixture: str) -> Any:
    """Return the fixture's value; None where it cannot be had here, or is not wanted."""
    if fixture in os.environ["WITHOUT"].split():
        return None
    try:
        return request.getfixturevalue(fixture)
    except pytest.skip.Exception:
        return None


def test_with_runtimes(request: pytest.FixtureRequest) -> None:
    docker, containerd, podman = (had(request, name) for name in ("dockerd", "containerd", "podman"))
    if docker is not None:
        docking = DockerWorld(docker)
        docking.create("runs")
        docking.pause(docking.create("frozen"))
    if podman is not None:
        DockerWorld(podman).create("runs")
    if containerd is not None:
        world = ContainerdWorld(containerd)
        world.create("runs")
        world.pause(world.create("frozen"))
    up("runtimes", docker, containerd, podman)


def test_with_everything_else(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    etcd, systemd, browser = (had(request, name) for name in ("etcd", "systemd", "browser"))
    if etcd is not None:
        etcd.nodes[0].freeze()
    if systemd is not None:
        systemd.define("busy.service", ExecStart="/bin/sleep 1000")
        systemd.systemctl("start", "busy.service")
    if browser is not None:
        browser.new_page().goto("data:text/html,busy")
    try:
        mounted: list[object] = [Disk(tmp_path / "disk"), Journald()]
    except (CannotMount, CannotRun):
        mounted = []
    service = Service(tmp_path, {})
    service.start()
    service.tell(signal.SIGSTOP)
    with (tmp_path / "lost").open("wb") as out:
        subprocess.Popen(["sh", "-c", LOST], stdout=out)
    headless = subprocess.Popen([sys.executable, "-c", HEADLESS], start_new_session=True)
    eventually((tmp_path / "lost").read_text)
    eventually(lambda: is_dead(headless.pid), why="its first thread has ended")
    up("else", etcd, systemd, browser, *mounted)
