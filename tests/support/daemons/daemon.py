"""The common ground of the tests' private daemons: how they are ended, frozen, and cleared away; and what they run."""

import io
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from tests.support.waiting import PATIENCE, eventually

BUSYBOX = Path("/bin/busybox")


class CannotRun(Exception):
    """Why there can be no private daemon here."""


class Daemon:
    """A process with a folder of its own, which everything that it starts names on its command line."""

    folder: Path
    _process: subprocess.Popen[bytes] | None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        """End the daemon as a service manager does."""
        self._end(signal.SIGTERM)

    def freeze(self) -> None:
        """Let the daemon hang. Returns when none of its threads goes on."""
        os.kill(self.pid, signal.SIGSTOP)
        # On a busy machine others run on until the thread that takes the signal has a processor.
        eventually(lambda: all(state == "T" for state in _states(self.pid)), why="it hangs")

    def thaw(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGCONT)
            os.kill(self._process.pid, how)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(PATIENCE)

    def close(self) -> None:
        """End everything that was started here, and remove its folder."""
        self.stop()
        for _ in range(20):
            left = self._left()
            if not left:
                break
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            threading.Event().wait(0.1)
        for mount in self._mounts():
            subprocess.run(["umount", "--lazy", mount], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _left(self) -> list[int]:
        """Return the living processes that name our folder (containerd, shims), and what lives under them."""
        named, parents = set(), {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with suppress(OSError, ValueError, IndexError):
                if str(self.folder).encode() in (entry / "cmdline").read_bytes():
                    named.add(int(entry.name))
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        mine = os.getpid()
        family = _with_children(named - {mine}, parents)
        return sorted(pid for pid in family - {mine} if not is_dead(pid))

    def _mounts(self) -> list[str]:
        table = Path("/proc/self/mounts").read_text()
        return sorted((line.split()[1] for line in table.splitlines() if str(self.folder) in line), reverse=True)

    def _log(self) -> str:
        log = self.folder / "log"
        return log.read_text(errors="replace") if log.exists() else ""


def is_dead(pid: int) -> bool:
    try:
        return _state(Path(f"/proc/{pid}")) in "ZX"
    except FileNotFoundError:
        return True


def _states(pid: int) -> Iterator[str]:
    """Yield the state of each thread."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            yield _state(task)


def _state(process: Path) -> str:
    return (process / "stat").read_text().rpartition(")")[2].split()[0]


def _with_children(pids: set[int], parents: Mapping[int, int]) -> set[int]:
    family = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def root_folder() -> bytes:
    """Return a tar of a root folder with busybox and the links that the tests' commands need."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for folder in ("bin", "dev", "etc", "proc", "sys", "tmp"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        tar.add(BUSYBOX.resolve(), "bin/busybox")
        for name in ("sh", "sleep", "kill", "true", "false", "echo", "cat", "test"):
            info = tarfile.TarInfo(f"bin/{name}")
            info.type, info.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(info)
    return data.getvalue()


def answers_docker(path: str) -> bool:
    """Return whether somebody answers there as Docker does. Its SDK leaves a socket open where it gets no answer."""
    with socket.socket(socket.AF_UNIX) as asks:
        asks.settimeout(PATIENCE)
        try:
            asks.connect(path)
            asks.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return b" 200 " in asks.recv(64)
        except OSError:
            return False
