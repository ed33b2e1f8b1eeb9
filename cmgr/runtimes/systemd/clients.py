"""Units that run containers: found by the clients of container runtimes in their control groups, as /proc shows them.

`docker run` stays as long as its container does and passes signals on; the container itself is the daemon's. So a unit
with such a client in it is what starts and stops the container. The client's own words name it. Of podman its monitor,
conmon, stays in the unit where that is asked for, as quadlet and `podman generate systemd --new` do. podman's label
PODMAN_SYSTEMD_UNIT says the same, but an image may bring it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from cmgr.runtimes import labels

_CLIENTS = ("docker", "nerdctl", "podman")
_MONITOR = "conmon"
_CALLS = ("run", "start")
_SPACES = ("container",)

_FLAGS = frozenset(
    {
        *("-a", "--attach", "-i", "--interactive", "-t", "--tty", "-d", "--detach", "-P", "--publish-all"),
        *("--rm", "--init", "--privileged", "--read-only", "--no-healthcheck", "--replace"),
    }
)
"""Options of these calls that take no value: what follows one of these is no value of it."""

_UNIT = re.compile(r"/([^/]+\.service)(?=/|$)")
_USERS = re.compile(r"/user@[0-9]+\.service(?=/|$)")
_ID = "[0-9a-f]{64}"
_LONGEST = 128 * 1024


def found(proc: Path = Path("/proc")) -> Mapping[str, frozenset[str]]:
    """Return the names of the containers that units run, by unit; a client that names none is left out.

    Any thread. Blocks for as long as it takes to read a file for each process of the machine. Does not raise.
    """
    units: dict[str, set[str]] = {}
    for process in proc.iterdir():
        program = _read(process / "comm").strip() if process.name.isdecimal() else ""
        if program in (*_CLIENTS, _MONITOR) and may_order(process):
            unit, words = unit_of(_read(process / "cgroup")), _read(process / "cmdline").split("\0")[:-1]
            name = monitored(words) if program == _MONITOR else named(words)
            if unit and name and not labels.runs_others(unit):
                units.setdefault(unit, set()).add(name)
    return {unit: frozenset(names) for unit, names in units.items()}


def watched(proc: Path = Path("/proc")) -> frozenset[str]:
    """Return the ids of podman's containers whose monitor lives. As `found`."""
    monitors = (p for p in proc.iterdir() if p.name.isdecimal() and _read(p / "comm").strip() == _MONITOR)
    return frozenset(filter(None, (monitored(_read(p / "cmdline").split("\0")[:-1]) for p in monitors)))


def may_order(process: Path) -> bool:
    """Return whether the process is root's: others write what they like into their arguments."""
    ids = re.search(r"^Uid:\s+([0-9]+)\s+([0-9]+)", _read(process / "status"), re.MULTILINE)
    return ids is not None and ids[2] == "0"


def unit_of(cgroups: str) -> str:
    """Return the unit of the system that this content of /proc/PID/cgroup tells of; nothing where there is none."""
    for line in cgroups.splitlines():
        path = line.split(":", 2)[-1]
        units = _UNIT.findall(path)
        if units and not _USERS.search(path):
            return str(units[0])
    return ""


def named(words: Sequence[str]) -> str:
    """Return the name or id of the container that a client with these arguments runs; nothing where it names none.

    `run` names it by `--name`, or in a file, `--cidfile`; `start --attach` by its first argument.
    """
    call = _call(words)
    if not call or call[0] not in _CALLS:
        return ""
    options = dict(_options(call[1:]))
    if call[0] == "run":
        detached = {"-d", "--detach"} & options.keys()
        return "" if detached else options.get("--name", "") or _id_in(options.get("--cidfile", ""))
    attached = {"-a", "--attach"} & options.keys()
    return options.get("", "") if attached else ""


def monitored(words: Sequence[str]) -> str:
    """Return the id of the container that a conmon with these arguments watches; nothing where it watches an exec."""
    told = dict(pairwise(words))
    container = told.get("-c", "")
    return container if container == told.get("-u") and re.fullmatch(_ID, container) else ""


def _call(words: Sequence[str]) -> Sequence[str]:
    """Return the call and what follows it, without the client's own name and options."""
    for number, word in enumerate(words[1:], 1):
        if word in _CALLS:
            return words[number:]
        if not word.startswith("-") and word not in _SPACES and not words[number - 1].startswith("-"):
            return ()
    return ()


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each option of a call with its value, and as "" the first word that is none: then come others' words."""
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-"):
            yield "", word
            return
        name, sign, value = word.partition("=")
        flags = [f"-{letter}" for letter in word[1:]] if re.fullmatch("-[aditP]+", word) else [name]
        # An option that is not known takes no value if another option follows it.
        takes = not sign and not _FLAGS.issuperset(flags) and left and not left[0].startswith("-")
        given = value if sign else left.pop(0) if takes else ""
        for flag in flags:
            yield flag, given


def _id_in(path: str) -> str:
    text = _read(Path(path)).strip() if path.startswith("/") else ""
    return text if re.fullmatch(_ID, text) else ""


def _read(path: Path) -> str:
    with suppress(OSError), path.open(errors="replace") as file:
        return file.read(_LONGEST)
    return ""
