"""`cmgr run` as a process of its own: configured, started, watched, killed and started again."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cmgr.errors import CmgrError
from cmgr.model.values.messages.commands import NoteKind
from cmgr.service.door.client import get, order
from cmgr.store.files import NAME
from cmgr.store.history import EpisodeRow, NoteRow
from cmgr.store.reader import open_reader
from tests.support.waiting import PATIENCE, eventually

Setting = str | int | bool | list[str] | list[int]

NOW = "80E24E00"
"""A fault whose ring is reset at once (RestartNPU)."""

LATER = "80C98008"
"""A fault whose ring is reset when it has lasted for a while (RestartRequest)."""

NOT_OURS = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM")

DEFAULTS: Mapping[str, Setting] = {
    "strategy": "ringRecover",
    "driver": "sim",
    "runtimes": ["sim"],
    "sim.chips": 8,
    "sim.ring": 4,
    "sim.reset_time": "100ms",
    "sim.boot_time": "100ms",
    "levels.RestartRequest.reset_after": "1s",
    "reset.backoff": "100ms",
    "retry.backoff": "100ms",
    "retry.settle": "0s",
    "metrics.listen": "",
    # The machine that the tests run on may ail.
    "machine.sources": ["none"],
}


@dataclass(frozen=True, slots=True)
class Reset:
    """A reset that the simulated chips were asked for. `at` is Unix time."""

    at: float
    chips: tuple[int, ...]
    outcome: str


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int
    out: str
    err: str


class Service:
    """One installation of cmgr in a folder of its own. `close` ends what was started, and shows its log.

    The simulated chips outlive the process in a file, as real ones do.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Setting]) -> None:
        self.folder = folder
        self.config = folder / "cmgr.toml"
        self.socket = folder / "cmgr.sock"
        self.database = folder / "state" / NAME
        self.log = folder / "log"
        self.prefix: tuple[str, ...] = ()
        self.python: tuple[str, ...] = (sys.executable,)
        self.program: tuple[str, ...] = ("-m", "cmgr")
        self._world = folder / "world"
        paths = {
            "state_dir": str(folder / "state"),
            "socket": str(self.socket),
            "cdi.dir": str(folder / "cdi"),
            "sim.world": str(self._world),
        }
        self.settings: dict[str, Setting] = {**DEFAULTS, **paths, **settings}
        self._pretended: tuple[str, ...] = ()
        self.more = ""
        self._process: subprocess.Popen[bytes] | None = None
        self.configure({})

    def configure(self, changes: Mapping[str, Setting]) -> None:
        """Change settings by their dotted keys, and write the file, with what `more` has at its end."""
        self.settings.update(changes)
        # JSON's texts, numbers, flags and lists are TOML's, too.
        lines = [f"{key} = {json.dumps(value)}" for key, value in self.settings.items()]
        lines += [f'[[sim.containers]]\nname = "{name}"\nchips = [0]' for name in self._pretended]
        self.config.touch(mode=0o640)
        self.config.chmod(0o640)
        self.config.write_text("\n".join([*lines, self.more, ""]))

    def pretend(self, *names: str) -> None:
        """Pretend containers so named on chip 0, for the runtime `sim`."""
        self._pretended = names
        self.configure({})

    # Its life.

    def start(self, environment: Mapping[str, str] | None = None, program: Sequence[str] = ()) -> None:
        """Start it, and wait until it says that it is up."""
        self.launch(environment, program)
        eventually(self._is_up, why=f"cmgr is up; it said: {self.said()[-2000:]}")

    def launch(self, environment: Mapping[str, str] | None = None, program: Sequence[str] = ()) -> None:
        """Start it. `program`: what runs it in the place of cmgr itself."""
        words = program or (*self.program, "run")
        assert not self.running()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self.prefix, *self.python, *words, "--config", str(self.config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**self.environment(), **(environment or {})},
            )

    def _is_up(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"cmgr ended with code {self._process.returncode}: {self.said()[-2000:]}")
        try:
            return bool(self.status()["service"]["state"] != "starting")
        except CmgrError:
            return False

    def refused(self) -> Outcome:
        """Run the service where it cannot start, and return what became of it."""
        return self.cmgr("run")

    def cmgr(self, *words: str) -> Outcome:
        """Run a command in a process of its own."""
        ended = subprocess.run(
            [*self.python, *self.program, *words, "--config", str(self.config)],
            capture_output=True,
            text=True,
            env=self.environment(),
            timeout=PATIENCE,
            check=False,
        )
        return Outcome(ended.returncode, ended.stdout, ended.stderr)

    def environment(self) -> dict[str, str]:
        """Return what its processes are started with: nothing there configures cmgr."""
        return {k: v for k, v in os.environ.items() if not k.startswith("CMGR_") and k not in NOT_OURS}

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def code(self) -> int | None:
        """The exit code, as Popen has it, of a service that has ended."""
        return None if self._process is None else self._process.poll()

    def tell(self, number: signal.Signals) -> None:
        assert self.running()
        os.kill(self.pid, number)

    def end(self, how: signal.Signals) -> int:
        """End it with this signal, and return the exit code, as Popen has it."""
        self.tell(how)
        assert self._process is not None
        return self._process.wait(PATIENCE)

    def kill9(self) -> None:
        assert self.end(signal.SIGKILL) == -signal.SIGKILL

    def terminate(self) -> None:
        assert self.end(signal.SIGTERM) == 0

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(PATIENCE)
        # pytest shows it where a test has failed.
        print(f"--- the log of cmgr in {self.folder}\n{self.said()}")  # noqa: T201

    # Its words.

    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def status(self) -> dict[str, Any]:
        return dict(get(self.socket, "status"))

    def ring(self, number: int = 0) -> dict[str, Any]:
        return next(r for r in self.status()["rings"] if r["id"] == number)

    def container(self, name: str) -> dict[str, Any] | None:
        return next((c for c in self.status()["containers"] if c["name"] == name), None)

    def runs(self, name: str) -> bool:
        """Return whether the container is said to run; one that is down is shown as long as it ought to run."""
        found = self.container(name)
        return found is not None and found["status"] == "running"

    def until_phase(self, phase: str, ring: int = 0) -> dict[str, Any]:
        """Wait until the ring is in that phase, and return it."""

        def there() -> dict[str, Any] | None:
            found = self.ring(ring)
            return found if found["phase"] == phase else None

        found = eventually(there, why=f"ring {ring} is {phase}")
        assert found is not None
        return found

    def until_reason(self, *words: str, ring: int = 0) -> str:
        """Wait until the ring gives a reason with these words in it, and return that."""

        def reason() -> str:
            text = str(self.ring(ring)["reason"])
            return text if all(word in text for word in words) else ""

        return eventually(reason, why=f"the reason says {words}")

    def until_over(self) -> None:
        """Wait until no ring is in an episode and nothing is held."""

        def over() -> bool:
            status = self.status()
            busy = [r for r in status["rings"] if r["phase"] != "healthy"]
            # A container that is down and not held waits for nobody but a person.
            return not busy and all(c["status"] in ("running", "down") for c in status["containers"])

        eventually(over, why="every episode is over")

    def until_said(self, text: str, times: int = 1) -> None:
        eventually(lambda: self.said().count(text) >= times, why=f"the log says {text!r}")

    def inject(self, chip: int, code: str = NOW, assertion: str = "occurred") -> None:
        order(self.socket, "inject", chip=chip, code=code, assertion=assertion)

    # Its deeds.

    def resets(self) -> tuple[Reset, ...]:
        """Return what the simulated chips were asked to reset, in all lives."""
        if not self._world.exists():
            return ()
        rows = json.loads(self._world.read_text())["resets"]
        return tuple(Reset(r["at"], tuple(r["chips"]), r["outcome"]) for r in rows)

    def episodes(self) -> tuple[EpisodeRow, ...]:
        """Return all episodes, the oldest first."""
        with open_reader(self.database) as reader:
            return reader.episodes(1000)[::-1]

    def notes(self, episode: int | None = None, kind: NoteKind | None = None) -> list[NoteRow]:
        with open_reader(self.database) as reader:
            return [n for n in reader.notes(episode, 10_000) if kind in (None, n.kind)]


def service_of_one() -> Iterator[Service]:
    """Yield a service that runs and has container `one`, in a folder of its own: what a fixture does."""
    folder = Path(tempfile.mkdtemp(prefix="cmgr-one-"))
    made = Service(folder, {})
    made.pretend("one")
    made.start()
    eventually(lambda: made.container("one"))
    yield made
    made.close()
    shutil.rmtree(folder)


def resident(pid: int) -> int:
    """Return the memory of a process in KiB."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1])
