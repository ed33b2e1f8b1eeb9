"""The past as JSON: episodes and their timelines, of the rows that the database has."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from cmgr.errors import NotThere
from cmgr.model.values.chips import ChipId
from cmgr.model.values.lookup import grouped
from cmgr.model.values.messages.commands import Note
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.values.services.outages import Downtime, Outage, OutageCause
from cmgr.sentences.sentence import messages, say
from cmgr.service.door.lanes import lanes
from cmgr.service.timing.period import Period
from cmgr.store.history import EpisodeRow, NoteRow, Sought
from cmgr.store.reader import ALL, Reader
from cmgr.view.advice import called, unheld
from cmgr.view.machine import machine_faults
from cmgr.view.one import about
from cmgr.view.status import fault_of_chip
from cmgr.words import one_line, stamp, stamp_or_none

if TYPE_CHECKING:
    from cmgr.view import shapes, slot_shapes
    from cmgr.view.one import one_shapes

UNDER_WAY = "under way"
OUTCOMES = ("recovered", "cleared", "isolated", "failed", "observed", UNDER_WAY)
MOST_NOTES = 10_000
LIMIT = 20


class Asked(NamedTuple):
    """The part of the past that somebody wants: it fits all that is given. None: whatever it says of that.

    `outcome`: one of `OUTCOMES`. `since`: as in `Sought`.
    """

    chips: frozenset[ChipId] | None = None
    container: str | None = None
    group: str | None = None
    outcome: str | None = None
    since: datetime | None = None


def sought(node: Node, database: Reader, asked: Asked) -> Sought:
    """Return it as the database is asked for it. Raises `StoreError`, and `NotThere` where nobody is called so."""
    keys = None if asked.container is None and asked.group is None else _keys(node, database, asked)
    return Sought(asked.chips, keys, "" if asked.outcome == UNDER_WAY else asked.outcome, asked.since)


def _keys(node: Node, database: Reader, asked: Asked) -> frozenset[ContainerKey]:
    """Return the containers that are or were called so, or the members of the group."""
    name, group = asked.container, asked.group
    those = list(node.containers.values()) if name is None else unheld(node, name)
    found = _lives(database, (each for each in those if group in (None, each.group)))
    if name is not None and group is None:
        found |= database.called(name)
    if not found:
        if name is None:
            raise NotThere(say("error.find-no-group", group=str(group)), hint=say("error.status-lists-them"))
        raise NotThere(say("error.cannot-find", name=name[:80]), hint=say("error.history-has"))
    return found


def _lives(database: Reader, those: Iterable[Container]) -> frozenset[ContainerKey]:
    """Return these containers, and those of the same names in whose place they were made."""
    keys = [key for each in those for key in (each.key, *database.called(each.name)) if key[:2] == each.key[:2]]
    return frozenset(keys)


def faults(node: Node, database: Reader, since: datetime | None, most: int | None = None) -> "shapes.Faults":
    """Return the active faults, and those that cleared at `since` or later; None: ever. Raises `StoreError`.

    Of more than `most` the active ones and the newest.
    """
    rows = [fault_of_chip(node, fault) for fault in database.faults(since=since, most=most)]
    return {"faults": rows, "machine": machine_faults(node)}


def episodes(database: Reader, limit: int, now: datetime, sought: Sought = ALL) -> "shapes.Episodes":
    """Return the newest of the episodes that are sought, the newest first. Raises `StoreError`."""
    return {"episodes": [episode_row(row, now) for row in database.episodes(limit, sought)]}


def episode(database: Reader, number: int, now: datetime, most: int = MOST_NOTES) -> "shapes.Timeline":
    """Return one episode and its timeline, of which the newest lines where it has more than `most`.

    Raises `StoreError`, and `NotThere` where none of that number is kept.
    """
    found = database.episode(number)
    if found is None:
        raise NotThere(say("error.no-episode", number=number), hint=say("error.history-lists"))
    notes = timeline(database.notes(number, most), found.began)
    return {"episode": episode_row(found, now), "notes": notes, "lanes": lanes(notes)}


def lines(database: Reader, limit: int, sought: Sought = ALL) -> "shapes.History":
    """Return the newest lines of every timeline and of none, of those that are sought, the newest last.

    Raises `StoreError`.
    """
    return {"notes": [line(each) for each in database.notes(None, limit, sought)]}


def line(note: NoteRow | Note) -> "shapes.HistoryLine":
    """Return a line of any timeline, or of none."""
    return {"at": stamp(note.at), "ring": note.ring, "episode": note.episode or None, **_about(note)}


def episode_row(row: EpisodeRow, now: datetime) -> "shapes.Episode":
    """Return an episode; `seconds` of one that is under way run until now."""
    length = (row.ended or now) - row.began
    return {
        "number": row.number,
        "ring": row.ring,
        "began": stamp(row.began),
        "ended": stamp_or_none(row.ended),
        "seconds": round(max(length, timedelta()).total_seconds(), 3),
        "outcome": one_line(row.outcome) if row.ended is not None else UNDER_WAY,
        "cause": one_line(row.cause),
    }


def timeline(notes: Iterable[NoteRow], began: datetime) -> "list[shapes.TimelineLine]":
    """Return the lines of an episode's timeline; `offset` is in seconds from the episode's beginning.

    They come in the order in which they were noted. Where the clock went back no offset does.
    """
    found: list[shapes.TimelineLine] = []
    latest = timedelta()
    for note in notes:
        latest = max(latest, note.at - began)
        found.append({"at": stamp(note.at), "offset": round(latest.total_seconds(), 3), **_about(note)})
    return found


def _about(note: NoteRow | Note) -> "shapes.Said":
    key, said = note.container, note.fault
    told: shapes.Said = {
        "kind": str(note.kind),
        "text": one_line(note.text),
        "chip": note.chip,
        "container": None if key is None else {"runtime": key.runtime, "namespace": key.namespace, "id": key.id},
        "card": note.card,
        "device": note.device,
        "code": None if said is None else said.code,
        "level": None if said is None else said.level,
        "handling": None if said is None else said.handling,
        "assertion": None if said is None or said.assertion is None else said.assertion.value,
    }
    if found := messages(text=note.text):
        told["messages"] = found
    return told


def about_container(node: Node, database: Reader, text: str, now: datetime) -> "one_shapes.AboutContainer":
    """Return all about the container that is called so. Raises `StoreError`, and `NotThere` where that is not one."""
    found = about.named(node, text)
    if len(found) != 1:
        why = say("error.is-nobodys-name")
        if found:
            why = say("error.is-said-of", names=[called(node, key) for key in found])
        raise NotThere(say("error.show-container", name=text[:80], why=why), hint=say("error.status-has-all"))
    known = node.containers.get(found[0])
    lives = frozenset(found) if known is None else _lives(database, [known])
    return about.container(node, found[0], _past(database, Sought(containers=lives), now))


def about_chip(node: Node, database: Reader, number: int, now: datetime) -> "one_shapes.AboutChip":
    """Return all about a chip. Raises `StoreError`, and `NotThere` where there is none of this number."""
    chip = ChipId(number)
    if chip not in node.chips:
        raise NotThere(say("error.show-no-chip", chip=number), hint=say("error.chips-lists"))
    past = _past(database, Sought(chips=frozenset({chip})), now)
    faults = [fault_of_chip(node, fault) for fault in reversed(database.faults(most=LIMIT, chip=chip))]
    return about.chip(node, chip, past._replace(faults=faults))


def _past(database: Reader, sought: Sought, now: datetime) -> about.Past:
    return about.Past(
        episodes(database, LIMIT, now, sought)["episodes"], lines(database, LIMIT, sought)["notes"], faults=[]
    )


def downtime(
    database: Reader, asked: Period, now: datetime, reaction: timedelta, silent: Mapping[str, datetime] | None
) -> "slot_shapes.Downtime":
    """Return what is known of the downtime in a period. Raises `StoreError`.

    `reaction`: how long a person takes before he begins with what cmgr does; nothing is reckoned with it where it is 0.
    `silent`: the runtimes that do not answer, and since when; None where the service does not run.
    """
    begins, ends = asked.begins, min(asked.ends, max(now, asked.begins))
    lives = database.lives()
    known_until = max(begins, min(ends, now if silent is not None else lives.alive or begins))
    silent = {name: since for name, since in (silent or {}).items() if since < ends}
    over = database.downtime(*asked.days)
    open_ = [*_going_on(database, begins, known_until, silent)]
    found = [*over, *(Downtime(each.service, "", each.cause, length) for each, length in open_)]
    down = [row for row in found if row.cause is not OutageCause.UNSEEN]
    by_cause, by_service = grouped((row.cause, row) for row in down), grouped((row.service, row) for row in found)
    causes: list[slot_shapes.DowntimeOfCause] = [{"cause": str(c), **_sum(rows)} for c, rows in by_cause.items()]
    services = [_of_service(service, rows) for service, rows in by_service.items()]
    return {
        "period": asked.name,
        "begins": stamp(begins),
        "ends": stamp(ends),
        "counted_since": stamp_or_none(lives.counted),
        "known_until": stamp(known_until),
        **_sum(down),
        "unseen_minutes": _unseen(found),
        "reaction_minutes": _minutes(reaction) if reaction else None,
        "by_hand_minutes": _minutes(_by_hand(down, reaction)) if reaction else None,
        "causes": sorted(causes, key=lambda row: (-row["minutes"], row["cause"])),
        "services": sorted(services, key=lambda row: (-row["minutes"], -row["unseen_minutes"], row["service"])),
        "now": [_now(each, length) for each, length in open_ if each.up is None],
        "silent": [{"runtime": name, "since": stamp(since)} for name, since in sorted(silent.items())],
    }


def _by_hand(rows: Sequence[Downtime], reaction: timedelta) -> timedelta:
    """Return how long the recoveries would have been with a person; whoever orders a reset is there."""
    late = sum(row.recoveries for row in rows if row.cause is not OutageCause.ORDER)
    return sum((row.recovered for row in rows), late * reaction)


def _going_on(
    database: Reader, begins: datetime, until: datetime, silent: Mapping[str, datetime]
) -> Iterator[tuple[Outage, timedelta]]:
    """Yield each outage that is not over, and how long it is as far as that is known."""
    for outage in database.outages():
        known_until = min(until, silent.get(outage.key.runtime, until))
        length = min(outage.up or known_until, known_until) - max(outage.since, begins)
        if length > timedelta():
            yield outage, length


def _now(outage: Outage, length: timedelta) -> "slot_shapes.OutageNow":
    return {
        "service": one_line(outage.service),
        "cause": str(outage.cause),
        "since": stamp(outage.since),
        "minutes": _minutes(length),
    }


def _of_service(service: str, rows: Sequence[Downtime]) -> "slot_shapes.DowntimeOfService":
    down = [row for row in rows if row.cause is not OutageCause.UNSEEN]
    return {"service": one_line(service), **_sum(down), "unseen_minutes": _unseen(rows)}


def _sum(rows: Sequence[Downtime]) -> "slot_shapes.DowntimeSum":
    return {
        "minutes": _minutes(sum((row.down for row in rows), timedelta())),
        "outages": sum(row.outages for row in rows),
        "recoveries": sum(row.recoveries for row in rows),
        "recovery_minutes": _minutes(sum((row.recovered for row in rows), timedelta())),
    }


def _unseen(rows: Iterable[Downtime]) -> float:
    return _minutes(sum((row.down for row in rows if row.cause is OutageCause.UNSEEN), timedelta()))


def _minutes(length: timedelta) -> float:
    return round(length / timedelta(minutes=1), 2)
