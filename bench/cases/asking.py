"""Measures what it costs to ask services whether they serve: over the network by `Ready`, and by a command in one."""

import os
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bench.report.figures import Figure
from bench.service import below
from bench.site import Site
from cmgr.config.settings import Config
from cmgr.model.values.handling.questions import OWN_MACHINE, question
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import HEALTHY, Container, ContainerKey, Kept
from cmgr.runtimes.docker.runtime import DockerRuntime
from cmgr.service.parts.ready import COMMANDS, Ready
from tests.support.daemons.dockerd import Dockerd

SERVICES, ROUNDS = 64, 20
PART = f"Asking {SERVICES} services whether they serve"
PATIENCE = 60.0

WAYS = {
    "TCP": "tcp://:{}",
    "HTTP": "http://:{}/",
    "HTTP, with a text": "http://:{}/ text='Directory listing'",
}


def run(site: Site) -> list[Figure]:
    folder = site.new_folder()
    folder.mkdir()
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(folder), "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        port = server.stdout.readline().split("port ")[1].split()[0]
        every = Config().ready.every.total_seconds()
        shares = {way: _asked(text.format(port)) / every * 100 for way, text in WAYS.items()}
        figures = [
            Figure(PART, f"by {way}, each {every:g} s", share, "% of a core", 0.1, ROUNDS)
            for way, share in shares.items()
        ]
    finally:
        server.kill()
        server.communicate()
    return [*figures, *(_commands(site, site.docker) if site.docker is not None else ())]


def _asked(text: str) -> float:
    """Return how many seconds of processor time this process needs to ask them all once."""
    asked = question(text)
    keys = [ContainerKey("bench", "", str(number)) for number in range(SERVICES)]
    # None answers as is known of it: so it is told of each that it has been asked.
    known = Container(keys[0], "bench", running=True, network=OWN_MACHINE, ready=asked, kept=Kept(answer=HEALTHY))
    node = Node(containers={key: replace(known, key=key) for key in keys})
    answers = threading.Semaphore(0)
    ready = Ready(lambda: node, {}, lambda fact: answers.release(), lambda: datetime.now(UTC), Config())
    with closing(ready):
        spent = 0.0
        for number in range(ROUNDS + 1):
            before = time.process_time()
            ready.look_round(number * 60.0)
            for _ in keys:
                if not answers.acquire(timeout=PATIENCE):
                    raise TimeoutError(f"{text}: not all have answered")
            spent += time.process_time() - before if number else 0.0  # The first one loads what the others need.
    return spent / ROUNDS


def _commands(site: Site, dockerd: Dockerd) -> list[Figure]:
    site.containers(1, 1)
    runtime = DockerRuntime(dockerd.socket)
    (bench,) = (container for container in runtime.list() if container.name == "bench-0")
    client = dockerd.client()
    with closing(client):
        pid = int(client.inspect_container(bench.key.id)["State"]["Pid"])
    shim = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    others = [int((dockerd.folder / "pid").read_text()), shim]

    def ask() -> None:
        code, output = runtime.run_inside(bench.key, ("true",), PATIENCE)
        assert code == 0, output

    ask()
    own, theirs, walls = time.process_time(), _ticks(others), list[float]()
    for _ in range(SERVICES):
        began = time.monotonic()
        ask()
        walls.append(time.monotonic() - began)
    own, theirs = time.process_time() - own, _ticks(others) - theirs
    often = COMMANDS.total_seconds()
    return [
        Figure(PART, f"by a command, each {often:g} s: cmgr", own / often * 100, "% of a core", 0.5, SERVICES),
        Figure(PART, f"by a command, each {often:g} s: Docker", theirs / often * 100, "% of a core", None, SERVICES),
        Figure(PART, "a command, from the question to the answer", sum(walls) / SERVICES * 1000, "ms", None, SERVICES),
    ]


def _ticks(pids: list[int]) -> float:
    """Return the processor time of these, and of all that they have begun, in seconds; what has ended is in it, too."""
    spent = 0
    for pid in below(pids):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        spent += sum(map(int, fields[11:15]))
    return spent / os.sysconf("SC_CLK_TCK")
