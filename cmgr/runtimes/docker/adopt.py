"""The commands that recreate a Docker container on a slot, from its description. A person runs them, or not.

Nothing is left out silently: what the description has and the commands do not carry over is named.
"""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from cmgr.errors import ContainerGone, NotThere
from cmgr.frozen import dataclass
from cmgr.model.values.chips import SLOT
from cmgr.runtimes.docker.wire import asked
from cmgr.runtimes.documents import Json, items, mapping, text, texts
from cmgr.vendor import notations

SECONDS = 10.0

_FLAGS: Mapping[str, str] = {
    "Privileged": "--privileged",
    "ReadonlyRootfs": "--read-only",
    "Init": "--init",
    "AutoRemove": "--rm",
    "PublishAllPorts": "--publish-all",
}
_TEXTS: Mapping[str, str] = {
    "IpcMode": "--ipc",
    "PidMode": "--pid",
    "UTSMode": "--uts",
    "NetworkMode": "--network",
    "Runtime": "--runtime",
    "CgroupParent": "--cgroup-parent",
    "CpusetCpus": "--cpuset-cpus",
    "CpusetMems": "--cpuset-mems",
    "UsernsMode": "--userns",
}
_NUMBERS: Mapping[str, str] = {
    "Memory": "--memory",
    "MemorySwap": "--memory-swap",
    "ShmSize": "--shm-size",
    "CpuShares": "--cpu-shares",
    "PidsLimit": "--pids-limit",
    "OomScoreAdj": "--oom-score-adj",
}
_LISTS: Mapping[str, str] = {
    "Binds": "--volume",
    "CapAdd": "--cap-add",
    "CapDrop": "--cap-drop",
    "Dns": "--dns",
    "DnsSearch": "--dns-search",
    "DnsOptions": "--dns-option",
    "ExtraHosts": "--add-host",
    "GroupAdd": "--group-add",
    "SecurityOpt": "--security-opt",
    "VolumesFrom": "--volumes-from",
    "Links": "--link",
    "DeviceCgroupRules": "--device-cgroup-rule",
}
_USUAL: Mapping[str, object] = {"ShmSize": 64 << 20, "IpcMode": "private", "NetworkMode": "default", "Runtime": "runc"}
"""Values that Docker puts there when nobody has said anything."""

_HANDLED = frozenset(
    {
        *_FLAGS, *_TEXTS, *_NUMBERS, *_LISTS, "RestartPolicy", "PortBindings", "LogConfig", "Ulimits", "Sysctls",
        "Tmpfs", "Devices", "DeviceRequests", "NanoCpus", "StorageOpt",
        # Docker always has these there, and nobody chooses them.
        "ConsoleSize", "MaskedPaths", "ReadonlyPaths", "CgroupnsMode", "Isolation", "ContainerIDFile", "VolumeDriver",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Adoption:
    """`command`: the `docker create` line. `left`: what it does not carry over, a name each."""

    command: str
    left: tuple[str, ...]


def adoption(container: Json, image: Json, slot: str) -> Adoption:
    """Return how the container that Docker describes so, of this image, is made anew on the slot."""
    config, host = mapping(container.get("Config")), mapping(container.get("HostConfig"))
    base = mapping(image.get("Config"))
    words = ["docker", "create", "--name", text(container, "Name").lstrip("/"), "--device", f"{SLOT}{slot}"]
    variables = {variable for notation in notations() for variable in notation.variables}
    words += [*of_host(host), *of_config(config, base, text(container, "Id"), variables)]
    words += [text(config, "Image"), *command(config, base)]
    return Adoption(shlex.join(words), tuple(_left(container, host)))


def described(path: str, name: str) -> tuple[Json, Json]:
    """Return how Docker, on this socket, describes the container of this name, and its image.

    Blocks up to 10 s. Raises `CmgrError`.
    """
    try:
        with asked(path, f"ask Docker of {name}", SECONDS) as docker:
            container = docker.inspect(name)
            return container, docker.image(text(container, "Image"))
    except ContainerGone as gone:
        raise NotThere(gone.message, hint="docker ps -a") from None


def of_host(host: Json) -> Iterator[str]:
    """Yield what its `HostConfig` says, but for chips."""
    policy = mapping(host.get("RestartPolicy"))
    if text(policy, "Name") not in ("", "no"):
        most = policy.get("MaximumRetryCount")
        yield from ("--restart", text(policy, "Name") + (f":{most}" if most else ""))
    yield from (flag for name, flag in _FLAGS.items() if host.get(name) is True)
    for known in (_TEXTS, _NUMBERS):
        for name, option in known.items():
            value = host.get(name)
            if value and value != _USUAL.get(name) and isinstance(value, str | int):
                yield from (option, str(value))
    for name, option in _LISTS.items():
        yield from each(option, (str(item) for item in items(host.get(name))))
    yield from _of_parts(host)


def _of_parts(host: Json) -> Iterator[str]:
    """Yield what has a form of its own."""
    if isinstance(cpus := host.get("NanoCpus"), int) and cpus:
        yield from ("--cpus", f"{cpus / 1e9:g}")
    yield from each("--publish", _ports(mapping(host.get("PortBindings"))))
    yield from each("--sysctl", (f"{k}={v}" for k, v in sorted(texts(host.get("Sysctls")).items())))
    yield from each("--storage-opt", (f"{k}={v}" for k, v in sorted(texts(host.get("StorageOpt")).items())))
    yield from each("--tmpfs", (f"{k}:{v}" if v else k for k, v in sorted(texts(host.get("Tmpfs")).items())))
    for limit in map(mapping, items(host.get("Ulimits"))):
        yield from ("--ulimit", f"{text(limit, 'Name')}={limit.get('Soft')}:{limit.get('Hard')}")
    for device in map(mapping, items(host.get("Devices"))):
        if not is_chip(text(device, "PathOnHost")):
            whole = ":".join((text(device, "PathOnHost"), text(device, "PathInContainer")))
            yield from ("--device", f"{whole}:{text(device, 'CgroupPermissions') or 'rwm'}")
    log = mapping(host.get("LogConfig"))
    if text(log, "Type") not in ("", "json-file") or mapping(log.get("Config")):
        yield from ("--log-driver", text(log, "Type"))
        yield from each("--log-opt", (f"{k}={v}" for k, v in sorted(texts(log.get("Config")).items())))


def of_config(config: Json, base: Json, id_: str, without: Collection[str]) -> Iterator[str]:
    """Yield what its `Config` says beyond that of its image, `base`. `without`: variables that are left out."""
    inherited = items(base.get("Env"))
    for line in items(config.get("Env")):
        if line not in inherited and str(line).partition("=")[0] not in without:
            yield from ("--env", str(line))
    given = texts(base.get("Labels"))
    fresh = {k: v for k, v in texts(config.get("Labels")).items() if given.get(k) != v}
    yield from each("--label", (f"{k}={v}" for k, v in sorted(fresh.items())))
    for name, option in (("User", "--user"), ("WorkingDir", "--workdir"), ("StopSignal", "--stop-signal")):
        if text(config, name) and text(config, name) != text(base, name):
            yield from (option, text(config, name))
    if text(config, "Hostname") and not id_.startswith(text(config, "Hostname")):
        yield from ("--hostname", text(config, "Hostname"))
    if isinstance(seconds := config.get("StopTimeout"), int):
        yield from ("--stop-timeout", str(seconds))
    yield from (flag for name, flag in (("Tty", "--tty"), ("OpenStdin", "--interactive")) if config.get(name) is True)
    if (check := mapping(config.get("Healthcheck"))) != mapping(base.get("Healthcheck")):
        yield from _of_check(check)
    if items(config.get("Entrypoint")) != items(base.get("Entrypoint")):
        yield from each("--entrypoint", (str(item) for item in items(config.get("Entrypoint"))[:1]))


def _of_check(check: Json) -> Iterator[str]:
    kind, *words = [*map(str, items(check.get("Test"))), ""][: max(1, len(items(check.get("Test"))))]
    if kind == "NONE":
        yield "--no-healthcheck"
    elif words:
        yield from ("--health-cmd", words[0] if kind == "CMD-SHELL" else shlex.join(words))
    spans = (("Interval", "interval"), ("Timeout", "timeout"), ("StartPeriod", "start-period"))
    for name, option in spans:
        if isinstance(nanoseconds := check.get(name), int) and nanoseconds:
            yield from (f"--health-{option}", f"{nanoseconds}ns")
    if isinstance(retries := check.get("Retries"), int) and retries:
        yield from ("--health-retries", str(retries))


def command(config: Json, base: Json) -> list[str]:
    """Return the words behind the image's name."""
    entry, command = items(config.get("Entrypoint")), items(config.get("Cmd"))
    more = entry[1:] if entry != items(base.get("Entrypoint")) else []
    return [str(item) for item in (*more, *(command if more or command != items(base.get("Cmd")) else ()))]


def _ports(bindings: Json) -> Iterator[str]:
    for inside, hosts in sorted(bindings.items()):
        for known in map(mapping, items(hosts)):
            yield ":".join(filter(None, (text(known, "HostIp"), text(known, "HostPort"), inside)))


def each(option: str, values: Iterable[str]) -> Iterator[str]:
    for value in values:
        yield from (option, value)


def is_chip(path: str) -> bool:
    return any(notation.node.fullmatch(path) for notation in notations())


def _left(container: Json, host: Json) -> Iterator[str]:
    """Yield what a person has to see to: what the command does not say."""
    yield from sorted(f"HostConfig.{name}" for name, value in host.items() if name not in _HANDLED and _says(value))
    networks = mapping(mapping(container.get("NetworkSettings")).get("Networks"))
    if len(networks) > 1:
        yield f"networks but the first: {', '.join(sorted(networks)[1:])}"
    anonymous = [m for m in map(mapping, items(container.get("Mounts"))) if text(m, "Type") == "volume"]
    if anonymous:
        yield "volumes that have no name"
    yield "files that were changed in the container itself (docker diff)"


def _says(value: object) -> bool:
    return bool(value) and not (isinstance(value, Sequence) and not list(filter(None, value)))
