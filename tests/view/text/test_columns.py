"""A Chinese letter is as wide on a terminal as two others, and a line may end behind it."""

import pytest

from cmgr.view.text.columns import broken, columns_of, filled
from cmgr.view.text.render import aligned, table

TOLD = "环 0 的复位在等待 web（被持有，却又在运行），见 cmgr history"


def test_a_chinese_letter_takes_two_columns_and_a_mark_above_a_letter_none() -> None:
    assert [columns_of(text) for text in ("", "ab", "环 0", "，", "é", "e\u0301", "…")] == [0, 2, 4, 2, 1, 1, 1]
    assert filled("环", 4) == "环  "


@pytest.mark.parametrize("width", [16, 20, 31, 80])
def test_lines_are_broken_between_letters_and_keep_every_letter(width: int) -> None:
    lines = broken(TOLD, width, "  ")
    assert max(map(columns_of, lines)) <= width
    assert "".join("".join(lines).split()) == "".join(TOLD.split())
    assert all(line.startswith("  ") for line in lines[1:])
    assert len(lines) <= -(-columns_of(TOLD) // (width - 2)) + 1, "there is room for more"


def test_no_line_begins_with_a_sign_that_closes_and_none_ends_with_one_that_opens() -> None:
    for width in range(8, 40):
        lines = broken(TOLD * 2, width)
        assert [line for line in lines if line[0] in "，）、。" or line[-1] == "（"] == []


def test_a_word_in_english_stays_whole_and_blanks_before_the_first_stay() -> None:
    assert broken("  见 cmgr history", 10, "    ") == ["  见 cmgr", "    history"]
    assert broken("0123456789ab 环", 6) == ["0123456789ab", "环"]
    assert broken("", 10) == [""]
    assert broken("环 ", 10) == ["环"]


def test_the_columns_of_a_table_stand_below_each_other_whatever_letters_they_have() -> None:
    lines = table(("容器", "状态", "原因"), [("a", "运行中", ""), ("推理服务", "停着", "x")])
    places = [columns_of(line[: line.index(word)]) for line, word in zip(lines, ("状", "运", "停"), strict=True)]
    assert places == [10, 10, 10]
    assert aligned([("故障码", "x"), ("id", "y")]) == ["故障码  x", "id      y"]


def test_a_text_in_english_is_broken_between_its_words_alone() -> None:
    assert broken("a container  is stopped", 13, "  ") == ["a container", "  is stopped"]
    assert broken("  one two", 5, " ") == ["  one", " two"]
    assert broken("   0123456789 is longer", 8, "  ") == ["0123456789", "  is", "  longer"]
    assert broken("one\ttwo\nthree   ", 9) == ["one", "two three"]
    assert broken("0123456789", 4) == ["0123456789"]
    assert broken("one     ", 4, "    ") == ["one"]
    assert broken("     ", 2) == [""]
