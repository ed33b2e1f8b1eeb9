"""The roll of the fleet: its appliances as they show themselves, kept from what the engine tells."""

import threading
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from cmgr.errors import FleetError
from cmgr.fleet import appliance_text as text
from cmgr.fleet import etcd_wire as wire
from cmgr.model.values.messages.documents import MOST_APPLIANCES
from cmgr.model.values.presence import Appliance


class Roll:
    """One thread tells it; any reads it. Entries that cannot be read are left out: they are a stranger's."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._known: dict[str, Appliance] = {}
        self._lock = threading.Lock()

    def appliances(self) -> tuple[Appliance, ...]:
        """Return them by name."""
        with self._lock:
            return tuple(appliance for _, appliance in sorted(self._known.items()))

    def begin(self, keys: Iterable[wire.Key], names: text.Keys) -> None:
        """Take all of them as they are now."""
        found = {names.split(key.name): key.value for key in keys}
        with self._lock:
            before, self._known = self._known, {}
        for (kind, name), value in sorted(found.items(), reverse=True):
            if kind == "appliances":
                with self._lock:
                    self._known |= {name: before[name]} if name in before else {}
                self.take(kind, name, value, live=False)
                self.take("alive", name, found.get(("alive", name)), live=False)

    def take(self, kind: str, name: str, value: bytes | None, *, live: bool) -> None:
        """Take a key that changed. `live`: it has changed just now, so that its time is that of a clock now."""
        with self._lock:
            known = self._known.get(name)
            fresh = self._registered(name, value, known) if kind == "appliances" else _shown(known, value, live=live)
            if fresh is None:
                self._known.pop(name, None)
            elif name in self._known or len(self._known) < MOST_APPLIANCES:
                self._known[name] = fresh

    def _registered(self, name: str, value: bytes | None, known: Appliance | None) -> Appliance | None:
        if value is None:
            return None
        try:
            claim = text.claim(value)
        except FleetError:
            return known
        blank = Appliance(name, name == self._name, claim.version, claim.life)
        return blank if known is None else replace(known, version=claim.version, life=claim.life)


def _shown(known: Appliance | None, value: bytes | None, *, live: bool) -> Appliance | None:
    if known is None:
        return None
    now = datetime.now(UTC)
    if value is None:
        return replace(known, presence=None, gone=now if known.presence is not None else known.gone)
    try:
        presence, at = text.presence(value)
    except FleetError:
        return known
    return replace(known, presence=presence, gone=None, ahead=at - now if live and not known.here else known.ahead)
