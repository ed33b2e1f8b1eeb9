"""A command that is run inside of a container's task: its output, bounded, and how it ended."""

import json
import os
import secrets
import select
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from cmgr.errors import ContainerError, chain
from cmgr.model.values.services.containers import ContainerKey
from cmgr.runtimes.containerd import messages as calls
from cmgr.runtimes.containerd import record as records
from cmgr.runtimes.containerd.looks import Looks
from cmgr.runtimes.containerd.wire import Pending, TimedOut
from cmgr.runtimes.documents import mapping

_FIFOS = Path("/run/containerd/fifo")
"""Where containerd's own clients have theirs."""

_SPEC = "types.containerd.io/opencontainers/runtime-spec/1/Process"
_KEPT = 4096
"""So many bytes of the output's end are kept."""


def run(looks: Looks, key: ContainerKey, command: Sequence[str], seconds: float) -> tuple[int, str]:
    """Do what `Executing.run_inside` says."""
    until, what = time.monotonic() + seconds, f"run {command[0][:48]} in container {looks.known.name(key)}"
    looks.wire.reach(what)
    process = mapping(records.spec_of(looks.record(key, what, seconds)).get("process"))
    if not process:
        raise ContainerError(f"cannot {what}: its definition cannot be read")
    text = json.dumps({**process, "args": list(command), "terminal": False}).encode()
    with _fifo(what) as (path, file):
        inside = _Inside(looks, key, what)
        inside.order(calls.EXEC, until, stdout=path, stderr=path, spec={"type_url": _SPEC, "value": text})
        # Begun before the start, so that no end is missed.
        end = looks.wire.begin(calls.WAIT, what, key.namespace, None, **inside.names)
        try:
            inside.order(calls.START, until)
            output = _read(file, b"", end, until)
            if not end.over():
                raise TimedOut(f"cannot {what}: it did not answer within {seconds:g} s")
            code = int(end.result(0).exit_status)
        except TimedOut:
            raise
        except ContainerError:
            inside.delete()
            raise
        finally:
            end.cancel()
        # That ends when all of its output has been handed on.
        output = _read(file, output, inside.delete(), time.monotonic() + 1)
    return code, output.decode("utf-8", "replace")


class _Inside:
    """The process of one such command. `names`: how containerd calls it."""

    def __init__(self, looks: Looks, key: ContainerKey, what: str) -> None:
        self.names = {"container_id": key.id, "exec_id": f"cmgr-{secrets.token_hex(8)}"}
        self._looks, self._key, self._what = looks, key, what

    def order(self, call: calls.Call[object], until: float, **fields: object) -> None:
        seconds = max(0.05, until - time.monotonic())
        self._looks.wire.call(call, self._what, self._key.namespace, seconds, **self.names, **fields)

    def delete(self) -> Pending[object]:
        """Begin to have containerd forget it."""
        limit = self._looks.limits.look
        return self._looks.wire.begin(calls.DELETE_PROCESS, self._what, self._key.namespace, limit, **self.names)


@contextmanager
def _fifo(what: str) -> Iterator[tuple[str, int]]:
    """Have a FIFO, which is open: its path, and its file."""
    try:
        _FIFOS.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory = tempfile.mkdtemp(prefix="cmgr-", dir=_FIFOS)
        path = os.path.join(directory, "output")
        os.mkfifo(path, 0o600)
        # For writing, too: else its end would be told before anybody has written.
        file = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as exc:
        raise ContainerError(f"cannot {what}: there is no place for its output: {chain(exc)}") from None
    try:
        yield path, file
    finally:
        os.close(file)
        with suppress(OSError):
            os.unlink(path)
            os.rmdir(directory)


def _read(file: int, before: bytes, end: Pending[object], until: float) -> bytes:
    """Read what comes, until the call has ended and nothing is left; return the end of it all."""
    poller, kept = select.poll(), before
    poller.register(file, select.POLLIN)
    while time.monotonic() < until:
        over = end.over()
        if poller.poll(50):
            kept = (kept + os.read(file, 65536))[-_KEPT:]
        elif over:
            break
    return kept
