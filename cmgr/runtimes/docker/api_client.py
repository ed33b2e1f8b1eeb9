"""Docker's API as far as cmgr asks it, on a line of its own: requests that end in time, and errors in cmgr's words.

Not by Docker's SDK: with all that it loads it takes 7 MB for good, and five times as long to send a request.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

import h11

from cmgr.errors import CmgrError, ContainerError, ContainerGone, RuntimeAils, RuntimeDown
from cmgr.runtimes import following
from cmgr.runtimes.docker.line import Answer, Connection, Line, payloads
from cmgr.runtimes.documents import mapping
from cmgr.words import json_of

# Podman filters by its own words for what it then tells in Docker's: died, cleanup, remove.
FILTERS = (
    '{"type":["container"],"event":["create","start","kill","die","stop","pause","unpause","update","rename","destroy",'
    '"health_status","died","cleanup","remove"]}'
)
"""Those of Docker's events that are asked for."""

_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Errors of an answer that is no JSON, nests too deeply, or is of another shape."""


class Refused(CmgrError):
    """Docker has answered that it does not do it. `status`: that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """Docker's API of one version, on a line of its own. One thread at a time.

    Every method blocks as long as the line lets it. Raises `Refused`, and what is under it as it comes: `translated`.
    """

    def __init__(self, line: Line, version: str) -> None:
        self.line = line
        self.version = version
        self._connection = Connection(line)

    def spoken(self) -> str:
        """Return the newest version that the daemon speaks. It knows that of no version of its own."""
        return str(self._told("GET", "/version", versioned=False)["ApiVersion"])

    def ping(self) -> None:
        self._asked("GET", "/_ping").read()

    def info(self) -> Mapping[str, Any]:
        return self._told("GET", "/info")

    def containers(self, *, down: bool = True) -> Sequence[Mapping[str, Any]]:
        """Return a row of each; with those that are `down`, or without."""
        rows = _parsed(self._asked("GET", f"/containers/json?all={int(down)}"))
        if not isinstance(rows, list):
            raise ValueError("not a list")
        return rows

    def inspect(self, id_: str) -> Mapping[str, Any]:
        return self._told("GET", f"/containers/{_part(id_)}/json")

    def image(self, name: str) -> Mapping[str, Any]:
        return self._told("GET", f"/images/{_part(name)}/json")

    def stop(self, id_: str, seconds: int) -> bool:
        """Stop it. Return whether it was down."""
        answer = self._asked("POST", f"/containers/{_part(id_)}/stop?t={seconds}")
        answer.read()
        return answer.status == HTTPStatus.NOT_MODIFIED

    def start(self, id_: str) -> None:
        self._asked("POST", f"/containers/{_part(id_)}/start").read()

    def pause(self, id_: str) -> None:
        self._asked("POST", f"/containers/{_part(id_)}/pause").read()

    def update(self, id_: str, restart_policy: Mapping[str, object]) -> None:
        self._told("POST", f"/containers/{_part(id_)}/update", {"RestartPolicy": restart_policy})

    def logs(self, id_: str, lines: int) -> bytes:
        """Return the last lines of its log, each with its time."""
        query = urlencode({"stdout": 1, "stderr": 1, "timestamps": 1, "tail": lines})
        whole = self._asked("GET", f"/containers/{_part(id_)}/logs?{query}").read()
        # Without a terminal there are two streams in it.
        return whole if mapping(self.inspect(id_).get("Config")).get("Tty") else b"".join(payloads([whole]))

    def exec_create(self, id_: str, command: Sequence[str]) -> str:
        """Make a command that is to be run inside of it, and return its id."""
        wanted = {"AttachStdout": True, "AttachStderr": True, "Cmd": list(command)}
        return str(self._told("POST", f"/containers/{_part(id_)}/exec", wanted)["Id"])

    def exec_start(self, exec_id: str) -> Answer:
        """Begin the command and return the stream of its output."""
        return self._asked("POST", f"/exec/{_part(exec_id)}/start", {"Detach": False, "Tty": False})

    def exec_inspect(self, exec_id: str) -> Mapping[str, Any]:
        return self._told("GET", f"/exec/{_part(exec_id)}/json")

    def events(self, since: str, until: str = "", filters: str = FILTERS) -> Answer:
        """Open Docker's stream of events."""
        return self._asked("GET", f"/events?{urlencode({'since': since, 'until': until, 'filters': filters})}")

    def close(self) -> None:
        self._connection.close()

    def _told(self, method: str, path: str, body: object = None, *, versioned: bool = True) -> Mapping[str, Any]:
        found = _parsed(self._asked(method, path, body, versioned=versioned))
        if not isinstance(found, dict):
            raise ValueError("not an object")
        return found

    def _asked(self, method: str, path: str, body: object = None, *, versioned: bool = True) -> Answer:
        """Ask, and return the answer as soon as it begins."""
        sent = None if body is None else json.dumps(body).encode()
        answer = self._connection.asked(method, f"/v{self.version}{path}" if versioned else path, sent)
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise Refused(answer.status, _why(answer))
        return answer


def _part(name: str) -> str:
    return quote(name, safe="")


def _parsed(answer: Answer) -> object:
    return json_of(answer.read())


def _why(answer: Answer) -> str:
    """Return what Docker says against it."""
    said = answer.read().decode("utf-8", "replace")
    try:
        told = mapping(json_of(said)).get("message")
    except json.JSONDecodeError:
        told = said.strip()
    return str(told or f"Docker answered with status {answer.status}")[:500]


@contextmanager
def translated(what: str, seconds: float, line: Line) -> Iterator[None]:
    """Turn what a client and the libraries under it raise into errors of containers and runtimes.

    The libraries' own texts are left out of the cause: they say the address and little else.
    """
    try:
        yield
    except Refused as exc:
        # Podman says 404 of a request that it does not know, too: to change a restart policy, in podman 4.3.
        gone = exc.status == HTTPStatus.NOT_FOUND and "no such" in exc.message.lower()
        raise (ContainerGone if gone else ContainerError)(f"cannot {what}: {exc.message}") from None
    except (OSError, h11.ProtocolError, *_UNREADABLE) as exc:
        raise _meaning(f"cannot {what}", exc, seconds, line) from None


def _meaning(what: str, error: Exception, seconds: float, line: Line) -> ContainerError:
    if line.over():
        return RuntimeAils(f"{what}: Docker did not answer within {round(seconds, 1):g} s")
    if line.room < 0:
        return ContainerError(f"{what}: Docker's answer is longer than cmgr takes")
    if line.refused:
        hint = "see `systemctl status docker`, and [docker] socket in the configuration"
        return RuntimeDown(f"{what}: nothing answers at {line.path}: {line.refused}", hint=hint)
    if isinstance(error, _UNREADABLE):
        return ContainerError(f"{what}: Docker's answer cannot be read")
    return following.Broken(f"{what}: Docker closed the connection")
