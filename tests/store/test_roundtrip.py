"""What is saved comes back exactly."""

import dataclasses
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmgr.model.values.chips import Chip
from cmgr.model.values.containers import Container
from cmgr.model.values.faults import Fault, Isolation
from cmgr.model.values.healing import Healing
from cmgr.model.values.holds import Hold
from cmgr.model.values.node import Node, Restraint
from cmgr.model.values.rings import Ring
from cmgr.model.values.rules import Tally
from cmgr.model.values.standing import Maintenance, ResetOrder
from cmgr.store import files, open_store, schema
from cmgr.store.changes import OF_THIS_LIFE
from cmgr.store.reader import open_reader
from cmgr.store.sqlite import SqliteStore
from tests.store import values

ELSEWHERE = {Hold: {"key", "grace"}, Container: {"key", "grace", "exit"}, Healing: {"key"}}
"""Fields that are kept in columns of other names."""


@settings(max_examples=60, deadline=None)
@given(st.lists(values.nodes, min_size=1, max_size=4))
def test_the_last_of_any_nodes_saved_is_loaded(nodes: list[Node]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / files.NAME
        store = open_store(path)
        for node in nodes:
            # A note makes every save write, as what moves the counters does.
            store.save(node, (), [values.note("saved")])
        store.close()
        again = open_store(path)
        loaded = again.load()
        again.close()
        with open_reader(path) as reader:
            read = reader.node()
    assert loaded == dataclasses.replace(nodes[-1], faults=values.only_active(nodes[-1]))
    assert read == loaded


@pytest.mark.parametrize(
    ("value", "table"),
    [
        (Chip, "chips"),
        (Ring, "rings"),
        (Container, "containers"),
        (Hold, "holds"),
        (Healing, "healings"),
        (Fault, "faults"),
        (Isolation, "isolations"),
        (Tally, "tallies"),
        (Restraint, "restraint"),
        (ResetOrder, "reset_orders"),
        (Maintenance, "modes"),
    ],
)
def test_every_field_that_outlives_a_life_has_a_column(value: type, table: str) -> None:
    fields = (
        {field.name for field in dataclasses.fields(value)}
        - ELSEWHERE.get(value, set())
        - OF_THIS_LIFE.get(value, set())
    )
    assert fields <= {column.name for column in schema.TABLES[table].columns}


def test_what_anybody_wrote_into_a_label_cannot_stop_a_save(store: SqliteStore, path: Path) -> None:
    hold = dataclasses.replace(values.hold(), order=10**30, grace=timedelta.max, name="half \ud800", error="nul \0 ok")
    store.save(values.node(hold), [], [values.note("of \udfff")])
    with open_reader(path) as reader:
        kept = reader.node().holds[values.KEY]
        assert (kept.order, kept.name, kept.error) == (2**63 - 1, "half \\ud800", "nul \0 ok")
        assert kept.grace > timedelta(days=100_000_000)
        assert reader.notes(None, 1)[0].text == "of \\udfff"


def test_the_counters_go_on_where_the_last_order_left_them(store: SqliteStore, path: Path) -> None:
    store.save(dataclasses.replace(values.node(values.hold("s7")), serial=7), [values.stop("s7")], [])
    with open_reader(path) as reader:
        assert reader.node().serial == 7
