"""Changed copies of frozen values."""

import dataclasses
import inspect
import pkgutil
from importlib import import_module
from types import ModuleType

import pytest

import cmgr.model.values
from cmgr import frozen
from cmgr.frozen import replace
from cmgr.model.values.node import Node
from tests.store.sample import NODE


@dataclasses.dataclass(frozen=True, slots=True)
class One:
    name: str


@frozen.dataclass(frozen=True)
class Whole:
    number: int
    name: str = ""

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError("too small")


def _kinds() -> list[type]:
    """Return every dataclass among the values of the model."""
    names = [m.name for m in pkgutil.walk_packages(cmgr.model.values.__path__, "cmgr.model.values.") if not m.ispkg]
    modules: list[ModuleType] = [import_module(name) for name in names]
    found = {v for m in modules for v in vars(m).values() if inspect.isclass(v) and dataclasses.is_dataclass(v)}
    return sorted(found, key=lambda kind: kind.__qualname__)


def test_a_copy_is_as_the_library_makes_it() -> None:
    assert replace(NODE, serial=7) == dataclasses.replace(NODE, serial=7)
    assert replace(NODE) == NODE
    assert replace(One("a"), name="b") == One("b")


def test_what_is_copied_stays_as_it_was() -> None:
    """Also where its fields are not in slots, and the copy has a dictionary of its own."""
    for value, change in ((NODE, {"serial": NODE.serial + 7}), (One("a"), {"name": "b"}), (Whole(1), {"number": 2})):
        before = dataclasses.replace(value)
        assert replace(value, **change) != before
        assert value == before


def test_a_copy_is_looked_at_as_what_is_made() -> None:
    assert replace(Whole(1), name="a") == Whole(1, "a")
    with pytest.raises(ValueError, match="too small"):
        replace(Whole(1), number=-1)


@pytest.mark.parametrize("value", [Node(), One("a"), Whole(1)])
def test_a_field_that_is_not_there_is_refused(value: Node | One | Whole) -> None:
    with pytest.raises(TypeError, match=f"{type(value).__name__} has no field sreial"):
        replace(value, sreial=1)  # type: ignore[call-arg]  # A slip of the pen.


def test_the_constructors_of_values_take_their_fields_in_order() -> None:
    """`replace` relies on it: no field is left out, or given by its name only."""
    kinds = _kinds()
    assert len(kinds) > 50
    odd = [f"{k.__qualname__}.{f.name}" for k in kinds for f in dataclasses.fields(k) if f.kw_only or not f.init]
    assert not odd
