"""Container runtimes behind one interface (`ports.Runtime`): Docker, containerd, simulated ones, units of systemd."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr.config.settings import Config, Containerd, Docker, Systemd, Unit
from cmgr.config.sim import Sim
from cmgr.errors import ConfigError, RuntimeDown
from cmgr.model.values.node import SYSTEMD
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.ports import Runtime
from cmgr.runtimes.images import Decided

if TYPE_CHECKING:
    from cmgr.runtimes.containerd.runtime import ContainerdRuntime
    from cmgr.runtimes.docker.runtime import DockerRuntime
    from cmgr.runtimes.systemd.runtime import SystemdRuntime

AUTO = "auto"

Named = Callable[[], Mapping[str, Collection[Container]]]


def _nothing(_: ContainerKey) -> None:
    return None


def open_runtimes(
    config: Config, known: Collection[str] = (), units: Named = dict, decided: Decided = _nothing
) -> tuple[Runtime, ...]:
    """Return the runtimes that the configuration names; none need answer yet.

    `auto` is each one whose socket is there, and each of the `known`: they were used here before, so that containers
    of theirs may run although nobody answers just now. systemd is one where it has units to take care of, or may find
    some: `units` returns the names of those that the configuration does not name, with the containers that name them;
    any thread. `decided` says which labels of containers count.
    Raises `ConfigError` for a name that is none, and `RuntimeDown` when there is no runtime at all.
    """
    openers = _openers(config, units, decided)
    for name in config.runtimes:
        if name != AUTO and name not in openers:
            raise ConfigError(f"cannot use container runtime {name!r}: it is none of {AUTO}, {', '.join(openers)}")
    if why := missing(config, known):
        hint = 'install or start one, or name the one to wait for: runtimes = ["docker"]'
        raise RuntimeDown(f"cannot find a container runtime: {why}", hint=hint)
    wanted = _wanted(config, known)
    if has_units(config) or SYSTEMD in known:
        wanted.append(SYSTEMD)
    return tuple(openers[name]() for name in dict.fromkeys(wanted))


def _wanted(config: Config, known: Collection[str]) -> list[str]:
    auto = _sockets(config).items() if AUTO in config.runtimes else ()
    there = [name for name, path in auto if name in known or path.is_socket()]
    return [*(name for name in config.runtimes if name != AUTO), *there]


def missing(config: Config, known: Collection[str] = ()) -> str:
    """Return why there is no runtime at all, as `open_runtimes` has it; nothing where there is one."""
    if AUTO not in config.runtimes or _wanted(config, known) or has_units(config):
        return ""
    return f"there is no socket at {' or '.join(map(str, _sockets(config).values()))}"


def has_units(config: Config) -> bool:
    """Return whether the configuration wants units to be taken care of, whether a container names one or not."""
    return bool(config.systemd.units) or config.systemd.adopt


def open_systemd(config: Config, units: Named) -> Runtime:
    """Return systemd as a runtime; `units` as in `open_runtimes`."""
    return _systemd(config.systemd, units)


def appeared(config: Config, opened: Collection[str], decided: Decided = _nothing) -> tuple[Runtime, ...]:
    """Return those of `auto` that are not opened, and whose socket is there by now. Any thread."""
    sockets = _sockets(config) if AUTO in config.runtimes else {}
    openers = _openers(config, dict, decided)
    return tuple(openers[n]() for n, path in sockets.items() if n not in opened and path.is_socket())


def _openers(config: Config, units: Named, decided: Decided) -> Mapping[str, Callable[[], Runtime]]:
    return {
        "docker": partial(_docker, config.docker, decided),
        "containerd": partial(_containerd, config.containerd, config.cdi.dir, decided),
        "sim": partial(_sim, config.sim),
        SYSTEMD: partial(_systemd, config.systemd, units),
    }


def open_units(config: Config, names: Collection[str]) -> Runtime:
    """Return the runtime of these units of systemd, which need not be any that the configuration takes care of."""
    return _systemd(replace(config.systemd, units=tuple(map(Unit, names)), adopt=False), dict)


def _sockets(config: Config) -> Mapping[str, Path]:
    """Return where those of `auto` listen."""
    return {"docker": Path(config.docker.socket), "containerd": Path(config.containerd.address)}


# Imported where they are wanted: containerd's gRPC takes 100 ms and 20 MB.


def _docker(settings: Docker, decided: Decided) -> "DockerRuntime":
    from cmgr.runtimes.docker.runtime import DockerRuntime
    from cmgr.runtimes.docker.wire import Limits

    return DockerRuntime(settings.socket, Limits.within(settings.timeout.total_seconds()), decided)


def _containerd(settings: Containerd, cdi: str, decided: Decided) -> "ContainerdRuntime":
    from cmgr.runtimes.containerd.runtime import ContainerdRuntime
    from cmgr.runtimes.containerd.wire import Limits

    limits = Limits.within(settings.timeout.total_seconds())
    return ContainerdRuntime(settings.address, settings.skip_namespaces, limits, Path(cdi), decided)


def _systemd(settings: Systemd, units: Named) -> "SystemdRuntime":
    from cmgr.runtimes.systemd import clients
    from cmgr.runtimes.systemd.runtime import SystemdRuntime

    return SystemdRuntime(settings.bus, settings.units, units, clients.in_units, settings.adopt)


def _sim(settings: Sim) -> Runtime:
    from cmgr.runtimes.sim.runtime import SimRuntime

    file = Path(settings.world + ".containers") if settings.world else None
    return SimRuntime(settings.containers, path=file)
