"""A private systemd with its own D-Bus: a user's manager, which is the system's in all that cmgr asks of it."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from tests.support.daemons.daemon import CannotRun, Daemon
from tests.support.waiting import PATIENCE, eventually

_MANAGER = "/lib/systemd/systemd"

_INSIDE = """
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system
umount -R /sys/fs/cgroup 2>/dev/null; mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p "/sys/fs/cgroup/$NAME/init" && echo $$ >"/sys/fs/cgroup/$NAME/init/cgroup.procs" || exit 9
"$MANAGER" --user --unit=dbus.service
"""
_APART = ("--mount", "--cgroup", "--pid", "--fork", "--kill-child", "--mount-proc")
"""It takes a machine that systemd has started, which this pretends, and a cgroup tree of its own."""


class Systemd(Daemon):
    """Started by `start`; `close` ends everything. `socket`: its D-Bus."""

    def __init__(self) -> None:
        for program in ("dbus-daemon", "systemctl", "unshare", _MANAGER):
            if shutil.which(program) is None:
                raise CannotRun(f"there is no {program}")
        if os.geteuid() != 0:
            raise CannotRun("only root can mount what a private systemd needs")
        self.folder = Path(tempfile.mkdtemp(prefix="cmgr-systemd-"))
        self.socket = str(self.folder / "bus")
        # Where packages put theirs for users: a mask goes before it.
        self._units = self.folder / ".local" / "share" / "systemd" / "user"
        self._units.mkdir(parents=True)
        self._define_bus()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def _environment(self) -> dict[str, str]:
        folder = str(self.folder)
        bus = {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.socket}"}
        own = {"XDG_RUNTIME_DIR": folder, "HOME": folder, "NAME": self.folder.name, "MANAGER": _MANAGER}
        return {"PATH": os.environ["PATH"], "SYSTEMD_LOG_TARGET": "console", **bus, **own}

    def _define_bus(self) -> None:
        """Have it start its D-Bus itself, as the package dbus-user-session does."""
        (self._units / "dbus.socket").write_text("[Socket]\nListenStream=%t/bus\n")
        words = "dbus-daemon --session --address=systemd: --nofork --nopidfile --systemd-activation --syslog-only"
        service = f"[Unit]\nRequires=dbus.socket\n[Service]\nType=notify\nNotifyAccess=main\nExecStart={words}\n"
        (self._units / "dbus.service").write_text(service)

    def start(self) -> None:
        """Start it and wait until it answers. Raises `CannotRun`."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["unshare", *_APART, "sh", "-c", _INSIDE, str(self.folder)],
                env=self._environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            eventually(self._answers)
        except AssertionError as exc:
            raise CannotRun(f"{exc}: {(self.folder / 'log').read_text()[-400:]}") from exc

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "systemd has ended"
        return Path(self.socket).is_socket() and not self._systemctl("is-active", "dbus.service").returncode

    def systemctl(self, *words: str) -> str:
        """Do what a person does, and return what it says."""
        done = self._systemctl(*words)
        assert done.returncode == 0, f"systemctl {words}: {done.stderr}"
        return done.stdout

    def _systemctl(self, *words: str) -> subprocess.CompletedProcess[str]:
        # From outside its process has no number there, which systemd's own socket does not bear.
        return subprocess.run(
            self.inside("systemctl", "--user", "--no-pager", *words),
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def inside(self, *words: str) -> list[str]:
        """Return the words that run these among systemd's own processes, as on a machine that it has started."""
        assert self._process is not None
        first = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()[0]
        return ["nsenter", f"--target={first}", "--pid", "--mount", *words]

    def property(self, unit: str, name: str) -> str:
        return self.systemctl("show", "--value", f"--property={name}", unit).strip()

    def define(self, unit: str, **settings: str) -> None:
        """Write a unit's file: its settings of [Service], or what it is, those that begin with `Unit_` of [Unit]."""
        own = f"[{unit.rpartition('.')[2].capitalize()}]"
        lines = {"[Unit]": list[str](), own: list[str]()}
        for name, value in settings.items():
            lines["[Unit]" if name.startswith("Unit_") else own].append(f"{name.removeprefix('Unit_')}={value}")
        text = "\n".join(line for part, rows in lines.items() for line in (part, *rows))
        (self._units / unit).write_text(text + "\n")
        self.systemctl("daemon-reload")

    def undefine(self, unit: str) -> None:
        (self._units / unit).unlink()
        self.systemctl("daemon-reload")

    def stop(self) -> None:
        self._end(signal.SIGKILL)
