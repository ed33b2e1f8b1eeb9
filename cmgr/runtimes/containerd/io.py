"""Where a task's output goes: what the last task had, so that logs go on where they were.

These count, in this order: the task itself; what was seen of the last one; what cmgr wrote down in a label when it
stopped that. These say what the container's own client wanted. Other labels may come from the image, and an address
like `binary:///bin/sh?…` would be run as root: of them only nerdctl's own logger is believed.
"""

import json
import os
import re
import signal
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from cmgr import trust
from cmgr.errors import ContainerError
from cmgr.runtimes.containerd.record import SAVED_STREAMS, Definition, Streams
from cmgr.words import json_of

_LOG_LABELS = ("nerdctl/log-uri", "containerd.io/restart.loguri")


def saving(definition: Definition, streams: Streams) -> dict[str, str]:
    """Return the labels to set so that these streams survive the task; none when the record says them already."""
    if streams == saved(definition) or (streams.stdout and streams.stdout == _trusted_log(definition)):
        return {}
    if streams == Streams():
        return {}  # The restart monitor gives its tasks none: those that were written down stay.
    # The moment of the record's making says that this label is no image's, which was made before.
    value = {"made": definition.made, "stdout": streams.stdout, "stderr": streams.stderr}
    return {SAVED_STREAMS: json.dumps(value)}


def saved(definition: Definition) -> Streams | None:
    """Return the streams that cmgr wrote down for this container."""
    try:
        value = json_of(definition.labels.get(SAVED_STREAMS, ""))
        if value["made"] != definition.made:
            return None
        return Streams(str(value["stdout"]), str(value["stderr"]))
    except (ValueError, LookupError, TypeError):
        return None


def streams_for(definition: Definition, last: Streams | None) -> Streams:
    """Return the streams of a new task. `last`: those of the task before, where they are known."""
    # The restart monitor gives its tasks none, whatever they had before.
    known = last if last is not None and last != Streams() else saved(definition) or last
    log = _trusted_log(definition)
    # A client in the foreground reads FIFOs that go away with it; its logger is what stays.
    if log and (known is None or not _is_log(known.stdout)):
        return Streams(log, log)
    return known or Streams()


def _is_log(address: str) -> bool:
    return "://" in address


def _trusted_log(definition: Definition) -> str:
    """Return the log that the record's labels tell of, where it is surely nerdctl's own."""
    for label in _LOG_LABELS:
        address = definition.labels.get(label, "")
        if address and is_nerdctl_log(address):
            return address
    return ""


def is_nerdctl_log(address: str) -> bool:
    """Return whether this is nerdctl's own logger, in a place that is root's alone to change."""
    parts = urlsplit(address)
    if parts.scheme != "binary" or parts.netloc or not re.fullmatch(r"_NERDCTL_INTERNAL_LOGGING=[^&;=]+", parts.query):
        return False
    program, directory = Path(unquote(parts.path)), Path(dict(parse_qsl(parts.query))["_NERDCTL_INTERNAL_LOGGING"])
    return program.name == "nerdctl" and only_root_writes(program) and only_root_writes(directory)


def only_root_writes(path: Path) -> bool:
    """Return whether the path is absolute, itself no link, and root's alone to change."""
    try:
        found = path.lstat()
    except OSError:
        return False
    safe = not stat.S_ISLNK(found.st_mode) and trust.objection(path, found, sticky=False, uid=0) is None
    return path.is_absolute() and ".." not in path.parts and safe


@contextmanager
def kept_open(streams: Streams, what: str) -> Iterator[None]:
    """Have the FIFOs there and open while a task is made: it hangs on one that nobody reads."""
    with ExitStack() as stack:
        for path in dict.fromkeys((streams.stdout, streams.stderr)):
            if path and not _is_log(path):
                stack.callback(os.close, _opened(path, what))
        yield


def _opened(path: str, what: str) -> int:
    try:
        with suppress(FileExistsError):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            os.mkfifo(path, 0o600)
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as exc:
        raise ContainerError(f"cannot {what}: its output went to {path}: {exc.strerror}") from None
    if not stat.S_ISFIFO(os.fstat(file).st_mode):
        os.close(file)
        raise ContainerError(f"cannot {what}: its output went to {path}, which is no FIFO any more")
    return file


def end_loggers(namespace: str, id_: str) -> None:
    """End the loggers that a failed start has left: they would make every later start hang (trap 3 of the facts).

    Blocks up to 2 s.
    """
    found = _loggers(namespace, id_)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        until = time.monotonic() + 1
        while (found := _loggers(namespace, id_)) and time.monotonic() < until:
            threading.Event().wait(0.02)


def _loggers(namespace: str, id_: str) -> list[int]:
    """Return the processes that containerd told in their environment whose log they write, and their children."""
    wanted = {f"CONTAINER_ID={id_}".encode(), f"CONTAINER_NAMESPACE={namespace}".encode()}
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            # Anybody's environment may say so: only what root runs outside of every container is a logger.
            if wanted <= set((entry / "environ").read_bytes().split(b"\0")) and _is_the_hosts(entry):
                found.append(int(entry.name))
    return found


def _is_the_hosts(entry: Path) -> bool:
    return entry.stat().st_uid == 0 and os.readlink("/proc/self/ns/pid") == os.readlink(entry / "ns/pid")
