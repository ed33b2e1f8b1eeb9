"""Containers of a real Docker daemon, dealt with through a client that is not cmgr's."""

import os
import signal
from typing import Any

from cmgr.model.values.services.containers import NO_RESTART, ContainerKey
from cmgr.runtimes.docker.runtime import DockerRuntime
from tests.support.daemons.dockerd import IGNORES, IMAGE, OBEYS, Dockerd
from tests.support.daemons.podman import Podman
from tests.support.waiting import eventually

LABELS = {"cmgr.strategy": "ringRecover", "cmgr.order": "5", "cmgr.stop-timeout": "33", "cmgr.enable": "false"}


class DockerWorld:
    """The contract's world on a private daemon. `close` removes its containers."""

    always = "always:0"
    blames = True
    blames_again = True
    outlives = False

    def __init__(self, dockerd: Dockerd | Podman) -> None:
        self.dockerd = dockerd
        self.client = dockerd.client()
        self.runtime = DockerRuntime(dockerd.socket)

    def create(
        self,
        name: str,
        *,
        chips: str = "0",
        policy: str = NO_RESTART,
        ignores_term: bool = False,
        auto_remove: bool = False,
        labels: bool = False,
    ) -> ContainerKey:
        host: dict[str, Any] = {"auto_remove": auto_remove}
        if policy:
            host["restart_policy"] = {"Name": policy.partition(":")[0]}
        key = self.made(
            name,
            command=IGNORES if ignores_term else OBEYS,
            host=host,
            environment=[f"ASCEND_VISIBLE_DEVICES={chips}"] if chips else [],
            labels=LABELS if labels else {},
        )
        self.start(key)
        return key

    def made(self, name: str, *, command: tuple[str, ...] = OBEYS, host: dict[str, Any], **more: Any) -> ContainerKey:
        """Create a container and do not start it."""
        config = self.client.create_host_config(network_mode="none", **host)
        made = self.client.create_container(IMAGE, list(command), name=name, host_config=config, **more)
        return ContainerKey("docker", "", made["Id"])

    def start(self, key: ContainerKey) -> None:
        said = len(self.client.logs(key.id))
        self.client.start(key.id)
        # Until its trap is set, the first process of a container is deaf to SIGTERM.
        eventually(lambda: len(self.client.logs(key.id)) > said, why="the container is ready")

    def stop(self, key: ContainerKey) -> None:
        self.client.stop(key.id, timeout=30)

    def pause(self, key: ContainerKey) -> None:
        self.client.pause(key.id)

    def resume(self, key: ContainerKey) -> None:
        self.client.unpause(key.id)

    def die(self, key: ContainerKey) -> None:
        os.kill(self.client.inspect_container(key.id)["State"]["Pid"], signal.SIGKILL)

    def remove(self, key: ContainerKey) -> None:
        self.client.remove_container(key.id, force=True)

    def restart_daemon(self) -> None:
        self.dockerd.stop()
        self.dockerd.start()

    def close(self) -> None:
        self.runtime.close()
        for row in self.client.containers(all=True):
            self.client.remove_container(row["Id"], force=True)
        self.client.close()
