"""The worst that can be asked of each route costs a bounded number of steps and of bytes: it is cheap, or refused."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

from cmgr.store import files
from tests.security.fuzz import SECTION
from tests.service.door.worst import long_history, worst_requests
from tests.support.figures import Figures
from tests.view.crowd import steps

MOST_STEPS = 350_000
"""Some 90 ms of a processor of 2026: a status of all in Chinese, as text. In JSON it takes two thirds of them."""

MOST_BYTES = 16 * 1024 * 1024
"""Of memory, for one request, at any moment."""


def test_the_worst_of_each_route_is_cheap(tmp_path: Path, figures: Figures) -> None:
    database = tmp_path / files.NAME
    long_history(database)
    for asks in worst_requests(database):
        costs = {ask: steps(ask.answer) for ask in asks}
        figures.add(SECTION, "worst requests of a route whose steps were counted", len(asks))
        worst = max(asks, key=costs.__getitem__)
        assert costs[worst] <= MOST_STEPS, worst
        assert made(worst.answer) <= MOST_BYTES, worst


def made(ask: Callable[[], None]) -> int:
    """Return how many bytes are there at once that were made for it."""
    tracemalloc.start()
    try:
        ask()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
