"""Nothing of a run of tests is left when it is interrupted, whoever of it is told what."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.running import reaper
from tests.support.waiting import eventually

pytestmark = pytest.mark.alone

SLOW = "" if os.environ.get("CMGR_CRASH_EVERY") == "1" else "dockerd podman browser"
"""Most runs are without these, but those of `make reliability`: the reaper does the same with each process that it
finds, whoever is told what."""

ROOT = Path(__file__).parents[2]
BUSY = Path(__file__).with_name("busy.py")

Processes = dict[int, str]
"""When each began: a number may be used again."""


@dataclass(frozen=True, slots=True)
class Run:
    """Two workers in the midst of their tests. `folder`: the run's."""

    started: "subprocess.Popen[bytes]"
    folder: Path

    @property
    def reaper(self) -> int:
        return children(self.started.pid)[0]

    @property
    def controller(self) -> int:
        return next(pid for pid in children(self.reaper) if "pytest" in words(pid))

    @property
    def workers(self) -> list[int]:
        return [pid for pid in children(self.controller) if "sys.stdin" in words(pid)]

    def all(self) -> Processes:
        family, found = [self.started.pid], Processes()
        while family:
            pid = family.pop()
            found[pid] = began(pid)
            family += children(pid)
        return found


def words(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(n) for t in Path(f"/proc/{pid}/task").iterdir() for n in (t / "children").read_text().split()]
    return []


def began(pid: int) -> str:
    """Return when it began; empty when it has ended."""
    with suppress(OSError):
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if state in "ZX" else rest[18]
    return ""


def namespaces(pid: int) -> set[str]:
    with suppress(OSError):
        return {os.readlink(each) for each in Path(f"/proc/{pid}/ns").iterdir()}
    return set()


@pytest.fixture
def alone() -> Iterator[None]:
    """One run at a time: each has daemons of every kind, and six of them take longer than anybody waits."""
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build/busy.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def busy(tmp_path: Path, alone: None) -> Iterator[Callable[[str], Run]]:
    started: list[subprocess.Popen[bytes]] = []

    def begin(without: str) -> Run:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", reaper.FOLDER))}
        # Not within this run's folder: podman refuses a path of more than 50 characters.
        environment = {**kept, "BUSY": str(tmp_path), "WITHOUT": without}
        environment["TMPDIR"] = str(Path(os.environ[reaper.FOLDER]).parent)
        words = ["-m", "pytest", "-p", "no:cacheprovider", "-x", "-n", "2", str(BUSY)]
        with (tmp_path / "said").open("wb") as said:
            started.append(
                subprocess.Popen([sys.executable, *words], cwd=ROOT, env=environment, stdout=said, stderr=said)
            )
        run = eventually(lambda: found(started[0], tmp_path / "said"), why="both workers are there")
        assert run is not None
        reaper.note(run.folder)
        eventually(lambda: all_is_up(started[0], tmp_path), why="all is up", times=3)
        return run

    yield begin
    for each in started:
        each.kill()
        each.wait()


def all_is_up(started: "subprocess.Popen[bytes]", folder: Path) -> bool:
    assert started.poll() is None, (folder / "said").read_text()
    return {"runtimes", "else"} <= set(os.listdir(folder))


def found(started: "subprocess.Popen[bytes]", said: Path) -> Run | None:
    assert started.poll() is None, said.read_text()
    with suppress(OSError, IndexError, StopIteration):
        run = Run(started, Path(words(children(started.pid)[0]).split("\0")[-2]))
        return run if len(run.workers) == 2 else None
    return None


def mounts() -> dict[str, str]:
    """Return what is mounted, and where: for a namespace its name."""
    lines = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return {line[4]: line[3] for line in lines}


def nothing_is_left(run: Run, end: Callable[[], None]) -> None:
    """See that nothing is left of the run after this: of what there is before, for others use names of theirs again."""
    processes, outside = run.all(), (run.folder / "outside").read_text().splitlines()
    spaces = set().union(*map(namespaces, processes)) - namespaces(os.getpid())
    everybody = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
    processes |= {pid: began(pid) for pid in everybody if namespaces(pid) & spaces}
    mounted = [place for place, what in mounts().items() if place.startswith(str(run.folder)) or what in spaces]
    assert len(processes) > 5
    assert os.geteuid() or (spaces and mounted and outside)
    end()
    run.started.wait()
    assert {pid: words(pid) for pid in processes if processes[pid] and began(pid) == processes[pid]} == {}
    assert [place for place in mounted if place in mounts()] == []
    assert [each for each in (*outside, str(run.folder)) if os.path.exists(each)] == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_run_that_is_told_to_end(busy: Callable[[str], Run], how: signal.Signals) -> None:
    run = busy("" if how is signal.SIGTERM else SLOW)
    last = run.reaper

    def end() -> None:
        run.started.send_signal(how)
        eventually(lambda: not began(last), why="the reaper has ended")

    nothing_is_left(run, end)
    assert run.started.returncode == (2 if how is signal.SIGINT else -how)


@pytest.mark.parametrize("who", ["controller", "workers", "reaper", "all that are called pytest"])
def test_nothing_is_left_of_a_run_of_which_some_are_killed(busy: Callable[[str], Run], who: str) -> None:
    run = busy("" if who == "reaper" else SLOW)
    last = run.reaper
    killed = {
        "controller": [run.controller],
        "workers": run.workers,
        "reaper": [run.reaper],
        "all that are called pytest": [pid for pid in run.all() if "pytest" in words(pid)],
    }[who]

    def end() -> None:
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: not began(last), why="the reaper has ended")

    nothing_is_left(run, end)
    assert run.started.returncode not in (None, 0)
