"""An appliance on a machine whose power can be cut: Docker with four containers, and cmgr on simulated chips."""

import json
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from cmgr.view.containers import DOWN
from tests.power.machine import Machine
from tests.support.daemons.daemon import root_folder
from tests.support.daemons.dockerd import OBEYS
from tests.support.service import NOW
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]

POLICIES: Mapping[str, str] = {
    "on-always": "always",
    "on-unless": "unless-stopped",
    "on-failure": "on-failure:7",
    "by-hand": "no",
}
"""The containers, all on one ring, with their restart policies."""

BY_HAND = "by-hand"
"""After a boot Docker starts it only if cmgr holds it: without a hold cmgr has to tell that it is down."""

ENDED_WELL = frozenset({BY_HAND, "on-failure"})
"""Docker ends all when it is shut down, and does not start these at a boot where they have ended with 0."""

CONFIGURATION = """
strategy = "ringRecover"
driver = "sim"
runtimes = ["docker"]
state_dir = "/run/disk/state"
socket = "/run/cmgr.sock"
metrics.listen = ""
docker.socket = "/run/d.sock"
docker.timeout = "60s"
retry.starts = 50
retry.backoff = "200ms"
retry.settle = "0s"
reset.attempts = 100
reset.backoff = "1s"
[sim]
chips = 4
ring = 4
reset_time = "300ms"
boot_time = "300ms"
world = "/run/chips/world"
"""
"""The machine is slow: what would be a sickness elsewhere is none here."""

DOCKERD = (
    "dockerd --config-file=/run/disk/daemon.json --data-root=/run/disk/docker --exec-root=/run/docker --bridge=none"
    " --iptables=false --ip6tables=false --ip-forward=false --storage-driver=vfs --pidfile=/run/docker.pid"
    " --host=unix:///run/d.sock >/run/share/dockerd.log 2>&1 &"
    "\nuntil docker version >/dev/null 2>&1; do kill -0 $! || exit 1; sleep 0.2; done"
)


class Appliance:
    """Boots, and can be looked at. Its log is the machine's console, so that no cut takes away what was said."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._cmgr = f"PYTHONPATH={ROOT} {sys.executable} -m cmgr"

    def furnish(self) -> None:
        """Make the containers and the configuration on its disk; to be done once, in its first life."""
        (self.machine.share / "root.tar").write_bytes(root_folder())
        (self.machine.share / "cmgr.toml").write_text(CONFIGURATION)
        self.machine.do("echo '{}' >/run/disk/daemon.json; install -m 600 /run/share/cmgr.toml /run/disk/cmgr.toml")
        self.machine.do(f"export DOCKER_HOST=unix:///run/d.sock\n{DOCKERD}\ndocker import /run/share/root.tar box")
        (self.machine.share / "obeys").write_text(OBEYS[-1])
        for number, (name, policy) in enumerate(POLICIES.items()):
            chips = f"-e ASCEND_VISIBLE_DEVICES={number}"
            words = f"--name {name} --network none --restart {policy} {chips} -l cmgr.stop-timeout=5"
            self._docker(f'run -d {words} box sh -c "$(cat /run/share/obeys)"')
        # Whatever was just made is still in memory: a cut now would lose containers, or files that dockerd needs.
        self.machine.do("sync")
        self._start_cmgr()

    def start(self) -> None:
        """Do what the system does at a boot."""
        self.machine.do(f"export DOCKER_HOST=unix:///run/d.sock\n{DOCKERD}")
        self._start_cmgr()

    def stop(self) -> None:
        """Do what the system does before it switches off: cmgr ends before Docker, for it is started after it."""
        for name in ("cmgr", "docker"):
            ended = f"pid=$(cat /run/{name}.pid) && kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.1; done"
            self.machine.do(ended)
        self.machine.do("sync")

    def _start_cmgr(self) -> None:
        self.machine.do(f"{self._cmgr} run --config /run/disk/cmgr.toml >/dev/console 2>&1 & echo $! >/run/cmgr.pid")

    def _docker(self, words: str) -> str:
        return self.machine.do(f"docker -H unix:///run/d.sock {words}")

    def fault(self) -> None:
        self.machine.do(f"{self._cmgr} inject 0 {NOW} --config /run/disk/cmgr.toml")

    def status(self) -> dict[str, Any] | None:
        """Return what `cmgr status` says, or None while it says nothing."""
        code, said = self.machine.run(f"{self._cmgr} status -o json --config /run/disk/cmgr.toml 2>/dev/null")
        told: dict[str, Any] | None = json.loads(said) if code == 0 else None
        return told

    def until_settled(self, stays: Collection[str] = (BY_HAND,)) -> dict[str, Any]:
        """Wait until no episode goes on and all run that will by themselves; return what `cmgr status` says then.

        `stays`: what nobody starts after a boot, unless cmgr holds it.
        """

        def settled() -> dict[str, Any] | None:
            told = self.status()
            if told is None or told["service"]["state"] != "ready":
                return None
            calm = all(ring["phase"] == "healthy" for ring in told["rings"])
            idle = {row["name"]: row["status"] for row in told["containers"] if row["status"] != "running"}
            return told if calm and told["containers"] and idle.items() <= dict.fromkeys(stays, DOWN).items() else None

        told = eventually(settled, why="nothing is held, and no episode goes on", times=5)
        assert told is not None
        return told

    def containers(self) -> dict[str, tuple[bool, str]]:
        """Return which containers run, and their restart policies."""
        policy = ".HostConfig.RestartPolicy"
        form = f"{{{{.Name}}}} {{{{.State.Running}}}} {{{{{policy}.Name}}}}:{{{{{policy}.MaximumRetryCount}}}}"
        rows = [line.split() for line in self._docker(f"inspect -f '{form}' {' '.join(POLICIES)}").splitlines()]
        return {name.strip("/"): (runs == "true", policy.removesuffix(":0")) for name, runs, policy in rows}

    def run_by_hand(self, names: Iterable[str]) -> None:
        """Start what a person would."""
        self._docker(f"start {' '.join(names)}")

    def soundness(self) -> str:
        """Return what SQLite finds in cmgr's database, and the names of databases that were set aside."""
        opened = "import sqlite3; found = sqlite3.connect('/run/disk/state/cmgr.db').execute('PRAGMA integrity_check')"
        look = f"{opened}; print(found.fetchone()[0])"
        return self.machine.do(f'{sys.executable} -c "{look}"; cd /run/disk/state; ls | grep damaged || true').strip()
