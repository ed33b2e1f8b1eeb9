"""All settings as a table that is made from the declarations: key, kind, default, sentence."""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from types import UnionType
from typing import Any, get_args, get_origin

from cmgr.config.durations import duration
from cmgr.config.kinds import Choice, Flag, Kind, Many, Rows, Text, Time, Whole
from cmgr.config.settings import Config
from cmgr.config.sizes import Bytes, Size, size
from cmgr.declare import Meta

PREFIX = "CMGR_"


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
        return PREFIX + self.key.replace(".", "_").upper()


@dataclass(frozen=True, slots=True)
class Section:
    """One table of the file; the empty key is the top."""

    key: str
    sentence: str
    settings: tuple[Setting, ...]


def sections(of: type = Config) -> tuple[Section, ...]:
    """Return every table, in the order of declaration."""
    return tuple(_sections(of, "", "", None))


def settings() -> dict[str, Setting]:
    """Return every setting by its key."""
    return {setting.key: setting for section in sections() for setting in section.settings}


def row(of: type) -> tuple[Setting, ...]:
    """Return the settings of one table of a list of tables."""
    return sections(of)[0].settings


def build(values: Mapping[str, object]) -> Config:
    """Return the configuration with these values, by key, and the defaults of the rest."""
    config = _build(Config(), values, "")
    assert isinstance(config, Config)
    return config


def _sections(of: type, key: str, sentence: str, default: object) -> Iterator[Section]:
    here: list[Setting] = []
    below: list[Section] = []
    for field in dataclasses.fields(of):
        kind, meta = get_args(field.type)
        name = f"{key}.{field.name}" if key else field.name
        value = _default(field) if default is None else getattr(default, field.name)
        if dataclasses.is_dataclass(kind):
            assert isinstance(kind, type)
            below.extend(_sections(kind, name, meta.sentence, value))
        else:
            here.append(Setting(name, _kind(kind, meta, value), meta, value))
    yield Section(key, sentence, tuple(here))
    yield from below


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
        return Choice(declared, optional=True) if issubclass(declared, StrEnum) else _time(meta, optional=True)
    if declared is bool:
        return Flag()
    if declared is int:
        assert meta.within is not None
        least, most = meta.within
        return Whole(int(least), int(most))
    if declared is timedelta:
        return _time(meta, optional=False)
    if declared is Bytes:
        assert meta.within is not None
        least, most = meta.within
        return Size(size(str(least)), size(str(most)))
    return Text(meta, empty=meta.empty or default == "") if declared is str else Choice(declared)


def _time(meta: Meta, *, optional: bool) -> Time:
    assert meta.within is not None
    least, most = meta.within
    return Time(duration(str(least)), duration(str(most)), optional)


def _build(default: Any, values: Mapping[str, object], key: str) -> Any:
    changed = {}
    for field in dataclasses.fields(default):
        name = f"{key}.{field.name}" if key else field.name
        value = getattr(default, field.name)
        if dataclasses.is_dataclass(value):
            changed[field.name] = _build(value, values, name)
        elif name in values:
            changed[field.name] = values[name]
    return dataclasses.replace(default, **changed)
