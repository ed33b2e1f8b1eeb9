"""Alarms: what is worth telling somebody, found in what was decided and in what is.

Every trouble (`view/troubles.py`) whose kind has an event is told when it begins and when it is over; the steps of an
episode in between. Of a container that does not serve one is told, as everywhere, until it serves, whatever else its
trouble becomes. An alarm that a new life of cmgr finds is told again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from cmgr.config.around import Alarms as Settings
from cmgr.frozen import dataclass, replace
from cmgr.model.values.chips import ChipId
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase
from cmgr.model.values.troubles import OF_A_SERVICE_DOWN, Trouble, TroubleKind, trouble_id
from cmgr.model.wanted import serves
from cmgr.sentences.sentence import say
from cmgr.view.troubles import once, troubles
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
        before, found = self._standing or {}, once(troubles(node, own))
        self._seen = {trouble.id: self._seen.get(trouble.id, at) for trouble in found}
        now = dict[str, Alarm]()
        for trouble in found:
            known, subject = before.get(_subject(trouble)), _subject(trouble)
            if self._is_told(trouble, at):
                alarm = _alarm(trouble, at, self._seen[trouble.id], node.policy.observe)
                now[subject] = _as_begun(alarm, known, notes)
            elif known is not None and trouble.kind in OF_A_SERVICE_DOWN:
                now[subject] = known
        for subject, alarm in now.items():
            if _is_new(alarm, before.get(subject)):
                self._tell(replace(alarm, again=self._standing is None))
        for note in notes:
            episode = now.get(_episode_id(note.episode)) or before.get(_episode_id(note.episode))
            if episode is not None and note.edge is not None and (_STEPS[note.edge] != "stopped" or episode.containers):
                self._tell(replace(episode, event=_STEPS[note.edge], at=note.at, summary=one_line(note.text)))
        for subject, alarm in before.items():
            if subject not in now or now[subject].id != alarm.id:
                self._tell(_ended(node, alarm, notes, at))
        self._standing = now

    def _is_told(self, trouble: Trouble, at: datetime) -> bool:
        if not trouble.kind.event:
            return False
        since = trouble.since or self._seen[trouble.id]
        if trouble.kind is TroubleKind.NETWORK:
            return at - since >= _NETWORK_AFTER
        return at - since >= self._after.get(trouble.kind.event, timedelta())


def _subject(trouble: Trouble) -> str:
    """Return what tells it from all others that are told beside it: of a container in need, the container."""
    return trouble.about if trouble.kind in OF_A_SERVICE_DOWN else trouble.id


def _is_new(alarm: Alarm, known: Alarm | None) -> bool:
    """Return whether it has not been told so: as another one, or of somebody who has been given up since."""
    return known is None or alarm.id != known.id or alarm.event == TroubleKind.FAILED.event != known.event


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
    """Return the condition with what is known of its beginning; what it was about is kept when it is no more.

    Id and kind are those that it began with, whatever becomes of a container in need: receivers file it by them.
    Of another severity it is another alarm: they choose by that.
    """
    if known is not None and known.kind.severity is alarm.kind.severity:
        begun = replace(alarm, kind=known.kind, id=known.id, since=known.since)
        codes, containers = alarm.codes or known.codes, alarm.containers or known.containers
        same = known.event == alarm.event
        return replace(begun, summary=known.summary, codes=codes, containers=containers) if same else begun
    opened = (n for n in notes if n.kind is NoteKind.OPENED and _episode_id(n.episode) == alarm.id)
    text = next((n.text for n in opened), alarm.summary)
    if alarm.kind is TroubleKind.EPISODE:
        text = one_line(say("word.because", what=say("ring.chips", chips=alarm.chips), why=text))
    return replace(alarm, summary=text)


def _ended(node: Node, alarm: Alarm, notes: Sequence[Note], at: datetime) -> Alarm:
    ended = replace(alarm, over=True, at=at, again=False, summary=say("notice.over", summary=alarm.summary), hint="")
    if alarm.kind in OF_A_SERVICE_DOWN and _serves(node, alarm):
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
