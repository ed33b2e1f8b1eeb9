"""Values as rows and back, derived from the types of their fields; and which tables a node has.

A field is a column of its name. Times are ISO text in UTC with microseconds, so that they sort as text; durations are
whole microseconds in a column `…_us`; collections are JSON. A value inside of a value has its fields as columns of
their own: those of a named tuple by their names, those of a dataclass behind the field's name (`exit_code`). Fields of
one life of the process only are left out, so that a change of it changes no row.

A sentence (`Sentence | str`) is its text and, in a column `…_message`, its message; in JSON both are a pair.

A new field is a new column: older files get it, filled with the field's default, when their level is raised
(`schema.UPGRADES`).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, StrEnum
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Generic, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from cmgr.frozen import dataclass, default_of, has_default
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Fault, FaultKey
from cmgr.model.values.life import stored_names, stored_types
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import Sentence, message, sentence, written

Value = TypeVar("Value")

Row = Mapping[str, Any]
"""A row by column name, as it is read."""

Cells = Sequence[Any]
"""A row, or its key, in the order of the columns, as it is written: that takes half as long as by name."""

compact = json.JSONEncoder(separators=(",", ":")).encode
"""Return a value as JSON without spaces."""

_MICROSECOND = timedelta(microseconds=1)
_INT64 = 2**63 - 1


@lru_cache(maxsize=1024)  # Of what is written together most has one time; a batch of a storm has hundreds.
def stamp(at: datetime) -> str:
    """Return a time as it is stored."""
    assert at.tzinfo is not None, "a time without a zone"
    return (at if at.tzinfo is UTC else at.astimezone(UTC)).isoformat(timespec="microseconds")


def moment(text: str) -> datetime:
    """Return a stored time."""
    return datetime.fromisoformat(text)


def text(given: str | None) -> str | None:
    """Return a text as SQLite takes it.

    Labels and names come from anybody: half a surrogate pair among them would make every save fail from then on.
    """
    return given if given is None or given.isascii() else given.encode("utf-8", "backslashreplace").decode()


def number(given: int | None) -> int | None:
    """Return a number as SQLite takes it: one past 64 bits would make every save fail, as half a surrogate pair."""
    return given if given is None or -_INT64 <= given <= _INT64 else max(-_INT64, min(given, _INT64))


@dataclass(frozen=True, slots=True)
class Form:
    """How values of one type are stored. `kind` is SQL's type, or empty for a list, which is JSON in a column."""

    kind: str
    put: Callable[[Any], Any]
    take: Callable[[Any], Any]
    maybe: bool = False


def _same(value: Any) -> Any:
    return value


_PLAIN: Mapping[type, Form] = {
    int: Form("INTEGER", _same, _same),
    str: Form("TEXT", _same, _same),
    bool: Form("BOOLEAN", _same, bool),
    datetime: Form("TEXT", stamp, moment),
    timedelta: Form("INTEGER", lambda span: span // _MICROSECOND, lambda number: number * _MICROSECOND),
}


def form_of(hint: Any) -> Form:
    """Return how values of this type are stored. Raises `TypeError` for a type that nobody has thought of."""
    while isinstance(hint, NewType):
        hint = hint.__supertype__
    if hint == (Sentence | str):
        return _TOLD
    given, is_maybe = _optional(hint)
    if is_maybe:
        form = form_of(given)
        put = form.put if form.put is _same else _unless_none(form.put)
        return Form(form.kind, put, _unless_none(form.take), maybe=True)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, Enum):
        # A text stands for itself; of a number its name is what users write.
        by_name = not issubclass(hint, StrEnum)
        # `name` and `value` are functions of Python, these are what they give.
        return Form("TEXT", attrgetter("_name_" if by_name else "_value_"), hint.__getitem__ if by_name else hint)
    if _is_composite(hint):
        return _record(hint)
    return _collection(hint)


def _optional(hint: Any) -> tuple[Any, bool]:
    """Return the type without None, and whether None was in it."""
    if get_origin(hint) not in (Union, UnionType) or NoneType not in get_args(hint):
        return hint, False
    (given,) = (one for one in get_args(hint) if one is not NoneType)
    return given, True


def _unless_none(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else function(value)


def _is_data(hint: Any) -> bool:
    return is_dataclass(hint)


def _is_composite(hint: Any) -> bool:
    return _is_data(hint) or (isinstance(hint, type) and issubclass(hint, tuple))


def _types(kind: Any) -> Mapping[str, Any]:
    return stored_types(kind) if _is_data(kind) else get_type_hints(kind)


def _record(kind: Any) -> Form:
    """A value inside of a list: its fields in order. A new field goes to the end, and needs a default."""
    inner = {name: form_of(hint) for name, hint in _types(kind).items()}
    puts = [(attrgetter(name), form.put) for name, form in inner.items()]
    takes = [(name, form.take) for name, form in inner.items()]
    return Form(
        "",
        lambda value: [put(get(value)) for get, put in puts],
        lambda cells: kind(**{name: take(cell) for (name, take), cell in zip(takes, cells, strict=False)}),
    )


def _collection(hint: Any) -> Form:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is frozenset or (origin is tuple and inner[1:] == (...,)):
        one, ordered = form_of(inner[0]), sorted if origin is frozenset else list
        return Form("", lambda values: ordered(map(one.put, values)), lambda cells: origin(map(one.take, cells)))
    if origin is Mapping:
        key, one = map(form_of, inner)
        return Form(
            "",
            lambda pairs: sorted([key.put(k), one.put(v)] for k, v in pairs.items()),
            lambda cells: {key.take(k): one.take(v) for k, v in cells},
        )
    raise TypeError(f"cannot store a value of the type {hint}")


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `path`: where its part of the value is, as `attrgetter` takes it; without one all rows have 0."""

    name: str
    path: str
    put: Callable[[Any], Any]
    """Returns what stands in this column for that part, unless that is None."""
    form: Form

    @property
    def kind(self) -> str:
        return self.form.kind or "TEXT"

    def cell(self, value: Any) -> Any:
        """Return what stands in this column of the value's row."""
        part = attrgetter(self.path)(value) if self.path else 0
        return None if part is None else self.put(part)

    def part(self, row: Row) -> Any:
        """Return what this column says of the value."""
        cell = row[self.name]
        return self.form.take(cell if self.form.kind or cell is None else json.loads(cell))


_Take = Callable[[Row], Any]


def message_of(text: str) -> str | None:
    """Return the message of a text as it is stored, if it is a sentence."""
    return written(text) if isinstance(text, Sentence) else None


def sentence_of(text: str, message: str | None) -> str:
    """Return a text as it was before it was stored."""
    return text if message is None else sentence(text, json.loads(message))


def _told(text: str) -> Any:
    return [text, message(text)] if isinstance(text, Sentence) else text


def _retold(cell: Any) -> str:
    return cell if isinstance(cell, str) else sentence(*cell)


_MESSAGE = Form("TEXT", message_of, _same, maybe=True)
_TOLD = Form("TEXT", _told, _retold)


def _sentence(name: str, path: str, get: Callable[[Any], Any]) -> tuple[tuple[Column, ...], _Take]:
    forms = {name: _PLAIN[str], f"{name}_message": _MESSAGE}
    columns = tuple(Column(each, path, _put_of(get, form), form) for each, form in forms.items())
    return columns, lambda row: sentence_of(*(column.part(row) for column in columns))


def _columns(name: str, hint: Any, path: str, get: Callable[[Any], Any] = _same) -> tuple[tuple[Column, ...], _Take]:
    """Return the columns of a part of a value, and how that part comes out of a row.

    It is what `get` finds in what is at the path: that may be None there.
    """
    if hint == (Sentence | str):
        return _sentence(name, path, get)
    given, is_maybe = _optional(hint)
    if not _is_composite(given):
        form = form_of(hint)
        column = Column(f"{name}_us" if given is timedelta else name, path, _put_of(get, form), form)
        return (column,), column.part
    before = f"{name}_" if _is_data(given) else ""
    inner = [
        (part, _columns(before + part, kind | None, path, _getter_of_part(get, part)))
        if is_maybe
        else (part, _columns(before + part, kind, f"{path}.{part}"))
        for part, kind in _types(given).items()
    ]
    columns = tuple(chain.from_iterable(found for _, (found, _) in inner))

    def take(row: Row) -> Any:
        if is_maybe and all(row[column.name] is None for column in columns):
            return None
        return given(**{part: take_part(row) for part, (_, take_part) in inner})

    return columns, take


def _put_of(get: Callable[[Any], Any], form: Form) -> Callable[[Any], Any]:
    """Return how to make a cell of what has that in it which `get` finds."""
    put = form.put
    if not form.kind:
        put = _after(_listed, put)
    elif form.kind == "INTEGER":
        put = number if put is _same else _after(number, put)
    elif form.kind == "TEXT" and put is _same:
        put = text
    if get is _same:
        return put
    return get if put is _same else _after(_unless_none(put), get)


def _after(then: Callable[[Any], Any], first: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: then(first(value))


def _listed(parts: Any) -> str | None:
    # Most lists are empty, and to make JSON of one takes as long as all else of its row.
    return compact(parts) if parts else None if parts is None else "[]"


def _getter_of_part(get: Callable[[Any], Any], part: str) -> Callable[[Any], Any]:
    return attrgetter(part) if get is _same else _after(_unless_none(attrgetter(part)), get)


class Stored(Generic[Value]):
    """A table with a row for each value of one kind."""

    def __init__(self, name: str, kind: type[Value], *key: str) -> None:
        """Derive its columns. `key` are the fields that no two values have alike; without any there is one row."""
        self.name = name
        self.key_of: Callable[[Value], Any] = attrgetter(*key) if key else lambda _: 0
        self._kind = kind
        types = _types(kind)
        parts = {field: _columns(field, hint, field) for field, hint in types.items()}
        self._takes = [(field, take) for field, (_, take) in parts.items()]
        only = () if key else (Column("id", "", _same, _PLAIN[int]),)
        self.columns = (*only, *chain.from_iterable(columns for columns, _ in parts.values()))
        self.key = tuple(column.name for column in (*only, *(c for field in key for c in parts[field][0])))
        """The columns of the primary key."""
        cells = {column.name: column.cell for column in self.columns}
        self._key_cells = [cells[name] for name in self.key]
        self._first = [0] * len(only)
        self._parts = attrgetter(*(column.path for column in self.columns[len(only) :]))
        """Returns what is at each column's path at once: to ask for one after another took most of a row's time."""
        self._puts = [(place, column.put) for place, column in enumerate(self.columns) if column.put is not _same]
        self.kept: Callable[[Value], Any] = attrgetter(*stored_names(kind))
        """Returns what of a value is stored, to compare it."""
        self.defaults: dict[str, Any] = {}
        """The value of a column in rows that are older than the column, where its field has a default."""
        for field in fields(kind):  # type: ignore[arg-type]
            if field.name in types and has_default(field):
                alone = SimpleNamespace(**{field.name: default_of(field)})
                self.defaults |= {column.name: column.cell(alone) for column in parts[field.name][0]}
            elif _is_data(types.get(field.name)):
                inner = Stored[Any](name, types[field.name]).defaults
                self.defaults |= {f"{field.name}_{column}": cell for column, cell in inner.items()}

    def cells(self, value: Value) -> Cells:
        cells = [*self._first, *self._parts(value)]
        for place, put in self._puts:
            if cells[place] is not None:
                cells[place] = put(cells[place])
        return cells

    def key_cells(self, value: Value) -> Cells:
        return [cell(value) for cell in self._key_cells]

    def row(self, value: Value) -> dict[str, Any]:
        return dict(zip((column.name for column in self.columns), self.cells(value), strict=True))

    def value(self, row: Row) -> Value:
        """Return the value. Raises `ValueError`, `TypeError` or `LookupError` on a row that no cmgr wrote."""
        return self._kind(**{field: take(row) for field, take in self._takes})


def _tables() -> tuple[dict[str, Stored[Any]], dict[str, Stored[Any]]]:
    many, single = {}, {}
    for name, hint in stored_types(Node).items():
        given, _ = _optional(hint)
        inner = get_args(given)
        if _is_data(given):
            single[name] = Stored(name, given)
        elif get_origin(given) is Mapping and _is_data(inner[1]):
            # The fields that a mapping goes by are the first of its values.
            key = list(stored_types(inner[1]))[: len(get_args(inner[0])) or 1]
            many[name] = Stored(name, inner[1], *key)
    return many, single


MANY, SINGLE = _tables()
"""The tables of the mappings of a node, and those of its single values; each has the name of the node's field."""

FAULTS = Stored("faults", Fault, "chip", "code", "module", "since")
"""Those that a node has forgotten stay as history."""


def node_of(select: Callable[[str], Iterable[Row]]) -> Node:
    """Return the stored node; `select` runs a query. Cleared faults are history and stay out.

    Raises `ValueError`, `TypeError` or `LookupError` on a value that no cmgr wrote.
    """
    faults: dict[ChipId, dict[FaultKey, Fault]] = {}
    for fault in map(FAULTS.value, select("SELECT * FROM faults WHERE cleared IS NULL")):
        faults.setdefault(fault.chip, {})[fault.key] = fault
    (meta,) = select("SELECT serial, episodes FROM meta")
    found: dict[str, Any] = {}
    for name, table in MANY.items():
        found[name] = {table.key_of(value): value for value in map(table.value, select(f"SELECT * FROM {name}"))}  # noqa: S608
    for name, table in SINGLE.items():
        for value in map(table.value, select(f"SELECT * FROM {name}")):  # noqa: S608
            found[name] = value
    return Node(**found, faults=faults, serial=meta["serial"], episodes=meta["episodes"])
