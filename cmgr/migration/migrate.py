"""An installation of MindCluster's container-manager (the reference) as settings of cmgr: texts in, `Migration` out."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import PurePosixPath
from typing import cast

from cmgr.config.schema import settings
from cmgr.config.tables.catalog import missing_levels
from cmgr.config.tables.table import Table
from cmgr.frozen import dataclass
from cmgr.migration.reference import CLUSTER_FLAGS, NUMBER_FLAGS, PROGRAM, CommandLine, Flag, command_line, unset
from cmgr.migration.unit import leftovers
from cmgr.migration.unit_file import Source, Unit, command, environment_file, environment_line, parsed
from cmgr.sentences.sentence import say

DEFAULT_LOG = "/var/log/mindx-dl/container-manager/container-manager.log"
OUR_LOG = "/var/log/cmgr/cmgr.log"
"""In the directory that cmgr's unit may write."""

LEVELS = {-1: "debug", 0: "info", 1: "warning", 2: "error", 3: "error"}
DOCKER_SOCKET = "/run/docker.sock"

_NO_START = say("migrate.no-start", key="ExecStart=", program=PROGRAM)


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
            mistakes.append(say("migrate.must-be", flag=choice.why, allowed=error.args[0]))
    differs = [say("migrate.set-nowhere", name=f"${name}") for name in unknown]
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
            why = error.args[0]
            mistakes.append(say("migrate.cannot-read", at=assignment.at, key="Environment=", why=why))
    # As systemd has it, files override lines, and later ones earlier ones.
    for assignment in unit.of("Service", "EnvironmentFile"):
        found.update(environment_file(texts.get(assignment.value.removeprefix("-"), "")))
    return found


def _command_line(
    unit: Unit, environment: Mapping[str, str], mistakes: list[str]
) -> tuple[CommandLine | None, list[str]]:
    starts = unit.of("Service", "ExecStart")
    if len(starts) != 1:
        several = [a.at for a in starts]
        mistakes.append(say("migrate.several-starts", key="ExecStart=", at=several) if starts else _NO_START)
        return None, []
    try:
        words, unknown = command(starts[0].value, environment)
        unknown += unset(words, environment)
        return command_line(words, environment), sorted(set(unknown))
    except ValueError as error:
        mistakes.append(say("migrate.cannot-use", at=starts[0].at, key="ExecStart=", why=error.args[0]))
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
                yield say("migrate.must-be", flag=str(flags[name]), allowed=say("migrate.whole-number"))
                continue
            if not least <= numbers[name] <= most:
                allowed = say("migrate.from-to", least=least, most=most)
                yield say("migrate.must-be", flag=str(flags[name]), allowed=allowed)
    yield from _of_log(flags, numbers)
    node = flags.get("nodeID")
    if node is not None and not _no_name(node):
        yield Chosen("fleet.name", node.value, str(node))


def _no_name(node: Flag) -> str:
    """Return what the name of an appliance must be, where this is none; otherwise nothing."""
    try:
        settings()["fleet.name"].kind.take(node.value)
    except ValueError as error:
        return cast("str", error.args[0])
    return ""


def _chosen(flags: Mapping[str, Flag], name: str, key: str, default: str) -> Chosen:
    if name in flags:
        return Chosen(key, flags[name].value, str(flags[name]))
    return Chosen(key, default, say("migrate.no-flag", name=name, default=default))


def _of_runtime(flags: Mapping[str, Flag]) -> Iterator[Chosen | str]:
    flag = flags.get("runtimeType") or flags.get("runtimeMode")
    named = flag.value if flag else "docker"
    if named not in ("docker", "containerd"):
        allowed = say("word.either", parts=["docker", "containerd"])
        yield say("migrate.must-be", flag=str(flag), allowed=allowed)
        return
    none = say("migrate.no-flag", name="runtimeType", default="docker")
    yield Chosen("runtimes", [named], str(flag) if flag else none)
    path = flags.get("sockPath")
    # Given containerd and no path, newer versions would have looked for it behind Docker's socket.
    if path and not (named == "containerd" and path.value == DOCKER_SOCKET):
        yield Chosen("docker.socket" if named == "docker" else "containerd.address", path.value, str(path))


def _of_log(flags: Mapping[str, Flag], numbers: Mapping[str, int]) -> Iterator[Chosen]:
    if numbers.get("logLevel") in LEVELS:
        yield Chosen("log.level", LEVELS[numbers["logLevel"]], str(flags["logLevel"]))
    if any(name in flags for name in ("logPath", "maxAge", "maxBackups")):
        none = say("migrate.no-flag", name="logPath", default=DEFAULT_LOG)
        why = str(flags["logPath"]) if "logPath" in flags else none
        yield Chosen("log.file", OUR_LOG, say("migrate.own-file", why=why))


def _fault_file(flag: Flag | None, unit: Unit) -> str:
    if flag is None or not flag.value:
        return ""
    directories = unit.of("Service", "WorkingDirectory")
    directory = directories[-1].value.removeprefix("-") if directories else "/"
    return str(PurePosixPath(directory) / flag.value)


def _differs(flags: Mapping[str, Flag]) -> Iterator[str]:
    value = {name: flag.value for name, flag in flags.items()}
    if value.get("ctrStrategy") == "singleRecover":
        length, setting = timedelta(minutes=10), "reset.widen_after"
        yield say("migrate.rings-wait", command="cmgr status", length=length, setting=setting)
    if "containerd" in (value.get("runtimeType"), value.get("runtimeMode")):
        length, label = timedelta(seconds=10), "cmgr.stop-timeout"
        yield say("migrate.stop-signal", runtime="containerd", length=length, label=label)
        yield say("migrate.left-alone", namespace="k8s.io", setting="containerd.skip_namespaces")
        if value.get("sockPath", DOCKER_SOCKET) == DOCKER_SOCKET:
            yield say("migrate.own-socket", runtime="containerd", socket=DOCKER_SOCKET)
    else:
        yield say("migrate.one-runtime", setting='runtimes = ["auto"]', runtime="containerd")
    if value.get("logLevel") == "3":
        yield say("migrate.no-critical", level="critical", gravest="error")
    for name, word in (("maxAge", "maxage"), ("maxBackups", "rotate")):
        if name in value:
            flag = f"-{name} {value[name]}"
            yield say("migrate.logrotate", flag=flag, word=word, file="/etc/logrotate.d/cmgr")
    if not {"logPath", "maxAge", "maxBackups"} & set(value):
        yield say("migrate.to-journal", command="journalctl -t cmgr", file=DEFAULT_LOG, setting="log.file")


def _dropped(line: CommandLine) -> Iterator[str]:
    names = [flag.name for flag in line.flags]
    for number, flag in enumerate(line.flags, start=1):
        if flag.known and flag.name in names[number:]:
            yield say("migrate.comes-again", flag=str(flag))
        elif flag.name == "nodeID":
            if why := _no_name(flag):
                yield say("migrate.no-name", flag=str(flag), setting="fleet.name", allowed=why)
        elif flag.name in CLUSTER_FLAGS:
            setting, page = "fleet.engine", "docs/fleet.md"
            yield say("migrate.no-leader", flag=str(flag), engine="etcd", setting=setting, page=page)
        elif not flag.known:
            yield say("migrate.no-such-flag", flag=str(flag))
    if line.ignored:
        yield say("migrate.behind", words=shlex.join(line.ignored))
    if line.before:
        yield say("migrate.in-front", words=shlex.join(line.before))


def with_fault_table(migration: Migration, table: Table, source: str, target: str) -> Migration:
    """Return the migration with the reference's fault table, which lies at `source` and shall lie at `target`."""
    why = say("migrate.the-table", path=source)
    chosen = (
        Chosen("faults.file", target, why),
        Chosen("faults.mode", "replace", say("migrate.table-replaces")),
        Chosen("faults.unknown", "NotHandleFault", say("migrate.only-recorded")),
    )
    odd = (*table.warnings, *missing_levels(table))
    told = (*(say("migrate.of-table", what=warning) for warning in odd), *_MERGE)
    return replace(migration, chosen=(*migration.chosen, *chosen), differs=(*migration.differs, *told))


def without_fault_table(migration: Migration) -> Migration:
    """Return the migration where the reference used its built-in table."""
    return replace(migration, differs=(*migration.differs, _UNKNOWN))


_MERGE = (say("migrate.merge", setting='faults.mode = "merge"', other='faults.unknown = "severity"'),)
_UNKNOWN = say("migrate.unknown", setting='faults.unknown = "NotHandleFault"')


def install_command(source: str, target: str) -> str:
    """Return the command that puts the fault table where cmgr reads it."""
    return f"install -o root -g root -m 0640 {shlex.quote(source)} {shlex.quote(target)}"
