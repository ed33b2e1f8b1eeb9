"""A saved node comes back exactly."""

import dataclasses
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.model.values.faults import Handling
from cmgr.model.values.handling.rules import Raise, RuleKind
from cmgr.model.values.holds import Attempt
from cmgr.model.values.life import stored_types
from cmgr.model.values.node import Node
from cmgr.store import files, open_store, rows
from cmgr.store.reader import open_reader
from cmgr.store.sqlite import SqliteStore
from tests.security.fuzz import tries
from tests.store import values


@tries(60)
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
    assert loaded == dataclasses.replace(nodes[-1], past_faults={})
    assert read == loaded


def test_every_field_of_a_node_that_outlives_a_life_is_stored() -> None:
    elsewhere = {"faults", "serial", "episodes"}
    assert {*rows.MANY, *rows.SINGLE} | elsewhere == set(stored_types(Node)), "a field of Node has no table"


def test_a_type_that_cannot_be_stored_is_refused_when_the_tables_are_derived() -> None:
    with pytest.raises(TypeError, match="cannot store a value of the type <class 'float'>"):
        rows.form_of(tuple[float, ...])


def test_a_value_that_an_older_cmgr_wrote_into_a_list_gets_the_defaults_of_newer_fields() -> None:
    form = rows.form_of(tuple[Raise, ...])
    raised = Raise(RuleKind.DURATION, Handling.RestartNPU, values.NOW, "lasts")
    (cells,) = form.put((raised,))
    assert form.take([cells[:-1]]) == (raised,)


def test_what_anybody_wrote_into_a_label_cannot_stop_a_save(store: SqliteStore, path: Path) -> None:
    hold = dataclasses.replace(
        values.hold(), order=10**30, grace=timedelta.max, name="half \ud800", attempt=Attempt(error="nul \0 ok")
    )
    store.save(values.node(hold), [], [values.note("of \udfff")])
    with open_reader(path) as reader:
        kept = reader.node().holds[values.KEY]
        assert (kept.order, kept.name, kept.attempt.error) == (2**63 - 1, "half \\ud800", "nul \0 ok")
        assert kept.grace > timedelta(days=100_000_000)
        assert reader.notes(None, 1)[0].text == "of \\udfff"


def test_the_counters_go_on_where_the_last_order_left_them(store: SqliteStore, path: Path) -> None:
    store.save(dataclasses.replace(values.node(values.hold("s7")), serial=7), [values.stop("s7")], [])
    with open_reader(path) as reader:
        assert reader.node().serial == 7
