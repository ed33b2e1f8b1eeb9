"""Which fields belong to one life of the process: `ThisLife` marks them where they are declared.

All other fields of what a node has are stored (`store/rows.py`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

from cmgr.frozen import default_of, replace

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Data = TypeVar("Data", bound=DataclassInstance)

Value = TypeVar("Value")

_MARK = "of this life"

ThisLife = Annotated[Value, _MARK]
"""The type of a field that is not stored. The field needs a default: the next life begins with that."""


@cache
def stored_types(kind: type) -> Mapping[str, Any]:
    """Return the types of the fields that are stored, in order."""
    hints = get_type_hints(kind, include_extras=True)
    return {f.name: hints[f.name] for f in fields(kind) if _MARK not in getattr(hints[f.name], "__metadata__", ())}


def reborn(value: "Data") -> "Data":
    """Return the value as the next life gets to know it, without what belongs to this one."""
    kept = stored_types(type(value))
    ended = {f.name: default_of(f) for f in fields(value) if f.name not in kept}
    inner = {name: reborn(getattr(value, name)) for name, hint in kept.items() if is_dataclass(hint)}
    return replace(value, **ended, **inner)


def stored_names(kind: type) -> Iterator[str]:
    """Yield the names of the fields that are stored; of a value inside of the value those of its own, behind a dot."""
    for name, hint in stored_types(kind).items():
        if is_dataclass(hint) and isinstance(hint, type):
            yield from (f"{name}.{part}" for part in stored_names(hint))
        else:
            yield name
