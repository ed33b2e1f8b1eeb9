"""Lists of chips in one order, and waiting for what was ordered."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cmgr.cli.text import progress
from cmgr.service.door.routes import Request
from cmgr.words import stamp
from tests.cli.conftest import Home, answers
from tests.cli.scenes import NOW, recovering
from tests.support.door import door
from tests.support.service import Service
from tests.support.waiting import eventually


@pytest.mark.usefixtures("service")
def test_each_chip_of_a_list_gets_its_order(home: Home, asked: list[Request]) -> None:
    told = home.here("isolate", "0-1,3", "--reason", "x")
    assert (told.code, told.err) == (0, "")
    assert [(r.do, r.args["chip"]) for r in asked] == [("isolate", 0), ("isolate", 1), ("isolate", 3)]
    assert [line.partition(":")[0] for line in told.out.splitlines()] == ["0", "1", "3"]


@pytest.mark.usefixtures("service")
def test_what_is_refused_of_one_keeps_no_other_from_its_order(home: Home, asked: list[Request]) -> None:
    told = home.here("release", "8-9,1")
    assert told.code == 1
    assert told.err.startswith("cmgr: cannot inject: there is no chip 9\nhint: ")
    assert [r.args["chip"] for r in asked] == [1, 8, 9]
    assert [line.partition(" at ")[0] for line in told.out.splitlines()] == ["1: did release", "8: did release"]


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("do", ["reset", "test", "cancel"])
def test_of_chips_that_are_reset_together_one_is_named(home: Home, asked: list[Request], do: str) -> None:
    assert home.here(do, "0-3").code == 0
    assert [(r.do, r.args.get("chip")) for r in asked] == [("status", None), (do, 0), (do, 2)]


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    "words", [("isolate", "1-", "--reason", "x"), ("release", ""), ("reset", "3-1"), ("cancel", "a")]
)
def test_what_is_no_list_is_wrong_usage(home: Home, asked: list[Request], words: tuple[str, ...]) -> None:
    told = home.here(*words)
    assert (told.code, asked) == (2, [])
    assert "is no chip, and no list of chips such as 4,5 or 0-3" in " ".join(told.err.split())


def test_an_episode_that_is_under_way_is_followed_to_its_end(home: Home) -> None:
    row = {
        "number": 7,
        "ring": 0,
        "began": stamp(NOW),
        "ended": None,
        "seconds": 3.0,
        "outcome": "under way",
        "cause": "x",
    }
    over = {**row, "ended": stamp(NOW), "outcome": "recovered"}
    told: Mapping[str, Mapping[str, object]] = {
        "episodes": {"episodes": [row]},
        "episode": {"episode": over, "notes": [], "lanes": []},
    }
    shown = answers(recovering(), [])
    server = door(home.socket, lambda request: told.get(request.do) or shown(request))
    server.start()
    with closing(server):
        done = home.here("reset", "0", "--wait")
    assert (done.code, done.out.splitlines()[-1]) == (0, "ring 0: recovered, episode 7, after 3 s")


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("do", ["resume", "forget"])
def test_containers_are_lists_too(home: Home, asked: list[Request], do: str) -> None:
    told = home.here(do, "a", "blue/b")
    assert (told.code, told.err) == (0, "")
    assert [(r.do, r.args) for r in asked] == [(do, {"container": "a"}), (do, {"container": "blue/b"})]
    assert [line.partition(":")[0] for line in told.out.splitlines()] == ["a", "blue/b"]


@pytest.mark.parametrize(
    "words",
    [("resume", "a", "--all"), ("forget", "a", "--chip", "3"), ("group", "cancel", "x", "--wait"), ("group", "--wait")],
)
def test_what_does_not_go_together_is_wrong_usage(home: Home, words: tuple[str, ...]) -> None:
    assert home.here(*words).code == 2


@pytest.fixture
def real() -> Iterator[Service]:
    folder = Path(tempfile.mkdtemp(prefix="cmgr-wait-"))
    # No start comes by itself: each is of the test's.
    made = Service(folder, {"retry.starts": 1, "retry.backoff": "1h", "retry.backoff_max": "1h"})
    made.pretend("one")
    with made.config.open("a") as file:
        file.write('[[sim.containers]]\nname = "bad"\nchips = [4]\nfail_starts = 2\n')
        file.write('[[sim.containers]]\nname = "with"\nchips = [7]\ngroup = "tp"\n')
    made.start()
    eventually(lambda: len(made.status()["containers"]) == 3)
    yield made
    made.close()
    shutil.rmtree(folder)


@pytest.mark.alone
def test_waiting_shows_what_happens_until_it_is_over(real: Service) -> None:
    told = real.cmgr("reset", "0", "--stop", "--yes", "--wait")
    assert (told.code, told.err) == (0, "")
    first, *_, last = told.out.splitlines()
    assert first.startswith("chip 0: the reset of ring 0 (chips 0-3) is ordered")
    assert "result: one runs again" in told.out
    assert last.startswith("ring 0: recovered, episode 1, after ")


@pytest.mark.alone
def test_what_does_not_end_well_ends_with_1(real: Service) -> None:
    told = real.cmgr("reset", "4,7", "--stop", "--yes", "--wait")
    assert told.code == 1
    assert told.out.splitlines()[-1].startswith("ring 4: failed, episode 1, after ")
    assert real.cmgr("resume", "bad", "--wait").code == 1
    assert real.cmgr("resume", "bad", "--wait").code == 0, "the third start works"
    assert real.cmgr("resume", "one", "--wait").code == 1, "it runs, and is not held"


@pytest.mark.alone
def test_a_group_is_followed_until_it_is_whole_again(real: Service) -> None:
    told = real.cmgr("group", "restart", "tp", "--reason", "x", "--wait")
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines()[-1] == "group tp: running"


@pytest.mark.alone
def test_what_waits_for_a_chip_is_followed_when_that_is_released(real: Service) -> None:
    real.inject(7, "80818C00")  # It isolates.
    real.until_said("chip 7 is isolated")
    real.inject(7, "80818C00", "cleared")
    told = real.cmgr("release", "7", "--wait")
    assert (told.code, told.out.splitlines()[0]) == (0, "chip 7: released")


@pytest.mark.parametrize(
    ("status", "waits"), [("paused", True), ("resuming", True), ("running", False), ("failed", False), ("down", False)]
)
def test_of_a_released_chip_those_are_followed_that_are_started_now(home: Home, status: str, waits: bool) -> None:
    shown = answers(recovering(), [])

    def told(request: Request) -> Mapping[str, object]:
        answer: Mapping[str, Any] = shown(request)
        rows = [{**row, "status": status if row["name"] == "a" else "running"} for row in answer["containers"]]
        return {**answer, "containers": rows}

    server = door(home.socket, told)
    server.start()
    with closing(server):
        assert progress.held_on(str(home.socket), [0, 1, 2, 3]) == ["a"] * waits
