"""A private containerd: its own folder, socket and namespaces, and one tiny image; nothing of it is left."""

import hashlib
import io
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO

from tests.support.dockerd import BUSYBOX, CannotRun, _is_dead, _root_folder, _with_children
from tests.support.waiting import eventually

IMAGE = "cmgr.test/box:latest"

MONITOR = "3s"
"""How often its restart monitor looks."""


class Containerd:
    """Started by `start`; may be stopped, killed, frozen and started again; `close` ends everything."""

    def __init__(self) -> None:
        for program in ("containerd", "ctr", "runc"):
            if shutil.which(program) is None:
                raise CannotRun(f"there is no {program}")
        if os.geteuid() != 0:
            raise CannotRun("only root can run containerd")
        if not BUSYBOX.exists():
            raise CannotRun(f"there is no {BUSYBOX}, which the containers run")
        # A unix socket's path may have 107 characters: pytest's own folders are too deep.
        self.folder = Path(tempfile.mkdtemp(prefix="cmgr-containerd-"))
        self.socket = str(self.folder / "c.sock")
        self.state = self.folder / "state"
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        # runc keeps its own books by namespace and id, for all containerds of the machine.
        self.namespaces = tuple(f"{name}-{secrets.token_hex(3)}" for name in ("a", "b"))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the daemon and wait until it answers. Raises `CannotRun`."""
        config = self.folder / "config.toml"
        config.write_text(
            f'version = 2\nroot = "{self.folder / "root"}"\nstate = "{self.state}"\n'
            'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
            f'[grpc]\naddress = "{self.socket}"\n'
            f'[plugins."io.containerd.internal.v1.restart"]\ninterval = "{MONITOR}"\n'
        )
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["containerd", "-c", str(config)], stdout=log, stderr=log, start_new_session=True
            )
        try:
            eventually(self._answers, within=20)
        except AssertionError as exc:
            raise CannotRun(f"containerd does not start: {exc}: {self._log()[-400:]}") from exc

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"containerd ended with code {self._process.returncode}")
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(self.socket):
                return False
        return subprocess.run(self._words("version"), capture_output=True, check=False).returncode == 0

    def _words(self, *words: str, namespace: str = "default") -> list[str]:
        return ["ctr", "--address", self.socket, "--namespace", namespace, *words]

    def ctr(self, *words: str, namespace: str = "") -> str:
        """Run a command of containerd's own client, and return what it said."""
        done = subprocess.run(
            self._words(*words, namespace=namespace or self.namespaces[0]),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"ctr {words}: {done.stderr}"
        return done.stdout

    def foreground(self, *words: str, namespace: str = "", out: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a command of containerd's own client that goes on, and writes to `out`."""
        return subprocess.Popen(
            self._words(*words, namespace=namespace or self.namespaces[0]),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.DEVNULL,
        )

    def import_image(self) -> None:
        """Make the image that the tests' containers run known in each namespace."""
        archive = self.folder / "image.tar"
        archive.write_bytes(_archive())
        try:
            for namespace in self.namespaces:
                self.ctr("images", "import", "--snapshotter", "native", str(archive), namespace=namespace)
        except AssertionError as exc:
            raise CannotRun(str(exc)) from exc

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        """End the daemon as a service manager does; its tasks live on."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the daemon without warning; its tasks live on."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Let the daemon hang."""
        os.kill(self.pid, signal.SIGSTOP)

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
        for namespace in self.namespaces:
            shutil.rmtree(f"/run/containerd/runc/{namespace}", ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _left(self) -> list[int]:
        """Return the shims, which name our socket or folder, and what lives under them."""
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
        return sorted(pid for pid in family - {mine} if not _is_dead(pid))

    def _mounts(self) -> list[str]:
        table = Path("/proc/self/mounts").read_text()
        return sorted((line.split()[1] for line in table.splitlines() if str(self.folder) in line), reverse=True)

    def _log(self) -> str:
        log = self.folder / "log"
        return log.read_text(errors="replace") if log.exists() else ""


def _archive() -> bytes:
    """Return the image as `docker save` would write it."""
    layer = _root_folder()
    config = {
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine),
        "os": "linux",
        "config": {"Cmd": ["sh"], "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created_by": "tests"}],
    }
    manifest = [{"Config": "config.json", "RepoTags": [IMAGE], "Layers": ["layer.tar"]}]
    files = {
        "layer.tar": layer,
        "config.json": json.dumps(config).encode(),
        "manifest.json": json.dumps(manifest).encode(),
    }
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return data.getvalue()
