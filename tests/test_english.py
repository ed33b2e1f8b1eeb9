"""The English of pages and of comments (in tests, too), as far as a program can tell.

They are read by people who learned it elsewhere. A sentence that begins with a bare What, Who or "One that" is a
construction that they stumble over, and "may not" means "perhaps does not" as often as "must not".
What operators read has the words that they search for: "unhealthy" is found, "ailing" is not.
Each test lists what offends.
"""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/*.md", "docs/decisions/*.md")
FOR_OPERATORS = (
    "README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/man/*", "etc/cmgr.toml", "etc/prometheus/*",
    "etc/grafana/*", "cmgr/drivers/*/tables/*.json", "cmgr/service/metrics/*.json", "cmgr/web/static/texts.js",
)  # fmt: skip
CODE = ("bench", "cmgr", "tests")

BARE = re.compile(
    r"(?:^|(?<=[.!?;:] )|(?<=\| )|(?<=^- ))(?:What|Who|One that|One who)\b(?![^.?!]*\?)[^.]*", re.MULTILINE
)
MAY_NOT = re.compile(r"[^.\n]*\bmay not\b[^.\n]*")
STRANGE = re.compile(
    r"\b(?:pretend\w*|ails?|ailed|ill|mend(?:s|ed|ing)?|anew|(?:ailing|deaf)(?![,\"]))\b", re.IGNORECASE
)
"""Simulated; unhealthy, or fails; fix; again, or recreate; does not answer. Kinds of events stay, in lists."""
INVERTED = re.compile(
    r"(?:^|(?<=[.!?|] ))(?:Only (?:now|then)|(?:So|Nor|Checked|Counted|Judged|Known|Shown|Told) (?:is|are))\b[^.]*",
    re.MULTILINE,
)
UNREAD = re.compile(r"```.*?```|<!-- generated: code map -->.*?<!-- end -->|`[^`\n]*`|\*\*`.*?`\*\*", re.DOTALL)
"""What pages quote: of programs, and of the code, which is read where it stands."""


def prose(page: str) -> str:
    """Return a page's text with each paragraph on one line."""
    return re.sub(r"\n +(?=\S)|\n(?=[A-Za-z*_(`\[])", " ", UNREAD.sub("…", page).replace("\n\n", "\n\n\x00")).replace(
        "\x00", ""
    )


def comments(path: Path) -> Iterator[str]:
    """Yield a module's docstrings and comments."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield " ".join(node.value.value.split())
    with path.open("rb") as file:
        yield from (t.string.lstrip("# ") for t in tokenize.tokenize(file.readline) if t.type == tokenize.COMMENT)


def texts(path: Path) -> Iterator[str]:
    """Yield the sentences that a module says to people: strings of several words, but for its docstrings."""
    tree = ast.parse(path.read_text())
    unsaid = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if " " in text and id(node) not in unsaid:
                yield text


def offences(text: str, patterns: tuple[re.Pattern[str], ...] = (BARE, MAY_NOT)) -> list[str]:
    return [found.group().strip()[:90] for pattern in patterns for found in pattern.finditer(text)]


def test_pages_are_plain() -> None:
    pages = sorted(path for glob in PAGES for path in ROOT.glob(glob))
    assert [(p.name, found) for p in pages for found in offences(prose(p.read_text()))] == []


def test_comments_are_plain() -> None:
    modules = sorted({p for folder in CODE for p in (ROOT / folder).rglob("*.py")} - {Path(__file__)})  # It quotes.
    assert [(p.name, found) for p in modules for text in comments(p) for found in offences(text)] == []


def test_operators_read_the_words_that_they_search_for() -> None:
    pages = sorted(path for glob in FOR_OPERATORS for path in ROOT.glob(glob))
    modules = sorted((ROOT / "cmgr").rglob("*.py"))
    read = [(p.name, prose(p.read_text())) for p in pages] + [(p.name, text) for p in modules for text in texts(p)]
    assert [(name, found) for name, text in read for found in offences(text, (STRANGE, INVERTED))] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What is held is written first.", 1),
        ("It ends. Who asks is answered.", 1),
        ("One that is gone has no name", 1),
        ("A file that cmgr may not run.", 1),
        ("What is a level?", 0),
        ("It says what it was. Whoever asks is answered. One of them runs.", 0),
    ],
)
def test_what_offends_is_found(text: str, found: int) -> None:
    assert len(offences(text)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a container that ails", 1),
        ("made anew: mend it", 2),
        ("Told is the last. Only now does it run.", 2),
        ("one of down, deaf, ailing, idle; it fails, unmended", 0),
    ],
)
def test_strange_words_are_found(text: str, found: int) -> None:
    assert len(offences(text, (STRANGE, INVERTED))) == found
