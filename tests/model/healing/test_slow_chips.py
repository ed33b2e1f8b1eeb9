"""Chips that lag behind those with which they work: told, and nothing follows."""

from datetime import timedelta

from cmgr.model.values.chips import ChipId, Straggler
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ResetRing, StopContainer
from cmgr.model.values.messages.piece_facts import StragglersSeen
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.view.troubles import troubles
from tests.model.builders import Cmgr, container

WORDS = "its clock is 900 MHz, that of those it works with 1755 MHz, for 10 min and more"


def lag(cmgr: Cmgr, *chips: int) -> None:
    long = cmgr.now - timedelta(minutes=10)
    cmgr.tell(StragglersSeen(tuple(Straggler(ChipId(chip), long, WORDS) for chip in chips)))


def told(cmgr: Cmgr) -> list[Trouble]:
    return [trouble for trouble in troubles(cmgr.node) if trouble.kind is TroubleKind.SLOW]


def test_a_chip_that_lags_is_told_once_with_the_figures_and_nothing_is_stopped() -> None:
    cmgr = Cmgr(container("train", 0, 1))
    lag(cmgr, 1)
    lag(cmgr, 1)
    assert cmgr.notes(NoteKind.WARNING) == [f"chip 1 is slower than those it works with: {WORDS}"]
    (trouble,) = told(cmgr)
    assert (trouble.chips, trouble.containers, trouble.why) == ((ChipId(1),), ("train",), WORDS)
    cmgr.wait(3600)
    assert (cmgr.sent(StopContainer), cmgr.sent(ResetRing), cmgr.ring().in_episode) == ([], [], False)
    lag(cmgr)
    assert told(cmgr) == []
    assert "chip 1 is no slower any more" in cmgr.notes(NoteKind.RESULT)[-1]


def test_one_that_is_not_there_is_not_told_and_another_life_finds_out_anew() -> None:
    cmgr = Cmgr(container("train", 0, 1))
    lag(cmgr, 1, 77)
    assert [trouble.chips for trouble in told(cmgr)] == [(ChipId(1),)]
    cmgr.begin()
    assert told(cmgr) == []
    cmgr.tell(facts.Tick())
    lag(cmgr, 1)
    assert len(told(cmgr)) == 1
