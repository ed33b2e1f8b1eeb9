"""Values from JSON by their types: all of what a type says is asked of a stranger's text, and a mistake says where."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Annotated, Any

import pytest

from cmgr.frozen import dataclass
from cmgr.sentences.sentence import Sentence, say
from cmgr.typed import line, most, plain, value, within


class Word(StrEnum):
    A = "a"


class Grade(IntEnum):
    LOW = 1


@dataclass(frozen=True, slots=True)
class Inner:
    number: Annotated[int, within(1, 3)]
    word: Word = Word.A


@dataclass(frozen=True, slots=True)
class Outer:
    inner: Annotated[tuple[Inner, ...], most(2)]
    pair: tuple[int, str | None]
    named: Mapping[Annotated[str, line(3)], Inner | None]
    at: datetime
    span: timedelta = timedelta(seconds=1)
    words: frozenset[Word] = frozenset()
    grade: Grade = Grade.LOW


NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
OUTER = Outer((Inner(1), Inner(3)), (7, None), {"x": Inner(2), "y": None}, NOON, timedelta(seconds=2.5))
TOLD = {
    "inner": [{"number": 1}, {"number": 3}],
    "pair": [7, None],
    "named": {"x": {"number": 2}, "y": None},
    "at": "2026-01-02T12:00:00+00:00",
    "span": 2.5,
}


def test_a_value_comes_back_with_and_without_what_is_as_by_default() -> None:
    assert plain(OUTER) == TOLD
    assert plain(OUTER, whole=True) == TOLD | {
        "inner": [{"number": 1, "word": "a"}, {"number": 3, "word": "a"}],
        "named": {"x": {"number": 2, "word": "a"}, "y": None},
        "words": [],
        "grade": 1,
    }
    for told in (plain(OUTER), plain(OUTER, whole=True)):
        assert value(Outer, told, exact=True) == OUTER


def test_a_time_is_that_of_its_zone() -> None:
    assert value(datetime, "2026-01-02T14:00:00+02:00") == NOON


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"inner": {}}, "inner: must be a list"),
        ({"inner": [{"number": 1}] * 3}, "inner: must be at most 2"),
        ({"inner": [{"number": 1}, {"number": 4}]}, "inner[1].number: must be from 1 to 3"),
        ({"inner": [{"number": True}]}, "inner[0].number: must be a whole number"),
        ({"inner": [{"word": "a"}]}, "inner[0].number: is missing"),
        ({"inner": [{"number": 1, "word": []}]}, "inner[0].word: must be one of a"),
        ({"inner": [{"number": 1, "more": 1}]}, "inner[0]: has 'more', which is unknown"),
        ({"inner": [1]}, "inner[0]: must be an object"),
        ({"pair": [7]}, "pair: must be a list of 2"),
        ({"pair": [7, 7]}, "pair[1]: must be a text"),
        ({"named": []}, "named: must be an object"),
        ({"named": {"four": None}}, "a name in named: must be a line of at most 3 characters"),
        ({"named": {"x": 1}}, "named.x: must be an object"),
        ({"at": "2026-01-02T12:00:00"}, "at: must be a time with a zone, of the years 2000 to 2999"),
        ({"at": "1999-01-02T12:00:00Z"}, "at: must be a time with a zone, of the years 2000 to 2999"),
        ({"at": 5}, "at: must be a time with a zone, of the years 2000 to 2999"),
        ({"span": "1s"}, "span: must be a number"),
        ({"words": ["b"]}, "words[0]: must be one of a"),
        ({"grade": 2}, "grade: must be one of 1"),
    ],
)
def test_a_mistake_says_what_must_be_where(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=r".") as mistake:
        value(Outer, TOLD | change, exact=True)
    assert str(mistake.value) == said


def test_what_a_newer_program_says_besides_is_passed_over_unless_it_is_to_be_exact() -> None:
    assert value(Inner, {"number": 1, "more": 1}) == Inner(1)
    assert value(Outer, TOLD | {"inner": [{"number": 1, "more": 1}]}).inner == (Inner(1),)


def test_a_sentence_crosses_as_its_text() -> None:
    assert value(Sentence | str, plain(say("chip.number", chip=3))) == "chip 3"
