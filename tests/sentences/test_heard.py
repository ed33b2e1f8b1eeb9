"""A message that another program says of a sentence counts only where it has the same text."""

import json
from typing import Any

import pytest

from cmgr.errors import DriverError, ResetRefused
from cmgr.sentences.hints import order
from cmgr.sentences.sentence import CHINESE, LONGEST, Sentence, heard, in_language, message, reason, say

WHY = say("driver.silent-on-users", chip=3, why=say("driver.others-slow"))
SAID = say("word.because", what=say("driver.cannot-reset", chips=[3]), why=WHY)
CHINESE_WHY = "芯片 3 没有回答谁在使用它：其他芯片回答得太慢"

NOBODY = {"id": "driver.no-such-thing", "args": {}}
NO_CHIP = "there is no chip 3"


def no_chip(chip: Any) -> dict[str, Any]:
    return {"id": "driver.no-chip", "args": {"chip": chip}}


def nested(levels: int) -> Any:
    told: Any = "3"
    for _ in range(levels):
        told = [told]
    return told


def test_a_sentence_of_another_program_is_said_in_chinese() -> None:
    again = heard(str(SAID), json.loads(json.dumps(message(SAID))))
    assert again == SAID
    assert in_language(again, CHINESE) == f"无法复位芯片 3：{CHINESE_WHY}"


def test_an_order_in_it_is_one() -> None:
    said = say("word.hint", hint=order("release", chip=3))
    again = heard(str(said), json.loads(json.dumps(message(said))))
    assert isinstance(again, Sentence)
    assert again.args == said.args


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        "driver.no-chip",
        {},
        {"id": "driver.no-chip"},
        {"id": "driver.no-chip", "args": []},
        {"id": "driver.no-chip", "args": {}},
        {"id": ["driver.no-chip"], "args": {"chip": 3}},
        {"id": "driver.no-chip", "args": {"chip": 3, "more": 3}},
        NOBODY,
        no_chip(4),
        no_chip(None),
        no_chip({"chip": 3}),
        no_chip({"do": "release", "args": 3, "text": "3"}),
        no_chip({"id": "driver.no-chip", "args": {"chip": 4}, "text": "3"}),
        no_chip({**NOBODY, "text": "3"}),
        no_chip({"id": "driver.is-closed", "args": {}, "text": 3}),
        {"id": "driver.lasted", "args": {"seconds": 3}},
    ],
)
def test_what_says_something_else_or_nothing_leaves_the_text_alone(told: object) -> None:
    assert type(heard(NO_CHIP, told)) is str
    assert heard(NO_CHIP, told) == NO_CHIP


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", {"id": "ring.came-back", "args": {"count": 3, "window": 1e300}}),
        ("", {"id": "ring.came-back", "args": {"count": 3, "window": "long"}}),
        ("", {"id": "ring.tested", "args": {"chips": [[0], "x"]}}),
        ("", {"id": "ring.tested", "args": {"chips": 3}}),
        ("there is no chip nan", no_chip(float("nan"))),
        (f"there is no chip {10**20}", no_chip(10**20)),
        ("there is no chip \ud800", no_chip("\ud800")),
        (f"there is no chip {'x' * LONGEST}", no_chip("x" * LONGEST)),
        (f"there is no chip {nested(100)}", no_chip(nested(100))),
        (NO_CHIP, no_chip(nested(5000))),
    ],
)
def test_what_cannot_be_said_kept_or_bounded_leaves_the_text_alone(text: str, told: object) -> None:
    assert type(heard(text, told)) is str


def test_a_reason_leaves_out_what_its_teller_has_said_and_stays_a_sentence() -> None:
    refused = reason(ResetRefused(SAID, hint="wait"), "reset")
    assert refused == f"{WHY} (hint: wait)"
    assert in_language(refused, CHINESE) == f"{CHINESE_WHY}（提示：wait）"


def test_a_reason_of_bare_texts_is_a_bare_text() -> None:
    error = DriverError("cannot reset chip 3: no")
    error.__cause__ = DriverError("it hangs")
    assert reason(error, "reset") == "no: it hangs"
    assert type(reason(error, "reset")) is str
