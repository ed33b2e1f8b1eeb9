"""Whether the first process of a container lives, whatever its engine says of it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from cmgr.model.values.services.containers import Container

_PROC = Path("/proc")
_LONGEST = 2**16


def lives(pid: int, id_: str) -> bool:
    """Return whether the process is in a control group of this container: its number may be another one's by now."""
    if pid <= 0:
        return False
    try:
        with (_PROC / str(pid) / "cgroup").open("rb") as file:
            return id_ in file.read(_LONGEST).decode("utf-8", "replace")
    except OSError:
        return False


def unlisted(engine: str, known: Iterable[tuple[Container, int]]) -> Iterator[Container]:
    """Yield those that the engine lists no more, and whose first process lives: they are on their chips."""
    for container, pid in known:
        if lives(pid, container.key.id):
            yield replace(container, unlisted=True, unread=f"{engine} does not list it, and its process {pid} lives")
