"""The host, in which makers' tools and an operator's hooks run, apart from cmgr and from its sandbox.

The way is decided once in a life, when the first of them is to run: as units of systemd where that has begun cmgr, else
as children (a demo, tests, another init). In a sandbox, which only systemd makes, it is asked again and again. `cmgr
check` asks the same question about the service that runs.
"""

import math
import os
from functools import cache
from threading import Event, Lock

from cmgr.errors import ContainerError, bare, chain
from cmgr.host.act import Act, Begun, CannotBegin, Ended
from cmgr.host.child import Child
from cmgr.host.mounts import in_the_host
from cmgr.sentences.sentence import say


def obstacle(bus: str, pid: int) -> str:
    """Return why this cmgr runs programs as children of its own; nothing where it runs them as units."""
    from cmgr.host.bus import Bus  # Not every life runs something.

    try:
        if os.stat(f"/proc/{pid}").st_uid != 0:
            return say("hook.not-roots")
        with Bus(bus, "ask systemd for its unit", 5.0) as line:
            if line.property(line.ask("GetUnitByPID", "u", pid), "Service", "MainPID") == pid:
                return ""
    except (OSError, ContainerError) as error:
        return say("hook.not-known", why=bare(chain(error), "ask"))
    return say("hook.not-begun")


def unstarted(bus: str, pid: int) -> str:
    """Return why nobody would start this cmgr after a boot; nothing where systemd does. Blocks for 5 s."""
    if why := obstacle(bus, pid):
        return say("reboot.nobody-starts", why=why)
    from cmgr.host.bus import Bus

    try:
        with Bus(bus, "ask systemd for cmgr's unit", 5.0) as line:
            name = line.property(line.ask("GetUnitByPID", "u", pid), "Unit", "Id")
            state = line.ask("GetUnitFileState", "s", name)  # The unit itself says what was true at the last reload.
    except ContainerError as error:
        return bare(chain(error), "ask")
    if state == "enabled":
        return ""
    why = say("reboot.unit-is", state=state) if state else say("reboot.unit-missing")
    return say("reboot.nobody-starts", why=why)


class Host:
    """Any thread. `obstacle`: what the function of that name says, where that is known already."""

    def __init__(self, bus: str, obstacle: str | None = None) -> None:
        self._bus = bus
        self._lock = Lock()
        self._obstacle = obstacle

    def begin(self, act: Act, held: int | None = None) -> Begun:
        """Begin it, or find it where it runs already by systemd. Raises `CannotBegin`.

        `held`: an open file that is its input. Whatever is locked by that stays locked as long as the program runs,
        whatever becomes of cmgr.
        """
        if self._asked():
            return Child(act, held)
        from cmgr.host import transient

        return transient.begin(self._bus, act, held)

    def out_of_reach(self) -> str:
        """Return why programs would run in cmgr's sandbox now; nothing where they run in the host. Blocks for 5 s."""
        return "" if in_the_host() else self._asked()

    def _asked(self) -> str:
        with self._lock:
            if self._obstacle is None or (self._obstacle and not in_the_host()):
                self._obstacle = obstacle(self._bus, os.getpid())
            return self._obstacle

    def run(self, act: Act, cut: Event, held: int | None = None) -> Ended:
        """Run it, or wait for the one that runs already, until it ends or `cut` is set. Does not raise.

        `held` as `begin` has it.
        """
        try:
            begun = self.begin(act, held)
        except CannotBegin as error:
            return Ended(None, error.message, "", 0.0)
        return begun.wait(math.inf, cut) or begun.leave()


@cache
def host_of(bus: str) -> Host:
    """Return the host whose systemd answers on this bus, for all who run programs in it."""
    return Host(bus)
