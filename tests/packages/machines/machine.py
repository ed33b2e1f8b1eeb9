"""A machine for one test: systemd as PID 1 in a container, on a Debian that the tests made, without a network."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.daemons.daemon import CannotRun
from tests.support.waiting import eventually

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
INCLUDED = ("systemd", "systemd-sysv", "dbus", "init-system-helpers", "libstdc++6", "passwd", "rpm", "apt")
UNREAD = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*")
SUITE = os.environ.get("SUITE", "bookworm")


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str


@dataclass(slots=True)
class Place:
    """A file system in memory, where the machines' disks are. Every disk is a stack of layers, the first at the top.

    All workers of a run share it: it goes with the run's directory, which it is in.
    """

    folder: Path
    mounts: list[Path] = field(default_factory=list)

    def open(self) -> None:
        """Raises `CannotRun`."""
        for program in ("mmdebstrap", "systemd-nspawn", "nsenter", "dpkg-deb"):
            if shutil.which(program) is None:
                raise CannotRun(f"there is no {program}")
        if os.geteuid() != 0:
            raise CannotRun("only root can make a machine")
        self.folder.mkdir(exist_ok=True)
        with self._locked():
            if not self.folder.is_mount():
                self._mount("-t", "tmpfs", "-o", "size=4G,mode=755", "tmpfs", str(self.folder))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self.folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def once(self, name: str, make: Callable[[], Path]) -> Path:
        """Return what this makes. The first worker that asks makes it, the others wait for it."""
        known = self.folder / name
        with self._locked():
            if not known.is_symlink():
                known.symlink_to(make())
        return known.readlink()

    def _mount(self, *words: str) -> None:
        done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotRun(f"nothing can be mounted here: {done.stderr.strip()}")

    def new(self) -> Path:
        made = Path(tempfile.mkdtemp(dir=self.folder))
        made.chmod(0o755)
        return made

    def debian(self) -> Path:
        """Make the lowest layer: Debian, from the mirror that this machine's apt uses."""
        root = self.new()
        command = [
            "mmdebstrap", "--quiet", "--mode=root", "--variant=essential", f"--include={','.join(INCLUDED)}",
            *(f"--dpkgopt=path-exclude={path}" for path in UNREAD), SUITE, str(root), "-",
        ]  # fmt: skip
        done = subprocess.run(command, input=sources(), capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotRun(f"no Debian can be made: {done.stderr.strip()[-400:]}")
        # Of the packages that are tested, everything is to be there.
        for setting in (root / "etc/dpkg/dpkg.cfg.d").glob("*mmdebstrap*"):
            setting.unlink()
        return root

    def stacked(self, *lower: Path) -> tuple[Path, Path]:
        """Return a new top layer on these, and the folder where the whole is mounted. Raises `CannotRun`."""
        place = self.new()
        for name in ("upper", "work", "root"):
            (place / name).mkdir()
        below = ":".join(map(str, lower))
        options = f"lowerdir={below},upperdir={place / 'upper'},workdir={place / 'work'}"
        self._mount("-t", "overlay", "-o", options, "overlay", str(place / "root"))
        self.mounts.append(place / "root")
        return place / "upper", place / "root"

    def install(self, root: Path, *packages: str) -> None:
        """Install packages of Debian in what is mounted there. Raises `CannotRun`."""
        for file in ("etc/resolv.conf", "etc/hosts"):
            shutil.copy(f"/{file}", root / file)
        for words in (("update",), ("install", "--yes", "--no-install-recommends", *packages)):
            command = ["chroot", str(root), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet=2", *words]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise CannotRun(f"{' '.join(packages)} cannot be installed: {done.stderr.strip()[-400:]}")

    def close(self) -> None:
        for mount in reversed(self.mounts):
            subprocess.run(["umount", "--lazy", str(mount)], check=False)


def sources(part: str = "main") -> str:
    """Return the line that names that part of the mirror of Debian. Raises `CannotRun`."""
    form = ["--format", "$(LABEL) $(SITE)", "Created-By: Packages"]
    known = subprocess.run(["apt-get", "indextargets", *form], capture_output=True, text=True, check=False).stdout
    sites = {site for label, _, site in (line.partition(" ") for line in known.splitlines()) if label == "Debian"}
    mirror = os.environ.get("DEBIAN_MIRROR") or next(iter(sorted(sites)), "")
    if not mirror:
        raise CannotRun("apt knows no mirror of Debian (DEBIAN_MIRROR names one)")
    return f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror} {SUITE} {part}\n"


class Machine:
    """One boot of systemd on a disk. `stop` powers it off, `close` makes sure of that."""

    def __init__(self, name: str, root: Path, binds: Mapping[str, str]) -> None:
        self.root = root
        self._name = name
        self._binds = [f"--bind={outside}:{inside}" for inside, outside in binds.items()]
        self._process: subprocess.Popen[bytes] | None = None
        self._leader = 0

    def boot(self) -> None:
        """Boot, and wait until systemd has started everything. Raises `CannotRun` where systemd cannot be PID 1."""
        command = [
            "systemd-nspawn", "--quiet", "--boot", f"--directory={self.root}", f"--machine={self._name}",
            "--register=no",
            "--keep-unit", "--private-network", "--resolv-conf=off", "--console=pipe", *self._binds,
        ]  # fmt: skip
        said = self.root.parent / "console"
        with said.open("wb") as out:
            self._process = subprocess.Popen(
                # In a control group of its own: two systemds in one would end each other's processes.
                [
                    "sh",
                    "-c",
                    f'for g in {self._groups()}; do echo $$ >"$g/cgroup.procs"; done; exec "$@"',
                    "sh",
                    *command,
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
            )
        try:
            eventually(self._found)
            eventually(lambda: self.run("systemctl", "is-system-running").out in ("running\n", "degraded\n"))
        except AssertionError as exc:
            self.close()
            raise CannotRun(f"systemd does not boot as PID 1 here: {said.read_text(errors='replace')[-600:]}") from exc

    def _groups(self) -> str:
        base = Path("/sys/fs/cgroup")
        tops = (
            [base]
            if (base / "cgroup.procs").exists()
            else [t for t in (base / "systemd", base / "unified") if t.exists()]
        )
        groups = [top / f"cmgr-{self._name}" for top in tops]
        for group in groups:
            group.mkdir(exist_ok=True)
        return " ".join(map(str, groups))

    def _found(self) -> bool:
        """Find the machine's PID 1: the child of systemd-nspawn that lives in another PID namespace."""
        assert self._process is not None
        assert self._process.poll() is None, "systemd-nspawn has ended"
        mine = os.readlink("/proc/self/ns/pid")
        for child in Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split():
            try:
                if (
                    os.readlink(f"/proc/{child}/ns/pid") != mine
                    and Path(f"/proc/{child}/comm").read_text() == "systemd\n"
                ):
                    self._leader = int(child)
                    return True
            except FileNotFoundError:
                continue
        return False

    def run(self, *command: str, user: str = "", within: float = 120) -> Done:
        """Run a command in the machine."""
        who = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
        done = subprocess.run(
            [*self.door(), *who, *command], stdin=subprocess.DEVNULL, capture_output=True, timeout=within, check=False
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def door(self) -> tuple[str, ...]:
        """Return words that run the command in the machine that stands behind them."""
        enter = ("nsenter", "-t", str(self._leader), "-m", "-u", "-i", "-n", "-p", "-C", "--")
        return (*enter, "env", "-i", f"PATH={PATH}", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8")

    def do(self, *command: str) -> str:
        """Run a command that must succeed, and return what it wrote."""
        done = self.run(*command)
        assert done.code == 0, f"{command}: {done}"
        return done.out

    def put(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a file as an editor does: in place, keeping owner and group of one that is there."""
        self.do("mkdir", "-p", os.path.dirname(path))
        self.do(
            "sh", "-c", f'[ -e "$1" ] || install -m {mode:o} /dev/null "$1"; printf %s "$2" >"$1"', "sh", path, text
        )

    def bring(self, file: Path) -> str:
        """Copy a file into the machine, and return where it is there."""
        inside = f"var/cache/{file.name}"
        shutil.copy(file, self.root / inside)
        return f"/{inside}"

    def show(self, what: str, unit: str = "cmgr") -> str:
        return self.do("systemctl", "show", "--value", "-p", what, unit).strip()

    def reloads(self) -> int:
        """Return how often systemd has read all its units anew since the boot, as it says itself."""
        told = self.do("sh", "-c", "journalctl --sync && journalctl --boot --output=cat _PID=1")
        return len(re.findall(r"^Reloading\.+$", told, re.MULTILINE))

    def signal(self, name: str, pid: str) -> None:
        self.do("sh", "-c", f"kill -{name} {pid}")

    def processes(self) -> list[str]:
        """Return the name of every process."""
        return self.do("sh", "-c", "cat /proc/[0-9]*/comm").split()

    def active(self) -> bool:
        return self.show("ActiveState") == "active"

    def journal(self, *words: str) -> list[dict[str, Any]]:
        lines = self.do("journalctl", "--no-pager", "-o", "json", "-u", "cmgr", *words).splitlines()
        return [json.loads(line) for line in lines]

    def said(self) -> str:
        return "\n".join(str(row.get("MESSAGE")) for row in self.journal())

    def status(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.do("cmgr", "status", "-o", "json"))
        return told

    def stop(self) -> None:
        """Power off."""
        self.run("systemctl", "poweroff")
        assert self._process is not None
        self._process.wait(90)
        self.close()

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            # With PID 1 the kernel ends everything in the machine.
            with suppress(ProcessLookupError):
                os.kill(self._leader or self._process.pid, signal.SIGKILL)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
        self._process, self._leader = None, 0
        for group in self._groups().split():
            _empty(Path(group))


def _empty(group: Path) -> None:
    """Remove a control group and those below it; what still runs in there has lost its PID 1 and is ending."""
    eventually(lambda: _removed(group), why=f"{group} is gone")


def _removed(group: Path) -> bool:
    for folder, _, _ in os.walk(group, topdown=False):
        with suppress(OSError):
            os.rmdir(folder)
    return not group.exists()
