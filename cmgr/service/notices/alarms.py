"""Alarms: what is worth telling somebody, found in what was decided and in what is.

Every trouble (`view/troubles.py`) whose kind has an event is told when it begins and when it is over; the steps of an
episode in between. An alarm that a new life of cmgr finds is told again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from cmgr.config.around import Alarms as Settings
from cmgr.frozen import dataclass, replace
from cmgr.model.values.chips import ChipId, listed
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase
from cmgr.model.values.troubles import Trouble, TroubleKind, trouble_id
from cmgr.model.wanted import serves
from cmgr.view.troubles import troubles
from cmgr.words import one_line

TEST = "test"
"""The event of one that a person asks for, to see whether it arrives."""

WELL = ("recovered", "cleared", "observed")
"""Outcomes of an episode after which nobody needs to come."""

_NETWORK_AFTER = timedelta(seconds=5)
"""How long dead links keep new work away before that is an alarm: those of one switch die together."""

_STEPS: Mapping[tuple[str, str], str] = {
    (Phase.DRAINING, Phase.WAITING): "stopped",
    (Phase.RESETTING, Phase.VERIFYING): "reset",
    (Phase.VERIFYING, Phase.WAITING): "reset",
}


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something to tell. `id` and `kind` are the trouble's, `since` is when it began; `over`: it has ended with this.

    `again`: it was there when this life of cmgr began, and may have been told before. `hint`: what a person can do.
    """

    event: str
    kind: TroubleKind
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
    hint: str = ""


class Alarms:
    """Finds alarms and hands them to `tell`. The deciding thread only."""

    def __init__(self, settings: Settings, tell: Callable[[Alarm], None]) -> None:
        self._after = {
            TroubleKind.DOWN.event: settings.down_after,
            TroubleKind.GROUP.event: settings.down_after,
            TroubleKind.RUNTIME.event: settings.deaf_after,
        }
        self._tell = tell
        self._notes: list[Note] = []
        self._standing: Mapping[str, Alarm] | None = None
        self._seen: Mapping[str, datetime] = {}

    def note(self, note: Note) -> None:
        """Hear of what was decided; `look` comes back to it."""
        if note.kind in (NoteKind.OPENED, NoteKind.CLOSED) or note.edge in _STEPS:
            self._notes.append(note)

    def look(self, node: Node, own: Iterable[Trouble], at: datetime) -> None:
        """Tell what is new. `own`: what is wrong with the service beside the node."""
        notes, self._notes = self._notes, []
        before = self._standing or {}
        told = [trouble for trouble in troubles(node, own) if trouble.kind.event]
        self._seen = {t.id: self._seen.get(t.id, at) for t in told}
        now = {t.id: _alarm(t, at, self._seen[t.id], node.policy.observe) for t in told if self._is_told(t, at)}
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
                self._tell(_ended(node, alarm, notes, at))
        self._standing = now

    def _is_told(self, trouble: Trouble, at: datetime) -> bool:
        since = trouble.since or self._seen[trouble.id]
        if trouble.kind is TroubleKind.NETWORK:
            return at - since >= _NETWORK_AFTER
        return at - since >= self._after.get(trouble.kind.event, timedelta())


def _alarm(trouble: Trouble, at: datetime, seen: datetime, observe: bool) -> Alarm:
    episode = trouble.kind is TroubleKind.EPISODE
    return Alarm(
        trouble.kind.event, trouble.kind, trouble.id, at, trouble.since or seen,
        one_line(trouble.why if episode else trouble.words), episode=trouble.episode, ring=trouble.ring,
        chips=trouble.chips, codes=trouble.codes, containers=trouble.containers, observe=observe and episode,
        hint=one_line(trouble.hint),
    )  # fmt: skip


def _episode_id(number: int) -> str:
    return trouble_id(TroubleKind.EPISODE, str(number))


def _as_begun(alarm: Alarm, known: Alarm | None, notes: Sequence[Note]) -> Alarm:
    """Return the condition with what is known of its beginning; what it was about is kept when it is no more."""
    if known is not None:
        codes, containers = alarm.codes or known.codes, alarm.containers or known.containers
        return replace(alarm, since=known.since, summary=known.summary, codes=codes, containers=containers)
    opened = (n for n in notes if n.kind is NoteKind.OPENED and _episode_id(n.episode) == alarm.id)
    text = next((n.text for n in opened), alarm.summary)
    return replace(
        alarm, summary=one_line(f"{listed(alarm.chips)}: {text}") if alarm.kind is TroubleKind.EPISODE else text
    )


def _ended(node: Node, alarm: Alarm, notes: Sequence[Note], at: datetime) -> Alarm:
    ended = replace(alarm, over=True, at=at, again=False, summary=f"over: {alarm.summary}", hint="")
    if alarm.kind in (TroubleKind.DOWN, TroubleKind.IDLE) and _serves(node, alarm):
        return replace(ended, event="up")  # Else somebody has removed or forgotten it.
    if alarm.kind is not TroubleKind.EPISODE:
        return ended
    closed = next((n for n in notes if n.kind is NoteKind.CLOSED and n.episode == alarm.episode), None)
    if closed is None:
        return replace(ended, event="recovered")  # Its chips have gone; nothing more is known.
    event, what = ("recovered", "") if closed.outcome in WELL else ("gave_up", "cmgr status")
    return replace(ended, event=event, at=closed.at, summary=one_line(closed.text), outcome=closed.outcome, hint=what)


def _serves(node: Node, alarm: Alarm) -> bool:
    return any(serves(c) and trouble_id(alarm.kind, "/".join(c.key)) == alarm.id for c in node.containers.values())
