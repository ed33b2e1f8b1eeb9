"""Changed copies of frozen values, fast: a decision makes dozens of them.

`dataclasses.replace` walks the description of every field at each call (3.11): of a decision on a fault that stops
eight containers that was six tenths.
"""

from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # The type checker knows this one, and which fields it takes.
    from dataclasses import replace as replace
else:

    def replace(value, /, **changes):
        """Return a copy of a value of a dataclass with some of its fields changed.

        All its fields are ones that its constructor takes in their order. Raises `TypeError` for one that it has not.
        """
        places, parts = _plan(type(value))
        given = [*parts(value)]
        for name, changed in changes.items():
            try:
                given[places[name]] = changed
            except KeyError:
                raise TypeError(f"{type(value).__name__} has no field {name}") from None
        return type(value)(*given)


@cache
def _plan(kind: type) -> tuple[dict[str, int], Any]:
    """Return the place of each field, and what gives all fields of a value in order."""
    names = [field.name for field in fields(kind)]
    # Of one name `attrgetter` gives the bare value.
    parts = attrgetter(*names) if len(names) > 1 else lambda value: (getattr(value, names[0]),)
    return {name: place for place, name in enumerate(names)}, parts
