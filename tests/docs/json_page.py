"""The tables of docs/json.md as something to compare a document with."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "json.md"

_ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|")
_HEAD = re.compile(r"^## `cmgr (.*) -o json`$")


@dataclass(frozen=True, slots=True)
class Key:
    """What the page says of one key."""

    type: str
    optional: bool


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
    raise AssertionError(f"the page has a type that it does not explain: {type_}")


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text) is not None
