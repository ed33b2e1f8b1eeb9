"""A command that is run inside of a container of Docker's: its output, bounded, and how it ended."""

import time
from collections.abc import Iterator, Sequence

from cmgr.errors import ContainerError
from cmgr.model.values.services.containers import ContainerKey
from cmgr.runtimes.docker.line import Line
from cmgr.runtimes.docker.wire import Clients
from cmgr.runtimes.documents import mapping

_KEPT = 4096
"""So many bytes of the output's end are kept."""

_ROOM = 2**20
_HEAD = 8


def run(clients: Clients, key: ContainerKey, what: str, command: Sequence[str], seconds: float) -> tuple[int, str]:
    """Run the command as the container's own user; return its exit code and the end of its output when it has ended.

    Raises as `Runtime.stop`. A command that takes too long is not ended: whatever ends the container ends it.
    """
    line, until = Line(clients.path), time.monotonic() + seconds
    # Docker ends the connection with the output, so that it is no one's afterwards.
    with clients.use(what, seconds, line) as client:
        made = mapping(client.api.exec_create(key.id, list(command)))
        with client.exec_start(str(made["Id"])) as response:
            output = _end_of(_payloads(response.iter_content(chunk_size=None), line))
    with clients.use(what, max(1.0, until - time.monotonic())) as client:
        code = mapping(client.api.exec_inspect(str(made["Id"]))).get("ExitCode")
    if not isinstance(code, int):
        raise ContainerError(f"cannot {what}: Docker does not say how it ended")
    return code, output


def _payloads(chunks: Iterator[bytes], line: Line) -> Iterator[bytes]:
    """Take the frames of Docker's stream apart: which stream in a byte, three of nothing, the length, the output."""
    head, left = b"", 0
    for chunk in chunks:
        line.room = _ROOM
        rest = chunk
        while rest:
            if left:
                yield rest[:left]
                left, rest = max(0, left - len(rest)), rest[left:]
            else:
                head, rest = head + rest[: _HEAD - len(head)], rest[_HEAD - len(head) :]
                if len(head) == _HEAD:
                    left, head = int.from_bytes(head[4:], "big"), b""


def _end_of(payloads: Iterator[bytes]) -> str:
    kept = b""
    for payload in payloads:
        kept = (kept + payload)[-_KEPT:]
    return kept.decode("utf-8", "replace")
