"""Reading the heads of libraries and programs. The loader maps what the file should have, and the process dies where it
has less."""

import struct
from pathlib import Path

_HEAD = struct.Struct("<16s HHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_IDENTITY = b"\x7fELF\x02\x01"  # 64 bits, least byte first: x86-64 and aarch64.
_LOADED, _INTERPRETER = 1, 3


def is_cut(path: Path) -> bool:
    """Return whether the file has less than what its own head says is to be loaded. Raises `OSError`.

    False for what is no library of this machine's kind: of that the loader itself says what is wrong.
    """
    count, segments = _segments(path)
    size = path.stat().st_size
    cut = (kind == _LOADED and offset + length > size for kind, _, offset, _, _, length, _, _ in segments)
    return len(segments) < count or any(cut)


def is_static(path: Path) -> bool:
    """Return whether this is a program without an interpreter: one that needs no library. Raises `OSError`."""
    count, segments = _segments(path)
    return count > 0 and all(kind != _INTERPRETER for kind, *_ in segments)


def _segments(path: Path) -> tuple[int, list[tuple[int, ...]]]:
    """Return how many segments there should be, and those that are; 0 for what is of another kind."""
    with path.open("rb") as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or not head.startswith(_IDENTITY):
            return 0, []
        at, each, count = (_HEAD.unpack(head)[n] for n in (5, 9, 10))
        file.seek(at)
        table = file.read(each * count)
    return (count, [*_SEGMENT.iter_unpack(table[: len(table) // each * each])]) if each == _SEGMENT.size else (0, [])
