"""History goes by age and by number; what an episode under way noted stays."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.rings import Phase, Ring
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
