"""The rules that can raise a code, and their counters, as text."""

from collections.abc import Mapping, Sequence
from typing import cast

from cmgr.cli.text.render import Face

Row = Mapping[str, object]


def rules(told: Row) -> list[str]:
    """Return a sentence for each rule that can raise the code."""
    return [f"{row['kind']}: {row['text']}" for row in _rows(told, "rules")]


def counters(told: Row, face: Face) -> list[str]:
    """Return a sentence for each chip that has the fault or counts it."""
    return [_counter(row, face) for row in _rows(told, "chips")]


def _counter(row: Row, face: Face) -> str:
    parts = [f"has it now, as {row['level']}"] if row["active"] else ["does not have it now"]
    if row["times"] is not None and not any(r["kind"] == "FaultFrequency" for r in _rows(row, "raised")):
        since = f" since {face.when(row['first'])}" if row["first"] else ""
        parts.append(f"counted {row['counted']} of {row['times']}{since}")
    parts += [_raise(r, face) for r in _rows(row, "raised")]
    return f"chip {row['chip']}: {'; '.join(parts)}"


def _raise(row: Row, face: Face) -> str:
    if row["manual"]:
        ends = "until a person ends it"
    elif row["ends"]:
        ends = f"until {face.when(row['ends'])}"
    else:
        ends = "while it lasts"
    return f"raised to {row['level']} since {face.when(row['since'])}, because {row['reason']} ({row['kind']}), {ends}"


def _rows(told: Row, key: str) -> Sequence[Row]:
    found = told.get(key)
    return [cast("Row", row) for row in found if isinstance(row, dict)] if isinstance(found, list) else []
