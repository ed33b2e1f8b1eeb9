"""A connection to whoever listens on a unix socket: one way to ask whether anybody does, and one to speak HTTP."""

import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from http.client import HTTPConnection


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


def spoken_to(path: str, seconds: float) -> "HTTPConnection":
    """Return the same for requests over HTTP, each part of which may take so many seconds."""
    from http.client import HTTPConnection  # It takes as long to load as Python itself.

    connection = HTTPConnection("localhost", timeout=seconds)
    connection.sock = reached(path, seconds)
    return connection
