"""The journal's side of its native protocol, and journald itself where it can run: in a mount namespace of its own."""

import os
import select
import socket
import struct
import subprocess
from pathlib import Path

from tests.support.daemons.daemon import CannotRun
from tests.support.waiting import PATIENCE, eventually

PROGRAM = Path("/lib/systemd/systemd-journald")

_START = f"""
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/log
mount --bind /dev/null /dev/kmsg
mkdir -p /run/systemd/journal /run/log/journal
exec {PROGRAM}
"""


def parsed(data: bytes) -> dict[str, str]:
    """Return the fields of a datagram, read as journald reads them."""
    fields: dict[str, str] = {}
    while data:
        line, _, rest = data.partition(b"\n")
        name, equals, value = line.partition(b"=")
        if equals:
            data = rest
        else:
            (length,) = struct.unpack("<Q", rest[:8])
            value, end, data = rest[8 : 8 + length], rest[8 + length : 9 + length], rest[9 + length :]
            assert end == b"\n"
        assert name.decode() not in fields
        fields[name.decode()] = value.decode()
    return fields


def drained(end: socket.socket) -> list[dict[str, str]]:
    """Return all that has come to a socket that stands in for journald's."""
    found = []
    while select.select([end], [], [], 0)[0]:
        found.append(parsed(end.recv(1 << 20)))
    return found


class Journald:
    """A journald of its own, with nothing in it of the machine's: neither its journal nor its kernel's log.

    `prefix` makes a command see the same.
    """

    def __init__(self) -> None:
        if not PROGRAM.exists() or os.geteuid():
            raise CannotRun("journald is not installed, or this is not root")
        self._process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-euc", _START],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.prefix = ("nsenter", f"--mount=/proc/{self._process.pid}/ns/mnt", "--")
        eventually(self._is_up, why="journald listens")

    def _is_up(self) -> bool:
        if self._process.poll() is not None:
            raise CannotRun(f"journald ended: {self._process.communicate()[1]}")
        there = ["test", "-S", "/run/systemd/journal/socket"]
        return subprocess.run([*self.prefix, *there], check=False).returncode == 0

    def asked(self, *words: str) -> str:
        """Return what a command says that sees this journal."""
        return subprocess.run(
            [*self.prefix, *words], check=True, capture_output=True, text=True, timeout=PATIENCE
        ).stdout

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=PATIENCE)
