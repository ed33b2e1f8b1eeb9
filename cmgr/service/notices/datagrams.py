"""A datagram to a receiver that never answers."""

import socket
from contextlib import suppress

from cmgr.errors import CmgrError

SENT = "sent; over UDP nobody says whether it arrived"

_REFUSED_WITHIN = 0.2
"""A machine on which nobody listens says so at once, if it says so."""


def sent(host: str, port: int, data: bytes) -> str:
    """Send it and return that in words. Raises `CmgrError` or `OSError` where it surely does not arrive."""
    family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as sock:
        sock.settimeout(_REFUSED_WITHIN)
        sock.connect(place)
        sock.send(data)
        try:
            with suppress(TimeoutError):
                sock.recv(1)
        except ConnectionRefusedError:
            raise CmgrError(f"nobody listens on UDP port {port} there") from None
    return SENT
