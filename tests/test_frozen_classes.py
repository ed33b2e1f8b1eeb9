"""Our frozen dataclasses behave as those of the standard library do."""

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any

import pytest

from cmgr import frozen

Maker = Callable[..., Any]

MAKERS = pytest.mark.parametrize("maker", [dataclasses.dataclass, frozen.dataclass], ids=["theirs", "ours"])
SLOTS = pytest.mark.parametrize("slots", [True, False])


def value(maker: Maker, slots: bool) -> Any:
    @maker(frozen=True, slots=slots)
    class Value:
        first: object
        second: int = 2
        third: list[int] = field(default_factory=list)

    return Value


def pair(maker: Maker) -> tuple[Any, Any]:
    @maker(frozen=True, slots=True, kw_only=True)
    class Base:
        base: int = 0

    @maker(frozen=True, slots=True)
    class Derived(Base):
        own: int

        def __post_init__(self) -> None:
            if self.own < 0:
                raise ValueError("too small")

    return Base, Derived


@MAKERS
@SLOTS
def test_a_value_is_made_of_what_is_given_and_of_defaults(maker: Maker, slots: bool) -> None:
    Value = value(maker, slots)  # noqa: N806
    made = Value(1)
    assert (made.first, made.second, made.third) == (1, 2, [])
    assert made.third is not Value(1).third
    assert Value(second=5, first=1, third=[3]) == Value(1, 5, [3])
    assert replace(made, second=7) == Value(1, 7)
    assert repr(made).endswith("Value(first=1, second=2, third=[])")
    assert [each.name for each in fields(Value)] == ["first", "second", "third"]
    assert dataclasses.asdict(made) == {"first": 1, "second": 2, "third": []}
    assert hasattr(made, "__dict__") is not slots
    assert Value.__match_args__ == ("first", "second", "third")


@MAKERS
@SLOTS
def test_values_are_the_same_when_class_and_fields_are(maker: Maker, slots: bool) -> None:
    Value, other = value(maker, slots), value(maker, slots)  # noqa: N806
    assert Value(1) != other(1)
    assert Value(1) != Value(2)
    assert Value(1).__eq__(1) is NotImplemented
    assert hash(Value(1, third=())) == hash(Value(1, third=())) == hash((1, 2, ()))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Value(1))
    nan = float("nan")
    # Python 3.13's own compare field by field.
    assert maker is not frozen.dataclass or Value(nan) == Value(nan), (
        "the same object is equal to itself, as in a tuple"
    )


@MAKERS
@SLOTS
def test_a_value_cannot_be_changed(maker: Maker, slots: bool) -> None:
    made = value(maker, slots)(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'first'"):
        made.first = 3
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'first'"):
        del made.first
    assert made.first == 1


@MAKERS
def test_wrong_arguments_are_told_as_those_of_any_function(maker: Maker) -> None:
    Value = value(maker, True)  # noqa: N806
    for _ in range(2):
        with pytest.raises(TypeError, match=r"Value\.__init__\(\) missing 1 required positional argument: 'first'"):
            Value()
        with pytest.raises(TypeError, match="unexpected keyword argument 'fourth'"):
            Value(1, fourth=4)


@MAKERS
def test_a_class_has_the_fields_of_its_base_and_its_own_way_to_look_at_them(maker: Maker) -> None:
    Base, Derived = pair(maker)  # noqa: N806
    assert Derived(3) == Derived(3, base=0)
    assert Derived(3) != Base()
    assert (Derived(3, base=4).base, Base(base=4).base) == (4, 4)
    with pytest.raises(TypeError, match="positional argument"):
        Base(1)
    with pytest.raises(ValueError, match="too small"):
        Derived(-1)
    assert list(inspect.signature(replace(Derived(3)).__init__).parameters) == ["own", "base"]


@MAKERS
def test_what_a_class_says_itself_is_kept(maker: Maker) -> None:
    @maker(frozen=True, slots=True)
    class Own:
        text: str

        def __repr__(self) -> str:
            return self.text

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    own: Any = Own
    assert (repr(own("a")), own("a") == own("b"), hash(own("c"))) == ("a", True, 7)


@frozen.dataclass(frozen=True, slots=True)
class Known:
    first: int
    second: str = "b"


def test_values_can_be_copied_and_sent() -> None:
    known = Known(1)
    assert copy.copy(known) == copy.deepcopy(known) == pickle.loads(pickle.dumps(known)) == known  # noqa: S301


def test_only_frozen_classes_are_made() -> None:
    with pytest.raises(TypeError, match="frozen"):
        value(lambda **_: frozen.dataclass(frozen=False), True)


NOTHING_COMPILED = """
from cmgr import frozen
import cmgr.model.values.messages.facts as facts
assert frozen._raw[facts.Resync] == {"__init__", "__eq__", "__hash__"}
given = facts.Resync()
assert frozen._raw[facts.Resync] == {"__eq__", "__hash__"}
assert given == facts.Resync()
assert frozen._raw[facts.Resync] == {"__hash__"}
frozen.finish()
assert not frozen._raw
"""


def test_methods_are_compiled_when_they_are_used_or_when_somebody_asks_for_it() -> None:
    subprocess.run([sys.executable, "-c", NOTHING_COMPILED], check=True)


MADE_BY_OTHERS = """
import sys, dataclasses
import cmgr.service.daemon, cmgr.config.load
from cmgr import frozen
theirs = {
    f"{value.__module__}.{value.__name__}"
    for module in list(sys.modules.values()) if module.__name__.startswith("cmgr.")
    for value in vars(module).values()
    if isinstance(value, type) and dataclasses.is_dataclass(value) and value.__repr__ is not frozen._repr
}
print(*sorted(theirs))
"""


def test_the_service_has_no_others() -> None:
    found = subprocess.run([sys.executable, "-c", MADE_BY_OTHERS], check=True, capture_output=True, text=True)
    # Only its fields are known while it runs: it is made by `make_dataclass`.
    assert [name.rpartition(".")[2] for name in found.stdout.split()] == ["Drivers"]
