"""A few tiny real containers for the demo, made by Docker's SDK: no network, no image from anywhere."""

import io
import os
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from cmgr.cli.text import out
from cmgr.config.settings import Config
from cmgr.drivers import elf
from cmgr.errors import ContainerError, RuntimeDown, ServiceDown
from cmgr.sentences.sentence import say
from cmgr.service.door.client import status
from cmgr.vendor import notations

IMAGE = "cmgr-demo:latest"
LABEL = "cmgr-demo"
"""On each container, with the pid of its demo. Not `cmgr.…`: the service warns of such labels that it does not know."""

SECONDS = 20
LOOP = "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"


class Docker:
    """The daemon behind this socket. Raises `RuntimeDown`, and `ContainerError` where it refuses."""

    def __init__(self, path: str) -> None:
        from docker import APIClient

        self._path = path
        with self._translated():
            self._api = APIClient(base_url=f"unix://{path}", version="auto", timeout=SECONDS)

    def version(self) -> str:
        """Return the daemon's version."""
        with self._translated():
            return str(self._api.version().get("Version", "unknown"))

    def import_image(self, archive: bytes) -> None:
        """Make `IMAGE` of a tar archive."""
        repository, _, tag = IMAGE.partition(":")
        with self._translated():
            self._api.import_image_from_data(archive, repository=repository, tag=tag)

    def run(self, name: str, chips: Iterable[int], labels: Mapping[str, str]) -> None:
        """Create and start a container that asks for these chips."""
        words = ["/bin/busybox", "sh", "-c", LOOP]
        asks = {notations()[0].variable: ",".join(map(str, chips))}
        marked = {LABEL: str(os.getpid()), **labels}
        with self._translated():
            # Not the daemon's default runtime: that may be one that gives real chips to who asks for them.
            plain = self._api.create_host_config(network_mode="none", runtime="runc")
            made = self._api.create_container(
                IMAGE, words, name=name, environment=asks, labels=marked, host_config=plain
            )
            self._api.start(made["Id"])

    def tidy(self) -> None:
        """Remove the containers and the image that this demo and dead ones made."""
        from docker.errors import APIError

        with self._translated():
            found = self._api.containers(all=True, filters={"label": [LABEL]})
            for container in found:
                if _is_over(str(container["Labels"].get(LABEL))):
                    self._api.remove_container(container["Id"], force=True, v=True)
            with suppress(APIError):  # It is not there, or another demo uses it.
                self._api.remove_image(IMAGE)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        from docker.errors import APIError, DockerException
        from requests import RequestException

        try:
            yield
        except APIError as error:
            raise ContainerError(say("demo.no-real", why=str(error.explanation))) from error
        except (DockerException, RequestException, OSError) as error:
            raise RuntimeDown(say("demo.no-docker", path=self._path)) from error


def _is_over(pid: str) -> bool:
    return pid == str(os.getpid()) or not Path("/proc", pid).exists()


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
        raise ContainerError(say("demo.no-real", why=say("demo.no-busybox")))
    docker = Docker(config.docker.socket)
    version = docker.version()
    docker.tidy()
    _refuse_company(config)
    stack.callback(docker.tidy)
    docker.import_image(archive(program))
    for name, chips in containers.items():
        docker.run(name, chips, {"cmgr.strategy": strategy})
    out.told([say("demo.real", version=version, label=f"cmgr.strategy={strategy}", strategy="never")])


def _refuse_company(config: Config) -> None:
    """Raise where the demo could be taken for the real thing, or the real thing for the demo."""
    from cmgr.runtimes import open_runtimes

    with suppress(ServiceDown):
        status(config.socket)
        raise ContainerError(say("demo.no-real", why=say("demo.runs-here")))
    (runtime,) = open_runtimes(replace(config, runtimes=("docker",)))
    try:
        others = sorted(container.name for container in runtime.list())
    finally:
        runtime.close()
    if others:
        raise ContainerError(say("demo.no-real", why=say("demo.others-ask", names=others)))
