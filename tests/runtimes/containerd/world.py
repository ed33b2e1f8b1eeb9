"""Containers of a real containerd, dealt with through its own command line, as people and nerdctl do."""

import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from cmgr.model.values.services.containers import NO_RESTART, ContainerKey
from cmgr.runtimes.containerd.runtime import ContainerdRuntime
from cmgr.runtimes.containerd.wire import Limits
from tests.runtimes.docker.world import LABELS
from tests.support.daemons.containerd import IMAGE, Containerd
from tests.support.daemons.dockerd import IGNORES, OBEYS
from tests.support.waiting import PATIENCE, eventually

SNAPSHOTS = ("snapshots", "--snapshotter", "native")
RESTART = "containerd.io/restart.status"
STOPPED_BY_HAND = "containerd.io/restart.explicitly-stopped"


class ContainerdWorld:
    """The contract's world on a private daemon. `close` removes its containers."""

    always = "status=running&policy=always"
    blames = False
    blames_again = True
    outlives = True

    def __init__(self, containerd: Containerd, limits: Limits | None = None) -> None:
        self.containerd = containerd
        self.namespace = containerd.namespaces[0]
        self.runtime = ContainerdRuntime(containerd.socket, ["k8s.io"], limits)
        self._clients: list[subprocess.Popen[bytes]] = []

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
        key = ContainerKey("containerd", self.namespace, name)
        said = dict(LABELS) if labels else {}
        if policy:
            said |= {RESTART: "running", "containerd.io/restart.policy": "always"}
            said |= {"containerd.io/restart.loguri": f"file://{self.log(key)}"}
        command = IGNORES if ignores_term else OBEYS
        if auto_remove:
            self.run_in_foreground(key, command, chips, {**said, "nerdctl/auto-remove": "true"})
        else:
            self.run(key, *command, chips=chips, labels=said)
        self.ready(key, 0)
        return key

    def run(
        self,
        key: ContainerKey,
        *command: str,
        chips: str = "0",
        labels: dict[str, str] | None = None,
        options: tuple[str, ...] = (),
        image: str = IMAGE,
    ) -> None:
        """Run a container whose log is a file; or whatever the options say."""
        options = options or ("--log-uri", f"file://{self.log(key)}")
        said = dict(labels or {})
        # A pass of the restart monitor between its making and its start would start it, too.
        status = said.pop(RESTART, "")
        words = self._words(chips, said, *options)
        self.containerd.ctr("run", "-d", *words, image, key.id, *command, namespace=key.namespace)
        if status:
            self.label(key, RESTART, status)

    def run_in_foreground(
        self, key: ContainerKey, command: tuple[str, ...], chips: str, labels: dict[str, str], rm: bool = True
    ) -> None:
        words = self._words(chips, labels, *(["--rm"] if rm else []))
        with self.log(key).open("wb") as log:
            self._clients.append(
                self.containerd.foreground("run", *words, IMAGE, key.id, *command, namespace=key.namespace, out=log)
            )

    def _words(self, chips: str, labels: dict[str, str], *more: str) -> list[str]:
        words = ["--snapshotter", "native", *more]
        if chips:
            words += ["--env", f"ASCEND_VISIBLE_DEVICES={chips}"]
        for name, value in labels.items():
            words += ["--label", f"{name}={value}"]
        return words

    def log(self, key: ContainerKey) -> Path:
        return self.containerd.logs / f"{key.namespace}.{key.id}"

    def said(self, key: ContainerKey) -> str:
        return self.log(key).read_text() if self.log(key).exists() else ""

    def ready(self, key: ContainerKey, said: int) -> None:
        # Until its trap is set, the first process of a container is deaf to SIGTERM.
        eventually(lambda: len(self.said(key)) > said, why=f"{key.id} is ready")

    def label(self, key: ContainerKey, name: str, value: str) -> None:
        self.containerd.ctr("containers", "label", key.id, f"{name}={value}", namespace=key.namespace)

    def labels(self, key: ContainerKey) -> str:
        return self.containerd.ctr("containers", "info", key.id, namespace=key.namespace).partition("Image")[0]

    def start(self, key: ContainerKey) -> None:
        said = len(self.said(key))
        self.label(key, STOPPED_BY_HAND, "false")
        with suppress(AssertionError):
            self.containerd.ctr("tasks", "delete", key.id, namespace=key.namespace)
        words = ("--log-uri", f"file://{self.log(key)}", key.id)
        self.containerd.ctr("tasks", "start", "-d", *words, namespace=key.namespace)
        self.ready(key, said)

    def stop(self, key: ContainerKey) -> None:
        self.label(key, STOPPED_BY_HAND, "true")
        self.kill(key)

    def kill(self, key: ContainerKey, number: signal.Signals = signal.SIGTERM) -> None:
        """End it through containerd, without a word about why."""
        self.containerd.ctr("tasks", "kill", "-s", str(int(number)), key.id, namespace=key.namespace)
        eventually(lambda: self.task(key)[1] != "RUNNING", why=f"{key.id} has ended")

    def pause(self, key: ContainerKey) -> None:
        self.containerd.ctr("tasks", "pause", key.id, namespace=key.namespace)

    def resume(self, key: ContainerKey) -> None:
        self.containerd.ctr("tasks", "resume", key.id, namespace=key.namespace)

    def die(self, key: ContainerKey) -> None:
        pid, _ = self.task(key)
        assert pid, f"{key.id} has no process"  # Number 0 would be the whole group of the tests' own.
        os.kill(pid, signal.SIGKILL)

    def task(self, key: ContainerKey) -> tuple[int, str]:
        """Return the task's process and state; 0 and nothing when there is none."""
        table = self.containerd.ctr("tasks", "ls", namespace=key.namespace)
        found = re.search(rf"(?m)^{re.escape(key.id)}\s+([0-9]+)\s+(\w+)", table)
        return (int(found[1]), found[2]) if found else (0, "")

    def remove(self, key: ContainerKey) -> None:
        # Where its client cannot ask after the task, it removes the container alone: the next of its name has no start.
        eventually(lambda: self._has_no_task(key), why=f"the task of {key.id} is gone")
        self.containerd.ctr("containers", "delete", key.id, namespace=key.namespace)
        self.log(key).unlink(missing_ok=True)

    def _has_no_task(self, key: ContainerKey) -> bool:
        with suppress(AssertionError):
            self.containerd.ctr("tasks", "delete", "-f", key.id, namespace=key.namespace)
        return self.task(key) == (0, "")

    def restart_daemon(self) -> None:
        self.containerd.stop()
        self.containerd.start()

    def close(self) -> None:
        self.runtime.close()
        if not self.containerd.running():
            self.containerd.start()
        for namespace in self.containerd.namespaces:
            eventually(lambda namespace=namespace: self._emptied(namespace), why=f"{namespace} is empty")  # type: ignore[misc]
        for client in self._clients:
            client.kill()
            client.wait(PATIENCE)

    def _emptied(self, namespace: str) -> bool:
        """Remove every container, with its root. Return whether none was left: a shim keeps its own for a moment."""
        for id_ in self.containerd.ctr("containers", "ls", "-q", namespace=namespace).split():
            with suppress(AssertionError):  # A client in the foreground removes its own.
                self.label(ContainerKey("containerd", namespace, id_), RESTART, "")
                self.remove(ContainerKey("containerd", namespace, id_))
        roots = re.findall(r"(?m)^(\S+)\s.*\bActive\s*$", self.containerd.ctr(*SNAPSHOTS, "ls", namespace=namespace))
        for root in roots:
            with suppress(AssertionError):
                self.containerd.ctr(*SNAPSHOTS, "rm", root, namespace=namespace)
        left = [self.containerd.ctr(kind, "ls", "-q", namespace=namespace) for kind in ("containers", "tasks")]
        return not (roots or "".join(left).strip())
