"""Programs as transient units of systemd: in the host, apart from cmgr, and with a name by which they are found again.

Their type is oneshot: the job that starts such a unit ends with its program, and systemd tells that to whoever gave it.
As soon as a unit has ended systemd forgets it, and how it ended; but not while a connection holds a reference to it.
On systemd's own socket there are no references: there the signal of the unit's last change says it.
Interface: org.freedesktop.systemd1(5), whose properties are those of systemd.exec(5), systemd.service(5) and so on.
"""

import math
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Event

from cmgr.errors import ContainerError, ContainerGone, RuntimeAils, bare, chain
from cmgr.frozen import replace
from cmgr.host.act import Act, CannotBegin, Ended
from cmgr.host.bus import MANAGER, Bus, UnitExists, object_path, values
from cmgr.host.output import Memory
from cmgr.sentences.sentence import because, say

_SECONDS = 5.0
"""For an answer of systemd's."""

_LOOK_EVERY, _AGAIN = 0.1, 0.02
_LATE = 10.0
"""So many seconds after its time systemd has surely killed it."""

_STOP_SECONDS = 240
"""So long a stop of what must not be killed waits for its end. That is only given when the machine goes down."""

_MEMORY, _TASKS = 1 << 30, 512
"""As much as the service itself may have."""

_DOWN = ("inactive", "failed")
_EXITED, _KILLED, _DUMPED = 1, 2, 3
"""CLD_EXITED, CLD_KILLED and CLD_DUMPED of waitid(2): what the status is."""

_END = ("Result", "ExecMainCode", "ExecMainStatus")

_NOT_EXECUTED = 203
"""The status of systemd's own process when it could not execute the program."""

_ITS_OWN = ("INVOCATION_ID", "SYSTEMD_EXEC_PID", "MANAGERPID", "LOGNAME", "USER", "SHELL", "HOME", "LANG", "PATH")
"""Variables that systemd gives to a service, besides those of its own environment."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.-")
_LONGEST = 200


def unit_name(act: str) -> str:
    """Return the name of an act's unit. Letters that no unit's name has are written as systemd-escape(1) does."""
    name = "".join(c if c in _PLAIN else "".join(f"\\x{byte:02x}" for byte in c.encode()) for c in act)
    if len(name) > _LONGEST:
        from hashlib import sha256  # With it comes all of OpenSSL.

        name = f"{name[:_LONGEST]}-{sha256(act.encode()).hexdigest()[:16]}"
    return f"cmgr-{name}.service"


def begin(path: str, act: Act, held: int | None = None) -> "Unit":
    """Begin it as a unit of the systemd on that bus, or find it where it runs already. Raises `CannotBegin`.

    `held` as `Host.begin` has it.
    """
    until = time.monotonic() + _SECONDS
    try:
        while True:
            unit = Unit(path, act)
            if unit.begin(held):
                return unit
            if time.monotonic() > until:
                raise CannotBegin(f"cannot be run: systemd does not forget {unit_name(act.name)}, which has ended")
            time.sleep(_AGAIN)
    except ContainerError as error:
        hint = f"see whether systemd answers on {path}"
        raise CannotBegin(f"cannot be run: {bare(chain(error), 'run')}", hint=hint) from error


class Unit:
    """A run that was begun, by this life of cmgr or by an earlier one."""

    def __init__(self, path: str, act: Act) -> None:
        """Raises `ContainerError`, as `begin` does."""
        self._path = path
        self._act = act
        self._name = unit_name(act.name)
        self._object = object_path(self._name)
        self._began = time.monotonic()
        self._found = False
        self._changed: dict[str, object] = {}
        self._bus: Bus | None = self._opened()
        self._said = Memory(os.memfd_create(self._name))

    def begin(self, held: int | None) -> bool:
        """Begin it or find it. Return False, and be of no use, where one of its name has just ended."""
        bus = self._connected()
        try:
            bus.match(f"member='JobRemoved',arg2='{self._name}'")
            around = (text.partition("=")[0] for text in bus.property(MANAGER, "Manager", "Environment"))
            unset = sorted({*around, *_ITS_OWN} - self._act.environment.keys())
            properties = [*_properties(self._act, unset), *_files(self._said.file, held)]
            if not bus.direct:
                properties.append(("AddRef", ("b", True)))
            with suppress(UnitExists):
                bus.ask("StartTransientUnit", "ssa(sv)a(sa(sv))", self._name, "fail", properties, [])
                return True
            if self._find(bus):
                return True
        except RuntimeAils:
            # Whether systemd has got the order is not known.
            if self._find(bus):
                return True
            self._close()
            raise
        except ContainerError:
            self._close()
            raise
        self._close()
        return False

    def _find(self, bus: Bus) -> bool:
        """Return whether it runs. Then what it says is known, too, as far as that can be had."""
        try:
            self._refer(bus)
            if self._is_over(bus):
                return False
            pid = bus.property(self._object, "Service", "ExecMainPID")
        except ContainerGone:
            return False
        with suppress(OSError):
            if os.readlink(file := f"/proc/{pid}/fd/1") == f"/memfd:{self._name} (deleted)":
                said = Memory(os.open(file, os.O_RDWR))
                self._said.close()
                self._said = said
        self._found = True
        return True

    def wait(self, seconds: float, cut: Event) -> Ended | None:
        until, lost = time.monotonic() + seconds, ""
        limit = math.inf if self._act.seconds is None else self._began + self._act.seconds + _LATE
        while True:
            try:
                bus = self._connected()
                if self._is_over(bus):
                    return self._ended(bus)
                lost = ""
                self._said.trim()
                self._hear(bus, max(0.0, min(_LOOK_EVERY, until - time.monotonic())))
            except ContainerError as error:
                lost = chain(error)
                self._disconnect()
                cut.wait(_LOOK_EVERY)
            if time.monotonic() >= limit:
                why = say("act.not-seen", seconds=f"{limit - self._began:.0f}")
                return self._over(None, because(why, lost))
            if time.monotonic() >= until or cut.is_set():
                return None

    def leave(self) -> Ended:
        return self._over(None, say("act.goes-on"))

    def kill(self) -> Ended:
        with suppress(ContainerError):  # Then its time kills it.
            self._connected().ask("StopUnit", "ss", self._name, "replace")
        return self.wait(_SECONDS, Event()) or self._over(None, say("act.told-to-end"))

    def _is_over(self, bus: Bus) -> bool:
        """Return whether it does not run, and is not about to."""
        down = bus.property(self._object, "Unit", "ActiveState") in _DOWN
        return down and bus.property(self._object, "Unit", "Job")[0] == 0

    def _opened(self) -> Bus:
        return Bus(self._path, f"run {self._act.name}", _SECONDS, files=True)

    def _connected(self) -> Bus:
        if self._bus is None:
            self._bus = self._opened()
            with suppress(ContainerGone):  # Then it is over, and nobody knows how it ended.
                self._refer(self._bus)
        return self._bus

    def _refer(self, bus: Bus) -> None:
        bus.ask("GetUnit" if bus.direct else "RefUnit", "s", self._name)

    def _hear(self, bus: Bus, seconds: float) -> None:
        """Take in what systemd says of it; wait for that for so long."""
        while (signal := bus.signal(seconds)) is not None:
            if signal.name == "PropertiesChanged" and signal.path == self._object:
                self._changed |= values(signal.body[1])
            seconds = 0.0

    def _disconnect(self) -> None:
        if self._bus is not None:
            self._bus.close()
            self._bus = None

    def _close(self) -> None:
        self._disconnect()
        self._said.close()

    def _ended(self, bus: Bus) -> Ended:
        if bus.direct:
            self._hear(bus, 0.0)
            told = [self._changed.get(name) for name in _END]
        else:
            told = [bus.property(self._object, "Service", name) for name in _END]
        match told:
            case ["timeout", _, _]:
                return replace(self._over(None, say("act.killed", seconds=f"{self._took:.1f}")), late=True)
            case ["oom-kill", _, _]:
                return self._over(None, say("act.killed-memory", seconds=f"{self._took:.1f}"))
            case [_, code, status] if (code, status) == (_EXITED, _NOT_EXECUTED):
                return self._over(None, say("act.not-executed"), executed=False)
            case [_, code, int(status)] if code == _EXITED:
                return self._over(status, "")
            case [_, code, int(status)] if code in (_KILLED, _DUMPED):
                return self._over(-status, "")
            case _:
                return self._over(None, say("act.unknown"))

    @property
    def _took(self) -> float:
        return time.monotonic() - self._began

    def _over(self, code: int | None, why: str, *, executed: bool = True) -> Ended:
        ended = Ended(code, why, self._said.text(), self._took, self._found, executed)
        self._close()
        return ended


def _properties(act: Act, unset: Sequence[str]) -> Iterator[tuple[str, tuple[str, object]]]:
    # systemd replaces variables in words.
    words = [word.replace("$", "$$") for word in act.words]
    yield "Description", ("s", f"cmgr: {act.name}")
    yield "Type", ("s", "oneshot")
    yield "ExecStart", ("a(sasb)", [(act.words[0], words, False)])
    yield "Environment", ("as", [f"{name}={value}" for name, value in act.environment.items()])
    yield "UnsetEnvironment", ("as", unset)
    yield "WorkingDirectory", ("s", "/")
    if act.root:
        yield "RootDirectory", ("s", act.root)
        # As chroot(1) has it: with /dev, /sys and /run of what is mounted there.
        yield "MountAPIVFS", ("b", False)
    yield "UMask", ("u", 0o027)
    yield "CollectMode", ("s", "inactive-or-failed")
    yield "MemoryMax", ("t", _MEMORY)
    yield "TasksMax", ("t", _TASKS)
    # It must still run when a service eats the machine, as cmgr itself.
    yield "OOMScoreAdjust", ("i", -900)
    if act.seconds is None:
        # A signal that ends nothing; what the program has left behind is killed when it has ended.
        yield "KillSignal", ("i", signal.SIGCONT)
        yield "KillMode", ("s", "mixed")
        yield "TimeoutStopUSec", ("t", _STOP_SECONDS * 10**6)
    else:
        yield "KillSignal", ("i", signal.SIGKILL)
        yield "TimeoutStartUSec", ("t", max(1, round(act.seconds * 10**6)))


def _files(said: int, held: int | None) -> Iterator[tuple[str, tuple[str, object]]]:
    if held is not None:
        yield "StandardInputFileDescriptor", ("h", held)
    yield "StandardOutputFileDescriptor", ("h", said)
    yield "StandardErrorFileDescriptor", ("h", said)
