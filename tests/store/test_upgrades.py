"""The schema, and files that older cmgrs wrote."""

import os
import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine

from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_catalog
from cmgr.errors import StoreError, chain
from cmgr.model.reduce import reduce
from cmgr.model.scope import pre_isolating
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages.commands import ListContainers, Note, SetRestartPolicy, StartContainer, StopContainer
from cmgr.model.values.messages.facts import ContainersListed, Event, Restarted
from cmgr.model.values.services.containers import TIED, Container, ContainerKey
from cmgr.model.values.services.healing import Healing
from cmgr.store import files, open_store, schema
from cmgr.store.reader import open_reader
from cmgr.store.sqlite import SqliteStore
from tests.store import sample, values

HERE = Path(__file__).parent

RINGS = {key: replace(ring, vetoed=None) for key, ring in sample.NODE.rings.items()}

OF_0_1_0 = replace(
    sample.NODE,
    rings=RINGS,
    chips={key: replace(chip, aliases=frozenset(), shares=(), board="") for key, chip in sample.NODE.chips.items()},
    missing={},
    troubles={},
    fleet_groups={},
    occasions={},
    slots={},
    reservations={},
    machine_faults={},
    origins={},
    outages={},
    reboot=None,
    holds={
        key: replace(hold, sick=0, inherited=False, wish=frozenset(), short="", reason="")
        for key, hold in sample.NODE.holds.items()
    },
    containers={
        key: replace(
            c,
            composed=None,
            before_stop=(),
            min_chips=0,
            made_for=frozenset[str](),
            tied=TIED,
            unit="",
            runs=frozenset[str](),
            vouches=frozenset[ContainerKey](),
            takes=frozenset[str](),
            kept=replace(c.kept, deaf=False, covers=frozenset[str](), halted=()),
        )
        for key, c in sample.NODE.containers.items()
    },
)
"""Its knowledge: not yet that there are troubles, nor what later fields of its values say."""


def from_script(path: Path, name: str) -> None:
    """Make the database that the script makes, as a cmgr of that level wrote it."""
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((HERE / name).read_text())
        connection.execute(f"PRAGMA application_id = {files.APPLICATION_ID}")


def test_a_file_that_a_cmgr_of_level_1_wrote_is_upgraded_and_keeps_its_holds(path: Path) -> None:
    from_script(path, "level1.sql")
    node = (store := open_store(path)).load()
    assert (store.damage, node.serial, node.holds) == ("", 7, {values.KEY: values.hold()})
    node = replace(node, healings={values.KEY: Healing(values.KEY, (values.NOW,))}, holds={})
    store.save(node, [], [])
    store.close()
    with open_reader(path) as reader:
        assert reader.node() == node


def test_the_file_that_cmgr_0_1_0_wrote_is_upgraded_and_nothing_of_it_is_lost(path: Path) -> None:
    from_script(path, "level2.sql")
    with pytest.raises(StoreError, match="it has level 2, this cmgr reads level 5"):
        open_reader(path)
    store = open_store(path)
    assert (store.damage, store.load(), store.outcomes()) == ("", OF_0_1_0, {"recovered": 1})
    with open_reader(path) as reader:
        assert reader.node() == OF_0_1_0
        assert [(episode.number, episode.outcome) for episode in reader.episodes(9)] == [(5, ""), (4, "recovered")]
        assert [note.text for note in reader.notes(None, 9)] == [note.text for note in sample.NOTES]
        assert [command.id for command in reader.commands()] == ["s77"]
        assert [reset.at for reset in reader.resets(values.NOW)] == [values.NOW, sample.LATER]
    store.save(replace(OF_0_1_0, holds={}, maintenance=None), [], [sample.OF_A_FAULT])
    store.close()
    with open_reader(path) as reader:
        *older, newest = reader.notes(None, 9)
        assert (newest.card, newest.device, newest.fault) == (1, 1, sample.OF_A_FAULT.fault)
        assert {(each.card, each.fault) for each in older} == {(None, None)}
        assert reader.node() == replace(OF_0_1_0, holds={}, maintenance=None)


@pytest.mark.parametrize("script", ["level1.sql", "level2.sql", "level3.sql", "level4.sql"])
def test_a_file_that_was_upgraded_has_the_tables_of_a_new_one(path: Path, tmp_path: Path, script: str) -> None:
    from_script(path, script)
    for opened in (path, tmp_path / "new.db"):
        open_store(opened).close()
    assert tables(path) == tables(tmp_path / "new.db")


OF_LEVEL_3 = {
    "web": (HoldState.FAILED, 2, "no"),
    "leaves": (HoldState.STOPPING, 0, ""),
    "resists": (HoldState.STOPPING, 2, "no answer"),
    "rests": (HoldState.DOWN, 0, ""),
    "retries": (HoldState.DOWN, 1, "no such image"),
    "starts": (HoldState.STARTING, 1, "no such image"),
    "settles": (HoldState.SETTLING, 1, ""),
    "returns": (HoldState.RETURNING, 0, ""),
}
"""Its holds. Whether one was to be stopped, or had been told to, is not in the file: it perhaps had."""


def test_each_hold_of_level_3_has_its_state_by_its_name_of_today(path: Path) -> None:
    from_script(path, "level3.sql")
    with closing(open_store(path)) as store:
        holds = store.load().holds
    assert {hold.name: (hold.state, hold.attempt.tries, hold.attempt.error) for hold in holds.values()} == OF_LEVEL_3
    assert holds[values.KEY] == replace(sample.NODE.holds[values.KEY], reason="")


def test_one_that_the_older_cmgr_was_starting_when_it_died_is_looked_at_before_it_is_told_anything(path: Path) -> None:
    from_script(path, "level3.sql")
    with closing(open_store(path)) as store:
        node = replace(store.load(), catalog=load_catalog(Config()))
    node, commands = reduce(node, Event(sample.LATER, Restarted(tuple(node.chips.values()), ("docker",))))
    assert not [c for c in commands if isinstance(c, StartContainer)]
    (asked,) = (c for c in commands if isinstance(c, ListContainers))
    (starts,) = (hold for hold in node.holds.values() if hold.name == "starts")
    runs = Container(starts.key, "starts", frozenset({"3"}), running=True, run="life 2")
    node, commands = reduce(node, Event(sample.LATER, ContainersListed(asked.id, "docker", (runs,))))
    told = [c.text for c in commands if isinstance(c, Note) and c.container == starts.key]
    assert told[0] == "starts is no longer held: it runs, so an earlier start had worked"
    # The reset that was ordered goes on; the restart policy goes back once it is down.
    assert [type(c) for c in commands if isinstance(c, SetRestartPolicy | StopContainer)] == [StopContainer]


def test_whatever_was_known_at_level_4_is_known_and_no_piece_is_missing(path: Path) -> None:
    from_script(path, "level4.sql")
    with closing(open_store(path)) as store:
        node = store.load()
    assert node.missing == {}
    boardless = {key: replace(chip, board="") for key, chip in sample.NODE.chips.items()}
    containers = {
        key: replace(c, vouches=frozenset[ContainerKey](), takes=frozenset[str](), kept=replace(c.kept, halted=()))
        for key, c in sample.NODE.containers.items()
    }
    assert node == replace(
        sample.NODE, rings=RINGS, chips=boardless, missing={}, containers=containers, outages={}, reboot=None
    )
    with open_reader(path) as reader:
        lives = reader.lives()
    assert lives.counted is not None, "downtime is counted from then on"
    assert lives.alive is not None, "the life that has just ended"


def tables(path: Path) -> dict[str, set[tuple[str, str, int, int]]]:
    """Return the columns of each table: name, type, whether it must have a value, and its place in the key."""
    with closing(sqlite3.connect(path)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {name: connection.execute(f"PRAGMA table_info({name})").fetchall() for name in names}
    return {name: {(row[1], row[2], row[3], row[5]) for row in columns[name]} for name in names}


def test_a_new_file_has_the_tables_that_are_declared(path: Path) -> None:
    """A field that was renamed renames a column: older files need an upgrade then (`schema.UPGRADES`)."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        schema.UPGRADES[2](connection)  # Makes whatever is not there.
        declared = script(connection.exec_driver_sql(TEXTS).scalars())
    engine.dispose()
    golden = Path(schema.__file__).with_name("schema.sql")
    shipped = golden.read_text()
    if os.environ.get("CMGR_REWRITE_GOLDEN"):
        golden.write_text(declared)
    assert declared == golden.read_text(), "CMGR_REWRITE_GOLDEN=1 writes it anew; an older file must be upgraded to it"
    open_store(path).close()
    with closing(sqlite3.connect(path)) as made:
        assert script(text for (text,) in made.execute(TEXTS)) == shipped


TEXTS = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'sqlite_sequence' ORDER BY name"


def script(texts: Iterable[str]) -> str:
    return "".join(re.sub(" +\n", "\n", f"{text.replace(chr(9), '    ')};\n") for text in texts)


def test_an_upgrade_that_fails_leaves_the_older_level(path: Path) -> None:
    def upgrade(connection: Connection) -> None:
        schema.UPGRADES[4](connection)
        connection.exec_driver_sql("UPDATE absent SET level = 2")

    from_script(path, "level3.sql")
    before = tables(path)
    lock = files.Lock(path)
    with pytest.raises(StoreError) as info:
        SqliteStore(path, lock, upgrades={4: upgrade})
    assert chain(info.value) == f"cannot upgrade to level 4 {path}: no such table: absent"
    assert not isinstance(info.value, files.Damaged)
    lock.release()
    assert tables(path) == before
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT level, version FROM meta").fetchall() == [(3, "0.1.0")]
    open_store(path).close()


def test_what_ran_when_the_file_was_of_an_older_level_ought_to_run(path: Path) -> None:
    from_script(path, "level2.sql")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE containers SET enabled = 1")
        connection.commit()
    store = open_store(path)
    assert {c.name for c in store.load().containers.values() if c.kept.wanted} == {"web"}
    store.close()


def test_a_chip_that_0_1_0_isolated_for_its_link_is_in_use_again_after_the_upgrade(path: Path) -> None:
    from_script(path, "level2.sql")
    raised = '[["FaultDuration","SeparateNPU","2026-03-01T03:00:00.000250+00:00","has lasted 20 s",false]]'
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE isolations SET by = 'escalation', code = '81078603'")
        connection.execute("UPDATE tallies SET code = '81078603', raised = ?", (raised,))
        connection.execute("UPDATE faults SET code = '81078603', level = 'SeparateNPU', momentary = 0, count = 1")
        connection.commit()
    store = open_store(path)
    loaded = store.load()
    (isolation,) = loaded.isolations.values()
    assert isolation.by == "escalation"
    node = replace(loaded, catalog=load_catalog(Config()))
    after, _ = reduce(node, Event(sample.LATER, Restarted(tuple(loaded.chips.values()), ())))
    assert after.isolations == {}
    assert [*pre_isolating(after, values.CHIP)] == ["81078603"]
    store.close()
