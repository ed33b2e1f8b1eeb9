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
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tests.running import reaper
from tests.support.daemons.daemon import BUSYBOX, CannotRun, Daemon, root_folder
from tests.support.waiting import PATIENCE, eventually

IMAGE = "cmgr.test/box:latest"

MONITOR = "3s"
"""How often its restart monitor looks."""


class Containerd(Daemon):
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
        for namespace in self.namespaces:
            reaper.note(_books(namespace))
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
            eventually(self._answers)
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
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"ctr {words}: {done.stderr}"
        return done.stdout

    def foreground(
        self, *words: str, namespace: str = "", out: IO[bytes], err: int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        """Start a command of containerd's own client that goes on, and writes to `out`."""
        return subprocess.Popen(
            self._words(*words, namespace=namespace or self.namespaces[0]),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )

    def import_image(self, name: str = IMAGE, labels: Mapping[str, str] | None = None) -> None:
        """Make the image that the tests' containers run known in each namespace, or one like it."""
        archive = self.folder / "image.tar"
        archive.write_bytes(_archive(name, labels or {}))
        # Since version 2 it is the daemon that unpacks, and for overlayfs alone, unless it is told otherwise.
        where = ("--local",) if "--local" in self.ctr("images", "import", "--help") else ()
        try:
            for namespace in self.namespaces:
                self.ctr("images", "import", *where, "--snapshotter", "native", str(archive), namespace=namespace)
        except AssertionError as exc:
            raise CannotRun(str(exc)) from exc

    def kill(self) -> None:
        """End the daemon without warning; its tasks live on."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        super().close()
        for namespace in self.namespaces:
            shutil.rmtree(_books(namespace), ignore_errors=True)


def _books(namespace: str) -> Path:
    return Path("/run/containerd/runc", namespace)


def _archive(name: str, labels: Mapping[str, str]) -> bytes:
    """Return the image as `docker save` would write it."""
    layer = root_folder()
    config = {
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine),
        "os": "linux",
        "config": {"Cmd": ["sh"], "Env": ["PATH=/bin"], "Labels": dict(labels)},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created_by": "tests"}],
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
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
