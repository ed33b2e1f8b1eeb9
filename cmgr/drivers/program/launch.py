"""Starting a program that drives chips: as a unit of systemd in the host, or as a child of this process.

Makers' drivers judge by the mount namespace who asks them, and want files that the sandbox of the service closes. So a
service that systemd runs has systemd start the program: a `cmgr-chips@` unit, which has no sandbox of that kind and
connects to a socket of the service's. Elsewhere the program is a child, with its end of a connection as its standard
input and output.
"""

import os
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from cmgr import again
from cmgr.drivers.program.link import Link
from cmgr.errors import DriverError
from cmgr.host.mounts import in_the_host
from cmgr.sentences.sentence import chained, say

UNIT = "cmgr-chips@{service}-{number}.service"

RUN, SOCKET = "/run/cmgr", "chips.sock"
"""Where the service listens for units: cmgr-chips@.service names it, too."""

SYSTEMCTL = 15.0
"""So many seconds systemd may take over an order or an answer."""

CONNECTS = 60.0
"""So many seconds a unit may take until it has connected."""

ENDS = 2.0
"""So many seconds a program may take to end after its connection has, before it is said that it has not."""

_CREDENTIALS = "3i"


def launcher() -> Callable[[], Link]:
    """Return how programs are started here."""
    if "INVOCATION_ID" in os.environ and not in_the_host():
        return Units(Path(os.environ.get("RUNTIME_DIRECTORY", RUN)) / SOCKET).launch
    return child


def child(command: Sequence[str] = ()) -> Link:
    """Start a child, or take the one that was started ahead; `command`: another program. Raises `DriverError`."""
    try:
        process, ours = (None if command else again.ahead()) or again.child(command)
    except OSError as error:
        raise DriverError(say("driver.cannot-start", why=error.strerror or "")) from error
    return Link(ours, process.kill, lambda: _how_it_ended(process), lambda: process.poll() is None)


def _how_it_ended(process: "subprocess.Popen[bytes]") -> str:
    try:
        code = process.wait(ENDS)
    except subprocess.TimeoutExpired:
        return say("driver.closed-connection")
    return say("driver.killed-by", signal=signal.Signals(-code).name) if code < 0 else say("drill.exit-code", code=code)


class Units:
    """Units that connect to the socket at `path`. `launch` on one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._numbers = count(1)
        self._listener: socket.socket | None = None

    def launch(self) -> Link:
        """Start a unit, and return the connection that it makes. Raises `DriverError`."""
        name = UNIT.format(service=os.getpid(), number=next(self._numbers))
        try:
            listener = self._listening()
            _systemctl("start", "--no-block", name)
            line = self._accepted(listener, name)
        except (OSError, subprocess.SubprocessError, DriverError) as error:
            _kill(name)
            why = str(getattr(error, "stderr", "")).strip() or chained(error)
            text = say("driver.cannot-start-unit", unit=name, why=why)
            raise DriverError(text, hint=f"journalctl -u {name}") from None
        see = say("driver.see", command=f"journalctl -u {name}")
        return Link(line, lambda: _kill(name), lambda: see, lambda: _lives(name))

    def _listening(self) -> socket.socket:
        if self._listener is None:
            with suppress(FileNotFoundError):
                self._path.unlink()
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            before = os.umask(0o177)
            try:
                listener.bind(str(self._path))
            finally:
                os.umask(before)
            listener.listen(1)
            listener.settimeout(1.0)
            self._listener = listener
        return self._listener

    def _accepted(self, listener: socket.socket, name: str) -> socket.socket:
        until = time.monotonic() + CONNECTS
        while time.monotonic() < until:
            try:
                line, _ = listener.accept()
            except TimeoutError:
                if (state := _shown("ActiveState", name)) in ("failed", "inactive"):
                    raise DriverError(say("driver.unit-is", state=state)) from None
                continue
            size = struct.calcsize(_CREDENTIALS)
            _, uid, _ = struct.unpack(_CREDENTIALS, line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
            if uid in (0, os.geteuid()):
                line.settimeout(None)
                return line
            line.close()
        raise DriverError(say("driver.not-connected", seconds=f"{CONNECTS:g}"))


def _systemctl(*words: str) -> str:
    # Not by D-Bus: systemctl needs none, and small systems have none.
    command = ["systemctl", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=SYSTEMCTL).stdout  # noqa: S603


def _shown(name: str, unit: str) -> str:
    return _systemctl("show", "--value", "--property", name, unit).strip()


def _lives(unit: str) -> bool:
    try:
        return _shown("ActiveState", unit) not in ("failed", "inactive")
    except (OSError, subprocess.SubprocessError):
        return False


def _kill(unit: str) -> None:
    with suppress(OSError, subprocess.SubprocessError):
        _systemctl("kill", "--signal=KILL", unit)


def drivers_of(service: int, proc: Path = Path("/proc")) -> list[int]:
    """Return the numbers of the processes that drive chips for the service of that number."""
    return sorted(int(each.name) for each in proc.iterdir() if each.name.isdigit() and _drives(each, service))


def _drives(process: Path, service: int) -> bool:
    try:
        words = (process / "cmdline").read_text(errors="replace").split("\0")
        what, how = again.SERVE
        if what not in words or words[words.index(what) + 1 : words.index(what) + 2] != [how]:
            return False
        parent = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
        unit = UNIT.partition("{number}")[0].format(service=service)
        return int(parent) == service or unit in (process / "cgroup").read_text(errors="replace")
    except OSError:
        return False  # It has ended.
