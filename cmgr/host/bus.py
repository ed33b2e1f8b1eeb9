"""One connection to systemd, whose calls end in time and raise only cmgr's errors. Only this knows jeepney.

Over D-Bus, or over systemd's own socket where no D-Bus answers: as systemctl does it, for root. There all signals come
unasked, and no unit can be referred to. Interface: org.freedesktop.systemd1(5). A connection is of one thread, but for
`cut`.
"""

import contextlib
import socket
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jeepney import DBusAddress, DBusErrorResponse, HeaderFields, Message, MessageType, new_method_call
from jeepney.io.blocking import DBusConnection, open_dbus_connection, prep_socket
from jeepney.wrappers import unwrap_msg

from cmgr.errors import ContainerError, ContainerGone, RuntimeAils, RuntimeDown, chain

MANAGER = "/org/freedesktop/systemd1"
PROPERTIES = "org.freedesktop.DBus.Properties"

_SYSTEMD = "org.freedesktop.systemd1"
_BUS = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
_AWAY = ("ServiceUnknown", "NameHasNoOwner", "Disconnected")
"""Errors of the bus by which systemd never got the call: their last word."""


_OWN = ("systemd/private", "../systemd/private")
"""Where systemd's own socket is, from the directory of a user's D-Bus and from that of the system's."""

_GREETED = 0.1
"""Seconds until systemd is greeted once more."""


class UnitExists(ContainerError):
    """There is a unit of that name already."""


class _OwnLine(DBusConnection):  # type: ignore[misc]  # jeepney has no types
    """One on which there is nobody to say hello to. Raises `OSError` and `ValueError`."""

    def __init__(self, path: str, seconds: float) -> None:
        super(DBusConnection, self).__init__(prep_socket(path, enable_fds=True, timeout=seconds), enable_fds=True)
        until = time.monotonic() + seconds
        # systemd (seen with 252) leaves a message that it has read together with the end of the greeting where it is,
        # until another one comes.
        while time.monotonic() < until:
            self.send(new_method_call(DBusAddress(MANAGER, _SYSTEMD, "org.freedesktop.DBus.Peer"), "Ping"))
            with contextlib.suppress(TimeoutError):
                self.receive(timeout=_GREETED)
                return
        self.close()
        raise TimeoutError(f"systemd has not answered within {seconds:g} s")


def _own_line(bus: Path, seconds: float) -> _OwnLine | None:
    for place in _OWN:
        with contextlib.suppress(OSError, ValueError):
            return _OwnLine(str(bus.parent / place), seconds)
    return None


class Bus(contextlib.AbstractContextManager["Bus"]):
    """A connection, open from the beginning. `what` begins the sentence of an error: "cannot …".

    `files`: open files can be sent over it, as values of type h. `direct`: it is one to systemd's own socket.

    Raises `RuntimeDown` where nobody answers, as every call does that surely never reached systemd.
    """

    def __init__(self, path: str, what: str, seconds: float, *, files: bool = False) -> None:
        self._what = what
        self._signals: deque[Message] = deque()
        try:
            self._line: DBusConnection = open_dbus_connection(
                f"unix:path={path}", enable_fds=files, auth_timeout=seconds
            )
        except (OSError, ValueError, LookupError, DBusErrorResponse) as exc:
            own = _own_line(Path(path), seconds)
            if own is None:
                raise RuntimeDown(f"cannot {what}: nobody answers on {path}: {chain(exc)}") from exc
            self._line = own
        self.direct = isinstance(self._line, _OwnLine)
        self._line.sock.settimeout(seconds)
        self._seconds = seconds

    def __exit__(self, *_of_error: object) -> None:
        self.close()

    def close(self) -> None:
        self._line.close()

    def cut(self) -> None:
        """End what is under way on it: it raises. Any thread."""
        with contextlib.suppress(OSError):
            self._line.sock.shutdown(socket.SHUT_RDWR)

    def ask(self, method: str, signature: str = "", *values: object) -> Any:
        """Call a method of the manager and return the first of its results."""
        return self._call(DBusAddress(MANAGER, _SYSTEMD, f"{_SYSTEMD}.Manager"), method, signature, values)

    def properties(self, path: str) -> dict[str, Any]:
        """Return all properties of an object, as they are at one moment."""
        return values(self._call(DBusAddress(path, _SYSTEMD, PROPERTIES), "GetAll", "s", ("",)))

    def property(self, path: str, interface: str, name: str) -> Any:
        """Return one property of an object; `interface` without what all of systemd's begin with."""
        found = self._call(DBusAddress(path, _SYSTEMD, PROPERTIES), "Get", "ss", (f"{_SYSTEMD}.{interface}", name))
        return found[1]

    def listen(self, *rules: str) -> None:
        """Have systemd's signals sent that these rules match."""
        self.ask("Subscribe")
        for rule in rules:
            self.match(rule)

    def match(self, rule: str) -> None:
        """Have those signals sent that this rule matches and that systemd sends unasked."""
        if not self.direct:
            self._call(_BUS, "AddMatch", "s", (f"type='signal',sender='{_SYSTEMD}',{rule}",))

    def signal(self, seconds: float | None) -> "Signal | None":
        """Wait for the next signal. Return None when none came in time."""
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            try:
                message = self._signals.popleft() if self._signals else self._receive(until)
            except TimeoutError:
                return None
            except (OSError, ValueError) as exc:
                raise self._broken(exc) from exc
            if message.header.message_type is MessageType.signal:
                return Signal(message)

    def _receive(self, until: float | None) -> Message:
        return self._line.receive(timeout=None if until is None else max(0.0, until - time.monotonic()))

    def _call(self, to: DBusAddress, method: str, signature: str, values: tuple[object, ...]) -> Any:
        serial = next(self._line.outgoing_serial)
        until = time.monotonic() + self._seconds
        try:
            self._line.send(new_method_call(to, method, signature or None, values), serial)
            while True:
                message = self._receive(until)
                if message.header.fields.get(HeaderFields.reply_serial) == serial:
                    break
                self._signals.append(message)
        except TimeoutError as exc:
            text = f"cannot {self._what}: systemd has not answered within {self._seconds:g} s"
            raise RuntimeAils(text) from exc
        except (OSError, ValueError) as exc:
            raise self._broken(exc) from exc
        try:
            results = unwrap_msg(message)
        except DBusErrorResponse as exc:
            raise self._refused(exc) from exc
        return results[0] if results else None

    def _broken(self, exc: Exception) -> RuntimeAils:
        return RuntimeAils(f"cannot {self._what}: the connection to systemd broke: {chain(exc)}")

    def _refused(self, error: DBusErrorResponse) -> ContainerError:
        name = str(error.name).rpartition(".")[2]
        text = f"cannot {self._what}: {error.data[0] if error.data else name}".rstrip(".")
        if name in _AWAY or name.startswith("Spawn"):
            return RuntimeDown(text)
        if name == "UnitExists":
            return UnitExists(text)
        if name == "NoSuchUnit":
            return ContainerGone(text)
        if name in ("NoReply", "Timeout", "TimedOut", "LimitsExceeded"):
            return RuntimeAils(text)
        return ContainerError(text)


def values(properties: Mapping[str, tuple[str, Any]]) -> dict[str, Any]:
    """Return the properties without the types that D-Bus sends beside them."""
    return {name: value for name, (_, value) in properties.items()}


def object_path(unit: str) -> str:
    """Return the path of a unit's object: what is no letter or digit is escaped (sd_bus_path_encode(3))."""

    def escaped(at: int, letter: str) -> str:
        plain = letter.isascii() and (letter.isalpha() or (at > 0 and letter.isdigit()))
        return letter if plain else "".join(f"_{byte:02x}" for byte in letter.encode())

    return f"{MANAGER}/unit/" + "".join(map(escaped, range(len(unit)), unit))


class Signal:
    """A signal: its name, the object that sent it, and what it says."""

    def __init__(self, message: Message) -> None:
        self.name = str(message.header.fields.get(HeaderFields.member, ""))
        self.path = str(message.header.fields.get(HeaderFields.path, ""))
        self.body: tuple[Any, ...] = message.body
