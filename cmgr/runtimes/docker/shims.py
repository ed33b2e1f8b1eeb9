"""The shim of a container's last life, where it has outlived what it was for and keeps containerd from a new task.

It is left where dockerd is killed while a container ends: dockerd then drops containerd's record of the container while
the task is still there. Without the record nobody can ask containerd to delete the task; with its shim it goes.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

_PROC = Path("/proc")


def end_idle_shims(id_: str) -> bool:
    """End the container's shims under which nothing lives. Return whether there was one. Any thread."""
    parents = dict(_parents())
    found = [pid for pid in _shims(id_) if pid not in parents.values()]
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)  # containerd's shims do not listen to SIGTERM.
    return bool(found)


def _shims(id_: str) -> Iterator[int]:
    own = os.readlink(_PROC / "self/ns/pid")
    for entry in _entries():
        with suppress(OSError):
            name, *words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            named = os.path.basename(name).startswith("containerd-shim") and ("-id", id_) in pairwise(words)
            # Anybody may be called so: only what root runs outside of every container is a shim.
            if named and entry.stat().st_uid == 0 and os.readlink(entry / "ns/pid") == own:
                yield int(entry.name)


def _parents() -> Iterator[tuple[int, int]]:
    """Yield every process that lives, and its parent."""
    for entry in _entries():
        with suppress(OSError):
            # The name before may have anything in it, but ends with the last parenthesis.
            state, parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            if state not in (b"Z", b"X"):
                yield int(entry.name), int(parent)


def _entries() -> Iterator[Path]:
    return (entry for entry in _PROC.iterdir() if entry.name.isdigit())
