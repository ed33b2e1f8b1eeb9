"""The checks of an episode that is over, read from the runtime's own events and from the simulated chips."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Protocol

from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.rings import EDGES, Phase
from tests.support.service import Service
from tests.system.containers import Happening


class Containers(Protocol):
    """The containers of one test, whatever their runtime."""

    def happenings(self) -> list[Happening]: ...

    def all_running(self) -> bool: ...


def resets_were_safe(service: Service, containers: Containers, on_ring: Collection[str]) -> None:
    """No container of the ring ran when the chips were reset."""
    happenings = [h for h in containers.happenings() if h.name in on_ring]
    taken = [r for r in service.resets() if r.outcome != "refused"]
    assert taken
    for reset in taken:
        for name in on_ring:
            assert not _ran(name, reset.at, happenings), f"{name} ran at the reset of {reset.at}: {happenings}"


def _ran(name: str, at: float, happenings: list[Happening]) -> bool:
    turns = [h for h in happenings if h.name == name and h.action in ("start", "die")]
    before = [h.action for h in turns if h.at <= at]
    if before:
        return before[-1] == "start"
    # Of one that was first started after it, that is the first word.
    return not turns or turns[0].action == "die"


def each_was_stopped_once(containers: Containers, names: Collection[str], monitored: str = "") -> None:
    """These containers, and no other, ended once and were started once; all of them run.

    `monitored`: containerd's restart monitor, which had read its label just before that went, may have begun a life of
    this one in the midst of its stop, which ended that, too.
    """
    happenings = containers.happenings()
    between = [h.action for h in happenings if h.name == monitored] == ["die", "start"] * 2
    for action in ("die", "start"):
        found = sorted(h.name for h in happenings if h.action == action)
        if between:
            found.remove(monitored)
        assert found == sorted(names), f"{action}: {happenings}"
    assert containers.all_running()


def timeline_is_true(service: Service, containers: Containers, episode: int, names: Collection[str]) -> None:
    """The episode's timeline begins and ends, goes along the edges, and tells every stop, reset and start."""
    notes = service.notes(episode)
    kinds = [note.kind for note in notes]
    assert kinds.count(NoteKind.OPENED) == 1
    assert kinds[-1] is NoteKind.CLOSED
    assert [note.at for note in notes] == sorted(note.at for note in notes)
    steps = [re.match(r"(\w+) → (\w+): .", n.text) for n in notes if n.kind is NoteKind.PHASE]
    phases = [(Phase(step[1]), Phase(step[2])) for step in steps if step]
    assert len(phases) == len(steps)
    assert set(phases) <= set(EDGES)
    assert (phases[0][0], phases[-1][1]) == (Phase.HEALTHY, Phase.HEALTHY)
    results = [note.text for note in notes if note.kind is NoteKind.RESULT]
    happenings = containers.happenings()
    for name in names:
        for told, action in (("is stopped", "die"), ("runs again", "start")):
            done = sum((h.name, h.action) == (name, action) for h in happenings)
            assert results.count(f"{name} {told}") == done, f"{name}: {results} {happenings}"
    began, ended = notes[0].at, notes[-1].at
    resets = [r for r in service.resets() if began <= datetime.fromtimestamp(r.at, UTC) <= ended]
    ordered = sum(step[1] is Phase.RESETTING for step in phases)
    assert ordered == len(resets), f"{phases} {resets}"
