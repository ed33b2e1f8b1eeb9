"""Orders that a person can give, as they stand in a hint: a text to type, and data for programs."""

import shlex
from collections.abc import Collection, Iterable, Mapping
from typing import Any

Arg = str | int | bool

_IN_PLACE = frozenset({"chip", "container", "trouble", "group", "slot", "chips"})
"""The arguments that a command line takes without their names."""


class Order(str):
    """An order as `POST /v1/orders/<do>` takes it. Its text is the command to type."""

    __slots__ = ("args", "do")

    do: str
    args: Mapping[str, Arg]

    def __new__(cls, do: str, args: Mapping[str, Arg]) -> "Order":
        in_place = _IN_PLACE - {"chip"} if do == "forget" else _IN_PLACE
        words = (word for name, value in args.items() for word in _typed(name, value, in_place))
        made = super().__new__(cls, shlex.join(["cmgr", *do.split("-"), *words]))
        made.do, made.args = do, args
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Order, (self.do, self.args)


def _typed(name: str, value: Arg, in_place: Collection[str]) -> Iterable[str]:
    if name == "on":
        return ("on" if value else "off",)
    if isinstance(value, bool):
        return (f"--{name}",) * value
    return (str(value),) if name in in_place else (f"--{name}", str(value))


def order(do: str, **args: Arg) -> Order:
    return Order(do, args)
