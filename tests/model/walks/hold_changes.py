"""Every change of a hold's state that random walks have met, and upon what news, as a page: `tests/golden/model`.

With CMGR_REWRITE_GOLDEN=1 walks write into the page what
is not there, and take nothing out, for a short walk meets little of it: delete the page first, and walk far.
"""

import fcntl
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from cmgr.model.values.holds import Hold
from cmgr.model.values.messages import facts
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import ContainerKey
from tests.model.machine import OTHER

GOLDEN = Path(__file__).parents[2] / "golden" / "model" / "hold_changes.txt"

NONE = "not held"
LOOK = "a look"
"""Any news that is not about this very hold: what is due is found by looking, whatever has happened."""

Change = tuple[str, str, str]
"""State before, state after, and the news in which one became the other."""


def state_of(hold: Hold | None) -> str:
    return NONE if hold is None else str(hold.state)


def changes(before: Node, node: Node, fact: facts.Fact) -> Iterator[Change]:
    """Yield what this fact has changed."""
    if before.holds is node.holds:
        return
    for key in before.holds.keys() | node.holds.keys():
        was, now = state_of(before.holds.get(key)), state_of(node.holds.get(key))
        if was != now:
            yield was, now, news_of(fact, key, before)


def news_of(fact: facts.Fact, key: ContainerKey, node: Node) -> str:  # noqa: C901 - a flat table, a line a fact
    """Return what kind of news the fact is for the hold of this container."""
    match fact:
        case facts.ContainerStopped() if fact.key == key:
            return "its stop is answered"
        case facts.ContainerStarted() if fact.key == key:
            return "its start is answered"
        case facts.RestartPolicySet() if fact.key == key:
            return "its policy is answered"
        case facts.ContainerSeen() if fact.container.key == key:
            return "it is seen to run" if fact.container.running else "it is seen to be down"
        case facts.ContainerRemoved() if fact.key == key:
            return "it is removed"
        case facts.ContainersListed() if fact.origin is not None and fact.origin.word == OTHER:
            return LOOK  # Such a list is not about this container.
        case facts.ContainersListed() if fact.runtime == key.runtime and not fact.error:
            listed = {c.key: c.running for c in fact.containers}
            return "a list has it not" if key not in listed else f"a list has it {'up' if listed[key] else 'down'}"
        case facts.Restarted():
            return "cmgr begins"
        case facts.ForgetOrdered() if fact.key == key:
            return "a person forgets it"
        case facts.ResumeOrdered() if fact.key == key:
            return "a person resumes it"
        case facts.ResumeAllOrdered():
            return "a person resumes all"
        case facts.MoveOrdered() if fact.key == key:
            return "a person moves it"
        case facts.GroupResumeOrdered() | facts.GroupRestartOrdered() if _is_of(node, key, fact.group):
            return "a person orders its group"
        case facts.RuntimeForgetOrdered() if fact.runtime == key.runtime:
            return "a person forgets its runtime"
        case _:
            return LOOK


def _is_of(node: Node, key: ContainerKey, group: str) -> bool:
    container = node.containers.get(key)
    return container is not None and container.group == group


def text_of(table: frozenset[Change]) -> str:
    """Return the table as a page: what each state becomes, and upon which news."""
    parts = []
    for was in sorted({was for was, _, _ in table}):
        parts.append(f"{was}\n")
        for now in sorted({now for before, now, _ in table if before == was}):
            parts.append(f"  -> {now}\n")
            parts += [f"       {news}\n" for news in sorted(n for b, a, n in table if (b, a) == (was, now))]
    return "".join(parts)


def table_of(text: str) -> frozenset[Change]:
    """Return the table that such a page has."""
    table, was, now = set[Change](), "", ""
    for line in text.splitlines():
        if line.startswith("     "):
            table.add((was, now, line.strip()))
        elif line.startswith("  -> "):
            now = line.removeprefix("  -> ")
        else:
            was = line
    return frozenset(table)


def unknown(before: Node, node: Node, fact: facts.Fact) -> list[Change]:
    """Return the changes that the page has not; each is a mistake, or has to be read and put there."""
    new = [change for change in changes(before, node, fact) if change not in _golden()]
    if not new or os.environ.get("CMGR_REWRITE_GOLDEN") != "1":
        return new
    with GOLDEN.open("a+") as page:
        fcntl.flock(page, fcntl.LOCK_EX)
        page.seek(0)
        table = table_of(page.read()) | {*new}
        page.truncate(0)
        page.write(text_of(table))
    _golden.cache_clear()
    return []


@lru_cache
def _golden() -> frozenset[Change]:
    return table_of(GOLDEN.read_text()) if GOLDEN.exists() else frozenset()
