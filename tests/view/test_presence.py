"""An appliance as the others of its fleet are shown it."""

from datetime import UTC, datetime

from cmgr.fleet.appliance_text import presence as taken
from cmgr.fleet.appliance_text import presence_text
from cmgr.model.values.presence import MOST_AILS, Ail
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.view.presence import presence
from cmgr.view.troubles import troubles
from tests.model.builders import SEPARATE, Cmgr

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_an_appliance_that_is_well_shows_no_more_than_that() -> None:
    shown = presence(Cmgr().node, "ready", NOW, [])
    assert (shown.state, shown.since, shown.episodes, shown.isolated, shown.ails, shown.more) == (
        "ready",
        NOW,
        0,
        0,
        (),
        0,
    )


def test_what_is_wrong_is_shown_with_what_to_type_and_comes_through_to_the_others() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, SEPARATE)
    found = troubles(cmgr.node)
    shown = presence(cmgr.node, "ready", NOW, found)
    assert shown.isolated == 1
    assert found[0].words in [ail.text for ail in shown.ails]
    assert taken(presence_text(shown, NOW)) == (shown, NOW)


def test_no_more_than_the_most_pressing_are_shown_and_a_sentence_is_nothing_to_type() -> None:
    found = [
        Trouble(TroubleKind.BUG, str(n), "odd\x1b", hint="look at it" if n else "cmgr status")
        for n in range(MOST_AILS + 3)
    ]
    shown = presence(Cmgr().node, "degraded", NOW, found)
    assert shown.ails[:2] == (Ail("odd ", "cmgr status"), Ail("odd ", ""))
    assert (len(shown.ails), shown.more) == (MOST_AILS, 3)
