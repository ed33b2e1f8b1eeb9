"""Receivers that are told something by the ways of the service itself."""

import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cmgr.config.receivers import Receiver
from cmgr.host.host import Host
from cmgr.model.values.troubles import TroubleKind
from cmgr.service.notices.alarms import Alarm
from cmgr.service.notices.channel import Channel
from cmgr.service.notices.ways import way_of
from tests.support.certificates import Certificates

AT = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)


def alarm(number: int = 3, text: str = "", **fields: Any) -> Alarm:
    """Return one that a chip is isolated."""
    told: dict[str, Any] = {
        "event": "isolated", "kind": TroubleKind.ISOLATED, "id": f"isolated-chip-{number}", "at": AT, "since": AT,
        "summary": text or f"chip {number} is isolated: 80818C00", "chips": (number,), "codes": ("80818C00",),
        "containers": ("chat", "code"), "hint": f"cmgr release {number}",
    }  # fmt: skip
    return Alarm(**{**told, **fields})


def told(receiver: Receiver, *alarms: Alarm, lost: int = 0, seconds: float = 30.0) -> str:
    """Tell it of them in one message, and return its answer. Raises as `Way.send`."""
    channel = Channel(receiver, "appliance-7", seconds, Host("", "a test runs it"))
    return way_of(receiver.format).send(channel, alarms or (alarm(),), lost)


def secret(folder: Path, text: str, name: str = "secret") -> str:
    """Return the path of a file of this text that cmgr reads."""
    path = folder / name
    path.touch(mode=0o600)
    path.write_text(f"{text}\n")
    return str(path)


def serving(certificates: Certificates) -> ssl.SSLContext:
    """Return how a server with the certificate of this authority speaks."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server.cert, certificates.server.key)
    return context
