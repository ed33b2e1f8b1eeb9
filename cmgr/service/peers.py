"""Who is at the other end of a unix socket, as the kernel says."""

import ctypes
import errno
import os
import socket
import struct
from dataclasses import dataclass

_SO_PEERGROUPS = 59  # Linux 4.13 and later, asm-generic/socket.h; the socket module does not name it.
_CRED = struct.Struct("iII")
_MOST_FROM_PYTHON = 1024
"""The longest option, in bytes, that Python's own getsockopt returns: 256 groups."""

_MOST_GROUPS = 65536  # NGROUPS_MAX, linux/limits.h.


@dataclass(frozen=True, slots=True)
class Peer:
    """A process, as it was when it connected."""

    pid: int
    uid: int
    gids: frozenset[int]


def peer_of(connection: socket.socket) -> Peer:
    """Return who is at the other end. Raises `OSError`."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CRED.size)
    pid, uid, gid = _CRED.unpack(raw)
    return Peer(pid, uid, frozenset((gid, *_groups(connection))))


def _groups(connection: socket.socket) -> tuple[int, ...]:
    try:
        raw = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, _MOST_FROM_PYTHON)
    except OSError as error:
        if error.errno != errno.ERANGE:
            return ()
        raw = _many_groups(connection)
    return struct.unpack(f"{len(raw) // 4}I", raw)


def _many_groups(connection: socket.socket) -> bytes:
    room = ctypes.create_string_buffer(_MOST_GROUPS * 4)
    length = ctypes.c_uint32(len(room))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.getsockopt(connection.fileno(), socket.SOL_SOCKET, _SO_PEERGROUPS, room, ctypes.byref(length)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return room.raw[: length.value]
