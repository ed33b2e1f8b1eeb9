"""Measures what the worst that can be asked of each route costs a service with 64 chips and 512 containers.

And how long root waits there for an answer beside a hundred connections of one user that keep others waiting.
"""

import gc
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from bench.report.figures import Figure
from bench.site import Site
from cmgr.service.door.client import get
from cmgr.service.door.control import ControlServer
from cmgr.service.start import SWITCH_SECONDS
from cmgr.store import files
from tests.cli.scenes import SERVICE
from tests.security.peers import GROUP, KINDS, PEERS, crowd
from tests.service.door.worst import CONTAINERS, long_history, worst_requests
from tests.support.door import Books, table
from tests.view.crowd import anew
from tests.view.crowd import crowd as crowded

PART = f"The control socket: {CONTAINERS // 8} chips, {CONTAINERS} containers"
MOST = 50.0
TRIES = 3
"""Of each only the cheapest counts: what else goes on is not of the request."""

QUESTIONS = 20
PATIENCE = 1000.0
"""Milliseconds that root waits for an answer at most."""


def run(site: Site) -> list[Figure]:
    folder = site.new_folder()
    folder.mkdir()
    long_history(folder / files.NAME)
    # Each time on books that nobody has asked of: what was made for an answer is kept for the next.
    tries = [
        [_processor(ask.answer) for asks in worst_requests(folder / files.NAME) for ask in asks] for _ in range(TRIES)
    ]
    costs = list(map(min, zip(*tries, strict=True)))
    worst = Figure(PART, "the worst request: processor", max(costs), "ms", MOST, len(costs))
    # Only root may become somebody else.
    return [worst, *(_beside_crowds(folder / files.NAME) if os.geteuid() == 0 else ())]


def _processor(answer: Callable[[], None]) -> float:
    began = time.thread_time()
    answer()
    return (time.thread_time() - began) * 1000


def _beside_crowds(database: Path) -> Iterator[Figure]:
    # The site's folders are root's alone.
    with tempfile.TemporaryDirectory(prefix="cmgr-bench-") as folder:
        Path(folder).chmod(0o755)
        path = Path(folder, "cmgr.sock")
        for kind in KINDS:
            with _served(path, database), crowd(path, kind, "status"):
                waits = [_waited(path) for _ in range(QUESTIONS)]
            what = f"root's question beside {PEERS} {kind.replace('deaf', 'unreading')} peers of one user: max"
            yield Figure(PART, what, max(waits), "ms", PATIENCE, QUESTIONS)


@contextmanager
def _served(path: Path, database: Path) -> Iterator[None]:
    """Answer there, in a process of its own, as a service is: one that asks does not wait for its threads."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_serve, args=(path, database, there))
    process.start()
    here.recv()
    yield
    here.send("end")
    process.join()


def _serve(path: Path, database: Path, told: Connection) -> None:
    node = crowded(CONTAINERS)
    # Each answer is made of books of which nothing is known by heart, as while a recovery goes on.
    server = ControlServer(path, table(SERVICE, Books(lambda: anew(node), database)), group=GROUP)
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()
    server.start()
    with closing(server):
        told.send("ready")
        told.recv()


def _waited(path: Path) -> float:
    began = time.monotonic()
    get(path, "status")
    return (time.monotonic() - began) * 1000
