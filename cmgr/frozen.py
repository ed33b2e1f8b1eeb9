"""Frozen dataclasses as the standard library makes them and copies them, but quickly.

The standard library compiles six texts for each class, while it is imported. cmgr has 250 such classes: that was two
fifths of the service's start. Here the text of a method is compiled when it is first used.

Its `replace` walks the description of every field at each call (3.11), and a decision makes dozens of copies: of one
on a fault that stops eight containers that was six tenths.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterator
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # The type checker knows these, and which fields they take.
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:

    def dataclass(*, frozen: bool, slots: bool = False, kw_only: bool = False) -> Callable[[type], type]:
        """Make a class as `dataclasses.dataclass` does: a dataclass to everybody, with the same behaviour.

        It is for frozen classes only, whose fields have names, defaults and default factories, and nothing else.
        """
        if not frozen:
            raise TypeError("this makes frozen classes only")

        def made(cls: type) -> type:
            # Without a text the standard library makes one, of the signature, and that takes longest of all.
            cls.__doc__ = cls.__doc__ or cls.__name__
            return _equipped(dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls))

        return made

    def replace(value, /, **changes):
        """Return a copy of a value of a dataclass with some of its fields changed.

        All its fields are ones that its constructor takes in their order. Raises `TypeError` for one that it has not.
        """
        kind = type(value)
        places, parts = _plan(kind)
        if parts is None:
            if not places.keys() >= changes.keys():
                raise TypeError(f"{kind.__name__} has no field {next(iter(changes.keys() - places.keys()))}")
            made = object.__new__(kind)
            made.__dict__.update(value.__dict__, **changes)
            return made
        given = [*parts(value)]
        for name, changed in changes.items():
            try:
                given[places[name]] = changed
            except KeyError:
                raise TypeError(f"{kind.__name__} has no field {name}") from None
        return kind(*given)


def has_default(field: "Field[Any]") -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def default_of(field: "Field[Any]") -> Any:
    """Return the default of a field that has one."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def finish(*classes: type) -> None:
    """Compile what is not compiled yet, of these or of all classes: no first use has to wait for it. Any thread."""
    for cls in tuple(_raw):
        if not classes or cls in classes:
            _compile(cls, *_raw.pop(cls, ()))


_raw: dict[type, set[str]] = {}
"""The methods of each class that are not compiled."""

_FACTORY = object()
"""The default of an argument that stands for what the field's factory makes."""


def _equipped(cls: type) -> type:
    """Give the class the methods that it does not have itself."""
    raw = {
        "__init__": lambda self, *args, **named: _compile(cls, "__init__")["__init__"](self, *args, **named),
        "__eq__": lambda self, other: _compile(cls, "__eq__")["__eq__"](self, other),
        "__hash__": lambda self: _compile(cls, "__hash__")["__hash__"](self),
    }
    for name, method in (raw | _COMMON).items():
        if name not in cls.__dict__:
            setattr(cls, name, method)
            if name in raw:
                _raw.setdefault(cls, set()).add(name)
    return cls


def _compile(cls: type, *methods: str) -> dict[str, Any]:
    """Compile the methods, give the class those that are raw, and return them. Two threads at once do it both."""
    names: dict[str, Any] = {"_FACTORY": _FACTORY}
    for field in fields(cls):
        # A slot's own setter: what the class says of assignments does not reach it.
        setter = getattr(getattr(cls, field.name, None), "__set__", None)
        names[f"_set_{field.name}"] = setter or _setter(field.name)
        names[f"_default_{field.name}"] = field.default if field.default_factory is MISSING else field.default_factory
    exec("\n".join(_text(cls, methods)), names)  # noqa: S102  # Made of the names of fields, as in the standard library.
    for name in methods:
        names[name].__qualname__ = f"{cls.__qualname__}.{name}"
        if getattr(cls.__dict__[name], "__module__", None) == __name__:
            setattr(cls, name, names[name])
        _raw.get(cls, set()).discard(name)
    return names


def _text(cls: type, methods: Collection[str]) -> Iterator[str]:
    all_fields = fields(cls)
    if "__init__" in methods:
        yield from _text_of_init(cls, all_fields)
    own, others = ("".join(f"{who}.{field.name}, " for field in all_fields) for who in ("self", "other"))
    if "__eq__" in methods:
        yield "def __eq__(self, other):"
        yield f" return ({own}) == ({others}) if other.__class__ is self.__class__ else NotImplemented"
    if "__hash__" in methods:
        yield "def __hash__(self):"
        yield f" return hash(({own}))"


def _text_of_init(cls: type, all_fields: tuple["Field[Any]", ...]) -> Iterator[str]:
    anywhere = [_argument(field) for field in all_fields if not field.kw_only]
    named = [_argument(field) for field in all_fields if field.kw_only]
    yield f"def __init__({', '.join(['self', *anywhere, *(['*', *named] if named else [])])}):"
    given = {field.name: _given(field) for field in all_fields}
    if hasattr(cls, "__slots__"):
        yield from (f" _set_{name}(self, {value})" for name, value in given.items())
    else:
        yield f" self.__dict__.update({', '.join(f'{name}={value}' for name, value in given.items())})"
    yield " self.__post_init__()" if hasattr(cls, "__post_init__") else " pass"


def _argument(field: "Field[Any]") -> str:
    if field.default_factory is not MISSING:
        return f"{field.name}=_FACTORY"
    return field.name if field.default is MISSING else f"{field.name}=_default_{field.name}"


def _given(field: "Field[Any]") -> str:
    made = f"_default_{field.name}() if {field.name} is _FACTORY else " if field.default_factory is not MISSING else ""
    return made + field.name


def _setter(name: str) -> Callable[[object, object], None]:
    return lambda self, value: object.__setattr__(self, name, value)


def _repr(self: Any) -> str:
    told = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
    return f"{type(self).__qualname__}({told})"


def _setattr(_self: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(_self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in fields(self)]


def _setstate(self: Any, state: list[object]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_COMMON: dict[str, Callable[..., object]] = {
    "__repr__": _repr,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}


@cache
def _plan(kind: type) -> tuple[dict[str, int], Any]:
    """Return the place of each field, and what gives all fields of a value in order.

    None: a value has them in its dictionary and nothing else, and its class does nothing when one is made. To copy that
    takes a tenth of the time for a class of many fields.
    """
    names = [field.name for field in fields(kind)]
    if not hasattr(kind, "__slots__") and not hasattr(kind, "__post_init__"):
        return {name: place for place, name in enumerate(names)}, None
    # Of one name `attrgetter` gives the bare value.
    parts = attrgetter(*names) if len(names) > 1 else lambda value: (getattr(value, names[0]),)
    return {name: place for place, name in enumerate(names)}, parts
