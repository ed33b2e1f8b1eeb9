"""The files of the page: few, small, from nowhere else, and every text there in both languages."""

import gzip
import re
from pathlib import Path

import pytest

import cmgr.web
from cmgr.model.values.services.outages import OutageCause
from tests.sentences.test_catalogs import OTHER_SIGNS

STATIC = Path(cmgr.web.__file__).parent / "static"
LIMIT = 120_000
"""Bytes of all of them as files."""

SENT_LIMIT = 48 * 1024
"""Of all of them, as browsers are sent them: packed."""

OWN = sorted(STATIC.iterdir())


def test_all_of_them_are_small() -> None:
    assert sum(path.stat().st_size for path in OWN) <= LIMIT
    assert sum(len(gzip.compress(path.read_bytes())) for path in OWN) <= SENT_LIMIT


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_nothing_is_loaded_from_elsewhere(path: Path) -> None:
    named = set(re.findall(r"https?://[^\s\"'`)]+|url\([^)]*\)|@import", path.read_text()))
    # The name of a language, which nobody asks for.
    assert named - {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"} == set()
    for name in re.findall(r"from \"([^\"]+)\"", path.read_text()):
        assert name.startswith("./")
        assert (STATIC / name).exists()


ONE = r'"((?:[^"\\]|\\.)*)"'
ENTRY = rf"(?:\b(\w+)|{ONE}): (?:\[{ONE}, {ONE}\]|{ONE})"


def texts() -> dict[str, tuple[str, str]]:
    """Return every text, in English and in Chinese, by its key. A short one is its own key."""
    table = (STATIC / "texts.js").read_text().partition("TEXTS = {")[2].partition("};")[0]
    found = re.findall(ENTRY, table)
    assert re.sub(rf"{ENTRY}|^ *//.*$|[\s,]", "", table, flags=re.MULTILINE) == "", "each was understood"
    return {word or words: (english or word or words, both or chinese) for word, words, english, both, chinese in found}


def test_every_text_is_there_in_both_languages_with_the_same_gaps() -> None:
    assert len(texts()) > 150
    for key, (english, chinese) in texts().items():
        gaps = [sorted(re.findall(r"{\w+}", text)) for text in (english, chinese)]
        assert gaps[0] == gaps[1], key
        assert re.search("[\u4e00-\u9fff/]", chinese), key
        assert not re.search("[\u4e00-\u9fff]", english), key
        assert not re.search(rf"{OTHER_SIGNS.pattern}|(?<=}})[,:;]", chinese), key


def test_every_text_that_is_shown_is_there_and_every_one_there_is_shown() -> None:
    code = "\n".join(
        path.read_text() for path in OWN if path.suffix == ".js" and path.name not in ("texts.js", "lit-html.js")
    )
    shown = set(re.findall(r"\bt\(\"([^\"]+)\"", code))
    assert shown - texts().keys() == set()
    # Words that are shown by a name that stands in the data, and heads of columns.
    words = set(re.findall(r"\"([^\"\n]+)\"", code)) | set(re.findall(r"\b(\w+): ", code))
    words |= set(" ".join(re.findall(r"\"((?:[A-Z]\w* )+[A-Z]\w*)\"", code)).split())
    causes = {f"by {cause}" for cause in OutageCause if cause is not OutageCause.UNSEEN}
    assert texts().keys() - shown - words - OF_THE_SERVICE == causes


OF_THE_SERVICE = {
    "recovered", "cleared", "isolated", "observed", "under way", "halting", "again", "resumed", "critical", "warning",
    "healthy", "failed", "ready", "degraded", "hangs", "away", "unknown", "halted", "out", "group", "project", "unit",
}  # fmt: skip
"""Words that are the service's own: outcomes, severities, phases."""


def test_the_library_is_the_one_that_was_published() -> None:
    text = (STATIC / "lit-html.js").read_text()
    assert "SPDX-License-Identifier: BSD-3-Clause" in text
    assert "eval(" not in text
    assert "Redistribution and use" in (STATIC.parent / "lit-html.LICENSE").read_text()
