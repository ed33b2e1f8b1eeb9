"""The page's process beside a service, on a port that nobody else has, and a way to ask it as browsers do."""

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.service import Service
from tests.support.waiting import PATIENCE

BECOME = 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@" 3<&0 0</dev/null'
"""As systemd hands over a socket that listens: as number 3, to a process that is named."""


@dataclass(frozen=True, slots=True)
class Said:
    """An answer of the page."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def value(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


class Web:
    """The page's process, started by a socket as systemd does it. `close` ends it."""

    def __init__(self, door: Path, log: Path, *words: str) -> None:
        self._door = door
        self.log = log
        self._words = words
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "cmgr", "web", "--serve", "--door", str(self._door), *self._words]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["/bin/sh", "-c", BECOME, "sh", *command], stdin=self._listening.fileno(), stdout=log, stderr=log
            )

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)
        self._listening.close()
        # pytest shows it where a test has failed.
        print(f"--- the log of the page\n{self.log.read_text() if self.log.exists() else ''}")  # noqa: T201

    def ask(self, method: str, target: str, value: object = None, **headers: str) -> Said:
        """Ask once, as the page itself does unless the headers say otherwise; one that is "" is left out."""
        body = None if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
        usual = {"Host": self.address, **({"Content-Type": "application/json"} if method == "POST" else {})}
        given = {**usual, **{name.replace("_", "-"): text for name, text in headers.items()}}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as connection:
            connection.request(method, target, body, {name: text for name, text in given.items() if text})
            answer = connection.getresponse()
            return Said(answer.status, dict(answer.headers.items()), answer.read())


@dataclass(frozen=True, slots=True)
class Site:
    """A service, and the page to it."""

    service: Service
    web: Web
    door: Path

    def link(self) -> str:
        """Return a link that opens the page, as `cmgr web` prints it."""
        told = self.service.cmgr("web", "--listen", self.web.address)
        assert told.code == 0, told.err
        return told.out.strip()

    def enter(self) -> str:
        """Return the secret of a session."""
        said = self.web.ask("POST", "/api/enter", {"ticket": self.link().partition("#t=")[2]})
        assert said.status == 200, said.body
        return str(said.value["session"])

    def order(self, secret: str, do: str, **args: object) -> Said:
        return self.web.ask("POST", f"/api/orders/{do}", args, Authorization=f"Bearer {secret}")

    def read(self, secret: str, target: str) -> Said:
        return self.web.ask("GET", f"/api/{target}", Authorization=f"Bearer {secret}")


def settings(folder: Path) -> dict[str, str]:
    """Return the settings of a service with a door for the page in this folder."""
    return {"web.door": str(folder / "door.sock")}


@contextmanager
def site(service: Service, folder: Path, *words: str) -> Iterator[Site]:
    """Give the page to a service that has these `settings`."""
    door = folder / "door.sock"
    web = Web(door, folder / "web.log", *words)
    web.start()
    try:
        yield Site(service, web, door)
    finally:
        web.close()
