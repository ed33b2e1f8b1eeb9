"""The diagnosis of a container by containerd: its record, its task, and its log where that is a file."""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from cmgr.errors import ContainerError, ContainerGone
from cmgr.model.values.services.containers import ContainerKey
from cmgr.runtimes.containerd import io
from cmgr.runtimes.containerd import messages as calls
from cmgr.runtimes.containerd import record as records
from cmgr.runtimes.containerd.looks import Looks
from cmgr.runtimes.containerd.wire import Missing
from cmgr.runtimes.documents import MOST_OUTPUT, ended, text
from cmgr.words import json_of

_NAME = re.compile(r"[A-Za-z0-9]+(?:[._-]+[A-Za-z0-9]+)*")
"""Namespaces and ids that containerd allows; nothing else becomes a part of a path."""


def document(looks: Looks, key: ContainerKey) -> Mapping[str, object]:
    """Return the record with its spec, and the task. Raises as `ports.Runtime.stop`."""
    what = f"inspect container {looks.known.name(key)}"
    looks.wire.reach(what)
    try:
        record = looks.wire.call(calls.GET, what, key.namespace, looks.limits.look, id=key.id).container
    except Missing as exc:
        raise ContainerGone(exc.message) from None
    task = looks.task(key, what)
    return {
        "id": str(record.id),
        "namespace": key.namespace,
        "image": str(record.image),
        "labels": {str(name): str(value) for name, value in record.labels.items()},
        "runtime": str(record.runtime.name),
        "snapshotter": str(record.snapshotter),
        "snapshot_key": str(record.snapshot_key),
        "task": None if task is None else _told(task),
        "spec": records.spec_of(record),
    }


def _told(task: records.Task) -> Mapping[str, object]:
    end = task.exit
    return {
        "pid": task.pid,
        "running": task.running,
        "stdout": task.streams.stdout,
        "stderr": task.streams.stderr,
        "exit": None if end is None else {"code": end.code, "at": end.at.isoformat()},
    }


def output(looks: Looks, key: ContainerKey, lines: int) -> str:
    """Return the last lines of the log. Raises as `ports.Runtime.stop`."""
    what = f"read the log of container {looks.known.name(key)}"
    looks.wire.reach(what)
    definition, task = looks.definition(key, what), looks.task(key, what)
    address = io.streams_for(definition, None if task is None else task.streams).stdout
    path = _file(address, key)
    if path is None:
        where = "is kept nowhere" if not address else "goes where only its own client reads it"
        raise ContainerError(f"cannot {what}: its output {where}")
    try:
        written = ended(_end_of(path))
    except OSError as exc:
        raise ContainerError(f"cannot {what}: {path}: {exc.strerror}") from None
    last = written.splitlines()[-lines:] if lines > 0 else []
    return "".join(f"{_plain(line)}\n" for line in last)


def _file(address: str, key: ContainerKey) -> Path | None:
    """Return the file that a log of this address is in, where cmgr knows and trusts it."""
    parts = urlsplit(address)
    if parts.scheme == "file" and not parts.netloc:
        path = Path(unquote(parts.path))
        return path if io.only_root_writes(path) else None
    named = _NAME.fullmatch(key.namespace) and _NAME.fullmatch(key.id)
    if not named or not io.is_nerdctl_log(address):
        return None
    # nerdctl's logger keeps it as Docker's json-file does (nerdctl, docs/dir.md).
    directory = Path(dict(parse_qsl(parts.query))["_NERDCTL_INTERNAL_LOGGING"])
    return directory / "containers" / key.namespace / key.id / f"{key.id}-json.log"


def _end_of(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return b""
        file.seek(max(0, found.st_size - MOST_OUTPUT - 1))
        return file.read(MOST_OUTPUT + 1)


def _plain(line: str) -> str:
    """Return a line of a JSON log as a person reads it, any other as it is."""
    if not line.startswith('{"'):
        return line
    try:
        told = json_of(line)
    except ValueError:
        return line
    if not isinstance(told, dict) or not isinstance(told.get("log"), str):
        return line
    return f"{text(told, 'time')} {told['log'].rstrip()}".strip()
