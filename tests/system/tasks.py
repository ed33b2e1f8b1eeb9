"""Containers of a real containerd, made and looked at without cmgr, and the record of what happened to them."""

import json
import re
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from cmgr.model.values.services.containers import ContainerKey
from tests.runtimes.containerd.world import ContainerdWorld
from tests.support.daemons.containerd import Containerd
from tests.support.waiting import PATIENCE, eventually
from tests.system.containers import Happening, Spec

POLICY = "containerd.io/restart.status"


class Tasks:
    """The containers of one test. `close` removes them."""

    def __init__(self, containerd: Containerd) -> None:
        self.containerd = containerd
        self.world = ContainerdWorld(containerd)
        self.keys: dict[str, ContainerKey] = {}
        self._since = 0.0
        self._events = Path(containerd.folder) / f"events-{time.monotonic_ns()}"
        with self._events.open("wb") as out:
            self._follower = containerd.foreground("events", out=out)
        eventually(self._follows, why="the events are followed")

    def _follows(self) -> bool:
        name = self.containerd.namespaces[1]
        self.containerd.ctr("namespaces", "label", name, f"a={time.monotonic_ns()}")
        return bool(self._events.read_text())

    def run(self, *specs: Spec, namespace: int = 0) -> None:
        """Create and start these containers; what happens from now on is counted."""
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda spec: self._run(spec, self.containerd.namespaces[namespace]), specs))
        self.mark()

    def mark(self) -> None:
        """Count what happens from now on."""
        self._since = time.time()

    def _run(self, spec: Spec, namespace: str) -> None:
        key = ContainerKey("containerd", namespace, spec.name)
        labels = dict(spec.labels)
        if spec.policy != "no":
            labels |= {POLICY: "running", "containerd.io/restart.policy": spec.policy}
        self.world.run(key, *spec.command, chips=spec.chips, labels=labels)
        self.world.ready(key, 0)
        self.keys[spec.name] = key

    def lives(self, name: str) -> int:
        """Return how often the container has said that it is ready, in one and the same log."""
        return self.world.said(self.keys[name]).count("ready")

    def is_running(self, name: str) -> bool:
        return self.world.task(self.keys[name])[1] == "RUNNING"

    def all_running(self) -> bool:
        return all(self.is_running(name) for name in self.keys)

    def happenings(self) -> list[Happening]:
        # Its follower writes what it was sent a moment ago.
        threading.Event().wait(0.3)
        lines = self._events.read_text().splitlines()
        found, running = list[Happening](), set[int]()
        for happening, pid in filter(None, map(_happening, lines)):
            if happening.action == "start":
                running.add(pid)
            elif pid in running:
                running.remove(pid)
            else:
                # A task that was made and not started, its maker being killed between the two, "exits" when it is
                # deleted: a process that has never run a program.
                continue
            found.append(happening)
        return [h for h in found if h.at >= self._since]

    def count(self, name: str, action: str) -> int:
        return sum((h.name, h.action) == (name, action) for h in self.happenings())

    def close(self) -> None:
        self._follower.kill()
        self._follower.wait(PATIENCE)
        self.world.close()


def _happening(line: str) -> tuple[Happening, int] | None:
    """Return what an event says of a container's first process, and that one's number."""
    read = re.fullmatch(r"(\S+ \S+) \+0000 UTC (\S+) /tasks/(start|exit) (\{.*\})", line)
    if read is None:
        return None
    event: Mapping[str, object] = json.loads(read[4])
    if event.get("id", event["container_id"]) != event["container_id"]:
        return None
    seconds, _, fraction = read[1].partition(".")
    at = datetime.strptime(seconds, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp() + float(f"0.{fraction or 0}")
    action = "die" if read[3] == "exit" else "start"
    return Happening(at, str(event["container_id"]), action, str(event.get("exit_status", ""))), int(str(event["pid"]))
