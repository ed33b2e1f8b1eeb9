"""A private dockerd: its own folder, socket and containerd, with one tiny image; nothing of it is left afterwards."""

import io
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import docker
from docker.errors import DockerException

from tests.support.waiting import eventually

IMAGE = "cmgr-test:latest"
BUSYBOX = Path("/bin/busybox")

OBEYS = ("sh", "-c", "trap 'exit 0' TERM; echo ready; while :; do sleep 1 & wait $!; done")
"""A command that ends with code 0 when it is told to, once it has said that it is ready."""

IGNORES = ("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done")
"""A command that ends by SIGKILL only."""


class CannotRun(Exception):
    """Why there can be no private dockerd here."""


class Dockerd:
    """Started by `start`; may be stopped, killed, frozen and started again; `close` ends everything."""

    def __init__(self) -> None:
        for program in ("dockerd", "containerd", "runc"):
            if shutil.which(program) is None:
                raise CannotRun(f"there is no {program}")
        if os.geteuid() != 0:
            raise CannotRun("only root can run dockerd")
        if not BUSYBOX.exists():
            raise CannotRun(f"there is no {BUSYBOX}, which the containers run")
        # A unix socket's path may have 107 characters: pytest's own folders are too deep.
        self.folder = Path(tempfile.mkdtemp(prefix="cmgr-dockerd-"))
        self.socket = str(self.folder / "d.sock")
        self._process: subprocess.Popen[bytes] | None = None
        self._drivers = ["overlay2", "vfs"]

    def start(self) -> None:
        """Start the daemon and wait until it answers. Raises `CannotRun`."""
        last = ""
        for driver in self._drivers:
            self._launch(driver)
            try:
                eventually(self._answers, within=40)
                self._drivers = [driver]
                return
            except AssertionError as exc:
                last = f"{exc}: {self._log()[-400:]}"
                self.stop()
        raise CannotRun(f"dockerd does not start: {last}")

    def _launch(self, driver: str) -> None:
        folders = [f"--{what}={self.folder / what}" for what in ("data-root", "exec-root")]
        network = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"]
        sockets = [f"--pidfile={self.folder / 'pid'}", f"--host=unix://{self.socket}"]
        # An empty file, so that nothing of this machine's own configuration counts.
        config = self.folder / "daemon.json"
        config.write_text("{}")
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["dockerd", f"--config-file={config}", *folders, *network, *sockets, f"--storage-driver={driver}"],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"dockerd ended with code {self._process.returncode}")
        # The SDK leaves a socket open when it cannot connect.
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(self.socket):
                return False
        try:
            client = self.client()
        except DockerException:
            return False
        client.close()
        return True

    def client(self) -> docker.APIClient:
        """Return a client of its own, which the caller closes."""
        return docker.APIClient(base_url=f"unix://{self.socket}", version="auto", timeout=60)

    def build_image(self) -> None:
        """Make the image that the tests' containers run."""
        client = self.client()
        try:
            client.import_image_from_data(_root_folder(), repository="cmgr-test", tag="latest")
        finally:
            client.close()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        """End the daemon as a service manager does."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the daemon without warning; its containerd, which Docker has die with it, too."""
        pid_file = self.folder / "exec-root" / "containerd" / "containerd.pid"
        pid = int(pid_file.read_text())
        self._end(signal.SIGKILL)
        eventually(lambda: _is_dead(pid), why="containerd is dead")
        # Where the first process reaps nobody, the next dockerd would take the dead one for alive.
        pid_file.unlink(missing_ok=True)

    def freeze(self) -> None:
        """Let the daemon hang."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
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
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

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
        """Return the processes that name our folder: containerd, shims; and the containers that those shims hold."""
        named, parents = set(), {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with suppress(OSError, ValueError, IndexError):
                if str(self.folder).encode() in (entry / "cmdline").read_bytes():
                    named.add(int(entry.name))
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        named.discard(os.getpid())
        family = _with_children(named, parents)
        return sorted(family - {os.getpid()})

    def _mounts(self) -> list[str]:
        table = Path("/proc/self/mounts").read_text()
        return sorted((line.split()[1] for line in table.splitlines() if str(self.folder) in line), reverse=True)

    def _log(self) -> str:
        log = self.folder / "log"
        return log.read_text(errors="replace") if log.exists() else ""


def _is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def _with_children(pids: set[int], parents: Mapping[int, int]) -> set[int]:
    family = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def _root_folder() -> bytes:
    """Return a tar of a root folder with busybox and the links that the tests' commands need."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for folder in ("bin", "dev", "etc", "proc", "sys", "tmp"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        tar.add(BUSYBOX.resolve(), "bin/busybox")
        for name in ("sh", "sleep", "kill", "true", "false", "echo", "cat"):
            info = tarfile.TarInfo(f"bin/{name}")
            info.type, info.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(info)
    return data.getvalue()
