"""Whether the first process of a container takes the signal that asks it to stop.

The kernel gives the first process of a PID namespace only the signals that it has a handler for (pid_namespaces(7)): a
shell that runs a server, as CMD in shell form makes it, ends by the kill after the grace, each time.
"""

import re
import signal
from pathlib import Path

_PROC = Path("/proc")
_LONGEST = 2**16


def deaf(pid: int, id_: str, number: int) -> str:
    """Return the name of the process if it is the first of container `id_` and does not take that signal; else nothing.

    Nothing, too, where that cannot be read. Blocks for no more than three small files of /proc.
    """
    try:
        place = _PROC / str(pid)
        # The process may have ended, and another one have its number.
        if pid <= 0 or id_ not in _read(place / "cgroup"):
            return ""
        return _deaf(_read(place / "status"), number)
    except (OSError, ValueError):
        return ""


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_LONGEST).decode("utf-8", "replace")


def _deaf(status: str, number: int) -> str:
    name, spaces, caught = (_field(status, field) for field in ("Name", "NSpid", "SigCgt"))
    if spaces.split()[-1:] != ["1"] or not re.fullmatch(r"[0-9a-f]{1,32}", caught):
        return ""
    return "" if int(caught, 16) >> (number - 1) & 1 else name or "?"


def _field(status: str, name: str) -> str:
    found = re.search(rf"^{name}:[ \t]*(.*)$", status, re.MULTILINE)
    return found[1].strip() if found else ""


def words(process: str, number: int) -> str:
    """Return what to tell of a container that was killed because its first process does not take its stop signal."""
    return f"its first process ({process}) does not take {_name(number)}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
