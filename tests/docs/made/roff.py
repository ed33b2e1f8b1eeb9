"""Man pages in man(7), put together from plain sentences: escaping, headings, tagged paragraphs."""

import re
from collections.abc import Iterable


def text(sentence: str) -> str:
    """Return a sentence as roff takes it for text."""
    escaped = sentence.replace("\\", "\\e").replace("`", "")
    # The hyphen that begins an option is typed, and must not become another kind of hyphen.
    escaped = re.sub(r"(?<![\w\\])-+", lambda found: "\\-" * len(found[0]), escaped)
    # A line that begins with one of these would be a request.
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def typed(words: str) -> str:
    """Return words that are typed as they stand, whose hyphens must not become others."""
    return re.sub(r"(?<!\\)-", r"\\-", text(words))


def bold(words: str) -> str:
    return f"\\fB{typed(words)}\\fR"


def italic(words: str) -> str:
    return f"\\fI{typed(words)}\\fR"


def head(name: str, section: int, date: str, title: str) -> list[str]:
    made = '.\\" Made from the code: make generated'
    # Names of settings and variables must not be broken in two.
    return [made, f'.TH {name} {section} "{date}" "cmgr" "{title}"', ".nh", ".ad l"]


def chapter(name: str) -> str:
    return f".SH {name}"


def part(name: str) -> str:
    return f".SS {typed(name)}"


def paragraphs(sentences: Iterable[str]) -> list[str]:
    """Return each text as a paragraph; the first follows its heading at once."""
    lines: list[str] = []
    for sentence in sentences:
        lines += [".PP"] * bool(lines) + sentence_lines(sentence)
    return lines


def sentence_lines(words: str) -> list[str]:
    """Return the text with each sentence on a line of its own, as roff wants it."""
    lines = words.replace("\n", " ").split(". ")
    return [text(line.strip() + ("." if n < len(lines) - 1 else "")) for n, line in enumerate(lines) if line.strip()]


def tagged(tag: str, sentences: Iterable[str]) -> list[str]:
    """Return what is said under a tag, which is roff already."""
    lines = [line for sentence in sentences for line in sentence_lines(sentence)]
    return [".TP", tag, *(lines or ["\\&"])]
