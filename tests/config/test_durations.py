from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.config.spelling import duration, spelled


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("0s", 0),
        ("60s", 60),
        ("5m", 300),
        ("6h", 21600),
        ("2h30m", 9000),
        ("90d", 7776000),
        ("31536000s", 31536000),
        ("1d1h1m1s1ms", 90061.001),
        (" 5s ", 5),
    ],
)
def test_a_duration_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "-5s", "1.5s", "5s3m", "5s5s", "5M", "5sec", "\u0665s", "1e3s"])
def test_other_texts_are_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        duration(text)


def test_a_time_that_no_clock_holds_is_no_duration() -> None:
    with pytest.raises(ValueError, match="longer than any"):
        duration("999999999999d")


@pytest.mark.parametrize("text", ["0s", "500ms", "60s", "150s", "300s", "15m", "6h", "24h", "90d", "1500ms"])
def test_a_duration_is_spelled_as_people_write_it(text: str) -> None:
    assert spelled(duration(text)) == text


@given(st.integers(0, 10**12 - 1))
def test_a_spelled_duration_is_read_back(milliseconds: int) -> None:
    time = timedelta(milliseconds=milliseconds)
    assert duration(spelled(time)) == time
