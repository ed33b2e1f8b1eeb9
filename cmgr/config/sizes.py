"""Sizes as people write them: "512K", "20M", "1G", each unit 1024 of the one before."""

import re
from dataclasses import dataclass

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Bytes(int):
    """A number of bytes: the type of settings that are sizes."""


@dataclass(frozen=True, slots=True)
class Size:
    """The kind of such settings."""

    least: Bytes
    most: Bytes

    @property
    def allowed(self) -> str:
        return f'a size such as "512K", "20M" or "1G", from {self.brief}'

    @property
    def brief(self) -> str:
        return f"{spelled(self.least)} to {spelled(self.most)}"

    def take(self, raw: object) -> Bytes:
        try:
            value = size(raw) if isinstance(raw, str) else None
        except ValueError:
            value = None
        if value is None or not self.least <= value <= self.most:
            raise ValueError(self.allowed)
        return value

    def parse(self, text: str) -> object:
        return text.strip()

    def show(self, value: object) -> str:
        assert isinstance(value, Bytes)
        return f'"{spelled(value)}"'


def size(text: str) -> Bytes:
    """Return the number of bytes that this text means. Raises `ValueError` when it means none."""
    match = re.fullmatch(r"([0-9]{1,12})([KMG]?)", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a size")
    return Bytes(int(match[1]) * _UNITS[match[2]])


def spelled(value: Bytes) -> str:
    """Return a text that `size` reads back, in the largest unit that divides the value."""
    unit = next(unit for unit in ("G", "M", "K", "") if not value % _UNITS[unit] and (value or not unit))
    return f"{value // _UNITS[unit]}{unit}"
