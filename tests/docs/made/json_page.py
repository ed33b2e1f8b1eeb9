"""The tables of docs/json.md: made from the types of the documents, and as something to compare a document with.

`python -m tests.docs.made.json_page` rewrites them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cmgr.service.door.openapi import SCHEMAS, schema
from cmgr.view import group_shapes, shapes, slot_shapes
from cmgr.view.one import one_shapes

PAGE = Path(__file__).parents[3] / "docs" / "json.md"

SHAPES = {
    "status": shapes.Status,
    "show chip CHIP": one_shapes.AboutChip,
    "show container NAME": one_shapes.AboutContainer,
    "chips": shapes.Chips,
    "chips --available": slot_shapes.Available,
    "group": group_shapes.Groups,
    "fleet status": group_shapes.Fleet,
    "slot": slot_shapes.Slots,
    "faults": shapes.Faults,
    "history": shapes.Episodes,
    "history EPISODE": shapes.Timeline,
    "history --all": shapes.History,
    "downtime": slot_shapes.Downtime,
    "explain CODE": shapes.Explanation,
    "check": shapes.Check,
    "check --table FILE": slot_shapes.Comparison,
    "alarms": slot_shapes.AlarmReceivers,
    "version": slot_shapes.Version,
}
"""By the command that prints it."""

_WORDS = {"string": "text", "integer": "whole", "number": "number", "boolean": "flag", "object": "object"}

_ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|")
_HEAD = re.compile(r"^## `cmgr (.*) -o json`$")


@dataclass(frozen=True, slots=True)
class Key:
    """The page's words about one key."""

    type: str
    optional: bool


def page() -> str:
    """Return the page with its tables as they should be."""
    text = PAGE.read_text()
    for command, shape in SHAPES.items():
        head = f"## `cmgr {command} -o json`"
        before, found, section = text.partition(f"{head}\n")
        above, table, below = re.split(r"(?<=\n)(\| key \|.*?\n)(?=\n|\Z)", section, maxsplit=1, flags=re.DOTALL)
        assert found, f"{PAGE.name} has no place for {head}"
        assert table
        text = f"{before}{found}{above}{_table(shape)}{below}"
    return text


def _table(shape: Any) -> str:
    named: dict[str, Any] = {}
    root = schema(shape, named)
    rows = [f"| `{path}` | {type_} | {says} |" for path, type_, says in _rows(root, named, "")]
    return "\n".join(["| key | type | is |", "|---|---|---|", *rows, ""])


def _rows(told: Any, named: dict[str, Any], before: str) -> Iterator[tuple[str, str, str]]:
    shape = named[told["$ref"].removeprefix(SCHEMAS)]
    for key, found in shape["properties"].items():
        optional = "" if key in shape["required"] else ", optional"
        yield f"{before}{key}", _word(found) + optional, found.get("description", "")
        below = _below(found)
        if "$ref" in below:
            yield from _rows(below, named, f"{before}{key}{'[]' if 'items' in found else ''}.")


def _below(found: Any) -> Any:
    """Return what is described row by row below this one: the object itself, or each in the list."""
    return found.get("items") or next((each for each in found.get("anyOf", ()) if "$ref" in each), found)


def _word(found: Any) -> str:
    """Return the page's word for a type."""
    if "anyOf" in found:
        words = [_word(each) for each in found["anyOf"] if each != {"type": "null"}]
        comma = "," if words[0].startswith("one of") else ""
        return " or ".join(words) + (f"{comma} or null" if {"type": "null"} in found["anyOf"] else "")
    if "$ref" in found:
        return "object"
    if "items" in found:
        return "list of " + ("objects" if "$ref" in found["items"] else _word(found["items"]))
    if "enum" in found:
        return f"one of {', '.join(found['enum'])}"
    if "additionalProperties" in found:
        return f"map of {_word(found['additionalProperties'])}"
    return "time" if "format" in found else _WORDS[found["type"]]


def documents(text: str) -> dict[str, dict[str, Key]]:
    """Return the keys of each document, by the command that gives it."""
    found: dict[str, dict[str, Key]] = {}
    keys: dict[str, Key] = {}
    for line in text.splitlines():
        if head := _HEAD.match(line):
            keys = found.setdefault(head[1], {})
        elif row := _ROW.match(line):
            told = row[2].strip()
            keys[row[1]] = Key(told.removesuffix(", optional"), told.endswith(", optional"))
    return found


def mistakes(keys: dict[str, Key], value: object, of: str = "") -> Iterator[str]:
    """Yield in what the value is not what these keys say, as far as they begin with `of`."""
    if not isinstance(value, dict):
        yield f"{of or 'the document'} is no object"
        return
    before = f"{of}." if of else ""
    known = {k.removeprefix(before): k for k in keys if _is_below(k, before)}
    yield from (f"{before}{name} is not on the page" for name in value.keys() - known.keys())
    for name, path in known.items():
        if name in value:
            yield from _wrong(keys, path, value[name])
        elif not keys[path].optional:
            yield f"{path} is missing"


def _is_below(path: str, before: str) -> bool:
    return path.startswith(before) and re.fullmatch(r"\w+", path.removeprefix(before)) is not None


def _wrong(keys: dict[str, Key], path: str, value: object) -> Iterator[str]:
    type_ = keys[path].type
    if type_.endswith("or null"):
        type_ = type_.removesuffix("or null").rstrip(", ")
        if value is None:
            return
    if type_ == "object":
        yield from mistakes(keys, value, path)
    elif type_ == "list of objects":
        if not isinstance(value, list):
            yield f"{path} is no list"
            return
        # Some are described where they come first on the page.
        if any(_is_below(k, f"{path}[].") for k in keys):
            for each in value:
                yield from mistakes(keys, each, f"{path}[]")
    elif not _is(type_, value):
        yield f"{path} is {value!r}, not {type_}"


def _is(type_: str, value: object) -> bool:
    if type_.startswith("list of "):
        return isinstance(value, list) and all(_is(type_.removeprefix("list of "), each) for each in value)
    if type_.startswith("map of "):
        kinds = type_.removeprefix("map of ").split(" or ")
        return isinstance(value, dict) and all(any(_is(kind, each) for kind in kinds) for each in value.values())
    if type_.startswith("one of "):
        return value in type_.removeprefix("one of ").split(", ")
    match type_:
        case "text":
            return isinstance(value, str) and value.isprintable()
        case "time":
            return isinstance(value, str) and _is_time(value)
        case "flag":
            return isinstance(value, bool)
        case "whole":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "object":  # In a map: a message.
            return isinstance(value, dict) and value.keys() == {"id", "args"} and isinstance(value["args"], dict)
    raise AssertionError(f"the page has a type that it does not explain: {type_}")


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text) is not None


if __name__ == "__main__":
    PAGE.write_text(page())
