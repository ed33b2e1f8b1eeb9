"""A few tiny real containers for the demo, made through Docker's API: no network, no image from anywhere."""

import http.client
import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlencode

from cmgr import listener
from cmgr.cli.text import out
from cmgr.config.settings import Config
from cmgr.drivers import elf
from cmgr.errors import ContainerError, RuntimeDown, ServiceDown
from cmgr.service.door.client import status
from cmgr.vendor import notations

IMAGE = "cmgr-demo:latest"
LABEL = "cmgr-demo"
"""On each container, with the pid of its demo. Not `cmgr.…`: the service warns of such labels that it does not know."""

SECONDS = 20.0
LOOP = "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"


class Docker:
    """The daemon behind this socket. Each call opens a connection of its own."""

    def __init__(self, path: str) -> None:
        self._path = path

    def version(self) -> str:
        """Return the daemon's version. Raises `RuntimeDown`, `ContainerError`."""
        told = self._call("GET", "/version")
        return str(told["Version"]) if isinstance(told, dict) and "Version" in told else "unknown"

    def import_image(self, archive: bytes) -> None:
        """Make `IMAGE` of a tar archive."""
        repo, _, tag = IMAGE.partition(":")
        query = urlencode({"fromSrc": "-", "repo": repo, "tag": tag})
        self._call("POST", f"/images/create?{query}", archive, "application/x-tar")

    def run(self, name: str, chips: Iterable[int], labels: Mapping[str, str]) -> None:
        """Create and start a container that asks for these chips."""
        body = {
            "Image": IMAGE,
            "Cmd": ["/bin/busybox", "sh", "-c", LOOP],
            "Env": [f"{notations()[0].variable}={','.join(map(str, chips))}"],
            "Labels": {LABEL: str(os.getpid()), **labels},
            # Not the daemon's default runtime: that may be one that gives real chips to who asks for them.
            "HostConfig": {"NetworkMode": "none", "Runtime": "runc"},
        }
        made = self._call("POST", f"/containers/create?name={quote(name)}", json.dumps(body).encode())
        assert isinstance(made, dict), "a created container is an object"
        self._call("POST", f"/containers/{made['Id']}/start")

    def tidy(self) -> None:
        """Remove the containers and the image that this demo and dead ones made."""
        filters = quote(json.dumps({"label": [LABEL]}))
        found = self._call("GET", f"/containers/json?all=true&filters={filters}")
        for container in found if isinstance(found, list) else []:
            if _is_over(str(container["Labels"].get(LABEL))):
                self._call("DELETE", f"/containers/{container['Id']}?force=true&v=true")
        self._call("DELETE", f"/images/{IMAGE}")

    def _call(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> object:
        try:
            with closing(listener.spoken_to(self._path, SECONDS)) as connection:
                connection.request(method, path, body, {"Content-Type": kind})
                response = connection.getresponse()
                status, text = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise RuntimeDown(f"cannot reach Docker on {self._path}") from error
        if status >= 400 and not (method == "DELETE" and status in (404, 409)):
            raise ContainerError(f"cannot {method} {path.partition('?')[0]}: {text.decode(errors='replace').strip()}")
        return _read(text)


def _is_over(pid: str) -> bool:
    return pid == str(os.getpid()) or not Path("/proc", pid).exists()


def _read(text: bytes) -> object:
    try:
        told: object = json.loads(text)
    except ValueError:
        # An import tells its progress in several objects, a start nothing.
        return None
    return told


def busybox() -> Path | None:
    """Return a busybox that needs no library, or None when this machine has none."""
    found = shutil.which("busybox", path="/bin:/usr/bin:/usr/local/bin:/sbin:/usr/sbin")
    return Path(found) if found is not None and elf.is_static(Path(found)) else None


def archive(program: Path) -> bytes:
    """Return a tar archive of a file system with this one program in it, as busybox."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        entry = tarfile.TarInfo("bin/busybox")
        content = program.read_bytes()
        entry.size, entry.mode = len(content), 0o755
        tar.addfile(entry, io.BytesIO(content))
        link = tarfile.TarInfo("bin/sleep")
        link.type, link.linkname = tarfile.SYMTYPE, "busybox"
        tar.addfile(link)
    return packed.getvalue()


def make(config: Config, containers: Mapping[str, Iterable[int]], strategy: str, stack: ExitStack) -> None:
    """Start these containers; the stack removes them. Raises `ContainerError` when that cannot or should not be."""
    program = busybox()
    if program is None:
        raise ContainerError("cannot make real containers: there is no busybox here that needs no library")
    docker = Docker(config.docker.socket)
    version = docker.version()
    docker.tidy()
    _refuse_company(config)
    stack.callback(docker.tidy)
    docker.import_image(archive(program))
    for name, chips in containers.items():
        docker.run(name, chips, {"cmgr.strategy": strategy})
    out.lines(
        [
            f"The containers are real ones, of Docker {version}. Their label cmgr.strategy={strategy} has",
            "cmgr care for them; its own strategy is never, so that it touches nothing else.",
        ]
    )


def _refuse_company(config: Config) -> None:
    """Raise where the demo could be taken for the real thing, or the real thing for the demo."""
    from cmgr.runtimes import open_runtimes

    with suppress(ServiceDown):
        status(config.socket)
        raise ContainerError("cannot make real containers: cmgr runs on this machine, and would care for them too")
    (runtime,) = open_runtimes(replace(config, runtimes=("docker",)))
    try:
        others = sorted(container.name for container in runtime.list())
    finally:
        runtime.close()
    if others:
        raise ContainerError(f"cannot make real containers: others here ask for chips: {', '.join(others)}")
