"""Access lists (man 5 acl): by them the kernel lets users and groups in whom the mode of a file leaves out."""

import os
import stat
import struct
from collections.abc import Collection
from pathlib import Path

READ, WRITE, ENTER = 4, 2, 1

_ACCESS = "system.posix_acl_access"
_VERSION = struct.pack("<I", 2)
_ENTRY = struct.Struct("<HHI")
# Tags and layout: linux/posix_acl_xattr.h, posix_acl.h.
_OWNER, _USER, _OWNERS, _GROUP, _MASK, _OTHERS = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_NOBODY = 0xFFFFFFFF


def let_in(path: Path, right: int, users: Collection[int], groups: Collection[int]) -> None:
    """Give them this right beside those that have one by the mode, and nobody else.

    Raises OSError, also where the file system knows no such lists.
    """
    mode, listed = stat.S_IMODE(path.stat().st_mode), _entries(path)
    if not users and not groups and not listed:
        return
    # The right of the file's own group: where there is a list the mode shows the most that anybody in it has.
    owners = next((allowed for tag, allowed, _ in listed if tag == _OWNERS), mode >> 3 & 7)
    entries = [(_OWNER, mode >> 6, _NOBODY), *((_USER, right, uid) for uid in sorted(users))]
    entries += [(_OWNERS, owners, _NOBODY), *((_GROUP, right, gid) for gid in sorted(groups))]
    if users or groups:
        entries.append((_MASK, owners | right, _NOBODY))
    entries.append((_OTHERS, mode & 7, _NOBODY))
    os.setxattr(path, _ACCESS, _VERSION + b"".join(_ENTRY.pack(*entry) for entry in entries))


def lets_in(path: Path, right: int, uid: int | None, gid: int | None) -> bool:
    """Return whether others have this right, or this user or this group by name. Raises OSError."""
    if path.stat().st_mode & right:
        return True
    wanted = {(_USER, uid), (_GROUP, gid)}
    return any(allowed & right and (tag, id_) in wanted for tag, allowed, id_ in _entries(path))


def _entries(path: Path) -> list[tuple[int, int, int]]:
    try:
        return list(_ENTRY.iter_unpack(os.getxattr(path, _ACCESS)[len(_VERSION) :]))
    except OSError:
        return []
