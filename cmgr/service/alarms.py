"""Alarms: what is worth telling somebody, found in what was decided and in what is.

A condition (an episode, an isolated chip, a container that was given up, something that cannot be heard) is told when
it begins and when it is over; an episode's steps in between. Conditions are read off the node, so that none is missed
however cmgr came to it; one that a new life of cmgr finds is told again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cmgr.model.scope import handled_faults, holds_on
from cmgr.model.values.chips import ChipId, listed
from cmgr.model.values.commands import Note, NoteKind
from cmgr.model.values.node import Node
from cmgr.model.values.rings import REBOOTING, Phase, Ring
from cmgr.words import one_line

EPISODE, ISOLATED, GIVEN_UP, DEAF = "episode", "isolated", "given-up", "deaf"
"""The kinds of conditions."""

WELL = ("recovered", "cleared", "observed")
"""Outcomes of an episode after which nobody needs to come."""

_STEPS: Mapping[tuple[str, str], str] = {
    (Phase.DRAINING, Phase.WAITING): "stopped",
    (Phase.RESETTING, Phase.VERIFYING): "reset",
    (Phase.VERIFYING, Phase.WAITING): "reset",
}


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something to tell. `id` and `kind` are the condition's, `since` is when it began; `over`: it has ended with this.

    `again`: it was there when this life of cmgr began, and may have been told before.
    """

    event: str
    kind: str
    id: str
    at: datetime
    since: datetime
    summary: str
    over: bool = False
    again: bool = False
    episode: int | None = None
    ring: int | None = None
    chips: tuple[ChipId, ...] = ()
    codes: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    outcome: str = ""
    observe: bool = False


class Alarms:
    """Finds alarms and hands them to `tell`. The deciding thread only."""

    def __init__(self, deaf_after: timedelta, tell: Callable[[Alarm], None]) -> None:
        self._deaf_after = deaf_after
        self._tell = tell
        self._notes: list[Note] = []
        self._standing: Mapping[str, Alarm] | None = None
        self._silent: Mapping[str, tuple[datetime, str]] = {}

    def note(self, note: Note) -> None:
        """Hear of what was decided; `look` comes back to it."""
        if note.kind in (NoteKind.OPENED, NoteKind.CLOSED) or note.edge in _STEPS:
            self._notes.append(note)

    def look(self, node: Node, ails: Sequence[str], at: datetime) -> None:
        """Tell what is new. `ails`: what the driver says is wrong with it."""
        notes, self._notes = self._notes, []
        before = self._standing or {}
        self._silent = _silences(node, ails, at, self._silent)
        now = {alarm.id: alarm for alarm in self._conditions(node, at)}
        now = {id_: _as_begun(alarm, before.get(id_), notes) for id_, alarm in now.items()}
        for id_, alarm in now.items():
            if id_ not in before:
                self._tell(replace(alarm, again=self._standing is None))
        for note in notes:
            episode = now.get(_episode_id(note.episode)) or before.get(_episode_id(note.episode))
            if episode is not None and note.edge is not None and (_STEPS[note.edge] != "stopped" or episode.containers):
                self._tell(replace(episode, event=_STEPS[note.edge], at=note.at, summary=one_line(note.text)))
        for id_, alarm in before.items():
            if id_ not in now:
                self._tell(_ended(alarm, notes, at))
        self._standing = now

    def _conditions(self, node: Node, at: datetime) -> Iterator[Alarm]:
        for ring in node.rings.values():
            if ring.in_episode:
                yield _episode(node, ring, at)
        for isolation in node.isolations.values():
            text = f"chip {isolation.chip} is isolated: {isolation.reason}"
            id_, codes = f"isolated-chip-{isolation.chip}", (isolation.code,) if isolation.code else ()
            yield Alarm(
                "isolated", ISOLATED, id_, at, isolation.since, one_line(text), chips=(isolation.chip,), codes=codes,
                ring=node.chips[isolation.chip].ring if isolation.chip in node.chips else None,
            )  # fmt: skip
        for hold in node.holds.values():
            if hold.failed:
                text = f"{hold.name} is given up after {hold.tries} tries: {hold.error}"
                id_, chips = f"given-up-{'/'.join(hold.key)}", tuple(sorted(hold.chips))
                yield Alarm("gave_up", GIVEN_UP, id_, at, at, one_line(text), chips=chips, containers=(hold.name,))
        for who, (since, why) in self._silent.items():
            if at - since >= self._deaf_after:
                id_ = "-".join(("deaf", *who.removeprefix("the ").split()))
                yield Alarm("deaf", DEAF, id_, at, since, one_line(f"{who} cannot be heard: {why}"))


def _episode_id(number: int) -> str:
    return f"episode-{number}"


def _episode(node: Node, ring: Ring, at: datetime) -> Alarm:
    faults = handled_faults(node, ring)
    return Alarm(
        "detected", EPISODE, _episode_id(ring.episode), at, ring.began or at, one_line(ring.reason),
        episode=ring.episode, ring=ring.id, chips=ring.chips, codes=tuple(dict.fromkeys(f.code for f in faults)),
        containers=tuple(h.name for h in holds_on(node, ring)), observe=node.policy.observe,
    )  # fmt: skip


def _as_begun(alarm: Alarm, known: Alarm | None, notes: Sequence[Note]) -> Alarm:
    """Return the condition with what is known of its beginning; what it was about is kept when it is no more."""
    if known is not None:
        codes, containers = alarm.codes or known.codes, alarm.containers or known.containers
        return replace(alarm, since=known.since, summary=known.summary, codes=codes, containers=containers)
    opened = (n for n in notes if n.kind is NoteKind.OPENED and _episode_id(n.episode) == alarm.id)
    text = next((n.text for n in opened), alarm.summary)
    return replace(alarm, summary=one_line(f"{listed(alarm.chips)}: {text}") if alarm.kind == EPISODE else text)


def _ended(alarm: Alarm, notes: Sequence[Note], at: datetime) -> Alarm:
    ended = replace(alarm, over=True, at=at, again=False, summary=f"over: {alarm.summary}")
    if alarm.kind != EPISODE:
        return ended
    closed = next((n for n in notes if n.kind is NoteKind.CLOSED and n.episode == alarm.episode), None)
    if closed is None:
        return replace(ended, event="recovered")  # Its chips have gone; nothing more is known.
    event = "recovered" if closed.outcome in WELL else "gave_up"
    return replace(ended, event=event, at=closed.at, summary=one_line(closed.text), outcome=closed.outcome)


def _silences(
    node: Node, ails: Sequence[str], at: datetime, known: Mapping[str, tuple[datetime, str]]
) -> Mapping[str, tuple[datetime, str]]:
    """Return what cannot be heard now: since when, and why."""
    now: dict[str, str] = {r.name: r.why_down for r in node.runtimes.values() if r.why_down}
    if ails:
        now["the driver"] = "; ".join(ails)
    for ring in node.rings.values():
        if ring.silent is not None and ring.phase not in REBOOTING:
            errors = [f"chip {c}: {node.reports[c].error}" for c in ring.chips if c in node.reports]
            now[f"ring {ring.id}"] = next((e for e in errors if not e.endswith(": ")), "a chip does not answer")
    return {who: (known[who][0] if who in known else at, why) for who, why in now.items()}
