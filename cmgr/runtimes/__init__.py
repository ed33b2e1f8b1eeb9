"""Container runtimes behind one interface (`ports.Runtime`): Docker, and pretended containers."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from cmgr.errors import ConfigError, ContainerError, RuntimeDown
from cmgr.ports import Runtime
from cmgr.runtimes.sim_world import Pretended

AUTO = "auto"

_LOOK = 2.0
"""How many seconds a runtime has to answer before `auto` leaves it out."""


def open_runtimes(
    names: Sequence[str],
    *,
    docker_socket: str = "/run/docker.sock",
    pretended: Sequence[Pretended] = (),
    sim_file: Path | None = None,
) -> tuple[Runtime, ...]:
    """Return the runtimes so named; `auto` is every one that answers now. One that is named need not answer yet.

    `pretended` and `sim_file` are for `sim` (see `sim.SimRuntime`). Blocks up to 2 s for each that `auto` tries.
    Raises `ConfigError` for a name that is none, and `RuntimeDown` when there is no runtime at all.
    """
    openers: Mapping[str, Callable[[], Runtime]] = {
        "docker": partial(_docker, docker_socket),
        "sim": partial(_sim, pretended, sim_file),
    }
    for name in names:
        if name != AUTO and name not in openers:
            raise ConfigError(f"cannot use container runtime {name!r}: it is none of {AUTO}, {', '.join(openers)}")
    chosen = {name: openers[name]() for name in dict.fromkeys(names) if name != AUTO}
    if AUTO in names and "docker" not in chosen:
        try:
            chosen["docker"] = _answering_docker(docker_socket)
        except ContainerError as exc:
            if not chosen:
                hint = 'start one, or name the one to wait for: runtimes = ["docker"]'
                raise RuntimeDown("cannot find a container runtime", hint=hint) from exc
    return tuple(chosen.values())


# Imported where they are wanted: Docker's SDK takes 100 ms and 20 MB.


def _docker(socket: str) -> Runtime:
    from cmgr.runtimes.docker import DockerRuntime

    return DockerRuntime(socket)


def _answering_docker(socket: str) -> Runtime:
    from cmgr.runtimes.docker import DockerRuntime

    runtime = DockerRuntime(socket)
    try:
        runtime.check(_LOOK)
    except ContainerError:
        runtime.close()
        raise
    return runtime


def _sim(pretended: Sequence[Pretended], file: Path | None) -> Runtime:
    from cmgr.runtimes.sim import SimRuntime

    return SimRuntime(pretended, path=file)
