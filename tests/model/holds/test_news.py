"""News of held containers are what the golden page says. CMGR_REWRITE_GOLDEN=1 rewrites it."""

import os
from pathlib import Path

from cmgr.model.values.holds import HoldState
from tests.model.holds.state_news import WORDS, all_holds, classified, holds, table, worlds

GOLDEN = Path(__file__).parents[2] / "golden" / "model" / "state_news.txt"


def test_every_state_of_a_hold_does_with_every_kind_of_news_what_the_golden_page_says() -> None:
    text = table()
    if os.environ.get("CMGR_REWRITE_GOLDEN") == "1":
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_the_page_has_every_word_that_there_can_be_for_a_hold() -> None:
    node = worlds()["too early"]
    met = {(case.hold.state, news) for case, news in classified(node, holds())}
    assert {(case.hold.state, news) for case, news in classified(node, all_holds())} == met
    assert {state for state, _ in met} == set(HoldState)
    assert {news for _, news in met} == set(WORDS)
