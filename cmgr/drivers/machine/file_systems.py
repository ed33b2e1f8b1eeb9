"""File systems that the kernel has made read-only: what it does when it no longer trusts one.

The word of the file system itself counts, the last field of mountinfo (proc_pid_mountinfo(5)): a service that is kept
from writing by systemd sees each mount read-only, and the file systems as they are.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from cmgr.drivers.machine.source import Off
from cmgr.drivers.machine.sysfs import named
from cmgr.frozen import dataclass
from cmgr.model.values.machine import Symptom
from cmgr.sentences.sentence import say

_NEVER_WRITTEN = frozenset({"squashfs", "iso9660", "erofs", "udf", "cramfs", "romfs", "overlay"})
_ESCAPED = re.compile(r"\\([0-7]{3})")
_MOST_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Mounted:
    """A file system on a disk. `place`: where it was mounted first."""

    place: str
    device: str
    kind: str
    read_only: bool


class FileSystems:
    """Read-only now, and meant to be written: /etc/fstab says so, or it was written earlier in this life of cmgr."""

    name = "file-systems"
    slow = 1

    def __init__(self, root: Path) -> None:
        self._mounts = root / "proc/self/mountinfo"
        self._table = root / "etc/fstab"
        self._written: frozenset[str] = frozenset()

    def look(self) -> Sequence[Symptom]:
        mounted = mounts(self._mounts.read_text(errors="replace"))
        if not mounted:
            raise Off(say("driver.nothing-mounted"))
        meant = to_be_written(self._table.read_text(errors="replace")) if self._table.is_file() else frozenset()
        # A disk that is mounted elsewhere later is another matter.
        self._written = (self._written & mounted.keys()) | {n for n, m in mounted.items() if not m.read_only}
        wrong = [m for n, m in mounted.items() if m.read_only and (n in self._written or m.place in meant)]
        told = ((m.place, say("symptom.was-writable", kind=m.kind, device=m.device)) for m in wrong)
        return [named("file-system-read-only", place, text) for place, text in told]


def mounts(text: str) -> Mapping[str, Mounted]:
    """Return the file systems of disks in the text of mountinfo, by their device's number."""
    found: dict[str, Mounted] = {}
    for line in text.splitlines()[:_MOST_LINES]:
        if " /dev/" not in line:
            continue  # Each container brings some of these.
        before, _, after = line.partition(" - ")
        fields, own = before.split(), after.split()
        if len(fields) < 6 or len(own) < 3 or not own[1].startswith("/dev/") or own[0] in _NEVER_WRITTEN:
            continue
        options = own[2].split(",")
        read_only = "ro" in options or "emergency_ro" in options
        found.setdefault(fields[2], Mounted(_plain(fields[4]), _plain(own[1]), own[0], read_only))
    return found


def to_be_written(text: str) -> frozenset[str]:
    """Return the places of file systems that the text of fstab wants mounted so that they can be written."""
    found = set()
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 4 and not fields[0].startswith("#") and "ro" not in fields[3].split(","):
            found.add(_plain(fields[1]))
    return frozenset(found)


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), text)
