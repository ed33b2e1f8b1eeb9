"""Docker clients that are ready before they are needed, answer in time, and raise only cmgr's errors."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import ClassVar

from cmgr import listener
from cmgr.frozen import dataclass
from cmgr.runtimes import following
from cmgr.runtimes.docker.api_client import Client, Refused, translated
from cmgr.runtimes.docker.line import LONGEST, Line

_SPARE = 32
"""So many clients are kept when they come back; more are closed."""


@dataclass(frozen=True, slots=True)
class Limits(following.Limits):
    """How many seconds each thing may take.

    `locked`: a look, for a list, at a container whose lock Docker may hold. `leftover`: for containerd to clear away a
    task that was in the way of a start. `after_grace`: Docker's own kill may take 20 s after the grace, and a `look`
    follows. `silence`: an event stream that says nothing for so long is opened anew, for a daemon that hangs is silent.
    """

    locked: float = 0.5
    update: float = 15.0
    start: float = 40.0
    leftover: float = 5.0
    after_grace: float = 25.0
    opens: float = 20.0
    silence: float = 60.0
    first_delay: float = 0.2
    longest_delay: float = 5.0

    IN_PROPORTION: ClassVar = (
        *("look", "list", "locked", "update", "start"),
        *("leftover", "after_grace", "opens", "silence"),
    )


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
            except Refused:
                sound = True  # It has answered, and can be asked again.
                raise
            finally:
                self._give_back(client, own and sound)

    def warm(self, count: int) -> None:
        """Connect so many clients. Raises as `use`."""
        with ExitStack() as lent:
            for _ in range(count):
                lent.enter_context(self.use("reach Docker", 5)).ping()

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
            client.close()

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
            with closing(Client(line, "")) as probe:
                self._version = probe.spoken()
        return Client(line, self._version)

    def _give_back(self, client: Client, keep: bool) -> None:
        if keep and not self._closed and client.version == self._version and len(self._free) < _SPARE:
            self._free.append(client)
        else:
            client.close()


@contextmanager
def asked(path: str, what: str, seconds: float) -> "Iterator[Client]":
    """Lend a client to one who asks the Docker on this socket once, within so many seconds. Raises as `Clients.use`."""
    with closing(Clients(path)) as clients, clients.use(what, seconds) as client:
        yield client
