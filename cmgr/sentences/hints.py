"""Hints: what a person can do, as a sentence, and the orders that are in it as data."""

import shlex
from collections.abc import Collection, Iterable, Mapping

from cmgr.frozen import dataclass

Arg = str | int | bool

_IN_PLACE = frozenset({"chip", "container", "trouble", "group", "slot", "chips"})
"""The arguments that a command line takes without their names."""


@dataclass(frozen=True, slots=True)
class Order:
    """An order that a person can give, as `POST /v1/orders/<do>` takes it. As a text it is the command to type."""

    do: str
    args: Mapping[str, Arg]

    def __str__(self) -> str:
        in_place = _IN_PLACE - {"chip"} if self.do == "forget" else _IN_PLACE
        words = (word for name, value in self.args.items() for word in _typed(name, value, in_place))
        return shlex.join(["cmgr", *self.do.split("-"), *words])


def _typed(name: str, value: Arg, in_place: Collection[str]) -> Iterable[str]:
    if name == "on":
        return ("on" if value else "off",)
    if isinstance(value, bool):
        return (f"--{name}",) * value
    return (str(value),) if name in in_place else (f"--{name}", str(value))


@dataclass(frozen=True, slots=True)
class Hint:
    """A sentence with its orders, which its text has as they are typed. Without parts it is false: there is none."""

    parts: tuple[str | Order, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __str__(self) -> str:
        return "".join(map(str, self.parts))

    @property
    def orders(self) -> tuple[Order, ...]:
        return tuple(part for part in self.parts if isinstance(part, Order))


NO_HINT = Hint()


def order(do: str, **args: Arg) -> Order:
    return Order(do, args)


def hint(*parts: str | Order) -> Hint:
    return Hint(parts)
