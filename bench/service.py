"""A service under measurement: its configuration, its start, its process as the kernel sees it."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.records import Records
from cmgr.drivers.program.launch import drivers_of
from cmgr.service.door.client import get

ROOT = Path(__file__).parents[1]

RESET_SECONDS = 0.2
BOOT_SECONDS = 0.3
PRETENDED_STOP, PRETENDED_START = "100ms", "240ms"
SETTLE = 2.0
GROUP = "tp"
"""The group of pretended containers over a fleet."""


@dataclass(frozen=True, slots=True)
class Seat:
    """The place of a service in a fleet. Of pretended containers all are of one group over it.

    `group_size`: how many members that has on all appliances; 0: the containers are of none.
    """

    name: str
    endpoints: tuple[str, ...]
    group_size: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The ground that the service runs on. Chip i is used by containers i, i + chips and so on.

    `docker`: the daemon's socket; empty: pretended containers. `library`: that of a driver, or a program that speaks
    for chips, either of which says itself what chips there are; empty: simulated ones. `containerd`: its socket,
    instead of Docker's. `cdi`: a directory of CDI files, where containers are moved off isolated chips. `seat`: its
    place in a fleet, if it has one. `max_notes`: so many lines of history are kept at most; 0: as many as usual.
    `more`: further lines of its configuration. `environment`: what its process has besides this one's.
    """

    chips: int
    ring: int
    strategy: str
    containers: int
    docker: str = ""
    library: str = ""
    containerd: str = ""
    cdi: str = ""
    seat: Seat | None = None
    max_notes: int = 0
    more: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def driver(self) -> str:
        """Return the driver whose library that is."""
        name = Path(self.library).name
        return "sim" if not name else "nvml" if "nvidia" in name else "tool" if name == "speaker" else "dcmi"

    @property
    def runtime(self) -> str:
        return "docker" if self.docker else "containerd" if self.containerd else "sim"


class Service:
    """A child process with a folder of its own, in a `with` block. With `records`: `bench.child`, which fills them."""

    def __init__(self, folder: Path, plan: Plan, records: Records | None = None) -> None:
        self.folder = folder
        self.socket = folder / "c.sock"
        self.config = folder / "cmgr.toml"
        self.plan = plan
        self._records = records
        self._stack = ExitStack()
        folder.mkdir(mode=0o700, exist_ok=True)
        self.config.touch(mode=0o600)
        self.config.write_text("\n".join(_settings(folder, plan)) + "\n")

    def __enter__(self) -> Self:
        began = time.monotonic()
        self.ready_after = self._start()
        self.until(lambda: len(self.status()["containers"]) == self.plan.containers, "know all containers")
        self.known_after = time.monotonic() - began
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        if error is not None:
            error.add_note(f"the service's log ends: {self._log()}")

    def _start(self) -> float:
        """Return how many seconds passed from exec, which `began` says, to READY=1."""
        told = self._stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        notify = self.folder / "n.sock"
        notify.unlink(missing_ok=True)
        told.bind(str(notify))
        told.settimeout(30)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CMGR_")}
        command, pipes = self._command()
        with (self.folder / "log").open("ab") as log:
            self.began = time.monotonic()
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**environment, **self.plan.environment, "NOTIFY_SOCKET": str(notify)},
                pass_fds=pipes,
            )
        self._stack.callback(self._end)
        for pipe in pipes:
            os.close(pipe)
        while b"READY=1" not in told.recv(4096):
            pass
        return time.monotonic() - self.began

    def _command(self) -> tuple[list[str], tuple[int, ...]]:
        if self._records is None:
            return [*cmgr(), "run", "--config", str(self.config)], ()
        reading, writing = os.pipe()
        self._records.read_from(reading)
        return [sys.executable, "-m", "bench.child", str(self.config), str(writing)], (writing,)

    def _end(self) -> None:
        end(self.process)
        assert self.process.stdin is not None
        self.process.stdin.close()

    def order(self, line: str) -> None:
        """Write a line to the child's standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def status(self) -> dict[str, Any]:
        return get(self.socket, "status")

    def all_well(self) -> bool:
        """Return whether no ring is in an episode."""
        return self.phases().keys() == {"healthy"}

    def phases(self) -> Counter[str]:
        """Return how many rings are in each phase."""
        return Counter(ring["phase"] for ring in self.status()["rings"])

    def settle(self) -> None:
        """Wait until nothing happens any more, and nothing is left to do of its start."""
        self.until(self.all_well, "be idle")
        time.sleep(SETTLE)

    def until(self, true: Callable[[], bool], why: str, within: float = 60.0) -> None:
        """Return when it is true. Raises `TimeoutError`."""
        end = time.monotonic() + within
        while not true():
            if time.monotonic() > end:
                raise TimeoutError(f"the service did not {why} within {within:g} s")
            time.sleep(0.01)

    def _log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-4000:]

    @property
    def pids(self) -> list[int]:
        """The service itself, and the process that drives its chips, where there is one."""
        return [self.process.pid, *drivers_of(self.process.pid)]

    def cpu_seconds(self) -> float:
        """Return the processor time that its processes have used since they began, those of single GPUs, too."""
        return sum(map(cpu_seconds, below(self.pids)))

    def memory(self, what: str = "VmRSS") -> float:
        """Return a line of the status of its processes, added up, in MB (10^6 bytes)."""
        return sum(memory(pid, what) for pid in self.pids)

    def pss(self) -> float:
        """Return the memory of its processes in MB, of what they share each its part: what they cost together."""
        lines = [line for pid in self.pids for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6

    def threads(self) -> int:
        return sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in self.pids)

    def forget_peak(self) -> None:
        """Let `VmHWM` begin anew."""
        for pid in self.pids:
            forget_peak(pid)

    def stored_bytes(self) -> int:
        """Return the size of the database with what SQLite keeps beside it."""
        return sum(path.stat().st_size for path in (self.folder / "state").glob("cmgr.db*"))

    def written_bytes(self) -> int:
        """Return what the process has written to files so far."""
        lines = Path(f"/proc/{self.process.pid}/io").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))


def end(process: subprocess.Popen[bytes]) -> None:
    """Tell the process to end, and end it where it does not."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def below(pids: Sequence[int]) -> list[int]:
    """Return these processes and all that they have begun, directly or not."""
    children = [
        int(child)
        for pid in pids
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
        if int(child) not in pids
    ]
    return [*pids, *(below(children) if children else ())]


def cpu_seconds(pid: int) -> float:
    # The id of another process's clock, as clock_getcpuclockid(3) makes it: to the nanosecond, unlike /proc.
    return time.clock_gettime((~pid << 3) | 2)


def memory(pid: int, what: str = "VmRSS") -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what + ":")) * 1024 / 1e6


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


LOADED = ("apscheduler", "h11", "jeepney", "loguru", "prometheus_client", "tzlocal")
"""The libraries of a service that are compiled as the packages have them; others are as they are installed."""


@cache
def cmgr() -> list[str]:
    """Return the command as the packages have it, with this interpreter and these libraries instead of theirs."""
    folder = ROOT / "build" / "bench"
    compiled = folder / "pycache"
    installed = Path(sysconfig.get_path("purelib"))
    # As in the packages without docstrings; the command itself writes no byte code.
    subprocess.run(
        [sys.executable, "-X", f"pycache_prefix={compiled}", str(ROOT / "packaging" / "bytecode.py"), "-q",
         "-x", "/test", str(ROOT / "cmgr"), sysconfig.get_path("stdlib"), *(str(installed / name) for name in LOADED)],
        check=True,
    )  # fmt: skip
    libraries = [str(ROOT), *{sysconfig.get_path(each) for each in ("purelib", "platlib")}]
    launcher = (ROOT / "packaging" / "cmgr.launcher").read_text()
    launcher = launcher.replace(
        "/usr/lib/cmgr/python/bin/python3.11 -ISB", f"{sys.executable} -ISBXpycache_prefix={compiled}"
    )
    launcher = launcher.replace('sys.path.append("/usr/lib/cmgr/lib")', f"sys.path += {libraries}")
    file = folder / "cmgr"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(launcher)
    file.chmod(0o755)
    return [str(file)]


def interpreter() -> list[str]:
    """Return how `cmgr` calls the interpreter: what stands in the first line of its script."""
    return shlex.split(Path(cmgr()[0]).read_text().splitlines()[0].removeprefix("#!"))


def _settings(folder: Path, plan: Plan) -> Iterator[str]:
    yield f"strategy = {json.dumps(plan.strategy)}"
    yield f"driver = {json.dumps(plan.driver)}"
    if plan.library:
        named = "program" if plan.driver == "tool" else "library"
        yield f"{plan.driver}.{named} = {json.dumps(plan.library)}"
    if plan.driver == "nvml":
        yield f"nvml.tool = {json.dumps(str(Path(plan.library).with_name('nvidia-smi')))}"
        yield f"nvml.kernel_log = {json.dumps(str(Path(plan.library).with_name('kmsg')))}"
    yield f"runtimes = [{json.dumps(plan.runtime)}]"
    yield f"state_dir = {json.dumps(str(folder / 'state'))}"
    yield f"socket = {json.dumps(str(folder / 'c.sock'))}"
    yield f"web.door = {json.dumps(str(folder / 'door.sock'))}"
    if plan.docker:
        yield f"docker.socket = {json.dumps(plan.docker)}"
    if plan.containerd:
        yield f"containerd.address = {json.dumps(plan.containerd)}"
    if plan.cdi:
        yield f"cdi.dir = {json.dumps(plan.cdi)}"
        yield 'isolation.on_isolate = "stop"'
    if plan.max_notes:
        yield f"history.max_notes = {plan.max_notes}"
    if plan.seat is not None:
        yield 'fleet.engine = "etcd"'
        yield f"fleet.name = {json.dumps(plan.seat.name)}"
        yield f"fleet.endpoints = {json.dumps(plan.seat.endpoints)}"
    yield from plan.more
    yield 'metrics.listen = ""'
    # Measured is until everything runs again: nobody waits to see whether it lasts.
    yield 'retry.settle = "0s"'
    # The same ring is reset again and again here.
    yield "reset.attempts = 100"
    yield 'reset.window = "1m"'
    yield "[sim]"
    yield f"chips = {plan.chips}"
    yield f"ring = {plan.ring}"
    yield f'reset_time = "{RESET_SECONDS * 1000:g}ms"'
    yield f'boot_time = "{BOOT_SECONDS * 1000:g}ms"'
    yield from _pretended(plan)


def _pretended(plan: Plan) -> Iterator[str]:
    prefix = plan.seat.name if plan.seat is not None else "bench"
    for number in range(plan.containers if plan.runtime == "sim" else 0):
        yield "[[sim.containers]]"
        yield f'name = "{prefix}-{number}"'
        yield f"chips = [{number % plan.chips}]"
        yield f'stop_time = "{PRETENDED_STOP}"'
        yield f'start_time = "{PRETENDED_START}"'
        if plan.seat is not None and plan.seat.group_size:
            yield f'group = "{GROUP}"'
            yield f"group_size = {plan.seat.group_size}"
