"""The first process of a container, as the kernel knows it: whether it lives, and since when."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from cmgr.model.values.services.containers import Container

_PROC = Path("/proc")
_LONGEST = 2**16


def lives(pid: int, id_: str) -> bool:
    """Return whether the process is in a control group of this container: its number may be another one's by now.

    A process that has ended, and of which only its parent does not know yet, has nothing open any more.
    """
    if pid <= 0:
        return False
    try:
        with (_PROC / str(pid) / "cgroup").open("rb") as file:
            its = id_ in file.read(_LONGEST).decode("utf-8", "replace")
        stat = _stat(pid)
        # Its first thread may end before the others.
        return its and (stat[0] not in ("Z", "X") or stat[17] != "1")
    except (OSError, IndexError):
        return False


def began(pid: int) -> str:
    """Return when a process began, in ticks since the boot; empty when it has gone."""
    try:
        return _stat(pid)[19]
    except (OSError, IndexError):
        return ""


def _stat(pid: int) -> list[str]:
    """Return what proc(5) calls the fields of `stat`, from the third on."""
    # The second field is the program's name in brackets, which may have any character in it.
    return (_PROC / str(pid) / "stat").read_text("ascii", "replace").rpartition(")")[2].split()


def unlisted(engine: str, known: Iterable[tuple[Container, int]]) -> Iterator[Container]:
    """Yield those that the engine lists no more, and whose first process lives: they are on their chips."""
    for container, pid in known:
        if lives(pid, container.key.id):
            yield replace(container, unlisted=True, unread=f"{engine} does not list it, and its process {pid} lives")
