"""Measures what the worst that can be asked of each route costs a service with 64 chips and 512 containers."""

import time
from collections.abc import Callable

from bench.report.figures import Figure
from bench.site import Site
from cmgr.store import files
from tests.service.door.worst import CONTAINERS, long_history, worst_requests

PART = f"The control socket: {CONTAINERS // 8} chips, {CONTAINERS} containers"
MOST = 50.0
TRIES = 3
"""Of each only the cheapest counts: what else goes on is not of the request."""


def run(site: Site) -> list[Figure]:
    folder = site.new_folder()
    folder.mkdir()
    long_history(folder / files.NAME)
    # Each time on books that nobody has asked of: what was made for an answer is kept for the next.
    tries = [
        [_processor(ask.answer) for asks in worst_requests(folder / files.NAME) for ask in asks] for _ in range(TRIES)
    ]
    costs = list(map(min, zip(*tries, strict=True)))
    return [Figure(PART, "the worst request: processor", max(costs), "ms", MOST, len(costs))]


def _processor(answer: Callable[[], None]) -> float:
    began = time.thread_time()
    answer()
    return (time.thread_time() - began) * 1000
