"""Docker's description of a container (the JSON of `docker inspect`) turned into a `Container`. Pure."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TypedDict

from cmgr.errors import ContainerError
from cmgr.frozen import dataclass
from cmgr.model.values.chips import UNCLEAR
from cmgr.model.values.handling.questions import OWN_MACHINE, Network, published
from cmgr.model.values.services.containers import DEFAULT_GRACE, NO_RESTART, UNHEALTHY, Container, ContainerKey, Exit
from cmgr.runtimes import claims, compose, labels
from cmgr.runtimes.documents import Json, items, mapping, signal_number, text, texts
from cmgr.runtimes.labels import LONGEST_GRACE

NAME = "docker"

_RUNNING = ("running", "paused", "restarting")
ENDING = ("stopping", "removing")
"""So podman calls one that is being ended, which its process may live through for a long grace. It does so for ever of
one whose monitor was killed, and that is dead: the word alone says nothing."""

_HEALTHS = ("starting", "healthy", UNHEALTHY)
_LIMITS = (
    *("BlkioWeight", "CpuShares", "CpuPeriod", "CpuQuota", "CpuRealtimePeriod", "CpuRealtimeRuntime", "CpusetCpus"),
    *("CpusetMems", "KernelMemory", "Memory", "MemoryReservation", "MemorySwap", "NanoCpus", "PidsLimit"),
)
_POLICIES = ("always", "on-failure", "unless-stopped")


@dataclass(frozen=True, slots=True)
class Checked:
    """A container's own check: when it was over last, or its life began, and by how many seconds later it is again.

    `since`: the moment of that on the monotonic clock, which nobody sets.
    """

    at: datetime
    within: float
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class Described:
    """A container, and the signal that asks it to stop.

    `state` is Docker's own word for its state, `pid` its first process, 0 while there is none. `limits`: all else that
    `docker update` can change beside its restart policy. `concerns`: it asks for chips, has something about them that
    could not be read, has a label of cmgr's, a place in a project, or namespaces of another one; the others are not
    cmgr's. `checked`: None where no check is to run.
    """

    container: Container
    stop_signal: int
    state: str
    concerns: bool
    pid: int = 0
    limits: tuple[str, ...] = ()
    checked: Checked | None = None


ALWAYS = ("always", "unless-stopped")
"""The restart policies by which Docker starts a container when it begins: others only restart what has failed."""

_PRIVILEGED = "is privileged, so it can reach every chip; which it uses cannot be told"


Brought = frozenset[str] | None
"""As in `labels.wishes`."""

Living = Callable[[int, str], bool]
"""As `living.lives`; it is asked of a container that is being ended."""


def labels_of(document: object) -> Mapping[str, str]:
    """Return the labels in Docker's description of a container, or of an image."""
    return texts(mapping(mapping(document).get("Config")).get("Labels"))


def described(
    document: object, majors: claims.Majors, brought: Brought = frozenset(), lives: Living = lambda pid, id_: False
) -> Described:
    """Read Docker's answer; `majors` as in `claims.from_numbers`. Raises `ContainerError` when that is no container."""
    whole = mapping(document)
    id_ = text(whole, "Id")
    if not id_:
        raise ContainerError("cannot read Docker's description of a container: it has no id")
    config, host, state = (mapping(whole.get(part)) for part in ("Config", "HostConfig", "State"))
    auto_remove, told = host.get("AutoRemove") is True, labels_of(document)
    wished = labels.wishes(told, auto_remove=auto_remove, brought=brought)
    asked = claims.Claims() if wished.ignored else _asked(config, host, whole.get("Mounts"), majors)
    status, run, frozen = text(state, "Status"), text(state, "StartedAt"), state.get("Paused") is True
    running, pid, end = _life(state, id_, lives)
    container = Container(
        key=key(id_),
        name=text(whole, "Name").lstrip("/") or id_[:12],
        claims=asked.chips,
        running=running,
        run=run if moment(run) else "",
        exit=end,
        grace=wished.grace if wished.grace is not None else _grace(config, host),
        # Docker checks no paused one: what it says is of the time before.
        health=_health(state) if running and not frozen else "",
        says_within=_says_within(mapping(config.get("Healthcheck"))),
        restart_policy=_policy(host),
        boots=_policy(host).partition(":")[0] in ALWAYS,
        auto_remove=auto_remove,
        warnings=asked.warnings,
        frozen=running and frozen,
        restarting=state.get("Restarting") is True or status == "restarting",
        image=text(config, "Image"),
        joins=_joins(host),
        network=_network(host, mapping(whole.get("NetworkSettings"))),
    )
    container = compose.placed(wished.of(container), labels.makers(told, brought), moment(text(whole, "Created")))
    concerns = bool(asked.chips or asked.warnings or container.composed or container.joins) or labels.wished(told)
    limits = tuple(str(host.get(name)) for name in _LIMITS)
    checked = _checked(state, mapping(config.get("Healthcheck"))) if container.health else None
    return Described(container, signal_number(text(config, "StopSignal")), status, concerns, pid, limits, checked)


def _network(host: Json, settings: Json) -> Network:
    """Return where its ports are reached. One in another's network has no address of its own."""
    if text(host, "NetworkMode") == "host":
        return OWN_MACHINE
    ports = [(name, row) for name, rows in mapping(settings.get("Ports")).items() for row in map(mapping, items(rows))]
    found = [
        published(int(port[1]), text(row, "HostIp"), int(there))
        for name, row in ports
        if (port := re.fullmatch("([0-9]{1,5})/tcp", name)) and (there := text(row, "HostPort")).isdecimal()
    ]
    networks = sorted(mapping(settings.get("Networks")).items())
    return Network(next((ip for _, each in networks if (ip := text(mapping(each), "IPAddress"))), ""), tuple(found))


def _joins(host: Json) -> frozenset[str]:
    modes = (text(host, mode).partition(":") for mode in ("NetworkMode", "PidMode", "IpcMode"))
    return frozenset(name for kind, _, name in modes if kind == "container" and name)


def unreadable(row: Json, why: str, brought: Brought) -> Described:
    """Read a container's row of Docker's list, which is all that is known of one that cannot be inspected.

    While nobody knows what its image brought, nothing of it reaches beyond it.
    """
    id_, state = text(row, "Id"), text(row, "State")
    told = texts(row.get("Labels"))
    own = {label: told[label] for label in told.keys() - labels.beyond(told)} if brought is None else told
    wished = labels.wishes(own, brought=brought)
    names = [name.lstrip("/") for name in items(row.get("Names")) if isinstance(name, str)]
    container = Container(
        key=key(id_),
        name=next(iter(names), "") or id_[:12],
        # A state of which it is not sure that the processes are gone ("removing") counts as running.
        running=state not in ("exited", "created", "dead"),
        unread=why.partition(": ")[2] or why,
        image=text(row, "Image"),
    )
    return Described(wished.of(container), signal_number(""), state, concerns=True)


def key(id_: str) -> ContainerKey:
    """Return the key of the container that Docker calls so."""
    return ContainerKey(NAME, "", id_)


def _life(state: Json, id_: str, lives: Living) -> tuple[bool, int, Exit | None]:
    """Return whether it holds its chips, its first process, and how it has ended."""
    status, pid = text(state, "Status"), _number(state, "Pid")
    if status in ENDING:
        pid = pid if lives(pid, id_) else 0
        # How one that is stopping has ended nobody knows yet: podman repeats what it knew of the life before.
        return pid > 0, pid, _exit(state) if not pid and status != "stopping" else None
    running = state.get("Running") is True or status in _RUNNING
    return running, pid, None if running else _exit(state)


def _health(state: Json) -> str:
    word = text(mapping(state.get("Health")), "Status")
    return word if word in _HEALTHS else ""  # Docker also says "none".


_SPAN = 30 * 10**9
"""Docker's default for the time between two checks, and for how long one may take, in nanoseconds."""

_LITTLE = 60.0
"""Seconds by which a check may be late."""


def _says_within(check: Json) -> timedelta | None:
    """Return how long after a start Docker says "starting" at most, if each check takes as long as it may.

    Its rule (docs.docker.com/reference/dockerfile, HEALTHCHECK): what fails in the start period does not count, then
    so many failures in a row are "unhealthy". 0 stands for the default.
    """
    test = items(check.get("Test"))
    if not test or test[0] == "NONE":
        return None
    nanoseconds = _number(check, "StartPeriod") + (_number(check, "Retries") or 3) * _period(check)
    return timedelta(seconds=min(nanoseconds / 10**9, LONGEST_GRACE.total_seconds()))


def _period(check: Json) -> int:
    """Return how many nanoseconds after the end of one check the next one is over, if it takes as long as it may."""
    return (_number(check, "Interval") or _SPAN) + (_number(check, "Timeout") or _SPAN)


def _checked(state: Json, check: Json) -> Checked | None:
    health = mapping(state.get("Health"))
    ended = [at for row in items(health.get("Log")) if (at := moment(text(mapping(row), "End"))) is not None]
    begun = moment(text(state, "StartedAt"))
    # Of a life before this one Docker keeps the results. Others may keep none at all.
    if begun is None or not (ended or text(health, "Status") == "starting"):
        return None
    return Checked(max(begun, *ended) if ended else begun, _period(check) / 10**9 + _LITTLE)


def _number(check: Json, field: str) -> int:
    value = check.get(field)
    return min(max(value, 0), 2**63) if isinstance(value, int) else 0


def _asked(config: Json, host: Json, mounts: object, majors: claims.Majors) -> claims.Claims:
    asked = _claims(config, host, mounts, majors)
    if asked.chips or host.get("Privileged") is not True:
        return asked
    return claims.Claims(frozenset({UNCLEAR}), (*asked.warnings, _PRIVILEGED))


def _claims(config: Json, host: Json, mounts: object, majors: claims.Majors) -> claims.Claims:
    requests = [_request(mapping(item)) for item in items(host.get("DeviceRequests"))]
    paths = [text(mapping(item), "PathOnHost") for item in items(host.get("Devices"))]
    bound = [text(mount, "Source") for mount in map(mapping, items(mounts)) if text(mount, "Type") == "bind"]
    rules = [item for item in items(host.get("DeviceCgroupRules")) if isinstance(item, str)]
    environment = [item for item in items(config.get("Env")) if isinstance(item, str)]
    runtime = text(host, "Runtime")  # Docker puts its default there when the container is made.
    parts = (
        claims.from_environment(environment, requests, [runtime] if runtime else None),
        claims.from_devices(path for path in (*paths, *bound) if path),
        claims.from_requests(requests),
        claims.from_mounts(text(mapping(mount), "Destination") for mount in items(mounts)),
        claims.from_annotations(texts(host.get("Annotations"))),
        claims.from_numbers((number for rule in rules for number in _numbers(rule)), majors),
    )
    return claims.joined(parts)


def _request(item: Json) -> claims.Request:
    count = item.get("Count")
    return claims.Request(
        driver=text(item, "Driver"),
        ids=tuple(id_ for id_ in items(item.get("DeviceIDs")) if isinstance(id_, str)),
        count=count if isinstance(count, int) else 0,
        capabilities=tuple(frozenset(map(str, items(asked))) for asked in items(item.get("Capabilities"))),
    )


def _numbers(rule: str) -> list[tuple[int, int]]:
    read = re.fullmatch(r"\s*[ca]\s+([0-9]{1,4}|\*):([0-9]{1,7}|\*)\s+[rwm]{1,3}\s*", rule)
    return [(-1 if read[1] == "*" else int(read[1]), -1 if read[2] == "*" else int(read[2]))] if read else []


def _exit(state: Json) -> Exit | None:
    at, code = moment(text(state, "FinishedAt")), state.get("ExitCode")
    return Exit(code, at) if at is not None and isinstance(code, int) else None


def _grace(config: Json, host: Json) -> timedelta:
    seconds = config.get("StopTimeout")
    # Podman says 0 where nobody has set it, and calls every runtime "oci"; Docker says nothing then.
    if not isinstance(seconds, int) or (seconds == 0 and text(host, "Runtime") == "oci"):
        return DEFAULT_GRACE
    # Negative: Docker waits for ever.
    return timedelta(seconds=seconds) if 0 <= seconds < LONGEST_GRACE.total_seconds() else LONGEST_GRACE


def _policy(host: Json) -> str:
    policy = mapping(host.get("RestartPolicy"))
    name, most = text(policy, "Name"), policy.get("MaximumRetryCount")
    return f"{name}:{most if isinstance(most, int) else 0}" if name not in ("", "no") else NO_RESTART


class RestartPolicy(TypedDict):
    """Docker's own form of a restart policy."""

    Name: str
    MaximumRetryCount: int


def restart_policy(text: str) -> RestartPolicy:
    """Return Docker's form of what `Container.restart_policy` says. Raises `ContainerError` when it is no policy."""
    name, _, most = text.partition(":")
    if text == NO_RESTART:
        return {"Name": "no", "MaximumRetryCount": 0}
    if name not in _POLICIES or not re.fullmatch(r"[0-9]{1,9}", most):
        raise ContainerError(f"cannot set restart policy {text[:48]!r}: it is none of Docker's")
    return {"Name": name, "MaximumRetryCount": int(most)}


def moment(text: str) -> datetime | None:
    """Return Docker's time, to the microsecond; None for its "never" (year 1) and for what is no time."""
    try:
        at = datetime.fromisoformat(text)
        return None if at.year == 1 or at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
