"""A reboot of the machine: how the machine is told, and how it is noticed that somebody has called it off.

It is told as a person tells it, by shutdown(8) in the host: systemd-logind warns all who are logged in, and writes what
it is going to do into a file, which is gone once that is called off (logind's `Manager.ScheduleShutdown`,
org.freedesktop.login1(5)).
"""

import math
import os
import shutil
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import NamedTuple

from cmgr.drivers.kernel_log import boot_id
from cmgr.errors import CmgrError, RuntimeDown
from cmgr.host.act import PLAIN, Act, CannotBegin
from cmgr.host.host import Host
from cmgr.model.values.messages.commands import ScheduleReboot
from cmgr.model.values.messages.reboot_facts import Boot, RebootCancelOrdered
from cmgr.model.values.node import Node
from cmgr.model.values.standing import RebootStage
from cmgr.ports import Booting, Runtime
from cmgr.service.part import Part
from cmgr.service.parts.core import Core

_SECONDS = 30.0
_OURS = "cmgr reboots"
"""So begins what all are told of a reboot of ours."""


def this_boot(proc: Path = Path("/proc")) -> Boot:
    """Return which boot this is, and how old: a machine made of namespaces is as old as its first process."""
    try:
        began = int((proc / "1/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return Boot()
    return Boot(boot_id(), timedelta(seconds=time.clock_gettime(time.CLOCK_BOOTTIME) - began))


class Place(NamedTuple):
    """Where shutdown(8) is looked for, and what systemd-logind writes."""

    path: str = PLAIN["PATH"]
    scheduled: Path = Path("/run/systemd/shutdown/scheduled")


HOST = Place()


class Reboots(Part):
    """`runtimes` are all that there are, by name; `asked` says why nobody would start cmgr, as `unstarted`."""

    def __init__(
        self,
        core: Core,
        host: Host,
        runtimes: Mapping[str, Runtime],
        asked: Callable[[], str],
        place: Place = HOST,
    ) -> None:
        self._core, self._host, self._runtimes, self._asked = core, host, runtimes, asked
        self._place = place

    def schedule(self, action: ScheduleReboot) -> None:
        """Do it. Blocks for a minute at most. Raises `CmgrError`, and `RuntimeDown` if nothing was done."""
        if action.delay is None:
            if self._is_ours():
                self._shut_down(action, "-c")
            return
        if why := self._asked() or self._left(self._core.node()):
            raise RuntimeDown(f"cannot schedule a reboot: {why}")
        self._shut_down(action, "-r", f"+{math.ceil(action.delay / timedelta(minutes=1))}", action.reason)

    def look(self) -> None:
        """Tell that somebody has called off what is announced."""
        known, now = self._core.node().reboot, self._core.clock.now()
        if known is None or known.stage is not RebootStage.ANNOUNCED or known.due is None:
            return
        if now < known.due and not self._is_ours():
            self._core.put(RebootCancelOrdered("somebody on the machine (shutdown)", done=True))

    def _is_ours(self) -> bool:
        try:
            lines = self._place.scheduled.read_text(errors="replace").splitlines()
        except OSError:
            return False
        return "MODE=reboot" in lines and any(line.startswith(f"WALL_MESSAGE={_OURS}") for line in lines)

    def _left(self, node: Node) -> str:
        """Return who runs, is not in the books, as it uses no chip, and would not be started after the boot."""
        for name, runtime in self._runtimes.items():
            origin = node.origins.get(name)
            for container in runtime.ended_by_boot() if isinstance(runtime, Booting) else ():
                boots = container.boots and (origin is None or origin.boots)
                if not (boots or container.owner or container.key in node.containers):
                    return f"{container.name} runs and nothing would start it after the boot"
        return ""

    def _shut_down(self, action: ScheduleReboot, *words: str) -> None:
        program = shutil.which("shutdown", path=self._place.path)
        if program is None:
            raise RuntimeDown("cannot schedule a reboot: there is no shutdown (hint: install systemd-sysv)")
        try:
            begun = self._host.begin(Act(action.id, (program, *words), PLAIN, _SECONDS))
        except CannotBegin as error:
            raise RuntimeDown(f"cannot schedule a reboot: {program} {error.message}") from error
        ended = begun.wait(math.inf, Event()) or begun.leave()
        if not ended.well:
            raise CmgrError(f"cannot schedule a reboot: {program} {ended.how}: {ended.said}")
