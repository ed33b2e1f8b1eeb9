"""Docker clients that are ready before they are needed, answer in time, and raise only cmgr's errors."""

import http.client
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import ClassVar
from urllib.parse import quote

import requests
import urllib3
from docker import APIClient
from docker.errors import APIError, DockerException, NotFound, create_api_error_from_http_exception

from cmgr import listener
from cmgr.errors import ContainerError, ContainerGone, RuntimeAils, RuntimeDown
from cmgr.frozen import dataclass
from cmgr.runtimes import following
from cmgr.runtimes.docker.line import LONGEST, Adapter, Line

_SPARE = 32
"""So many clients are kept when they come back; more are closed."""

_OLDEST = "1.24"
"""The oldest version of Docker's interface that the SDK speaks."""

_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)
"""Errors of the SDK when an answer is no JSON, or of another shape than it knows."""

_FOREIGN = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    DockerException,
    OSError,
    *_UNREADABLE,
)


@dataclass(frozen=True, slots=True)
class Limits(following.Limits):
    """How many seconds each thing may take.

    `leftover`: for containerd to clear away a task that was in the way of a start. `after_grace`: Docker's own kill may
    take 20 s after the grace, and a `look` follows. `silence`: an event stream that says nothing for so long is opened
    anew, for a daemon that hangs is silent, too.
    """

    update: float = 15.0
    start: float = 40.0
    leftover: float = 5.0
    after_grace: float = 25.0
    opens: float = 20.0
    silence: float = 60.0
    first_delay: float = 0.2
    longest_delay: float = 5.0

    IN_PROPORTION: ClassVar = ("look", "list", "update", "start", "leftover", "after_grace", "opens", "silence")


class Client:
    """The SDK's client on a line of its own. One thread at a time."""

    def __init__(self, line: Line, version: str) -> None:
        self.line = line
        self.version = version
        # The line keeps the time; the SDK's own is for each read, and here past any call's.
        self.api = APIClient(base_url=f"unix://{line.path}", version=version, timeout=1_000_000)
        self.api.trust_env = False  # It would look for a proxy and a netrc file at each request.
        self._adapter = Adapter(line)
        self.api.mount("http+docker://", self._adapter)

    def stop(self, id_: str, seconds: int) -> int:
        """Ask Docker to stop the container and return the status: 304 when it was down. Raises what the SDK does."""
        # The SDK's own stop() does not tell 304 from 204, and requests needs five times as long to send it as urllib3:
        # of eight stops that was what the last one waited for.
        path = f"/v{self.version}/containers/{quote(id_, safe='')}/stop?t={seconds}"
        answer = self._adapter.pool.urlopen("POST", path, retries=False, redirect=False, preload_content=False)
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            asked = requests.Request("POST", self._address(path)).prepare()
            _checked(self._adapter.build_response(asked, answer))
        answer.read()
        answer.release_conn()
        return answer.status

    def exec_start(self, exec_id: str) -> requests.Response:
        """Begin a command inside of a container and return the stream of its output. Raises what the SDK does."""
        # The SDK's own exec_start() waits for the output without an end.
        address = self._address(f"/v{self.version}/exec/{quote(exec_id, safe='')}/start")
        return _checked(self.api.post(address, json={"Detach": False, "Tty": False}, stream=True))

    def events(self, since: str, until: str = "") -> requests.Response:
        """Open Docker's stream of container events. Raises what the SDK does."""
        # The SDK's own events() gives up at the first malformed event.
        params = {"since": since, "until": until, "filters": _FILTERS}
        return _checked(self.api.get(self._address(f"/v{self.version}/events"), params=params, stream=True))

    def _address(self, path: str) -> str:
        return f"{self.api.base_url}{path}"


# Podman filters by its own words for what it then tells in Docker's: died, cleanup, remove.
_FILTERS = (
    '{"type":["container"],"event":["create","start","kill","die","stop","pause","unpause","update","rename","destroy",'
    '"health_status","died","cleanup","remove"]}'
)


def _checked(response: requests.Response) -> requests.Response:
    try:
        response.raise_for_status()
    except requests.HTTPError as exc:
        create_api_error_from_http_exception(exc)
    return response


class Clients:
    """The clients of one Docker socket, the one used last first, so that its connection is open. Any thread."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._version = ""
        # Appending and popping are atomic: no lock stands between a decision and its request.
        self._free: deque[Client] = deque()
        self._closed = False

    @contextmanager
    def use(self, what: str, seconds: float, line: Line | None = None) -> Iterator[Client]:
        """Lend a client for calls that take so many seconds in all; on a `line` of the caller's, a new one.

        Their errors come out as `ContainerGone`, `RuntimeDown` or `ContainerError`: "cannot `what`: …".
        """
        client = self._pop() if line is None else None
        own = line is None
        line = client.line if client is not None else line or Line(self.path)
        line.until, line.room = time.monotonic() + seconds, LONGEST
        with translated(what, seconds, line):
            client = client or self._fresh(line)
            sound = False
            try:
                yield client
                sound = True
            except APIError:
                sound = True  # It has answered, and can be asked again.
                raise
            finally:
                self._give_back(client, own and sound)

    def warm(self, count: int) -> None:
        """Connect so many clients. Raises as `use`."""
        with ExitStack() as lent:
            for _ in range(count):
                lent.enter_context(self.use("reach Docker", 5)).api.ping()

    def takes_calls(self) -> bool:
        """Return whether the daemon takes new connections: one that is being stopped does not, before it ends anything.

        Blocks up to 5 s, where systemd has the socket and nobody answers there. Does not raise.
        """
        with suppress(OSError), closing(listener.reached(self.path, 5.0)) as probe:
            probe.sendall(b"GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n")
            return bool(probe.recv(1))
        return False

    def forget(self) -> None:
        """Start anew: another daemon may answer from now on, and speak another version."""
        self._version = ""
        while (client := self._pop()) is not None:
            client.api.close()

    def close(self) -> None:
        self._closed = True
        self.forget()

    def _pop(self) -> Client | None:
        try:
            return self._free.pop()
        except IndexError:
            return None

    def _fresh(self, line: Line) -> Client:
        if not self._version:
            probe = Client(line, _OLDEST)
            try:
                self._version = str(probe.api.version(api_version=False)["ApiVersion"])
            finally:
                probe.api.close()
        return Client(line, self._version)

    def _give_back(self, client: Client, keep: bool) -> None:
        if keep and not self._closed and client.version == self._version and len(self._free) < _SPARE:
            self._free.append(client)
        else:
            client.api.close()


@contextmanager
def translated(what: str, seconds: float, line: Line) -> Iterator[None]:
    """Turn what the SDK and the libraries under it raise into cmgr's errors.

    Their own texts are left out of the cause: they say the address and little else.
    """
    try:
        yield
    except NotFound as exc:
        # Podman says the same of a request that it does not know: to change a restart policy, in podman 4.3.
        gone = "no such" in _said(exc).lower()
        raise (ContainerGone if gone else ContainerError)(f"cannot {what}: {_said(exc)}") from None
    except APIError as exc:
        raise ContainerError(f"cannot {what}: {_said(exc)}") from None
    except _FOREIGN as exc:
        raise _meaning(f"cannot {what}", exc, seconds, line) from None


def _said(error: APIError) -> str:
    text = error.explanation or f"Docker answered with status {error.status_code}"
    return str(text)[:500]


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
    if isinstance(error, DockerException):
        return ContainerError(f"{what}: {error}")
    return following.Broken(f"{what}: Docker closed the connection")
