"""A cmgr that a private systemd has begun, as on a machine: its units, each in the sandbox of the packaged one."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from cmgr.again import SERVE
from cmgr.drivers.program.launch import SOCKET
from cmgr.errors import CmgrError
from tests.support.daemons.systemd import Systemd
from tests.support.service import Service
from tests.support.waiting import eventually

UNIT, CHIPS = "cmgr.service", "cmgr-chips@.service"
ROOT = Path(__file__).parents[3]


def _sandbox(unit: str) -> dict[str, str]:
    """Return what the packaged unit takes away from its process, as far as can be here."""
    text = (ROOT / "packaging" / unit).read_text()
    kinds = "Capability|NoNew|Protect|Private|Restrict|Lock|MemoryDeny|SystemCall"
    # The tests and their interpreter may be in somebody's home, and a private systemd has no kernel of its own.
    never = ("ProtectHome", "PrivateTmp", "ProtectKernelTunables", "ProtectKernelLogs")
    found = re.findall(rf"^((?:{kinds})\w+)=(.*)$", text, re.MULTILINE)
    return {name: value for name, value in found if name not in never}


class Serviced:
    """A service that this systemd begins and ends."""

    def __init__(self, service: Service, systemd: Systemd) -> None:
        self.service = service
        self._systemd = systemd
        run = shlex.join([*service.python, *service.program, "run", "--config", str(service.config)])
        drive = shlex.join([*service.python, *service.program, *SERVE, "--connect", f"{service.folder}/{SOCKET}"])
        place = {"WorkingDirectory": str(ROOT), "StandardOutput": f"append:{service.log}", "StandardError": "inherit"}
        systemd.define(CHIPS, ExecStart=drive, Type="exec", **place, **_sandbox(CHIPS))
        # The folder is where the packaged service has its state.
        # For a private systemd, systemctl has to be told that it is a user's.
        ctl = service.folder / "systemctl"
        ctl.write_text(f'#!/bin/sh\nexec {shutil.which("systemctl")} --user "$@"\n')
        ctl.chmod(0o755)
        around = f"RUNTIME_DIRECTORY={service.folder} PATH={service.folder}:{os.environ['PATH']}"
        place |= {"Environment": around, "ReadWritePaths": str(service.folder)}
        systemd.define(UNIT, ExecStart=run, KillMode="mixed", **place, **_sandbox(UNIT))

    def start(self) -> None:
        self.begin()
        eventually(self._is_up, why=f"cmgr is up; it said: {self.service.said()[-2000:]}")

    def begin(self) -> None:
        """Start it, and wait for nothing: as long as a hook is in the way of the first read-out it is not up."""
        self._systemd.systemctl("reset-failed")
        self._systemd.systemctl("start", UNIT)

    def _is_up(self) -> bool:
        try:
            return bool(self.service.status()["service"]["state"] != "starting")
        except CmgrError:
            return False

    def kill9(self) -> None:
        self._systemd.systemctl("kill", "--kill-whom=main", "--signal=KILL", UNIT)
        eventually(lambda: self._systemd.property(UNIT, "ActiveState") == "failed")

    def terminate(self) -> None:
        self._systemd.systemctl("stop", UNIT)

    def close(self) -> None:
        self._systemd.systemctl("kill", "--signal=KILL", UNIT)
        self._systemd.systemctl("stop", UNIT)
        self._systemd.undefine(UNIT)
        self._systemd.undefine(CHIPS)

    def namespace(self) -> str:
        words = self._systemd.inside("readlink", f"/proc/{self._systemd.property(UNIT, 'MainPID')}/ns/mnt")
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    def check(self) -> str:
        service = self.service
        words = [*service.python, *service.program, "check", "--json", "--config", str(service.config)]
        done = subprocess.run(
            self._systemd.inside(*words), env=service.environment(), capture_output=True, text=True, check=False
        )
        return done.stdout

    def until_awaited(self, pattern: str, *, by_nobody: bool = False) -> None:
        """Wait until somebody waits for the one unit whose name is like this, or nobody."""
        (name,) = self.units(pattern)
        looks: list[bool] = []

        def settled() -> bool:
            # A reference comes first, and the look whether it still runs after that.
            looks.append(bool(self._systemd.property(name, "Refs")) is not by_nobody)
            return len(looks) >= 5 and all(looks[-5:])

        eventually(settled, why=f"who waits for {name}")

    def units(self, pattern: str) -> list[str]:
        told = self._systemd.systemctl("list-units", "--all", "--plain", "--no-legend", pattern)
        return [line.split()[0] for line in told.splitlines()]


def of_programs(check: str) -> str:
    """Return what `cmgr check` says of the programs that the service runs."""
    texts: list[str] = [finding["text"] for finding in json.loads(check)["findings"] if finding["what"] == "programs"]
    return "".join(texts)
