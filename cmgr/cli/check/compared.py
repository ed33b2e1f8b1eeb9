"""A maker's fault table beside the one in use: makers change theirs every month."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_levels
from cmgr.config.tables.table import parse_table
from cmgr.errors import ConfigError
from cmgr.model.values.faults import FaultCode
from cmgr.model.values.handling.catalog import Catalog, is_reported, table
from cmgr.sentences.sentence import ENGLISH, in_language, say
from cmgr.view.text import render

if TYPE_CHECKING:
    from cmgr.view.slot_shapes import Comparison, Difference

UNKNOWN = say("check.in-no-table")


def compared(config: Config, path: Path) -> "Comparison":
    """Return how the file's codes differ from those in use. Raises `ConfigError` with every mistake of the file."""
    catalog, theirs = load_levels(config, lambda _: None), parse_table(_read(path), str(path))
    there = {code: entry.handling.name for code, entry in table(theirs.levels, str(path)).items()}
    reported = sorted(filter(is_reported, there))
    differing = [*_differing(catalog, {code: word for code, word in there.items() if code not in reported})]
    same = len(there) - len(reported) - len(differing)
    return {"differences": differing, "same": same, "reported": [*reported], "warnings": [*theirs.warnings]}


def _read(path: Path) -> str:
    # Anybody may have written what is only compared.
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(say("trust.cannot-read", path=str(path))) from error


def _differing(catalog: Catalog, there: Mapping[FaultCode, str]) -> "Iterator[Difference]":
    for code, word in sorted(there.items()):
        entry = catalog.entries.get(code)
        here = entry.handling.name if entry is not None else UNKNOWN
        if here != word:
            meanings = [] if entry is None or not entry.meaning else [entry.meaning, entry.chinese.meaning]
            meaning = say("fault.meaning", meaning=meanings) if meanings else ""
            yield {"code": code, "here": here, "there": word, "meaning": meaning}


def lines(found: "Comparison", width: int, language: str = ENGLISH) -> list[str]:
    """Return a row for each code that differs, and the sum."""

    def said(text: str) -> str:
        return in_language(text, language)

    differences, reported = found["differences"], found["reported"]
    head = [said(say("label.word", word=word)) for word in ("CODE", "HERE", "THERE", "MEANING")]
    rows = [(d["code"], said(d["here"]), d["there"], said(d["meaning"])) for d in differences]
    differing = [*render.table(head, rows, width), ""] if rows else []
    unknown = sum(d["here"] == UNKNOWN for d in differences)
    left = [say("check.left-out", codes=reported)] if reported else []
    total = say("check.compared", others=len(rows) - unknown, unknown=unknown, same=found["same"])
    return [*differing, *map(said, [*found["warnings"], *left, total])]
