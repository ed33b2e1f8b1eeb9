"""Whenever the service dies, the file has all of a save or nothing of it."""

import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from cmgr.model.values.holds import Attempt
from cmgr.model.values.messages.commands import StopContainer
from cmgr.model.values.node import Node
from cmgr.store import open_store
from cmgr.store.reader import open_reader
from cmgr.store.sqlite import SqliteStore
from tests.store import values
from tests.store.conftest import service_on
from tests.support.waiting import PATIENCE

LIFE: tuple[tuple[Node, list[StopContainer], str], ...] = (
    (values.node(values.fault()), [], "a fault"),
    (values.node(values.fault(), values.hold("s1")), [values.stop("s1")], "web is held"),
    (values.node(values.fault(), replace(values.hold(), died=True)), [], "web is down"),
    (values.node(), [], "web runs"),
)


def left_at(path: Path, at: Path) -> tuple[Node, list[str], list[str]]:
    """Open a copy of the file as a later life would: the node, the pending orders, the notes."""
    at.mkdir()
    for name in (path.name, f"{path.name}-wal"):
        shutil.copyfile(path.with_name(name), at / name)
    later = open_store(at / path.name)
    node = later.load()
    with open_reader(at / path.name) as reader:
        found = [str(command.id) for command in reader.commands()], [note.text for note in reader.notes(None, 9)]
    later.close()
    assert later.damage == ""
    return node, *found


def test_a_life_that_ends_just_before_or_after_a_commit_leaves_all_or_nothing(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    before: list[tuple[Node, list[str], list[str]]] = []

    def about_to(statement: str) -> None:
        if statement == "COMMIT":
            before.append(left_at(path, tmp_path / f"before-{len(before)}"))

    store.connection.set_trace_callback(about_to)
    after = [store_and_look(store, step, tmp_path) for step in range(len(LIFE))]
    store.connection.set_trace_callback(None)

    assert before == [(Node(), [], []), *after[:-1]]
    for step, (node, orders, notes) in enumerate(after):
        expected, actions, _ = LIFE[step]
        assert node == replace(
            expected, holds={key: replace(h, attempt=Attempt()) for key, h in expected.holds.items()}
        )
        assert orders == [action.id for action in actions]
        assert notes == [text for _, _, text in LIFE[: step + 1]]


def store_and_look(store: SqliteStore, step: int, tmp_path: Path) -> tuple[Node, list[str], list[str]]:
    node, actions, text = LIFE[step]
    store.save(node, actions, [values.note(text)])
    return left_at(store.path, tmp_path / f"after-{step}")


def test_what_was_saved_survives_a_kill(path: Path) -> None:
    with service_on(path) as (process, line):
        assert line == "saved"
        process.kill()
        process.wait(timeout=PATIENCE)
        # Both of them untouched: nobody but a later service may do the recovery.
        contents = {name: path.with_name(name).read_bytes() for name in (path.name, f"{path.name}-wal")}
        with open_reader(path) as reader:
            assert list(reader.node().holds) == [values.KEY]
            assert [command.id for command in reader.commands()] == ["s1"]
        assert contents == {name: path.with_name(name).read_bytes() for name in contents}
    later = open_store(path)
    assert later.load() == values.node(values.hold(), values.fault())
    later.close()


def test_only_the_thread_that_opened_the_store_may_save(store: SqliteStore) -> None:
    caught: list[AssertionError] = []

    def strange() -> None:
        for attempt in (lambda: store.save(Node(), [], []), lambda: store.prune(values.NOW, 1)):
            with pytest.raises(AssertionError) as info:
                attempt()
            caught.append(info.value)

    thread = threading.Thread(target=strange)
    thread.start()
    thread.join(PATIENCE)
    assert [str(error) for error in caught] == [
        "only the thread that opened the store may save",
        "only the thread that opened the store may prune",
    ]
