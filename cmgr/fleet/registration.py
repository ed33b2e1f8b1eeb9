"""The right of this appliance to write: its name in the fleet is its own, in this life.

A write compares `born` and our entry under appliances/ in the same transaction. So nothing is written any more by an
earlier life of this machine, by a clone of it, or into an engine that has forgotten what we know of it.
"""

import secrets
from collections.abc import Callable
from datetime import timedelta

from cmgr import __version__
from cmgr.errors import FleetError
from cmgr.fleet import appliance_text as text
from cmgr.fleet import etcd_wire as wire
from cmgr.fleet.document_text import encoded
from cmgr.fleet.gateway import Gateway
from cmgr.frozen import dataclass

RANGE, TXN = "/v3/kv/range", "/v3/kv/txn"

_TRIES = 8
"""So often another one may be faster before it is given up for now."""


class Overtaken(FleetError):
    """Somebody else has our name: another machine, or another life of this one."""


@dataclass(frozen=True, slots=True)
class Identity:
    """An appliance: its name in the fleet, the fleet's keys, and the word of its machine, for which `FleetError` may
    be raised. `lease`: how long the others still see it when it says nothing any more."""

    name: str
    keys: text.Keys
    machine: Callable[[], str]
    lease: timedelta


@dataclass(frozen=True, slots=True)
class Registered:
    """The keys that each write compares, and their values. `born`: the word by which the engine's memory is known."""

    born: str
    same: dict[str, bytes | None]


class Registration:
    """Registers one process as the appliance `name`. One thread calls `made`; any reads `now`."""

    def __init__(self, gateway: Gateway, who: Identity) -> None:
        self.now: Registered | None = None
        """None: not registered (any more)."""
        self._gateway = gateway
        self._keys = who.keys
        self._name = who.name
        self._key = who.keys.appliance(who.name)
        self._whose = who.machine
        self._machine = ""
        self._run = secrets.token_hex(8)
        self._life = 0

    def made(self) -> Registered:
        """Return the registration, which is made unless it stands there. Raises `Overtaken`, `FleetError`, `Unsure`.

        Until then that of before is compared: where it does not stand any more, nothing is written.
        """
        self._machine = self._whose()
        for _ in range(_TRIES):
            born = self._read(self._keys.born)
            if born is None:
                self._put(self._keys.born, text.born_text(secrets.token_hex(16)), {self._keys.born: None})
                continue
            word = text.born(born)
            there = self._read(self._key)
            try:
                ours = self._ours(there)
            except Overtaken:
                self.now = None
                raise
            same: dict[str, bytes | None] = {self._keys.born: born}
            if ours == there or self._put(self._key, ours, {**same, self._key: there}):
                self._life = text.claim(ours).life
                self.now = Registered(word, {**same, self._key: ours})
                return self.now
        raise FleetError(f"cannot register as {self._name}: others were faster each time")

    def refused(self, seconds: float) -> "wire.Refused | None":
        """Return what etcd has against our writes, found out by one whose condition is never true.

        It waits for a quorum all the same, and needs room. Raises `FleetError`, `Unsure`.
        """
        keys = (self._key, self._keys.alive(self._name), self._keys.group("x"))
        never: dict[str, bytes | None] = {self._keys.born: b"a value that nobody writes"}
        try:
            self._gateway.ask(TXN, wire.puts_asked(wire.Puts(dict.fromkeys(keys, b""), same=never)), seconds)
        except wire.Refused as error:
            if error.is_open:
                raise
            return error
        return None

    def holds(self, found: dict[str, bytes | None]) -> bool:
        """Return whether what was read of the keys that are compared is what we have written."""
        now = self.now
        return now is not None and all(found.get(key) == value for key, value in now.same.items())

    def _ours(self, there: bytes | None) -> bytes:
        """Return what our entry is to be. Raises `Overtaken`."""
        if there is None:
            return self._text(self._life + 1)
        try:
            found = text.claim(there)
        except FleetError as error:
            hint = f"when nobody else has this name: etcdctl del {self._key}"
            raise Overtaken(f"cannot register as {self._name}: {error.message}", hint=hint) from None
        if found.run == self._run:
            return there
        if found.machine != self._machine:
            hint = f"set fleet.name to another one; or, if that machine is gone for good: etcdctl del {self._key}"
            raise Overtaken(f"cannot register as {self._name}: another machine has this name", hint=hint)
        # A life before ours: of an earlier process, or out of a snapshot that was restored.
        if not self._life or found.life < self._life:
            return self._text(max(found.life, self._life) + 1)
        hint = (
            "is this machine a clone? each needs its own /etc/machine-id and fleet.name; then: systemctl restart cmgr"
        )
        raise Overtaken(f"cannot register as {self._name}: a later life of this machine has this name", hint=hint)

    def _text(self, life: int) -> bytes:
        return encoded(text.Claim(self._machine, life, self._run, __version__))

    def _read(self, name: str) -> bytes | None:
        page = wire.page(self._gateway.ask(RANGE, wire.range_asked(name)))
        return page.keys[0].value if page.keys else None

    def _put(self, name: str, value: bytes, same: dict[str, bytes | None]) -> bool:
        asked = wire.puts_asked(wire.Puts({name: value}, same=same))
        return wire.verdict(self._gateway.ask(TXN, asked)).done
