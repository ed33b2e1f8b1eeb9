"""Units that run containers: found by their commands, and by clients of runtimes in their control groups, as in /proc.

`docker run` stays as long as its container does and passes signals on; the container itself is the daemon's. So a unit
with such a client in it is what starts and stops the container. The client's own words name it. Of podman its monitor,
conmon, stays in the unit where that is asked for, as quadlet and `podman generate systemd --new` do. podman's label
PODMAN_SYSTEMD_UNIT says the same, but an image may bring it.

A unit that a label names runs that container only if its own commands, or clients in it, name the container or its
project of docker compose: else whoever makes a container could have any service of the machine stopped.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

from cmgr.frozen import dataclass
from cmgr.model.values.services.containers import Container
from cmgr.runtimes import labels

_CLIENTS = ("docker", "nerdctl", "podman")
_MONITOR = "conmon"
_CTR = "ctr"
_COMPOSE = "docker-compose"
_PROGRAMS = (*_CLIENTS, _MONITOR, _CTR, _COMPOSE)
_BY_NAME = ("start", "attach", "wait", "logs", "stop", "kill", "restart", "rm")
_CALLS = ("run", "create", "compose", *_BY_NAME)
_SPACES = ("container", "containers", "tasks", "task", "c", "t")

_COMMANDS = ("ExecStartPre", "ExecStart", "ExecStartPost", "ExecStop", "ExecStopPost")
"""systemd's names for the commands of a unit."""

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


@dataclass(frozen=True, slots=True)
class Call:
    """A command, or a process: its program's name, its words, and the directory in which it works."""

    program: str
    words: tuple[str, ...]
    directory: str = ""


def in_units(proc: Path = Path("/proc")) -> Mapping[str, Sequence[Call]]:
    """Return root's clients of container runtimes in units of the system that run nothing else.

    Any thread. Blocks for as long as it takes to read a file for each process of the machine. Does not raise.
    """
    units: dict[str, list[Call]] = {}
    for process in proc.iterdir():
        program = _read(process / "comm").strip() if process.name.isdecimal() else ""
        if program in _PROGRAMS and may_order(process):
            unit, words = unit_of(_read(process / "cgroup")), _read(process / "cmdline").split("\0")[:-1]
            if unit and words and not labels.runs_others(unit):
                directory = ""
                with suppress(OSError):
                    directory = str((process / "cwd").readlink())
                units.setdefault(unit, []).append(Call(program, tuple(words), directory))
    return units


def commands(told: Mapping[str, Any]) -> Iterator[Call]:
    """Yield the commands of a unit, as its properties on D-Bus tell of them."""
    directory = str(told.get("WorkingDirectory", "")).lstrip("!")
    for each in _COMMANDS:
        for path, words, *_ in told.get(each, ()):
            yield Call(PurePath(path).name, (path, *words[1:]), directory)


def names_of(calls: Iterable[Call]) -> frozenset[str]:
    """Return the names of the containers that these clients run; one that names none is left out."""
    found = (
        monitored(call.words) if call.program == _MONITOR else named(call.words) if call.program in _CLIENTS else ""
        for call in calls
    )
    return frozenset(filter(None, found))


def found(proc: Path = Path("/proc")) -> Mapping[str, frozenset[str]]:
    """Return the names of the containers that units run, by unit. As `in_units`."""
    return {unit: names for unit, calls in in_units(proc).items() if (names := names_of(calls))}


def tells_of(call: Call, container: Container) -> bool:
    """Return whether the call is about the container, by name or project, or gives one without a name its label."""
    if call.program == _MONITOR:
        return monitored(call.words) == container.key.id
    label = f"{labels.UNIT}={container.unit}"
    for words in _clients(call.words):
        if project := _project(words, call.directory):
            if container.composed is not None and container.composed.project == project:
                return True
            continue
        names, its = _names(words), {container.name, container.key.id}
        if not its.isdisjoint(names) or (not names and not {label, f"--label={label}"}.isdisjoint(words)):
            return True
    return False


def _clients(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the words from the client on, also where a shell, or another program, is to run it."""
    for number, word in enumerate(words):
        if " " not in word and PurePath(word).name in _PROGRAMS:
            yield [*words[number:]]
            return
    for line in (line for word in words if " " in word for line in re.split("[;&|\n]+", word)):
        with suppress(ValueError):
            if (parts := shlex.split(line)) and parts != [line]:
                yield from _clients(parts)


def _names(words: Sequence[str]) -> frozenset[str]:
    """Return the names and ids of containers in a client's words; of ctr's all that could be one."""
    call = _call(words)
    if call and (call[0] in _BY_NAME or PurePath(words[0]).name == _CTR):
        return frozenset(word for word in call[1:] if not word.startswith("-"))
    if not call or call[0] not in ("run", "create"):
        return frozenset()
    options = dict(_options(call[1:]))
    return frozenset({options.get("--name", ""), _id_in(options.get("--cidfile", ""))} - {""})


def _project(words: Sequence[str], directory: str) -> str:
    """Return the project of a call of docker compose: that which it names, or the name of the project's directory."""
    own = PurePath(words[0]).name == _COMPOSE
    call = words[1:] if own else _call(words)
    composes = call[:1] == ["compose"]
    if not own and not composes:
        return ""
    # The first file's directory is the project's.
    options = dict(reversed([*_options(call[1:] if composes else call)]))
    file = options.get("-f") or options.get("--file")
    where = options.get("--project-directory") or (PurePath(file).parent if file else "")
    name = options.get("-p") or options.get("--project-name") or PurePath(directory, where).name
    return re.sub("[^-_a-z0-9]", "", name.lower()).lstrip("-_")


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
    if not call or call[0] not in ("run", "start"):
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
