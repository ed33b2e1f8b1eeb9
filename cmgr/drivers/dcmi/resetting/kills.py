"""Processes that the driver ends itself for each in-band reset of a 910B or A3, on every chip of the machine.

A file of the driver's names them: `AllowKilledWhenResetNPU:NAME:PID`, ten at most; the driver opens it for writing.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from cmgr.ports import Doubt
from cmgr.sentences.sentence import say

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
            say("driver.is-killed", process=say("driver.process", pid=pid, facts=[name]), path=str(file)),
            say("driver.take-out", path=str(file)),
        )
    try:
        file.open("r+").close()
    except FileNotFoundError:
        return
    except OSError as error:
        text = say("driver.kills-not-written", path=str(file), why=error.strerror or "")
        yield Doubt(text, say("driver.let-it-write", command="systemctl cat 'cmgr-chips@*'"))


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
