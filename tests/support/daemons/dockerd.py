"""A private dockerd: its own folder, socket and containerd, with one tiny image; nothing of it is left afterwards."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import docker

from cmgr.cli.check.cdi import RESTARTS_SINCE
from tests.support.daemons.daemon import BUSYBOX, CannotRun, Daemon, answers_docker, is_dead, root_folder
from tests.support.waiting import eventually

IMAGE = "cmgr-test:latest"

OBEYS = ("sh", "-c", "trap 'exit 0' TERM; echo ready; while :; do sleep 1 & wait $!; done")
"""A command that ends with code 0 when it is told to, once it has said that it is ready."""

IGNORES = ("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done")
"""A command that ends by SIGKILL only."""


_HAND_OVER = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3);"
    "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1'); os.execvp(sys.argv[2], sys.argv[2:])"
)


class Dockerd(Daemon):
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
        self.inherited: socket.socket | None = None
        """A listening socket that the daemon answers on, too, when it is started next: as systemd hands it one."""
        self.data = "data-root"
        """The directory, of its own, in which the daemon has its books when it is started next."""
        self.runc = ""
        """The program, if it is another one, that runs the containers of the daemon that is started next."""
        self.lives_on = False
        """Whether its containers outlive it (live-restore), when it is started next."""
        self.cdi = self.folder / "cdi"
        """The directory of CDI files, for those that know CDI."""
        told = subprocess.run(["dockerd", "--help"], capture_output=True, text=True, check=False)
        self.knows_cdi = "--cdi-spec-dir" in told.stdout
        version = subprocess.run(["dockerd", "--version"], capture_output=True, text=True, check=False).stdout
        self.restarts_cdi = int(version.partition("version ")[2].partition(".")[0]) >= RESTARTS_SINCE
        """Whether its restart policies start containers with CDI after a restart of its own."""
        self._process: subprocess.Popen[bytes] | None = None
        self._drivers = ["overlay2", "vfs"]

    def start(self) -> None:
        """Start the daemon and wait until it answers. Raises `CannotRun`."""
        last = ""
        for driver in self._drivers:
            self._launch(driver)
            try:
                eventually(self._answers)
                self._drivers = [driver]
                return
            except AssertionError as exc:
                last = f"{exc}: {self._log()[-400:]}"
                self.stop()
        raise CannotRun(f"dockerd does not start: {last}")

    def restart(self, *, lives_on: bool) -> None:
        """Begin anew, as one whose containers outlive it from then on, or do not."""
        self.stop()
        self.lives_on = lives_on
        self.start()

    def _launch(self, driver: str) -> None:
        folders = [f"--data-root={self.folder / self.data}", f"--exec-root={self.folder / 'exec-root'}"]
        folders += ["--live-restore"] if self.lives_on else []
        network = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"]
        sockets = [f"--pidfile={self.folder / 'pid'}", f"--host=unix://{self.socket}"]
        # A file of our own, so that nothing of this machine's own configuration counts.
        config = self.folder / "daemon.json"
        # Whoever knows CDI by a switch only has it switched on.
        said: dict[str, object] = {"features": {"cdi": True}} if self.knows_cdi else {}
        said |= {"runtimes": {"other": {"path": self.runc}}, "default-runtime": "other"} if self.runc else {}
        config.write_text(json.dumps(said))
        before, inherited = [], []
        if self.inherited is not None:
            inherited = [self.inherited.fileno()]
            before = [sys.executable, "-c", _HAND_OVER, str(inherited[0])]
            sockets.append("--host=fd://")
        words = ["dockerd", f"--config-file={config}", *folders, *network, *sockets, f"--storage-driver={driver}"]
        if self.knows_cdi:
            self.cdi.mkdir(exist_ok=True)
            words.append(f"--cdi-spec-dir={self.cdi}")
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*before, *words],
                pass_fds=inherited,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"dockerd ended with code {self._process.returncode}")
        return answers_docker(self.socket)

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

    def kill(self) -> None:
        """End the daemon without warning; its containerd, which Docker has die with it, too."""
        pid_file = self.folder / "exec-root" / "containerd" / "containerd.pid"
        pid = int(pid_file.read_text())
        self._end(signal.SIGKILL)
        eventually(lambda: is_dead(pid), why="containerd is dead")
        # Where the first process reaps nobody, the next dockerd would take the dead one for alive.
        pid_file.unlink(missing_ok=True)
