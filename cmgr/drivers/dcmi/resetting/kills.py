"""Processes that the driver ends itself for each in-band reset of a 910B or A3, on every chip of the machine.

A file of the driver's names them: `AllowKilledWhenResetNPU:NAME:PID`, ten at most; the driver opens it for writing.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from cmgr.ports import Doubt

FILE = Path("/etc/custom_process.cfg")
MOST = 10

_LINE = re.compile(r"^\s*AllowKilledWhenResetNPU\s*:\s*([^:\n]+?)\s*:\s*([0-9]{1,9})\s*$", re.MULTILINE)
_NAME = re.compile(r"^Name:\s*(.*)$", re.MULTILINE)


def named(file: Path) -> Mapping[int, str]:
    """Return the name of each process that the file lists, by its number. Of another name it is another process."""
    return {int(pid): name for name, pid in _LINE.findall(_read(file))[:MOST]}


def kills(file: Path, pid: int, proc: Path = Path("/proc")) -> bool:
    """Return whether the driver ends this process for a reset."""
    name, found = named(file).get(pid), _NAME.search(_read(proc / str(pid) / "status"))
    return name is not None and found is not None and found[1] == name


def doubts(file: Path) -> Iterator[Doubt]:
    """Yield what `cmgr check` says of the file."""
    for pid, name in named(file).items():
        yield Doubt(
            f"process {pid} ({name}) is killed by the driver for a reset of any chip of this machine: {file} names it",
            f"take it out of {file} where that is not wanted",
        )
    try:
        file.open("r+").close()
    except FileNotFoundError:
        return
    except OSError as error:
        text = f"{file} cannot be opened for writing, as the driver does before each reset: {error.strerror}"
        yield Doubt(text, "let the process that drives the chips write it: systemctl cat 'cmgr-chips@*'")


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
