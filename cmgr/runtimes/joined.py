"""Containers in the namespaces of others (`--network container:NAME`, `--pid`, `--ipc`), and what has become of those.

Whoever has such a place keeps it as long as it runs: of a life that is over it is a network without interfaces. Which
life that is, the kernel tells by when the first processes began, for no clock that is set counts there.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from cmgr.model.values.services.containers import Container
from cmgr.runtimes.living import began

_LONG = 12
"""So many characters of an id are shown, as Docker does."""


class Donor(NamedTuple):
    """A container that gives namespaces to another one, and its first process, 0 while there is none."""

    name: str
    pid: int


def placed(container: Container, pid: int, find: Callable[[str], Donor | None]) -> Container:
    """Return it with what has become of those whose namespaces it joins; `find` returns None for one that is gone."""
    if not container.joins:
        return container
    donors = {joined: find(joined) for joined in sorted(container.joins)}
    gone = next((joined for joined, donor in donors.items() if donor is None), "")
    if gone:
        return replace(container, cut_off=gone if len(gone) < 5 * _LONG else gone[:_LONG], orphaned=True)
    since = began(pid) if container.running and pid else ""
    later = (d.name for d in donors.values() if since and d is not None and d.pid and _is_before(since, began(d.pid)))
    return replace(container, cut_off=next(later, ""))


def _is_before(since: str, other: str) -> bool:
    return bool(other) and int(since) < int(other)
