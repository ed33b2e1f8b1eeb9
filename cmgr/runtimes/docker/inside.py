"""A command that is run inside of a container of Docker's: its output, bounded, and how it ended."""

import time
from collections.abc import Iterator, Sequence

from cmgr.errors import ContainerError
from cmgr.model.values.services.containers import ContainerKey
from cmgr.runtimes.docker.line import Answer, Line, payloads
from cmgr.runtimes.docker.wire import Clients

_KEPT = 4096
"""So many bytes of the output's end are kept."""

_ROOM = 2**20


def run(clients: Clients, key: ContainerKey, what: str, command: Sequence[str], seconds: float) -> tuple[int, str]:
    """Run the command as the container's own user; return its exit code and the end of its output when it has ended.

    Raises as `Runtime.stop`. A command that takes too long is not ended: whatever ends the container ends it.
    """
    line, until = Line(clients.path), time.monotonic() + seconds
    # Docker ends the connection with the output, so that it is no one's afterwards.
    with clients.use(what, seconds, line) as client:
        made = client.exec_create(key.id, command)
        output = _end_of(payloads(_heard(client.exec_start(made), line)))
    with clients.use(what, max(1.0, until - time.monotonic())) as client:
        code = client.exec_inspect(made).get("ExitCode")
    if not isinstance(code, int):
        raise ContainerError(f"cannot {what}: Docker does not say how it ended")
    return code, output


def _heard(answer: Answer, line: Line) -> Iterator[bytes]:
    """Yield all that comes, however much in all."""
    for piece in answer:
        line.room = _ROOM
        yield piece


def _end_of(payloads: Iterator[bytes]) -> str:
    kept = b""
    for payload in payloads:
        kept = (kept + payload)[-_KEPT:]
    return kept.decode("utf-8", "replace")
