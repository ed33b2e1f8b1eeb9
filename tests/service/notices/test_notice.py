"""The words of notices: the gravest first, the latest of each condition, never more bytes than there is room for."""

import pytest

from cmgr.model.values.troubles import TroubleKind
from cmgr.service.notices.notice import cut, notice
from tests.service.notices.telling import alarm


def lines(*alarms: object, lost: int = 0, most: int = 10_000) -> list[str]:
    return notice(alarms, lost, "appliance-7", most).text.split("\n")  # type: ignore[arg-type]


def test_what_stands_comes_before_what_is_over_and_the_critical_first() -> None:
    over = alarm(1, "over: a", over=True, hint="")
    told = lines(over, alarm(2, "b"), alarm(3, "c", kind=TroubleKind.DOWN))
    assert [line for line in told if line[0] != " "] == ["CRITICAL: c", "WARNING: b", "RESOLVED: over: a"]


def test_of_each_condition_the_latest_is_told() -> None:
    steps = [alarm(1, text, id="episode-1") for text in ("detected", "stopped", "reset")]
    assert lines(*steps)[0] == "WARNING: reset"
    assert len(lines(*steps)) == 3


def test_what_was_lost_before_is_told_first() -> None:
    assert lines(alarm(), lost=3)[0] == "3 earlier alarms could not be sent: cmgr history"


@pytest.mark.parametrize("most", [600, 1000, 2000, 8000])
@pytest.mark.parametrize("count", [1, 2, 7, 300])
@pytest.mark.parametrize("size", [1, 40, 3000])
def test_it_fits_and_says_how_many_do_not(most: int, count: int, size: int) -> None:
    told = notice([alarm(n, f"{n} {'故' * size}") for n in range(count)], 1, "appliance-7", most)
    assert len(told.whole.encode()) <= most
    shown = sum(line.startswith("WARNING: ") for line in told.text.split("\n"))
    assert shown >= 1
    last = told.text.split("\n")[-1]
    assert last == f"and {count - shown} more: cmgr status" if shown < count else "more" not in last


def test_a_text_is_cut_between_letters() -> None:
    assert cut("abc", 3) == "abc"
    assert cut("故障故障", 8) == "故…"
    assert cut("故障故障", 9) == "故障…"


def test_no_text_makes_lines_of_its_own() -> None:
    told = lines(alarm(1, "a\nCRITICAL: b\x1b[2J", containers=("x\ny",), hint="c\nd"))
    assert len(told) == 3
