"""A private podman that answers on a Docker-compatible socket: its own storage, with one tiny image."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import docker

from tests.support.daemons.daemon import BUSYBOX, CannotRun, Daemon, answers_docker, root_folder
from tests.support.waiting import eventually

_RUNTIME = """#!{python}
import json, os, sys
for option, name in (("--bundle", "config.json"), ("--process", "")):
    if option in sys.argv:
        path = os.path.join(sys.argv[sys.argv.index(option) + 1], name).rstrip("/")
        with open(path) as file:
            spec = json.load(file)
        spec.get("process", spec).pop("rlimits", None)
        with open(path, "w") as file:
            json.dump(spec, file)
os.execvp("runc", ["runc", *sys.argv[1:]])
"""
"""runc, without the limits on processes and files that podman always sets, and that many a sandbox forbids to set."""


class Podman(Daemon):
    """Started by `start`; may be stopped and started again, and its containers run on; `close` ends everything."""

    def __init__(self) -> None:
        for program in ("podman", "conmon", "runc"):
            if shutil.which(program) is None:
                raise CannotRun(f"there is no {program}")
        if os.geteuid() != 0:
            raise CannotRun("only root can run podman here")
        if not BUSYBOX.exists():
            raise CannotRun(f"there is no {BUSYBOX}, which the containers run")
        self.folder = Path(tempfile.mkdtemp(prefix="cmgr-podman-"))
        self.socket = str(self.folder / "p.sock")
        self._process: subprocess.Popen[bytes] | None = None
        self._runtime = self.folder / "runc"
        self._runtime.write_text(_RUNTIME.format(python=sys.executable))
        self._runtime.chmod(0o755)

    def command(self, *words: str) -> list[str]:
        """Return podman's command line for this storage."""
        folders = [f"--{what}={self.folder / what}" for what in ("root", "runroot", "tmpdir")]
        how = ["--storage-driver=vfs", "--cgroup-manager=cgroupfs", "--events-backend=file"]
        return ["podman", *folders, *how, f"--runtime={self._runtime}", *words]

    def start(self) -> None:
        """Start the service and wait until it answers. Raises `CannotRun`."""
        Path(self.socket).unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            words = self.command("system", "service", "--time=0", f"unix://{self.socket}")
            self._process = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        try:
            eventually(self._answers)
        except AssertionError as exc:
            self.stop()
            raise CannotRun(f"podman does not start: {(self.folder / 'log').read_text()[-400:]}") from exc

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"podman ended with code {self._process.returncode}")
        return answers_docker(self.socket)

    def kill(self) -> None:
        """End the service without warning; its containers run on."""
        self._end(signal.SIGKILL)

    def client(self) -> docker.APIClient:
        """Return a client of its own, which the caller closes."""
        return docker.APIClient(base_url=f"unix://{self.socket}", version="auto", timeout=60)

    def build_image(self) -> None:
        """Make the image that the tests' containers run."""
        client = self.client()
        try:
            client.import_image_from_data(root_folder(), repository="cmgr-test", tag="latest")
        finally:
            client.close()
