"""A save writes what changed, and nothing when nothing did."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from cmgr.model.values.faults import Isolation
from cmgr.model.values.messages.commands import CommandId, ListContainers, NoteKind, ReadRing, ResetRing
from cmgr.model.values.rings import Phase, Ring
from cmgr.model.values.services.containers import Container
from cmgr.store import open_store
from cmgr.store.changes import changes
from cmgr.store.reader import open_reader
from cmgr.store.sqlite import SqliteStore
from tests.model.containers.test_news import CountingKey, counting
from tests.store import values
from tests.view.crowd import crowd

RING = Ring(values.RING, (values.CHIP,))
CONTAINER = Container(values.KEY, "web", frozenset({"3"}), running=True)
SOON = values.NOW + timedelta(seconds=1)


@contextmanager
def statements(store: SqliteStore) -> Iterator[list[str]]:
    """Collect the tables that are written to, one word for each statement."""
    seen: list[str] = []

    def note(statement: str) -> None:
        words = statement.split()
        seen.append(" ".join(words[:3]) if words[0] in ("INSERT", "DELETE") else " ".join(words[:2]))

    store.connection.set_trace_callback(note)
    yield seen
    store.connection.set_trace_callback(None)


def test_the_same_node_is_not_written_again(store: SqliteStore) -> None:
    node = values.node(RING, CONTAINER, values.hold(), values.fault())
    store.save(node, [], [])
    equal = values.node(replace(RING), replace(CONTAINER), values.hold(), values.fault())
    with statements(store) as seen:
        store.save(node, [], [])
        store.save(equal, [], [])
    assert seen == []


def test_of_many_containers_a_save_looks_at_the_one_that_has_changed() -> None:
    node = counting(crowd(512))
    key, container = next(iter(node.containers.items()))
    after = replace(node, containers={**node.containers, key: replace(container, name="renamed")})
    before = CountingKey.steps
    (change,) = changes(node, after)
    assert (change.table, len(change.put), change.drop) == ("containers", 1, ())
    assert CountingKey.steps == before


def test_what_only_this_life_knows_is_not_written(store: SqliteStore) -> None:
    store.save(values.node(RING, CONTAINER, values.hold()), [], [])
    asked = (CommandId("r1"), SOON)
    ring = replace(RING, read=SOON, asked=asked, ask_at=SOON, look=SOON, reset=CommandId("x1"))
    node = values.node(ring, replace(CONTAINER, kept=replace(CONTAINER.kept, seen=SOON)), values.hold("s1"))
    questions = (
        ReadRing(CommandId("r1"), "time to look", values.RING, (values.CHIP,)),
        ListContainers(CommandId("l1"), "time to look", "docker"),
    )
    with statements(store) as seen:
        store.save(replace(node, serial=3, strangers=frozenset({values.CHIP})), questions, [])
        store.save(values.node(RING, CONTAINER, values.hold()), [], [])
    assert seen == []


def test_only_the_changed_table_is_written(store: SqliteStore) -> None:
    store.save(values.node(RING, CONTAINER, values.hold(), values.fault()), [], [])
    with statements(store) as seen:
        waiting = replace(RING, phase=Phase.WAITING)
        store.save(values.node(waiting, CONTAINER, values.hold(), values.fault()), [], [])
    assert seen == ["BEGIN IMMEDIATE", "INSERT INTO rings", "UPDATE meta", "COMMIT"]


def test_what_left_the_node_is_deleted(store: SqliteStore, path: Path) -> None:
    isolation = Isolation(values.CHIP, values.NOW, "operator", "smells")
    store.save(values.node(RING, CONTAINER, values.hold(), isolation), [], [])
    with statements(store) as seen:
        store.save(values.node(RING), [], [])
    assert seen == [
        "BEGIN IMMEDIATE",
        "DELETE FROM containers",
        "DELETE FROM isolations",
        "DELETE FROM holds",
        "UPDATE meta",
        "COMMIT",
    ]
    with open_reader(path) as reader:
        assert reader.node() == values.node(RING)


def test_a_fault_that_the_node_forgot_stays_as_history(store: SqliteStore, path: Path) -> None:
    cleared = values.fault(cleared=SOON)
    again = values.fault(since=SOON)
    for fault in (values.fault(), cleared, again):
        store.save(values.node(fault), [], [])
    store.save(values.node(), [], [])
    with open_reader(path) as reader:
        assert reader.faults() == (cleared, replace(again, cleared=again.changed))
        assert reader.faults(active_only=True) == ()
        assert reader.node().faults == {}


def test_a_fault_that_comes_back_is_the_same_row(store: SqliteStore, path: Path) -> None:
    back = replace(values.fault(), risen=SOON, changed=SOON, count=2)
    for fault in (values.fault(), values.fault(cleared=SOON), back):
        store.save(values.node(fault), [], [])
    with open_reader(path) as reader:
        assert reader.faults() == (back,)


def test_resets_stay_readable_when_the_budget_forgot_them(store: SqliteStore, path: Path) -> None:
    for resets in ((values.NOW,), (values.NOW, SOON), (SOON,), ()):
        store.save(values.node(replace(RING, resets=resets, episode=4)), [], [])
    with open_reader(path) as reader:
        assert [(reset.at, reset.episode) for reset in reader.resets(values.NOW)] == [(values.NOW, 4), (SOON, 4)]
        assert reader.node().rings[values.RING].resets == ()


def test_an_order_is_pending_until_the_node_no_longer_waits_for_it(store: SqliteStore, path: Path) -> None:
    reset = ResetRing(CommandId("x1"), "a fault", values.RING, (values.CHIP,), (values.CHIP,), frozenset())
    both = values.node(values.hold("s1"), replace(RING, reset=reset.id))
    store.save(both, [values.stop("s1"), reset], [])
    with open_reader(path) as reader:
        found = {(command.id, command.kind, command.subject) for command in reader.commands()}
        assert found == {("s1", "StopContainer", "container web"), ("x1", "ResetRing", "ring 0")}
    store.save(values.node(values.hold(), replace(RING, reset=reset.id)), [], [])
    with open_reader(path) as reader:
        assert [command.id for command in reader.commands()] == ["x1"]


def test_orders_of_an_earlier_life_go_with_the_first_save(store: SqliteStore, path: Path) -> None:
    store.save(values.node(values.hold("s1")), [values.stop("s1")], [])
    store.close()
    later = open_store(path)
    with open_reader(path) as reader:
        assert [command.id for command in reader.commands()] == ["s1"]
    later.save(later.load(), [], [])
    with open_reader(path) as reader:
        assert reader.commands() == ()
    later.close()


def test_notes_open_and_close_episodes(store: SqliteStore, path: Path) -> None:
    opened = values.note("chip 3: RestartNPU", NoteKind.OPENED)
    closed = replace(values.note("recovered", NoteKind.CLOSED, at=SOON), outcome="recovered")
    store.save(values.node(), [], [opened, values.note("stopped web")])
    with open_reader(path) as reader:
        (running,) = reader.episodes(10)
        assert (running.number, running.ring, running.began, running.ended) == (1, 0, values.NOW, None)
    store.save(values.node(), [], [closed, values.note("another", NoteKind.OPENED, episode=2)])
    with open_reader(path) as reader:
        assert [episode.number for episode in reader.episodes(10)] == [2, 1]
        over = reader.episode(1)
        assert over == replace(running, ended=SOON, outcome="recovered")
        assert over is not None
        assert over.cause == "chip 3: RestartNPU"
        assert reader.episode(3) is None
        assert [note.text for note in reader.notes(1, 10)] == ["chip 3: RestartNPU", "stopped web", "recovered"]
        assert [note.text for note in reader.notes(None, 2)] == ["recovered", "another"]
        (line,) = reader.notes(2, 10)
        assert (line.kind, line.chip, line.container, line.at) == (
            NoteKind.OPENED,
            values.CHIP,
            values.KEY,
            values.NOW,
        )
