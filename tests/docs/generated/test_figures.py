"""The figures that proofs leave stand in the page as they were counted."""

import pytest

from tests.support.figures import AUDITED, Figures, Run, page
from tests.support.figures import PAGE as RELIABILITY

PAGE = "# Title\n\n<!-- proof -->\nold\n<!-- end -->\n\nMore.\n"


def test_figures_of_one_kind_are_summed_and_keep_their_order() -> None:
    figures = Figures()
    figures.add("Deaths", "points killed at", 3)
    figures.add("Deaths", "containers lost", 0)
    figures.add("Input", "texts fuzzed")
    figures.add("Deaths", "points killed at", 4)
    assert figures.sections == {"Deaths": {"points killed at": 7, "containers lost": 0}, "Input": {"texts fuzzed": 1}}


def test_the_page_shows_a_run_in_its_block_and_keeps_the_rest() -> None:
    run = Run({"cmgr": "1", "took": "3 s"}, 5, 0, 1, {"Deaths": {"points killed at": 12345, "containers lost": 0}})
    before, _, rest = page(PAGE, run).partition("<!-- proof -->\n")
    shown, _, after = rest.partition("<!-- end -->")
    assert (before, after) == ("# Title\n\n", "\n\nMore.\n")
    assert shown.splitlines() == [
        "cmgr 1, took 3 s",
        "",
        "5 proofs passed, 0 failed, 1 could not run there.",
        "",
        "| | | |",
        "|---|---|---:|",
        "| Deaths | points killed at | 12,345 |",
        "| Deaths | containers lost | 0 |",
    ]
    assert page(page(PAGE, run), run) == page(PAGE, run)


def test_the_reliability_page_has_a_place_for_them() -> None:
    run = Run({"cmgr": "1"}, 1, 0, 0, {"Deaths": {"points killed at": 7}})
    assert "| Deaths | points killed at | 7 |" in page(RELIABILITY.read_text(), run)
    assert "| Deaths | points killed at | 7 |" in page(AUDITED.read_text(), run, "security")


@pytest.mark.parametrize("part", ["crash", "fleet", "machine"])
def test_a_part_that_runs_on_its_own_has_its_own_place_there(part: str) -> None:
    text, run = RELIABILITY.read_text(), Run({"cmgr": "1"}, 1, 0, 0, {"Deaths": {"rounds": 7}})
    shown, began = page(text, run, part), f"<!-- proof: {part} -->"
    assert "| Deaths | rounds | 7 |" in shown.partition(began)[2]
    assert shown.partition(began)[0] == text.partition(began)[0]


def test_a_test_that_takes_figures_is_a_proof(figures: Figures, request: pytest.FixtureRequest) -> None:
    assert isinstance(figures, Figures)
    assert request.node.get_closest_marker("proof") is not None
