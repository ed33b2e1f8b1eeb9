"""Persons do what they do, at random, while chips fault: `all is well` is never said of what does not serve.

CMGR_HANDS: how many seeds are walked; CMGR_HANDS_FROM: the first. A failure says its seed, and what was done.
"""

import os
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress

import pytest

from cmgr.errors import CmgrError
from tests.stories.hands.dockerd_record import DockerdRecord
from tests.stories.hands.hand import Hand
from tests.stories.hands.judge import Judge, words_told, wrong_at_rest
from tests.support.service import Setting
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(1800),
    # Docker's SDK leaves a socket open where the daemon ends in the midst of an answer.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

HANDS = int(os.environ.get("CMGR_HANDS", "2"))
FROM = int(os.environ.get("CMGR_HANDS_FROM", "0"))
ACTS = 15
RESTS = 1.0
"""Seconds for which nothing is amiss when it rests: what was done last is not known in the same moment."""
BUSY = ("pausing", "paused", "resuming", "settling")
DEAD_TASK = "containerd keeps its dead task"
"""So cmgr tells of what a dockerd that was ended in the midst of a start never starts again: it is tried on and on."""
SETTINGS: Mapping[str, Setting] = {
    "alarms.down_after": "1s",
    "retry.backoff_max": "1s",
    "retry.settle": "1s",
    "levels.RestartRequest.reset_after": "1s",
    "reset.attempts": 100,
    "reset.widen_after": "1s",
}


@pytest.fixture
def record(containers: Containers) -> Iterator[DockerdRecord]:
    with closing(DockerdRecord(containers.dockerd)) as made:
        yield made


@pytest.mark.parametrize("seed", range(FROM, FROM + HANDS))
def test_all_is_well_is_never_said_of_what_does_not_serve(
    seed: int, on_docker: Install, containers: Containers, record: DockerdRecord
) -> None:
    service = on_docker(SETTINGS)
    hand = Hand(containers, service, random.Random(seed))  # noqa: S311 - a seed that can be told
    hand.begin()
    service.start()
    with closing(Judge(service, record)) as judge:
        judge.begin()
        for _ in range(ACTS):
            hand.act()
        wrong = _until_it_rests(hand, record)
    wrong += judge.untrue(hand.made) + ["a traceback in the log"] * ("Traceback" in service.said())
    assert not wrong, "\n".join([f"seed {seed}:", *hand.did])


def _until_it_rests(hand: Hand, record: DockerdRecord) -> list[str]:
    """Return what is in the way of that in the end, or is not as it must be at rest."""
    wrong, since = [""], time.monotonic()

    def rests() -> bool:
        nonlocal wrong, since
        wrong = _amiss(hand, record)
        since = time.monotonic() if wrong else since
        return time.monotonic() - since > RESTS

    with suppress(AssertionError):
        eventually(rests)
    return wrong


def _amiss(hand: Hand, record: DockerdRecord) -> list[str]:
    try:
        status = hand.service.status()
    except CmgrError as exc:
        return [str(exc)]
    on = [ring for ring in status["rings"] if ring["phase"] != "healthy" and DEAD_TASK not in ring["reason"]]
    busy = [f"ring {ring['id']} is {ring['phase']}" for ring in on]
    # Of one that is held on, since a client has made another in its place, that is told.
    held = [row for row in status["containers"] if row["status"] in BUSY and row["name"] not in words_told(status)]
    busy += [f"{row['name']} is {row['status']}" for row in held]
    return busy or wrong_at_rest(hand, record, status)
