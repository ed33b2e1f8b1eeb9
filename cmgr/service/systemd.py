"""sd_notify(3): one datagram to the socket that systemd names, no library needed."""

import contextlib
import math
import os
import socket
import time
from collections.abc import Mapping


class Notifier:
    """Tells systemd how the service is. Without systemd every call does nothing."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        # A leading @ means the abstract namespace, whose addresses begin with a zero byte.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        mine = environ.get("WATCHDOG_PID") in (None, "", str(os.getpid()))
        usec = environ.get("WATCHDOG_USEC", "")
        self._alive = -math.inf
        self.watchdog_seconds = int(usec) / 1e6 if mine and usec.isdigit() else 0.0

    def alive(self) -> None:
        """Tell the watchdog, where there is one, as often as it needs that."""
        now = time.monotonic()
        if self.watchdog_seconds and now - self._alive >= self.watchdog_seconds / 8:
            self._alive = now
            self.tell("WATCHDOG=1")

    def tell(self, *words: str) -> None:
        """Send words such as `READY=1`. Never blocks for long, never raises: systemd may be restarting itself."""
        if not self._address:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.setblocking(False)
            out.sendto("\n".join(words).encode(), self._address)
