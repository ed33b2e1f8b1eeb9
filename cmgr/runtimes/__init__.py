"""Container runtimes behind one interface (`ports.Runtime`): Docker, containerd, and pretended containers."""

import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr.config.settings import Containerd, Docker
from cmgr.errors import ConfigError, ContainerError, RuntimeDown
from cmgr.ports import Runtime
from cmgr.runtimes.sim.world import Pretended

if TYPE_CHECKING:
    from cmgr.runtimes.containerd.runtime import ContainerdRuntime
    from cmgr.runtimes.docker.runtime import DockerRuntime

AUTO = "auto"

_LOOK = 2.0
"""How many seconds a runtime has to answer before `auto` leaves it out."""


def open_runtimes(
    names: Sequence[str],
    *,
    docker: Docker | None = None,
    containerd: Containerd | None = None,
    pretended: Sequence[Pretended] = (),
    sim_file: Path | None = None,
) -> tuple[Runtime, ...]:
    """Return the runtimes so named; `auto` is every one that answers now. One that is named need not answer yet.

    Without settings of its own a runtime has the usual ones. `pretended` and `sim_file` are for `sim` (see
    `sim.SimRuntime`). Blocks up to 2 s for each that `auto` tries.
    Raises `ConfigError` for a name that is none, and `RuntimeDown` when there is no runtime at all.
    """
    docker, containerd = docker or Docker(), containerd or Containerd()
    real: Mapping[str, Callable[[], DockerRuntime | ContainerdRuntime]] = {
        "docker": partial(_docker, docker),
        "containerd": partial(_containerd, containerd),
    }
    openers: Mapping[str, Callable[[], Runtime]] = {**real, "sim": partial(_sim, pretended, sim_file)}
    for name in names:
        if name != AUTO and name not in openers:
            raise ConfigError(f"cannot use container runtime {name!r}: it is none of {AUTO}, {', '.join(openers)}")
    chosen = {name: openers[name]() for name in dict.fromkeys(names) if name != AUTO}
    if AUTO in names:
        sockets = {"docker": docker.socket, "containerd": containerd.address}
        chosen |= _answering({name: real[name] for name in real if name not in chosen}, sockets, needed=not chosen)
    return tuple(chosen.values())


def _answering(
    openers: Mapping[str, Callable[[], "DockerRuntime | ContainerdRuntime"]],
    sockets: Mapping[str, str],
    *,
    needed: bool,
) -> dict[str, Runtime]:
    """Return those that answer. Raises `RuntimeDown` when one is needed and none does."""
    found: dict[str, Runtime] = {}
    refusals: list[ContainerError] = []
    for name, opener in openers.items():
        try:
            _listens(name, sockets[name])
            runtime = opener()
            try:
                runtime.check(_LOOK)
            except ContainerError:
                runtime.close()
                raise
            found[name] = runtime
        except ContainerError as exc:
            refusals.append(exc)
    if needed and not found:
        hint = 'start one, or name the one to wait for: runtimes = ["docker"]'
        # Docker is what most have: its reason says more.
        raise RuntimeDown("cannot find a container runtime", hint=hint) from refusals[0]
    return found


def _listens(name: str, path: str) -> None:
    """Ask whether anybody listens there, before what it takes to talk to it is loaded. Raises `RuntimeDown`."""
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_LOOK)
            probe.connect(path)
    except OSError as exc:
        raise RuntimeDown(f"cannot reach {name}: nothing answers at {path}: {exc.strerror or exc}") from None


# Imported where they are wanted: Docker's SDK takes 100 ms and 20 MB, containerd's gRPC as much again.


def _docker(settings: Docker) -> "DockerRuntime":
    from cmgr.runtimes.docker.runtime import DockerRuntime
    from cmgr.runtimes.docker.wire import Limits

    return DockerRuntime(settings.socket, Limits.within(settings.timeout.total_seconds()))


def _containerd(settings: Containerd) -> "ContainerdRuntime":
    from cmgr.runtimes.containerd.runtime import ContainerdRuntime
    from cmgr.runtimes.containerd.wire import Limits

    limits = Limits.within(settings.timeout.total_seconds())
    return ContainerdRuntime(settings.address, settings.skip_namespaces, limits)


def _sim(pretended: Sequence[Pretended], file: Path | None) -> Runtime:
    from cmgr.runtimes.sim.runtime import SimRuntime

    return SimRuntime(pretended, path=file)
