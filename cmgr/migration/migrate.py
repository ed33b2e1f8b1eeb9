"""An installation of MindCluster's container-manager (the reference) as settings of cmgr: texts in, `Migration` out."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from cmgr.config.schema import settings
from cmgr.config.tables.catalog import missing_levels
from cmgr.config.tables.table import Table
from cmgr.frozen import dataclass
from cmgr.migration.reference import CLUSTER_FLAGS, NUMBER_FLAGS, PROGRAM, CommandLine, Flag, command_line, unset
from cmgr.migration.unit import leftovers
from cmgr.migration.unit_file import Source, Unit, command, environment_file, environment_line, parsed

DEFAULT_LOG = "/var/log/mindx-dl/container-manager/container-manager.log"
OUR_LOG = "/var/log/cmgr/cmgr.log"
"""In the directory that cmgr's unit may write."""

LEVELS = {-1: "debug", 0: "info", 1: "warning", 2: "error", 3: "error"}
DOCKER_SOCKET = "/run/docker.sock"

_NO_START = f"there is no ExecStart=: name the unit file of {PROGRAM} first, then its drop-ins"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A setting, its value as TOML has it, and where that comes from."""

    key: str
    value: object
    why: str


@dataclass(frozen=True, slots=True)
class Migration:
    """The result of a migration.

    `differs`: what cmgr will do otherwise. `dropped`: what has no counterpart, with the reason. `fault_file`: the
    fault table that the reference reads, if any. `mistakes`: why there can be no configuration, as far as any.
    """

    chosen: tuple[Chosen, ...] = ()
    differs: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    fault_file: str = ""
    mistakes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EnvironmentFile:
    """A file that the unit takes variables from. `needed`: without it systemd does not start the unit."""

    path: str
    needed: bool
    at: str


def environment_files(sources: Sequence[Source]) -> tuple[EnvironmentFile, ...]:
    """Return the files that `migrate` wants the texts of."""
    found = parsed(sources).of("Service", "EnvironmentFile")
    return tuple(EnvironmentFile(a.value.removeprefix("-"), not a.value.startswith("-"), a.at) for a in found)


def migrate(sources: Sequence[Source], environment_texts: Mapping[str, str]) -> Migration:
    """Return the settings that do what this unit, with its drop-ins, had the reference do.

    `environment_texts`: what the files of `environment_files` say, by their path.
    """
    unit = parsed(sources)
    mistakes = list(unit.mistakes)
    environment = _environment(unit, environment_texts, mistakes)
    line, unknown = _command_line(unit, environment, mistakes)
    if line is None:
        return Migration(mistakes=tuple(mistakes))
    flags = {flag.name: flag for flag in line.flags if flag.known}
    told = list(_of_flags(flags))
    mistakes += [item for item in told if isinstance(item, str)]
    chosen = [item for item in told if isinstance(item, Chosen)]
    for choice in chosen:
        try:
            settings()[choice.key].kind.take(choice.value)
        except ValueError as error:
            mistakes.append(f"{choice.why}: must be {error}")
    differs = [f"${name} is set nowhere that this command looks: taken as empty" for name in unknown]
    return Migration(
        tuple(chosen),
        (*differs, *_differs(flags)),
        (*_dropped(line), *leftovers(unit)),
        _fault_file(flags.get("faultConfigPath"), unit),
        tuple(mistakes),
    )


def _environment(unit: Unit, texts: Mapping[str, str], mistakes: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for assignment in unit.of("Service", "Environment"):
        try:
            found.update(environment_line(assignment))
        except ValueError as error:
            mistakes.append(f"{assignment.at}: cannot read Environment=: {error}")
    # As systemd has it, files override lines, and later ones earlier ones.
    for assignment in unit.of("Service", "EnvironmentFile"):
        found.update(environment_file(texts.get(assignment.value.removeprefix("-"), "")))
    return found


def _command_line(
    unit: Unit, environment: Mapping[str, str], mistakes: list[str]
) -> tuple[CommandLine | None, list[str]]:
    starts = unit.of("Service", "ExecStart")
    if len(starts) != 1:
        several = ", ".join(a.at for a in starts)
        why = f"there are several ExecStart= ({several}): a drop-in begins with an empty one" if starts else _NO_START
        mistakes.append(why)
        return None, []
    try:
        words, unknown = command(starts[0].value, environment)
        unknown += unset(words, environment)
        return command_line(words, environment), sorted(set(unknown))
    except ValueError as error:
        mistakes.append(f"{starts[0].at}: cannot use ExecStart=: {error}")
        return None, []


def _of_flags(flags: Mapping[str, Flag]) -> Iterator[Chosen | str]:
    """Yield the settings, and a sentence for each value that the reference itself would refuse."""
    yield _chosen(flags, "ctrStrategy", "strategy", "never")
    yield from _of_runtime(flags)
    numbers: dict[str, int] = {}
    for name, (least, most) in NUMBER_FLAGS.items():
        if name in flags:
            try:
                numbers[name] = int(flags[name].value, 0)
            except ValueError:
                yield f"{flags[name]}: must be a whole number"
                continue
            if not least <= numbers[name] <= most:
                yield f"{flags[name]}: must be from {least} to {most}, as the reference has it"
    yield from _of_log(flags, numbers)
    node = flags.get("nodeID")
    if node is not None and not _no_name(node):
        yield Chosen("fleet.name", node.value, str(node))


def _no_name(node: Flag) -> str:
    """Return what the name of an appliance must be, where this is none; otherwise nothing."""
    try:
        settings()["fleet.name"].kind.take(node.value)
    except ValueError as error:
        return str(error)
    return ""


def _chosen(flags: Mapping[str, Flag], name: str, key: str, default: str) -> Chosen:
    if name in flags:
        return Chosen(key, flags[name].value, str(flags[name]))
    return Chosen(key, default, f"no -{name}, which is {default} then")


def _of_runtime(flags: Mapping[str, Flag]) -> Iterator[Chosen | str]:
    flag = flags.get("runtimeType") or flags.get("runtimeMode")
    named = flag.value if flag else "docker"
    if named not in ("docker", "containerd"):
        yield f"{flag}: must be docker or containerd"
        return
    yield Chosen("runtimes", [named], str(flag) if flag else "no -runtimeType, which is docker then")
    path = flags.get("sockPath")
    # Given containerd and no path, newer versions would have looked for it behind Docker's socket.
    if path and not (named == "containerd" and path.value == DOCKER_SOCKET):
        yield Chosen("docker.socket" if named == "docker" else "containerd.address", path.value, str(path))


def _of_log(flags: Mapping[str, Flag], numbers: Mapping[str, int]) -> Iterator[Chosen]:
    if numbers.get("logLevel") in LEVELS:
        yield Chosen("log.level", LEVELS[numbers["logLevel"]], str(flags["logLevel"]))
    if any(name in flags for name in ("logPath", "maxAge", "maxBackups")):
        why = str(flags["logPath"]) if "logPath" in flags else f"no -logPath, which is {DEFAULT_LOG} then"
        yield Chosen("log.file", OUR_LOG, f"{why}; a file of cmgr's own, where its unit may write")


def _fault_file(flag: Flag | None, unit: Unit) -> str:
    if flag is None or not flag.value:
        return ""
    directories = unit.of("Service", "WorkingDirectory")
    directory = directories[-1].value.removeprefix("-") if directories else "/"
    return str(PurePosixPath(directory) / flag.value)


def _differs(flags: Mapping[str, Flag]) -> Iterator[str]:
    value = {name: flag.value for name, flag in flags.items()}
    if value.get("ctrStrategy") == "singleRecover":
        yield (
            "where the other chips of a ring are in use, its reset waits until they are free, and cmgr status says so; "
            "after 10 minutes of that their containers are stopped too, and started again (reset.widen_after)"
        )
    if "containerd" in (value.get("runtimeType"), value.get("runtimeMode")):
        yield (
            "a container of containerd gets its stop signal and 10 s (label cmgr.stop-timeout) before it is killed; "
            "the reference killed it at once"
        )
        yield "containers in the namespace k8s.io are left alone (containerd.skip_namespaces)"
        if value.get("sockPath", DOCKER_SOCKET) == DOCKER_SOCKET:
            yield f"containerd is looked for on its own socket, not on {DOCKER_SOCKET}, the reference's default"
    else:
        yield 'the reference knew one runtime at a time; runtimes = ["auto"] takes in containerd too, where it answers'
    if value.get("logLevel") == "3":
        yield "there is no level critical: error is the gravest"
    for name, word in (("maxAge", "maxage"), ("maxBackups", "rotate")):
        if name in value:
            yield f"-{name} {value[name]}: logrotate rotates cmgr's log file; set {word} in /etc/logrotate.d/cmgr"
    if not {"logPath", "maxAge", "maxBackups"} & set(value):
        yield f"the log goes to the journal (journalctl -t cmgr), not to {DEFAULT_LOG}; log.file adds a file"


def _dropped(line: CommandLine) -> Iterator[str]:
    names = [flag.name for flag in line.flags]
    for number, flag in enumerate(line.flags, start=1):
        if flag.known and flag.name in names[number:]:
            yield f"{flag}: the same flag comes again, and the last one counts"
        elif flag.name == "nodeID":
            if why := _no_name(flag):
                yield f"{flag}: cannot be fleet.name, which is {why}"
        elif flag.name in CLUSTER_FLAGS:
            yield f"{flag}: there is no leader; appliances agree over etcd: set fleet.engine, and see docs/fleet.md"
        elif not flag.known:
            yield f"{flag}: no flag of the reference that cmgr knows of; look up what it does"
    if line.ignored:
        yield f"{shlex.join(line.ignored)}: behind the first word that is no flag; the reference did not read it either"
    if line.before:
        yield f"{shlex.join(line.before)}: stood in front of the program; a drop-in of cmgr's unit can say the like"


def with_fault_table(migration: Migration, table: Table, source: str, target: str) -> Migration:
    """Return the migration with the reference's fault table, which lies at `source` and shall lie at `target`."""
    why = f"the fault table of the reference, {source}"
    chosen = (
        Chosen("faults.file", target, why),
        Chosen("faults.mode", "replace", "as with the reference, this table stands in the place of the built-in one"),
        Chosen("faults.unknown", "NotHandleFault", "a code that is not in it is recorded and shown, and not acted on"),
    )
    odd = (*table.warnings, *missing_levels(table))
    told = (*(f"fault table: {warning}" for warning in odd), *_MERGE)
    return replace(migration, chosen=(*migration.chosen, *chosen), differs=(*migration.differs, *told))


def without_fault_table(migration: Migration) -> Migration:
    """Return the migration where the reference used its built-in table."""
    return replace(migration, differs=(*migration.differs, _UNKNOWN))


_MERGE = (
    'faults.mode = "merge" lays this table over the built-in one instead; with faults.unknown = "severity" codes that '
    "are in neither go by the driver's severity",
)
_UNKNOWN = (
    "a fault code in no table was dropped; cmgr goes by the driver's severity and isolates the chip of a major one; "
    'faults.unknown = "NotHandleFault" only records it'
)


def install_command(source: str, target: str) -> str:
    """Return the command that puts the fault table where cmgr reads it."""
    return f"install -o root -g root -m 0640 {shlex.quote(source)} {shlex.quote(target)}"
