"""containerd's record of a container, and of its task, turned into values. Pure.

Labels come from whoever made the container, and also from the image it was made of: what a label says is never run or
used as a path, except in forms that `containerd_io` checks.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlencode

from cmgr.frozen import dataclass
from cmgr.model.values.chips import SLOT, UNCLEAR
from cmgr.model.values.handling.questions import OWN_MACHINE, Network, published
from cmgr.model.values.services.containers import DEFAULT_GRACE, NO_RESTART, TIED, Container, ContainerKey, Exit, Spare
from cmgr.runtimes import claims, compose
from cmgr.runtimes.containerd import placing
from cmgr.runtimes.containerd.messages import End, Image, Process, Record, Stamp
from cmgr.runtimes.containerd.slots import slot_in
from cmgr.runtimes.documents import Json, items, mapping, signal_number, text, texts
from cmgr.runtimes.labels import DOCKERS, LONGEST_GRACE, beyond, makers, wishes
from cmgr.runtimes.labels import wished as wished_for
from cmgr.words import json_of

NAME = "containerd"

STATUS = "containerd.io/restart.status"
"""The restart monitor obeys it: `running` is started again, a container without this label is left alone."""

POLICY = "containerd.io/restart.policy"
_ALWAYS = ("", "always", "unless-stopped")
EXPLICITLY_STOPPED = "containerd.io/restart.explicitly-stopped"
_MARKS = {"true": True, "false": False}
STOP_SIGNAL = "io.containerd.image.config.stop-signal"

OURS = "cmgr.io/"
SAVED_STATUS = "cmgr.io/restart-status"
"""The value of `STATUS` while cmgr has taken that away."""

SAVED_STREAMS = "cmgr.io/saved-io"

_PATH = re.compile(rb"/[!-~]+")

_NEVER = -62135596800
"""The year 1, which containerd says for "not yet"."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A container's record, and the `Container` it makes while it has no task.

    `made` and `changed` are moments in containerd's own words; `majors` is what it was read with. `concerns`: it asks
    for chips, has something about them that could not be read, or joins namespaces of another one; the others are not
    cmgr's. `shared`: the processes whose namespaces it is put into.
    """

    container: Container
    concerns: bool
    made: str
    changed: str
    labels: Mapping[str, str]
    stop_signal: int
    majors: claims.Majors = field(default_factory=dict)
    snapshotter: str = ""
    snapshot_key: str = ""
    mount_label: str = ""
    terminal: bool = False
    shared: frozenset[int] = frozenset()

    @property
    def key(self) -> ContainerKey:
        return self.container.key

    @property
    def explicitly_stopped(self) -> bool:
        """Return whether its client says that a person has stopped it."""
        return self.container.marked is True


@dataclass(frozen=True, slots=True)
class Streams:
    """Where a task's output goes: the paths of FIFOs, or addresses of logs; empty: nowhere."""

    stdout: str = ""
    stderr: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """A container's task. `exit` is there when it has ended, and says nothing about who asked for it."""

    pid: int
    status: int
    streams: Streams
    exit: Exit | None = None

    @property
    def running(self) -> bool:
        """Return whether it holds its chips, as far as can be told."""
        return self.status in (_UNKNOWN, _RUNNING, _PAUSED, _PAUSING)

    @property
    def unknown(self) -> bool:
        """Return whether containerd cannot tell how it is, because its shim does not answer; the rest is empty then."""
        return self.status == _UNKNOWN

    @property
    def paused(self) -> bool:
        return self.status in (_PAUSED, _PAUSING)


_UNKNOWN, _RUNNING, _STOPPED, _PAUSED, _PAUSING = 0, 2, 3, 4, 5

UNKNOWN = Task(0, _UNKNOWN, Streams())
"""The task of a shim that does not answer, as containerd tells of it."""


def task(process: Process) -> Task:
    """Read what containerd says of a task."""
    status = int(process.status)
    ended = status == _STOPPED
    return Task(
        pid=int(process.pid),
        status=status,
        streams=Streams(str(process.stdout), str(process.stderr)),
        exit=exit_(process) if ended else None,
    )


def exit_(ended: End) -> Exit | None:
    """Return the end that a task, an event or an answer with `exit_status` and `exited_at` tells."""
    seconds = int(ended.exited_at.seconds)
    if seconds in (0, _NEVER):
        return None
    # Beyond what a date can be it is no time.
    at = datetime.fromtimestamp(min(max(seconds, 0), 2**35), UTC)
    return Exit(int(ended.exit_status), at + timedelta(microseconds=int(ended.exited_at.nanos) // 1000))


def changed(record: Record) -> str:
    """Return the word for the version of a record."""
    return _moment(record.updated_at)


def definition(
    namespace: str, record: Record, majors: claims.Majors, brought: frozenset[str] | None = frozenset()
) -> Definition:
    """Read a record; `majors` as in `claims.from_numbers`, `brought` as in `labels.wishes`."""
    labels, spec = labels_of(record), spec_of(record)
    given = makers(theirs := {name: value for name, value in labels.items() if not name.startswith(OURS)}, brought)
    wished = wishes(theirs, auto_remove=(auto_remove := given.get("nerdctl/auto-remove") == "true"), brought=brought)
    asked = claims.Claims() if wished.ignored else _asked(record, spec, majors)
    made_for, tied = _placing(record, spec, asked, majors) if wished.spare is Spare.AUTO else (frozenset(), TIED)
    container = Container(
        ContainerKey(NAME, namespace, str(record.id)),
        given.get("nerdctl/name") or str(record.id),
        claims=asked.chips,
        grace=wished.grace if wished.grace is not None else _grace(given),
        restart_policy=restart_policy(labels),
        auto_remove=auto_remove,
        warnings=asked.warnings,
        made_for=made_for,
        tied=tied,
        image=str(record.image),
        network=_network(spec, given),
        marked=_MARKS.get(labels.get(EXPLICITLY_STOPPED, "")),
        joins=frozenset(donors(given).values()),
    )
    container = compose.placed(wished.of(container), given, None)
    concerns = bool(asked.chips or asked.warnings or container.composed or container.joins) or wished_for(theirs)
    return Definition(
        container,
        concerns and DOCKERS not in given,
        _moment(record.created_at),
        changed(record),
        labels,
        stop_signal=signal_number(labels.get(STOP_SIGNAL, "")),
        majors=majors,
        snapshotter=str(record.snapshotter),
        snapshot_key=str(record.snapshot_key),
        mount_label=text(mapping(spec.get("linux")), "mountLabel"),
        terminal=mapping(spec.get("process")).get("terminal") is True,
        shared=shared(spec),
    )


def donors(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Return for each kind of namespace (OCI's word) whose one it joins, by id, as nerdctl writes it down."""
    networks = _told(labels, "nerdctl/networks")
    named = networks[0] if isinstance(networks, list) and networks else ""
    kind, _, donor = named.partition(":") if isinstance(named, str) else ("", "", "")
    ipc = mapping(_told(labels, "nerdctl/ipc"))
    found = {
        "network": donor if kind == "container" else "",
        "pid": labels.get("nerdctl/pid-container", ""),
        "ipc": text(ipc, "victimContainerID") if ipc.get("mode") == "container" else "",
    }
    return {kind: id_ for kind, id_ in found.items() if id_}


def _told(labels: Mapping[str, str], label: str) -> object:
    try:
        return json_of(labels.get(label, "").encode())
    except ValueError:
        return None


_NAMESPACES = {"network": "net", "pid": "pid", "ipc": "ipc"}
"""The kernel's word for each of OCI's."""


def rejoined(spec: Json, pids: Mapping[str, int]) -> Json:
    """Return the definition with the namespaces of these processes in the place of those of others, by kind."""
    linux = mapping(spec.get("linux"))
    fresh = [_rejoined(mapping(item), pids) for item in items(linux.get("namespaces"))]
    return {**spec, "linux": {**linux, "namespaces": fresh}}


def _rejoined(item: Json, pids: Mapping[str, int]) -> Json:
    kind = text(item, "type")
    theirs = kind in pids and text(item, "path").startswith("/proc/")
    return {**item, "path": f"/proc/{pids[kind]}/ns/{_NAMESPACES[kind]}"} if theirs else item


def _asked(record: Record, spec: Json, majors: claims.Majors) -> claims.Claims:
    if not spec:
        return claims.Claims(frozenset({UNCLEAR}), ("its definition cannot be read",))
    return _claims(spec, majors, _programs(record, spec))


def _placing(record: Record, spec: Json, asked: claims.Claims, majors: claims.Majors) -> tuple[frozenset[str], str]:
    """Return the chips that it was made for, if it has been given others, and why it cannot be given any."""
    original = placing.kept(extension(record, placing.ORIGINAL))
    if not original:
        return frozenset(), placing.why_tied(spec, asked.chips, majors)
    made = placing.with_original(spec, original)
    return _claims(made, majors, _programs(record, made)).chips, placing.why_tied(made, asked.chips, majors)


def extension(record: Record, name: str) -> bytes:
    """Return what the record's extension of this name has; nothing where there is none."""
    return record.extensions[name].value if name in record.extensions else b""


def labels_of(record: Record) -> Mapping[str, str]:
    return {str(name): str(value) for name, value in record.labels.items()}


def is_older(record: Record, image: Image) -> bool:
    """Return whether the container was made before its image's name got what it stands for now."""
    made, named = record.created_at, image.updated_at
    return (made.seconds, made.nanos) < (named.seconds, named.nanos)


def labels_of_image(configurations: Sequence[bytes]) -> Mapping[str, str] | None:
    """Return the labels that an image brings, by its configurations; None where they cannot be told.

    It has one for each platform. They agree about the labels that reach beyond the container, or none is believed.
    """
    try:
        read = [mapping(json_of(text)) for text in configurations]
    except ValueError:
        return None
    found = [texts(mapping(each.get("config")).get("Labels")) for each in read]
    said = {frozenset((name, labels[name]) for name in beyond(labels)) for labels in found}
    return found[0] if len(said) == 1 else None


def parts_of(document: bytes) -> tuple[list[str], str]:
    """Return the manifests that an index of an image names, or the configuration that a manifest names: digests."""
    try:
        told = mapping(json_of(document))
    except ValueError:
        return [], ""
    manifests = [text(mapping(each), "digest") for each in items(told.get("manifests"))]
    return [digest for digest in manifests if digest], text(mapping(told.get("config")), "digest")


def restart_policy(labels: Mapping[str, str]) -> str:
    """Return what the restart monitor is told, as `Container.restart_policy` has it."""
    status = labels.get(STATUS, "")
    if not status:
        return NO_RESTART
    policy = labels.get(POLICY, "")
    return urlencode({"status": status, **({"policy": policy} if policy else {})})


def boots(labels: Mapping[str, str]) -> bool:
    """Return whether the restart monitor starts it when the machine has booted."""
    return labels.get(STATUS) == "running" and labels.get(POLICY, "") in _ALWAYS


def wanted_status(policy: str) -> str:
    """Return the value of `STATUS` that such a policy stands for; empty when it is none."""
    return dict(parse_qsl(policy)).get("status", "")


def disarming(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels to set so that the restart monitor lets the container alone; an empty value removes one."""
    status = labels.get(STATUS, "")
    return {STATUS: "", SAVED_STATUS: status} if status else {}


def arming(labels: Mapping[str, str], policy: str) -> dict[str, str]:
    """Return the labels to set so that the policy is in force, or, without one, what was taken away before."""
    status = wanted_status(policy) or labels.get(SAVED_STATUS, "")
    fresh = {STATUS: status, SAVED_STATUS: ""}
    return {name: value for name, value in fresh.items() if labels.get(name, "") != value} if status else {}


def _claims(spec: Json, majors: claims.Majors, programs: Sequence[str]) -> claims.Claims:
    linux, process = mapping(spec.get("linux")), mapping(spec.get("process"))
    rules = [mapping(item) for item in items(mapping(linux.get("resources")).get("devices"))]
    allowed = [_numbers(rule) for rule in rules if rule.get("allow") is True and _of_characters(rule)]
    nodes = [mapping(item) for item in items(linux.get("devices"))]
    if (-1, -1) in allowed:
        nodes = []  # A container that can reach everything has every node of the machine: that asks for none of them.
    given = [_numbers(node) for node in nodes if _of_characters(node)]
    if slot := slot_in(spec):
        # The chips that its definition has are those that the slot had when it was started last.
        return claims.Claims(frozenset({SLOT + slot}))
    environment = [item for item in items(process.get("env")) if isinstance(item, str)]
    # A path in `linux.devices` is the one inside the container: only the numbers tell which device it is.
    parts = (
        claims.from_environment(environment, programs=programs),
        claims.from_numbers((*given, *allowed), majors),
        claims.from_annotations(texts(spec.get("annotations"))),
        claims.from_devices(_bound(spec)),
        claims.from_mounts(text(mapping(mount), "destination") for mount in items(spec.get("mounts"))),
    )
    return claims.joined(parts)


def _programs(record: Record, spec: Json) -> list[str]:
    """Return the hooks that make the container, and the programs that the options of its runtime name."""
    hooks = [mapping(hook) for stage in mapping(spec.get("hooks")).values() for hook in items(stage)]
    # The options are a message of the runtime's own kind, in which a program is a path as in any other text.
    named = _PATH.findall(bytes(record.runtime.options.value))
    return [*(text(hook, "path") for hook in hooks), *(path.decode() for path in named)]


def _bound(spec: Json) -> list[str]:
    mounts = [mapping(item) for item in items(spec.get("mounts"))]
    sources = [text(mount, "source") for mount in mounts if text(mount, "type") not in ("devtmpfs", "tmpfs")]
    return [source for source in sources if source.startswith("/")]


def _of_characters(device: Json) -> bool:
    # A rule that only lets nodes be made (`m`) gives no device away; every container of some clients has one.
    return text(device, "type") in ("", "a", "c", "u") and text(device, "access") != "m"


def _numbers(device: Json) -> tuple[int, int]:
    """Return major and minor; -1 where none is given: all."""
    major, minor = device.get("major"), device.get("minor")
    return (major if isinstance(major, int) else -1, minor if isinstance(minor, int) else -1)


def _network(spec: Json, given: Mapping[str, str]) -> Network:
    """Return where its ports are reached: containerd itself knows no network, and nerdctl what it has published."""
    spaces = items(mapping(spec.get("linux")).get("namespaces"))
    if spec and "network" not in {text(mapping(space), "type") for space in spaces}:
        return OWN_MACHINE
    try:
        rows = [mapping(row) for row in items(json_of(given.get("nerdctl/ports", "[]").encode()))]
    except ValueError:
        rows = []
    found = []
    for row in rows:
        port, there = row.get("ContainerPort"), row.get("HostPort")
        if isinstance(port, int) and isinstance(there, int) and text(row, "Protocol") in ("", "tcp"):
            found.append(published(port, text(row, "HostIP"), there))
    return Network(published=tuple(found))


def shared(spec: Json) -> frozenset[int]:
    """Return the processes whose namespaces the definition names."""
    namespaces = map(mapping, items(mapping(spec.get("linux")).get("namespaces")))
    named = (re.fullmatch(r"/proc/([0-9]{1,9})/ns/\w+", text(each, "path")) for each in namespaces)
    return frozenset(int(found[1]) for found in named if found is not None)


def _grace(labels: Mapping[str, str]) -> timedelta:
    text = labels.get("nerdctl/stop-timeout", "")
    if not re.fullmatch(r"[0-9]{1,9}", text):
        return DEFAULT_GRACE
    return min(timedelta(seconds=int(text)), LONGEST_GRACE)


def spec_of(record: Record) -> Json:
    """Return the container's OCI spec, empty when it cannot be read."""
    try:
        return mapping(json_of(record.spec.value))
    except ValueError:
        return {}


def _moment(stamp: Stamp) -> str:
    return f"{int(stamp.seconds)}.{int(stamp.nanos):09d}"
