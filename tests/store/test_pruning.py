"""History goes by age and by number; what an episode under way noted stays."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cmgr.errors import StoreError
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase, Ring
from cmgr.model.values.services.outages import Downtime, OutageCause
from cmgr.store import open_store
from cmgr.store.reader import open_reader
from cmgr.store.sqlite import SqliteStore
from tests.store import values

DAY = timedelta(days=1)
RING = Ring(values.RING, (values.CHIP,))


def test_what_is_older_goes_and_the_rest_stays(store: SqliteStore, path: Path) -> None:
    old, new = values.NOW, values.NOW + 2 * DAY
    for at, episode in ((old, 1), (new, 2)):
        ring = replace(RING, resets=(at,), episode=episode)
        opened = values.note(f"began {episode}", NoteKind.OPENED, at, episode)
        closed = values.note(f"ended {episode}", NoteKind.CLOSED, at, episode)
        store.save(values.node(ring, values.fault(at)), [], [opened])
        store.save(values.node(ring, values.fault(at, cleared=at)), [], [closed])
    assert store.prune(values.NOW + DAY, keep_notes=100) == 5
    with open_reader(path) as reader:
        assert [episode.number for episode in reader.episodes(9)] == [2]
        assert [note.text for note in reader.notes(None, 9)] == ["began 2", "ended 2"]
        assert [fault.since for fault in reader.faults()] == [new]
        assert [reset.at for reset in reader.resets(old)] == [new]
    assert store.prune(values.NOW + DAY, keep_notes=100) == 0


def test_what_goes_on_is_never_too_old(store: SqliteStore, path: Path) -> None:
    ring = replace(RING, phase=Phase.WAITING, episode=1, resets=(values.NOW,))
    node = values.node(ring, values.fault(), values.hold())
    store.save(node, [], [values.note("began", NoteKind.OPENED)])
    assert store.prune(values.NOW + 900 * DAY, keep_notes=100) == 1  # The reset, which the ring itself still has.
    with open_reader(path) as reader:
        assert reader.node() == node
        assert [episode.number for episode in reader.episodes(9)] == [1]
        assert [note.text for note in reader.notes(None, 9)] == ["began"]


def test_of_too_many_notes_the_newest_stay(store: SqliteStore, path: Path) -> None:
    store.save(values.node(), [], [values.note(str(i)) for i in range(100)])
    assert store.prune(values.NOW - DAY, keep_notes=30) == 70
    with open_reader(path) as reader:
        assert [note.text for note in reader.notes(None, 999)] == [str(i) for i in range(70, 100)]
    store.save(values.node(), [], [values.note("next")])
    with open_reader(path) as reader:
        assert reader.notes(None, 1)[0].id == 101


def test_a_note_keeps_its_number_for_good(store: SqliteStore, path: Path) -> None:
    store.save(values.node(), [], [values.note("one"), values.note("two")])
    assert store.prune(values.NOW + DAY, keep_notes=0) == 2
    store.save(values.node(), [], [values.note("three")])
    with open_reader(path) as reader:
        assert [(note.id, note.text) for note in reader.notes(None, 9)] == [(3, "three")]


def test_how_many_episodes_ended_how_outlives_the_episodes_and_the_process(path: Path) -> None:
    store = open_store(path)
    assert store.outcomes() == {}
    ends = [replace(values.note("over", NoteKind.CLOSED, episode=n), outcome="recovered") for n in (1, 2)]
    store.save(values.node(), [], [*ends, replace(values.note("over", NoteKind.CLOSED, episode=3), outcome="failed")])
    assert store.prune(values.NOW + DAY, keep_notes=0) == 6
    store.close()
    again = open_store(path)
    assert again.outcomes() == {"recovered": 2, "failed": 1}
    again.save(values.node(), [], [replace(ends[0], episode=4)])
    assert again.outcomes() == {"recovered": 3, "failed": 1}
    again.close()


def test_what_was_stamped_by_a_clock_that_was_wrong_is_stamped_anew_when_that_is_set(path: Path) -> None:
    store = open_store(path)
    node = values.node()
    store.save(node, [], [values.note("of the life before", NoteKind.RESULT)])
    store.close()
    store = open_store(path)
    wrong = values.NOW + 3650 * DAY
    assert store.noted == values.NOW
    store.save(node, [], [values.note("began", NoteKind.OPENED, wrong, 1)])
    store.correct(timedelta(milliseconds=-30))
    store.correct(-3650 * DAY)
    store.save(node, [], [values.note("ended", NoteKind.CLOSED, wrong + timedelta(seconds=2), 1)])
    store.close()
    with open_reader(path) as reader:
        assert [note.at - values.NOW for note in reader.notes(None, 9)] == [
            timedelta(),
            timedelta(),
            timedelta(seconds=2),
        ]
        (episode,) = reader.episodes(9)
        assert (episode.began, episode.ended) == (values.NOW, values.NOW + timedelta(seconds=2))


def test_a_clock_that_is_set_back_again_leaves_no_trace(path: Path) -> None:
    store = open_store(path)
    store.save(values.node(), [], [values.note("began", NoteKind.OPENED, values.NOW, 1)])
    store.save(values.node(), [], [values.note("ended", NoteKind.CLOSED, values.NOW, 1)])
    store.correct(DAY)
    store.correct(timedelta())
    store.close()
    with open_reader(path) as reader:
        assert {note.at for note in reader.notes(None, 9)} == {values.NOW}


def spent(day: str, minutes: int, outages: int = 1, ours: int = 0) -> Downtime:
    """Return what web was down for on a day; `ours`: so many of the outages a start of cmgr's has ended."""
    down = timedelta(minutes=minutes)
    return Downtime("docker//web", day, OutageCause.FAULT, down, outages, ours, down if ours else timedelta())


def costing(*days: Downtime) -> Node:
    return replace(values.node(), downtime={day.key: day for day in days})


def test_downtime_is_added_to_what_earlier_lives_have_counted(path: Path) -> None:
    first, second = spent("2026-03-01", 5), spent("2026-03-02", 7, ours=1)
    with closing(open_store(path)) as store:
        store.save(costing(first), [], [])
        store.save(costing(spent("2026-03-01", 6, 2), second), [], [])
        store.save(costing(second), [], [])
    with closing(open_store(path)) as store:
        assert store.load().downtime == {}
        store.save(costing(spent("2026-03-01", 4)), [], [])
    with open_reader(path) as reader:
        assert reader.downtime("2026-03-01", "2026-03-01") == (spent("2026-03-01", 10, 3),)
        assert reader.downtime("2026-03-02", "2026-04-30") == (second,)
        (both,) = reader.downtime("2026-01-01", "2026-12-31")
    assert (both.down, both.outages, both.recovered) == (first.down * 2 + second.down, 4, second.down)


def test_downtime_that_could_not_be_saved_is_saved_once_with_what_came_since(path: Path) -> None:
    with closing(open_store(path)) as store:
        store.connection.execute("PRAGMA query_only = 1")
        with pytest.raises(StoreError):
            store.save(costing(spent("2026-03-01", 5)), [], [])
        store.connection.execute("PRAGMA query_only = 0")
        store.save(costing(spent("2026-03-01", 8, 2)), [], [])
    with open_reader(path) as reader:
        assert reader.downtime("2026-03-01", "2026-03-01") == (spent("2026-03-01", 8, 2),)


def test_downtime_is_kept_for_two_years_whatever_the_history_is_cut_to(store: SqliteStore, path: Path) -> None:
    days = [spent(day, 1) for day in ("2023-03-01", "2024-03-02", "2026-03-01")]
    store.save(costing(*days), [], [])
    assert store.prune(values.NOW + 900 * DAY, keep_notes=0) == 1
    with open_reader(path) as reader:
        (kept,) = reader.downtime("2020-01-01", "2030-01-01")
    assert kept.outages == 2


def test_when_a_life_was_there_last_is_known_to_the_next_one(path: Path) -> None:
    with closing(open_store(path)) as store:
        assert store.alive is None
        store.live()
    before = datetime.now(UTC)
    with closing(open_store(path)) as store:
        assert store.alive is not None
        assert store.alive <= before
        store.save(values.node(), [], [values.note("something")])
    with open_reader(path) as reader:
        lives = reader.lives()
    assert lives.alive is not None
    assert lives.counted is not None
    assert lives.counted <= before <= lives.alive
