"""Docker's SDK, on a line of cmgr's: requests that end in time, and errors in cmgr's words.

Loaded by the first request and not before: it takes 100 ms, and nobody has to wait for it to hear of faults.
"""

# ruff: noqa: E402 - what the SDK calls through is loaded small before it, see `_load`.

import http.client
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from socket import socket
from typing import Any
from urllib.parse import quote

from cmgr.errors import ContainerError, ContainerGone, RuntimeAils, RuntimeDown
from cmgr.runtimes import following
from cmgr.runtimes.docker.line import Line

# Podman filters by its own words for what it then tells in Docker's: died, cleanup, remove.
FILTERS = (
    '{"type":["container"],"event":["create","start","kill","die","stop","pause","unpause","update","rename","destroy",'
    '"health_status","died","cleanup","remove"]}'
)
"""Those of Docker's events that are asked for."""

_GUESSERS = ("chardet", "charset_normalizer")


def _load() -> None:
    """Load requests without the library that guesses character sets, which takes 3 MB for good.

    requests takes UTF-8 where it has none, which is what Docker speaks.
    """
    absent = [name for name in _GUESSERS if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]  # As the import system has it for what cannot be imported.
    try:
        warnings.filterwarnings("ignore", message="Unable to find acceptable character detection dependency")
        import requests  # noqa: F401
    finally:
        for name in absent:
            sys.modules.pop(name, None)


_load()

import requests
import urllib3
from docker import APIClient
from docker.errors import APIError, DockerException, NotFound, create_api_error_from_http_exception
from requests.adapters import HTTPAdapter
from urllib3.connectionpool import ConnectionPool

__all__ = ["APIError", "Client", "translated"]

_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Errors of the SDK when an answer is no JSON, nests too deeply, or of another shape than it knows."""

_FOREIGN = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    DockerException,
    OSError,
    *_UNREADABLE,
)


class _Connection(urllib3.connection.HTTPConnection):
    def __init__(self, *args: Any, line: Line, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._line = line

    def _new_conn(self) -> socket:
        return self._line.connect()


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


class Adapter(HTTPAdapter):
    """Carries a session's requests, whatever their address, over one line."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        # The pool hands options that it does not know on to its connections.
        self.pool = _Pool("localhost", maxsize=1, line=line)

    def get_connection_with_tls_context(
        self,
        request: requests.PreparedRequest,
        verify: bool | str | None,
        proxies: Mapping[str, str] | None = None,
        cert: tuple[str, str] | str | None = None,
    ) -> ConnectionPool:
        return self.pool

    def get_connection(self, url: str | bytes, proxies: Mapping[str, str] | None = None) -> ConnectionPool:
        """Serve requests older than 2.32."""
        return self.pool

    def request_url(self, request: requests.PreparedRequest, proxies: Mapping[str, str] | None) -> str:
        return request.path_url

    def close(self) -> None:
        self.pool.close()
        super().close()


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

    def events(self, since: str, until: str = "", filters: str = FILTERS) -> requests.Response:
        """Open Docker's stream of events. Raises what the SDK does."""
        # The SDK's own events() gives up at the first malformed event.
        params = {"since": since, "until": until, "filters": filters}
        return _checked(self.api.get(self._address(f"/v{self.version}/events"), params=params, stream=True))

    def _address(self, path: str) -> str:
        return f"{self.api.base_url}{path}"


def _checked(response: requests.Response) -> requests.Response:
    try:
        response.raise_for_status()
    except requests.HTTPError as exc:
        create_api_error_from_http_exception(exc)
    return response


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
