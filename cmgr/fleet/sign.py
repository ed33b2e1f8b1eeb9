"""Our sign of life: a key under a lease, for the others to see, which goes when we do. Nothing is decided by it."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from cmgr.errors import FleetError, Unsure
from cmgr.fleet import etcd_wire as wire
from cmgr.fleet.appliance_text import presence_text
from cmgr.fleet.gateway import PATIENCE, Gateway
from cmgr.fleet.registration import TXN
from cmgr.model.values.presence import Presence

_AGAIN = 300.0
"""After so many seconds it is shown anew though it is the same: by its time the others see how our clock goes."""


class Sign:
    """`beat` and `end` are for one thread, `show` and `renew` for any.

    `term`: how many elections the cluster has had, and since when that is known.
    """

    def __init__(self, gateway: Gateway, key: str, lease: timedelta) -> None:
        self.term: tuple[int, datetime] | None = None
        self._gateway = gateway
        self._key = key
        self._seconds = round(lease.total_seconds())
        self._lease = 0
        self._look: Callable[[], Presence] | None = None
        self._shown: tuple[Presence, float] | None = None
        self._lock = threading.Lock()
        """An older look is never put after a newer one."""

    def show(self, look: Callable[[], Presence]) -> None:
        """Show from the next beat on what this returns; each beat calls it."""
        self._look = look

    def beat(self, endpoint: str, same: dict[str, bytes | None], seconds: float) -> None:
        """Keep the lease by this node; it is asked for one that is none, too. Raises when it does not answer."""
        told = self._gateway.ask_at(endpoint, "/v3/lease/keepalive", {"ID": str(self._lease or 1)}, seconds)
        left = wire.left(told)
        self._note_term(told)
        # An engine that is full, or denies it, is not away.
        with suppress(FleetError, Unsure), self._lock:
            if not left:
                self._lease, self._shown = 0, None
            self._put(same, seconds)

    def renew(self, same: dict[str, bytes | None]) -> None:
        """Show at once what the others need for a start, should it be other than what they are shown.

        Raises `Unsure` when nobody answered: the others may be shown what was. That it is denied is not raised.
        """
        with suppress(FleetError), self._lock:
            shown = self._shown[0].parts if self._shown is not None else ()
            if self._look is not None and self._look().parts != shown:
                self._put(same, PATIENCE)

    def end(self) -> None:
        """Let the key go at once."""
        with suppress(FleetError, Unsure):
            if self._lease:
                self._gateway.ask("/v3/lease/revoke", {"ID": str(self._lease)}, 0.5)

    def _put(self, same: dict[str, bytes | None], seconds: float) -> None:
        if self._look is None:
            return
        wanted, now = self._look(), time.monotonic()
        if self._shown and self._shown[0] == wanted and now - self._shown[1] < _AGAIN:
            return
        if not self._lease:
            granted = self._gateway.ask("/v3/lease/grant", {"TTL": str(self._seconds)}, seconds)
            self._lease = wire.lease(granted)
        value = presence_text(wanted, datetime.now(UTC))
        asked = wire.puts_asked(wire.Puts({self._key: value}, same=same, lease=self._lease))
        self._shown = None  # It may arrive though nobody answers.
        if wire.verdict(self._gateway.ask(TXN, asked, seconds)).done:
            self._shown = wanted, now

    def _note_term(self, told: object) -> None:
        result = told.get("result") if isinstance(told, dict) else None
        _, term = wire.term(result if isinstance(result, dict) else {})
        if term and (self.term is None or self.term[0] != term):
            self.term = term, datetime.now(UTC)
