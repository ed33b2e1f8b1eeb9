"""The table of phases and facts is what the golden file says. CMGR_REWRITE_GOLDEN=1 rewrites it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from cmgr.model.values.messages import facts
from cmgr.model.values.rings import EDGES, Phase
from tests.model.diagram import diagram, hold_diagram
from tests.model.phase_event import FACTS, NODES, machine, table

GOLDEN = Path(__file__).parents[1] / "golden" / "model" / "phase_event.txt"


def test_every_phase_does_with_every_fact_what_the_golden_file_says() -> None:
    text = table()
    if os.environ.get("CMGR_REWRITE_GOLDEN") == "1":
        GOLDEN.parent.mkdir(parents=True, exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_the_table_has_every_phase_and_every_kind_of_fact() -> None:
    assert set(NODES) == set(Phase)
    assert {type(fact(machine(Phase.HEALTHY))) for fact in FACTS.values()} == set(get_args(facts.Fact))


@pytest.mark.parametrize("phase", Phase)
def test_the_node_of_a_phase_is_in_that_phase(phase: Phase) -> None:
    assert machine(phase).phase() is phase


def test_the_diagram_shows_every_edge_with_its_reason() -> None:
    lines = diagram().splitlines()
    assert lines[:3] == ["```mermaid", "stateDiagram-v2", "    [*] --> healthy"]
    assert lines[-1] == "```"
    assert len(lines) == len(EDGES) + 4
    assert "    waiting --> resetting: a reset is due and nothing is in its way" in lines


@pytest.mark.parametrize(("picture", "starts"), [(diagram, 1), (hold_diagram, 2)])
def test_nothing_in_a_diagram_breaks_its_notation(picture: Callable[[], str], starts: int) -> None:
    for line in picture().splitlines()[2 + starts : -1]:
        edge, why = line.split(": ", 1)
        assert len(edge.split()) == 3
        assert edge.count("-->") == 1
        assert not set(why) & set(":;{}\n")
