"""A connection to whoever listens on a unix socket, and who it is."""

import socket
import struct

_CRED = struct.Struct("iII")
_PEER_GROUPS = 59  # SO_PEERGROUPS of asm-generic/socket.h, which the socket module does not have.
_MOST_GROUPS = 65536  # NGROUPS_MAX


def reached(path: str, seconds: float) -> socket.socket:
    """Return a connection to whoever listens there, made within so many seconds. Raises OSError: nobody does."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        connection.connect(path)
    except BaseException:
        connection.close()
        raise
    return connection


def credentials(connection: socket.socket) -> tuple[int, int, frozenset[int]]:
    """Return uid, pid and groups of who is at the other end, as they were when he connected. Raises `OSError`."""
    pid, uid, gid = _CRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CRED.size))
    try:
        told = connection.getsockopt(socket.SOL_SOCKET, _PEER_GROUPS, 1024)  # Python takes no more.
    except OSError:
        told = _many_groups(connection)
    return uid, pid, frozenset((gid, *struct.unpack(f"{len(told) // 4}I", told)))


def _many_groups(connection: socket.socket) -> bytes:
    import ctypes  # Hardly anybody has so many, and it takes long to load.

    buffer, size = ctypes.create_string_buffer(4 * _MOST_GROUPS), ctypes.c_uint(4 * _MOST_GROUPS)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.getsockopt(connection.fileno(), socket.SOL_SOCKET, _PEER_GROUPS, buffer, ctypes.byref(size)):
        raise OSError(ctypes.get_errno(), "cannot tell the groups of a peer")
    return buffer.raw[: size.value]
