"""Containers of a real Docker daemon, made and looked at without cmgr, and the record of what happened to them."""

import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, DockerException, NotFound, StreamParseError
from docker.types import DeviceRequest

from tests.support.daemons.dockerd import IGNORES, IMAGE, OBEYS, Dockerd
from tests.support.waiting import eventually


@dataclass(frozen=True, slots=True)
class Spec:
    """A container that is wanted. `chips` as in ASCEND_VISIBLE_DEVICES; `policy` as in docker run --restart.

    `check`: the command of its health check, if it has one. `slot`: what it asks for by CDI, in the place of chips.
    `network`: as in docker run --network. `binds`: as in docker run -v; with "/dev:/dev" it can reach every chip. (For
    --privileged whoever runs the tests may lack capabilities.)
    """

    name: str
    chips: str
    command: Sequence[str] = OBEYS
    policy: str = "no"
    labels: Mapping[str, str] = field(default_factory=dict)
    running: bool = True
    check: str = ""
    slot: str = ""
    image: str = IMAGE
    environment: Sequence[str] = ()
    binds: Sequence[str] = ()
    network: str = "none"


def deaf(name: str, chips: str, grace: int = 1) -> Spec:
    """Return a container that has to be killed after its grace, in seconds."""
    return Spec(name, chips, IGNORES, labels={"cmgr.stop-timeout": str(grace)})


def has_begun(client: docker.APIClient, container: str) -> bool:
    """Return whether the container has said something: not if it is being removed (`--rm`) since it was listed."""
    try:
        return bool(client.logs(container))
    except NotFound:
        return False
    except APIError as error:
        if error.status_code == HTTPStatus.CONFLICT:  # "dead or marked for removal"
            return False
        raise


@dataclass(frozen=True, slots=True)
class Happening:
    """One of Docker's events. `at` is Unix time."""

    at: float
    name: str
    action: str
    detail: str


class Containers:
    """The containers of one test. `close` removes them."""

    def __init__(self, dockerd: Dockerd) -> None:
        self.dockerd = dockerd
        self.names: list[str] = []
        self._client = dockerd.client()
        self._since = 0.0
        self._began: dict[str, str] = {}
        self._followed: list[Happening] = []

    def run(self, *specs: Spec) -> None:
        """Create and start these containers; what happens from now on is counted."""
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(self._run, specs))
        self.names += [spec.name for spec in specs]
        self.mark()

    def mark(self) -> None:
        """Count what happens from now on."""
        self._began = {name: self.started_at(name) for name in self.names}
        self._since = time.time()

    def _run(self, spec: Spec) -> None:
        policy, _, most = spec.policy.partition(":")
        with closing(self.dockerd.client()) as client:
            asked = [DeviceRequest(driver="cdi", device_ids=[f"cmgr.io/slot={spec.slot}"])] if spec.slot else None
            config = client.create_host_config(
                network_mode=spec.network,
                restart_policy={"Name": policy, "MaximumRetryCount": int(most or 0)},
                device_requests=asked,
                binds=list(spec.binds),
            )
            made = client.create_container(
                spec.image,
                list(spec.command),
                name=spec.name,
                host_config=config,
                environment=[*spec.environment, *([f"ASCEND_VISIBLE_DEVICES={spec.chips}"] if spec.chips else [])],
                labels=dict(spec.labels),
                healthcheck=_check(spec.check) if spec.check else None,
            )
            if spec.running:
                client.start(made["Id"])
                # Until its trap is set, the first process of a container is deaf to SIGTERM.
                eventually(lambda: client.logs(made["Id"]), why=f"{spec.name} is ready")

    # Deeds of people and of faults.

    def start(self, name: str) -> None:
        self._client.start(name)

    def stop(self, name: str) -> None:
        self._client.stop(name, timeout=5)

    def tell(self, name: str, signal: str) -> None:
        """Send the container's process a signal, as `docker kill -s` does."""
        self._client.kill(name, signal)

    def stop_within(self, name: str, seconds: int) -> None:
        """Stop it as `docker stop -t` does; return when it is down."""
        with closing(self.dockerd.client()) as client:
            client.stop(name, timeout=seconds)

    def restart_within(self, name: str, seconds: int) -> None:
        """Stop it, and start it, as `docker restart -t` does; return when it runs."""
        with closing(self.dockerd.client()) as client:
            client.restart(name, timeout=seconds)

    def pause(self, name: str) -> None:
        self._client.pause(name)

    def unpause(self, name: str) -> None:
        self._client.unpause(name)

    def remove(self, name: str) -> None:
        self._client.remove_container(name, force=True)
        self.names.remove(name)

    def arm(self, name: str, policy: str) -> None:
        """Set the restart policy."""
        self._client.update_container(name, restart_policy={"Name": policy, "MaximumRetryCount": 0})  # type: ignore[arg-type]  # knows two names only

    def rename(self, name: str, other: str) -> None:
        self._client.rename(name, other)
        self.names[self.names.index(name)] = other

    def limit(self, name: str, *, shares: int) -> None:
        """Set how much of the processors it gets beside others, as `docker update` does."""
        self._client.update_container(name, cpu_shares=shares)

    def crash(self, name: str) -> None:
        """Let the container's process die, not through Docker."""
        os.kill(int(self._state(name)["Pid"]), signal.SIGKILL)
        eventually(lambda: self._has_ended(name), why=f"{name} is dead")

    def end_well(self, name: str) -> None:
        """Let the container's process end with code 0 by a signal of its own (USR2), not through Docker."""
        os.kill(self.pid(name), signal.SIGUSR2)
        eventually(lambda: not self.is_running(name), why=f"{name} has ended")

    def _has_ended(self, name: str) -> bool:
        """Return whether it is down, or its end has removed it (`--rm`)."""
        try:
            return not self.is_running(name)
        except NotFound:
            return True

    def sicken(self, name: str, where: str = "/dev/shm/sick") -> None:  # noqa: S108 - the container's own
        """Make a file in the container; /dev/shm is another one in each life."""
        Path(f"/proc/{self.pid(name)}/root{where}").touch()

    def mend(self, name: str, where: str = "/dev/shm/sick") -> None:  # noqa: S108 - the container's own
        Path(f"/proc/{self.pid(name)}/root{where}").unlink()

    # The present.

    def health(self, name: str) -> str:
        return str(self._state(name)["Health"]["Status"])

    def is_running(self, name: str) -> bool:
        return bool(self._state(name)["Running"])

    def is_paused(self, name: str) -> bool:
        return bool(self._state(name)["Paused"])

    def all_running(self) -> bool:
        return all(self.is_running(name) for name in self.names)

    def policy(self, name: str) -> str:
        policy = self._client.inspect_container(name)["HostConfig"]["RestartPolicy"]
        return f"{policy['Name']}:{policy['MaximumRetryCount']}" if policy["MaximumRetryCount"] else policy["Name"]

    def started_at(self, name: str) -> str:
        return str(self._state(name)["StartedAt"])

    def pid(self, name: str) -> int:
        """Return the container's first process, as the host numbers it."""
        return int(self._state(name)["Pid"])

    def shim(self, name: str) -> int:
        """Return the process that looks after its first one for containerd."""
        return int(Path(f"/proc/{self.pid(name)}/stat").read_text().rpartition(")")[2].split()[1])

    def variable(self, name: str, variable: str) -> str:
        """Return what this variable of its first process is, as the kernel knows it."""
        lines = Path(f"/proc/{self.pid(name)}/environ").read_bytes().decode().split("\0")
        return next((line.partition("=")[2] for line in lines if line.startswith(f"{variable}=")), "")

    def id(self, name: str) -> str:
        return str(self._client.inspect_container(name)["Id"])

    def exit_code(self, name: str) -> int:
        return int(self._state(name)["ExitCode"])

    def was_restarted(self, name: str) -> bool:
        """Return whether it is in another life than when it was made."""
        return self.started_at(name) != self._began[name]

    def _state(self, name: str) -> dict[str, Any]:
        return dict(self._client.inspect_container(name)["State"])

    # The past, as the daemon's present life knows it.

    def happenings(self) -> list[Happening]:
        span = {"since": f"{self._since:.6f}", "until": f"{time.time():.6f}"}
        with closing(self.dockerd.client()) as client:
            stream = client.events(**span, filters={"type": "container"}, decode=True)  # type: ignore[call-overload]  # Docker takes fractions, too
            events = list(stream)
        told = {*self._followed, *map(_happening, events)}
        return sorted((h for h in told if h.at >= self._since), key=lambda h: h.at)

    def follow(self) -> None:
        """Hear all starts and ends from now on: dockerd keeps its last 256 events, and a command inside makes three."""
        stream = self.dockerd.client().events(filters={"type": "container", "event": ["start", "die"]}, decode=True)

        def hear() -> None:
            with suppress(DockerException, StreamParseError, OSError):  # As the daemon ends.
                self._followed.extend(map(_happening, stream))

        threading.Thread(target=hear, daemon=True).start()

    def count(self, name: str, action: str) -> int:
        return sum(h.name == name and h.action == action for h in self.happenings())

    def close(self) -> None:
        if not self.dockerd.running():
            self.dockerd.start()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(self._remove, [row["Id"] for row in self._client.containers(all=True)]))
        self._client.close()
        if self.dockerd.lives_on or self.dockerd.runc:  # No test after this one has asked for that.
            self.dockerd.runc = ""
            self.dockerd.restart(lives_on=False)

    def _remove(self, id_: str) -> None:
        with closing(self.dockerd.client()) as client, suppress(NotFound):
            try:
                client.remove_container(id_, force=True)
            except APIError as error:
                if "device or resource busy" not in str(error):
                    raise
                # Docker 20.10 that is ended in the midst of a start can leave a root that it cannot remove: it is dead.
                with suppress(APIError):
                    client.rename(id_, f"left-{id_[:12]}")


def _check(command: str) -> dict[str, Any]:
    often = 200_000_000  # In nanoseconds.
    return {"Test": ["CMD-SHELL", command], "Interval": often, "Timeout": 10**9 * 5, "Retries": 1}


def _happening(event: Mapping[str, Any]) -> Happening:
    attributes = event["Actor"]["Attributes"]
    detail = attributes.get("signal") or attributes.get("exitCode") or ""
    return Happening(event["timeNano"] / 1e9, attributes["name"], event["Action"], detail)
