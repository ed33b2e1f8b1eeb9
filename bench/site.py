"""Where the bench takes place: this machine, a folder, and a private dockerd when one can run here."""

import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.proxy import Proxy
from bench.records import Records
from bench.service import Plan, Service
from tests.running import reaper
from tests.support.daemons.daemon import CannotRun
from tests.support.daemons.dockerd import IMAGE, Dockerd
from tests.support.machine import described

# It ends when told to, and while it runs it costs nothing.
COMMAND = ("sh", "-c", "trap 'exit 0' TERM; sleep 1000000 & wait $!")


class Site:
    """In a `with` block; nothing of it is left afterwards."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._names: dict[str, str] = {}
        self._services = 0
        self._proxy: Proxy | None = None
        self.docker: Dockerd | None = None
        self.why_pretended = ""

    def __enter__(self) -> Self:
        # Not in /tmp, which may be in memory: the durable writes are part of what is measured.
        self.folder = reaper.outside("/var/tmp", "cb-")  # noqa: S108
        self._stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        try:
            docker = Dockerd()
            self._stack.callback(docker.close)
            docker.start()
            docker.build_image()
            self.docker = docker
        except CannotRun as error:
            self.why_pretended = str(error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def containers(self, count: int, chips: int) -> None:
        """Have containers bench-0 and so on run, container i on chip i modulo `chips`."""
        if self.docker is None:
            return
        docker, names = self.docker, self._names

        def run(number: int) -> None:
            client = docker.client()
            try:
                name = f"bench-{number}"
                made = client.create_container(
                    IMAGE,
                    list(COMMAND),
                    name=name,
                    environment={"ASCEND_VISIBLE_DEVICES": str(number % chips)},
                    host_config=client.create_host_config(network_mode="none"),
                )
                names[made["Id"]] = name
                client.start(made["Id"])
            finally:
                client.close()

        client = docker.client()
        # Those of a larger case before would be stopped and started with them.
        for identity, name in list(names.items()):
            if int(name.removeprefix("bench-")) >= count:
                client.remove_container(identity, force=True)
                del names[identity]
        # The case before may have left one stopped, on a chip that never booted.
        for stopped in client.containers(all=True, filters={"status": "exited"}):
            client.start(stopped["Id"])
        client.close()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(run, range(len(names), count)))

    def plan(self, chips: int, ring: int, strategy: str, containers: int, library: str = "") -> Plan:
        """Return what a service runs on here, with those containers there."""
        self.containers(containers, chips)
        return Plan(chips, ring, strategy, containers, self.docker.socket if self.docker else "", library)

    def service(self, plan: Plan) -> Service:
        """Return `cmgr run`, not started yet, on a new folder."""
        return Service(self.new_folder(), plan)

    def timed(self, plan: Plan, stack: ExitStack) -> tuple[Service, Records]:
        """Return a service whose doings are recorded, not started yet; the stack ends what serves that."""
        folder, records = self.new_folder(), Records()
        if self.docker is not None:
            plan = replace(plan, docker=self.proxied(folder, records, stack))
        return Service(folder, plan, records), records

    def settled(self, library: Path, chips: int, strategy: str, stack: ExitStack) -> tuple[Service, Records]:
        """Return a service on the chips of this library, one ring with a container each, that has settled."""
        service, records = self.timed(self.plan(chips, chips, strategy, chips, library=str(library)), stack)
        stack.enter_context(service).settle()
        return service, records

    def proxied(self, folder: Path, records: Records, stack: ExitStack) -> str:
        """Return the path of a socket in this folder, not made yet, behind which dockerd's calls are recorded."""
        assert self.docker is not None
        folder.mkdir(mode=0o700)
        path = str(folder / "p.sock")
        self._proxy = Proxy(path, self.docker.socket, self._names, records)
        self._proxy.start()
        stack.callback(self._proxy.close)
        return path

    def id_of(self, name: str) -> str:
        """Return the id of a container that `containers` made."""
        return next(id_ for id_, each in self._names.items() if each == name)

    def delay(self, seconds: float) -> None:
        """Let dockerd take so much longer for each call of the service that `timed` returned last."""
        if self._proxy is not None:
            self._proxy.delay = seconds

    def new_folder(self) -> Path:
        """Return where a service may have its files; not made yet."""
        self._services += 1
        return self.folder / str(self._services)

    def machine(self) -> Mapping[str, str]:
        """Return what the figures depend on, in words."""
        return described({"containers": self._containers_said()})

    def _containers_said(self) -> str:
        if self.docker is None:
            return f"simulated, because {self.why_pretended}"
        client = self.docker.client()
        try:
            return f"real ones, dockerd {client.version()['Version']}"
        finally:
            client.close()
