"""The Chinese pages are in step with the English ones: the same headings, commands and figures."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHINESE = ROOT / "docs" / "zh"
PAGES = ("README.md", "install.md", "first-chip.md", "recovery.md", "troubleshooting.md", "faq.md")
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def english(name: str) -> str:
    return (ROOT / name if name == "README.md" else ROOT / "docs" / name).read_text()


def chinese(name: str) -> str:
    return (CHINESE / name).read_text()


def prose(page: str) -> str:
    """Return the page without its blocks, its comments, and where its links lead."""
    return re.sub(r"\]\([^)]*\)|<!--.*?-->|^ {4}.*$", "]", FENCE.sub("", page), flags=re.MULTILINE)


def headings(page: str) -> list[int]:
    return [len(marks) for marks in re.findall(r"^(#+) ", prose(page), re.MULTILINE)]


def typed(page: str) -> list[str]:
    """Return the lines of the blocks that somebody types, without their comments; pictures and answers are none."""
    lines: list[str] = []
    for kind, block in re.findall(r"^ *```(\w*)\n(.*?)^ *```$", page, re.MULTILINE | re.DOTALL):
        told = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
        is_picture = re.search("[│▼]", block) is not None
        lines += told if kind == "console" else [] if is_picture else block.splitlines()
    lines += re.findall(r"^ {4}(?! )(.*)$", FENCE.sub("", page), re.MULTILINE)
    return [bare for line in lines if (bare := re.sub(r"(^|\s+)#.*", "", line).strip())]


def quoted(page: str) -> Counter[str]:
    """Return what stands in the prose as code: a command, a setting, what cmgr says."""
    return Counter(re.sub(r"\s+", " ", words) for words in re.findall(r"`([^`]+)`", prose(page)))


def figures(page: str) -> Counter[str]:
    return Counter(re.findall(r"(?<![\w.-])\d+(?:\.\d+)*(?!\w)", re.sub(r"`[^`]*`", "", prose(page)), re.ASCII))


@pytest.mark.parametrize("name", PAGES)
def test_a_chinese_page_has_the_headings_commands_and_figures_of_the_english_one(name: str) -> None:
    one, other = english(name), chinese(name)
    assert headings(other) == headings(one)
    assert typed(other) == typed(one)
    assert quoted(other) == quoted(one)
    assert figures(other) == figures(one)


@pytest.mark.parametrize("name", PAGES)
def test_a_chinese_page_is_chinese(name: str) -> None:
    """A paragraph that nobody has translated has no character of its own."""
    left = re.sub(r"`[^`]*`|\[[^\]]*\]", "", prose(chinese(name)))
    words = [line for line in left.splitlines() if re.search(r"[A-Za-z]{3,} [a-z]{2,} [a-z]{2,}", line)]
    assert [line for line in words if not re.search("[一-鿿]", line)] == []


def test_every_chinese_page_is_looked_at() -> None:
    assert {path.name for path in CHINESE.glob("*.md")} == {*PAGES, "terms.md"}
