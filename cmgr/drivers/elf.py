"""Whether a library is whole. The loader maps what its file should have, and the process dies where it has less."""

import struct
from pathlib import Path

_HEAD = struct.Struct("<16s HHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_IDENTITY = b"\x7fELF\x02\x01"  # 64 bits, least byte first: x86-64 and aarch64.
_LOADED = 1


def is_cut(path: Path) -> bool:
    """Return whether the file has less than what its own head says is to be loaded. Raises `OSError`.

    False for what is no library of this machine's kind: of that the loader itself says what is wrong.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or not head.startswith(_IDENTITY):
            return False
        at, each, count = (_HEAD.unpack(head)[n] for n in (5, 9, 10))
        file.seek(at)
        table = file.read(each * count)
    if each != _SEGMENT.size:
        return False
    if len(table) < each * count:
        return True
    segments = (_SEGMENT.unpack_from(table, n * each) for n in range(count))
    return any(kind == _LOADED and offset + length > size for kind, _, offset, _, _, length, _, _ in segments)
