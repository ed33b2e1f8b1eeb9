"""Two services started at once on one state directory or socket: one runs, the other says why and changes nothing."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from cmgr.runtimes.sim import world as sim_world
from tests.support.figures import Figures
from tests.support.service import LATER, Service
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.alone

ROUNDS = 6
SECTION = "Two services at once"


@dataclass(frozen=True, slots=True)
class Rival:
    """A service that perhaps comes up, and what it says."""

    service: Service
    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        return self.log.read_text()

    def is_up(self) -> bool:
        return "is ready" in self.said()

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def end(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)


Start = Callable[..., tuple[Rival, Rival]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start these services in one moment, and return the one that came up and the other."""
    with ExitStack() as stack:

        def started(*services: Service) -> tuple[Rival, Rival]:
            rivals = [_launched(service, number) for number, service in enumerate(services)]
            for rival in rivals:
                stack.callback(rival.end)
            eventually(lambda: all(r.is_up() or r.has_ended() for r in rivals), "each is up or has ended")
            (winner,), (loser,) = ([r for r in rivals if r.has_ended() is ended] for ended in (False, True))
            return winner, loser

        yield started


def _launched(service: Service, number: int) -> Rival:
    log = service.folder / f"log-{number}"
    with log.open("wb") as out:
        words = [sys.executable, "-m", "cmgr", "run", "--config", str(service.config)]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=service.environment())
        return Rival(service, process, log)


@pytest.fixture
def alone(folder: Path) -> Iterator[Service]:
    """A service that ends with its test."""
    service = installed(folder / "one", {"levels.RestartRequest.reset_after": "1s"})
    yield service
    service.close()


def installed(place: Path, settings: Mapping[str, str]) -> Service:
    place.mkdir(parents=True)
    service = Service(place, {"runtimes": ["sim"], **settings})
    service.pretend("one")
    service.socket = Path(settings.get("socket", service.socket))
    return service


@pytest.mark.parametrize("shared", [("state_dir", "socket"), ("state_dir",), ("socket",)], ids=" and ".join)
def test_of_two_that_start_at_once_one_runs_and_the_other_says_why(
    folder: Path, start: Start, figures: Figures, shared: tuple[str, ...]
) -> None:
    for number in range(ROUNDS):
        here = folder / str(number)
        settings = {"state_dir": str(here / "state"), "socket": str(here / "sock")}
        both = [installed(here / name, {key: settings[key] for key in shared}) for name in ("a", "b")]
        winner, loser = start(*both)
        assert loser.process.wait(PATIENCE) == 1
        assert "cmgr: cannot " in loser.said()
        # The other may have the right a moment before it has written who it is.
        assert f"pid {winner.process.pid}" in loser.said() or "pid unknown" in loser.said(), loser.said()
        assert winner.service.status()["service"]["pid"] == winner.process.pid
        left = {path.name for path in loser.service.folder.iterdir()}
        assert left - {"cmgr.sock.lock"} == {"cmgr.toml", loser.log.name}
        winner.end()
    figures.add(SECTION, "pairs started in one moment", ROUNDS)
    figures.add(SECTION, "pairs of which both or neither ran", 0)


def test_of_two_that_find_an_open_episode_one_goes_on_with_it(alone: Service, start: Start, figures: Figures) -> None:
    service = alone
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    service.kill9()
    winner, _ = start(service, service)
    eventually(lambda: "is over: recovered" in winner.said(), "the episode is over")
    service.until_over()
    (life,) = sim_world.read((service.folder / "world.containers").read_text())[0]
    assert (life.running, life.run) == (True, 2)
    assert [reset.outcome for reset in service.resets()] == ["taken"]
    figures.add(SECTION, "pairs started in one moment")


def test_one_that_comes_later_changes_nothing(alone: Service, figures: Figures) -> None:
    service = alone
    service.start()
    before = _contents(service.folder)
    outcome = service.refused()
    assert outcome.code == 1
    assert f"pid {service.pid}" in outcome.err
    assert _contents(service.folder) == before
    assert service.status()["service"]["pid"] == service.pid
    service.terminate()
    figures.add(SECTION, "services started beside a running one, which it did not notice")


def _contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    # The running one's own writes go there.
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm"))]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
