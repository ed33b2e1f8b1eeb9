"""All settings as a table that is made from the declarations: key, kind, default, sentence."""

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Annotated, Any, get_args, get_origin

from cmgr.config.kinds import Choice, Flag, Kind, Many, Rows, Text, Time, Week, Whole
from cmgr.config.settings import Config
from cmgr.config.spelling import duration
from cmgr.declare import Form, Meta
from cmgr.frozen import dataclass
from cmgr.model.values.handling.calendar import Window

PREFIX = "CMGR_"


def variable(key: str) -> str:
    """Return the variable of the environment that sets this."""
    return PREFIX + key.replace(".", "_").upper()


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `default` is `dataclasses.MISSING` where it must be given."""

    key: str
    kind: Kind
    meta: Meta
    default: object

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return variable(self.key)


@dataclass(frozen=True, slots=True)
class Section:
    """One table of the file; the empty key is the top."""

    key: str
    sentence: str
    settings: tuple[Setting, ...]


@cache
def sections(of: type = Config) -> tuple[Section, ...]:
    """Return every table, in the order of declaration."""
    return tuple(_sections(of, "", "", None))


def settings() -> dict[str, Setting]:
    """Return every setting by its key."""
    return {setting.key: setting for section in sections() for setting in section.settings}


def row(of: type) -> tuple[Setting, ...]:
    """Return the settings of one table of a list of tables."""
    return sections(of)[0].settings


def values(config: Config) -> dict[str, object]:
    """Return the value of every setting by its key."""
    return dict(_values(config, ""))


def build(values: Mapping[str, object]) -> Config:
    """Return the configuration with these values, by key, and the defaults of the rest."""
    config = _build(Config(), values, "")
    assert isinstance(config, Config)
    return config


def _sections(of: type, key: str, sentence: str, default: object) -> Iterator[Section]:
    here: list[Setting] = []
    below: list[Section] = []
    for field in dataclasses.fields(of):
        if get_origin(field.type) is not Annotated:
            continue  # It is no setting.
        kind, meta = get_args(field.type)
        name = _name(key, field)
        value = _default(field) if default is None else getattr(default, field.name)
        if dataclasses.is_dataclass(kind):
            assert isinstance(kind, type)
            inner = tuple(_sections(kind, name, meta.sentence, value))
            below.extend(inner[1:] if meta.around else inner)
        else:
            here.append(Setting(name, _kind(kind, meta, value), meta, value))
    yield Section(key, sentence, tuple(here))
    yield from below


def _values(of: Any, key: str) -> Iterator[tuple[str, object]]:
    for field in dataclasses.fields(of):
        if get_origin(field.type) is not Annotated:
            continue  # It is no setting.
        name, value = _name(key, field), getattr(of, field.name)
        if dataclasses.is_dataclass(value):
            yield from _values(value, name)
        else:
            yield name, value


def _name(key: str, field: dataclasses.Field[Any]) -> str:
    if get_origin(field.type) is Annotated and get_args(field.type)[1].around:
        return key
    return f"{key}.{field.name}" if key else field.name


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _kind(declared: Any, meta: Meta, default: object) -> Kind:
    if get_origin(declared) is tuple:
        of = get_args(declared)[0]
        return Rows(of) if dataclasses.is_dataclass(of) and isinstance(of, type) else Many(_kind(of, meta, None))
    if isinstance(declared, UnionType):
        declared = get_args(declared)[0]
        if declared is bool:
            return Flag(meta.choices)
        return Choice(declared, optional=True) if issubclass(declared, StrEnum) else _time(meta, optional=True)
    if declared is bool:
        return Flag()
    if declared is int:
        assert meta.within is not None
        least, most = meta.within
        return Whole(int(least), int(most))
    if declared is Window:
        return Week(begins=meta.form is Form.BEGINS)
    if declared is timedelta:
        return _time(meta, optional=False)
    return Text(meta, empty=meta.empty or default == "") if declared is str else Choice(declared)


def _time(meta: Meta, *, optional: bool) -> Time:
    assert meta.within is not None
    least, most = meta.within
    return Time(duration(str(least)), duration(str(most)), optional)


def _build(default: Any, values: Mapping[str, object], key: str) -> Any:
    changed = {}
    for field in dataclasses.fields(default):
        name = _name(key, field)
        value = getattr(default, field.name)
        if dataclasses.is_dataclass(value):
            changed[field.name] = _build(value, values, name)
        elif name in values:
            changed[field.name] = values[name]
    return dataclasses.replace(default, **changed)
