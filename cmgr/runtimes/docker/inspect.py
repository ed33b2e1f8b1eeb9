"""Docker's description of a container (the JSON of `docker inspect`) turned into a `Container`. Pure."""

import re
import signal
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypedDict

from cmgr.errors import ContainerError
from cmgr.model.values.containers import DEFAULT_GRACE, NO_RESTART, UNHEALTHY, Container, ContainerKey, Exit
from cmgr.runtimes import claims
from cmgr.runtimes.documents import Json, items, mapping, text, texts
from cmgr.runtimes.labels import LONGEST_GRACE, wishes

NAME = "docker"

_RUNNING = ("running", "paused", "restarting")
_HEALTHS = ("starting", "healthy", UNHEALTHY)
_POLICIES = ("always", "on-failure", "unless-stopped")


@dataclass(frozen=True, slots=True)
class Described:
    """A container, and the signal that asks it to stop.

    `state` is Docker's own word for its state. `concerns`: it asks for chips, or has something about them that could
    not be read; the others are not cmgr's.
    """

    container: Container
    stop_signal: int
    state: str
    concerns: bool


def described(document: object, majors: frozenset[int]) -> Described:
    """Read what Docker answered; `majors` as in `claims.from_numbers`.

    Raises `ContainerError` when that is no container.
    """
    whole = mapping(document)
    id_ = text(whole, "Id")
    if not id_:
        raise ContainerError("cannot read Docker's description of a container: it has no id")
    config, host, state = (mapping(whole.get(part)) for part in ("Config", "HostConfig", "State"))
    auto_remove = host.get("AutoRemove") is True
    wished = wishes(texts(config.get("Labels")), auto_remove=auto_remove)
    asked = _claims(config, host, majors)
    if not asked.chips and host.get("Privileged") is True:
        reach = "is privileged, so it can reach every chip; which it uses cannot be told"
        asked = claims.Claims(warnings=(*asked.warnings, reach))
    running = is_running(state)
    run = text(state, "StartedAt")
    container = Container(
        key=key(id_),
        name=text(whole, "Name").lstrip("/") or id_[:12],
        claims=asked.chips,
        running=running,
        run=run if moment(run) else "",
        exit=None if running else _exit(state),
        grace=wished.grace if wished.grace is not None else _grace(config.get("StopTimeout")),
        strategy=wished.strategy,
        order=wished.order,
        enabled=wished.enabled,
        heal=wished.heal,
        health=_health(state) if running else "",
        restart_policy=_policy(host),
        auto_remove=auto_remove,
        warnings=asked.warnings + wished.warnings,
    )
    concerns = bool(asked.chips or asked.warnings)
    return Described(container, signal_number(text(config, "StopSignal")), text(state, "Status"), concerns)


def key(id_: str) -> ContainerKey:
    """Return the key of the container that Docker calls so."""
    return ContainerKey(NAME, "", id_)


def is_running(state: Json) -> bool:
    """Return whether a container in this `State` holds its chips."""
    return state.get("Running") is True or text(state, "Status") in _RUNNING


def _health(state: Json) -> str:
    word = text(mapping(state.get("Health")), "Status")
    return word if word in _HEALTHS else ""  # Docker also says "none".


def _claims(config: Json, host: Json, majors: frozenset[int]) -> claims.Claims:
    requests = [_request(mapping(item)) for item in items(host.get("DeviceRequests"))]
    paths = [text(mapping(item), "PathOnHost") for item in items(host.get("Devices"))]
    rules = [item for item in items(host.get("DeviceCgroupRules")) if isinstance(item, str)]
    parts = (
        claims.from_environment([item for item in items(config.get("Env")) if isinstance(item, str)], requests),
        claims.from_devices(path for path in paths if path),
        claims.from_requests(requests),
        claims.from_annotations(texts(host.get("Annotations"))),
        claims.from_numbers((number for rule in rules for number in _numbers(rule)), majors),
    )
    return claims.joined(parts)


def _request(item: Json) -> claims.Request:
    count = item.get("Count")
    capabilities = [name for group in items(item.get("Capabilities")) for name in items(group)]
    return claims.Request(
        driver=text(item, "Driver"),
        ids=tuple(id_ for id_ in items(item.get("DeviceIDs")) if isinstance(id_, str)),
        count=count if isinstance(count, int) else 0,
        capabilities=frozenset(name for name in capabilities if isinstance(name, str)),
    )


def _numbers(rule: str) -> list[tuple[int, int]]:
    read = re.fullmatch(r"\s*[ca]\s+([0-9]{1,4}|\*):([0-9]{1,7}|\*)\s+[rwm]{1,3}\s*", rule)
    return [(-1 if read[1] == "*" else int(read[1]), -1 if read[2] == "*" else int(read[2]))] if read else []


def _exit(state: Json) -> Exit | None:
    at, code = moment(text(state, "FinishedAt")), state.get("ExitCode")
    return Exit(code, at) if at is not None and isinstance(code, int) else None


def _grace(seconds: object) -> timedelta:
    if not isinstance(seconds, int):
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


def signal_number(name: str) -> int:
    """Return the number of a stop signal as an image or a person writes it; SIGTERM where that is none."""
    word = name.strip().upper()
    word = word if word.startswith("SIG") else f"SIG{word}"
    number = int(signal.SIGTERM)
    if plain := re.fullmatch(r"SIG([0-9]{1,2})", word):
        number = int(plain[1])
    elif late := re.fullmatch(r"SIGRTM(IN\+|AX-)([0-9]{1,2})", word):
        number = signal.SIGRTMIN + int(late[2]) if late[1] == "IN+" else signal.SIGRTMAX - int(late[2])
    elif word in signal.Signals.__members__:
        number = int(signal.Signals[word])
    return number if 0 < number <= signal.SIGRTMAX else int(signal.SIGTERM)
