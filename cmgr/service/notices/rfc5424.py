"""Alarms as lines of syslog (RFC 5424): over UDP (RFC 5426), TCP with counted octets (RFC 6587), or TLS (RFC 5425)."""

import os
import re
import socket
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from urllib.parse import urlsplit

from cmgr import network
from cmgr.config.receivers import address_of
from cmgr.model.values.troubles import Severity
from cmgr.sentences.sentence import in_language, say
from cmgr.service.notices.alarms import Alarm
from cmgr.service.notices.channel import Channel
from cmgr.service.notices.datagrams import sent
from cmgr.service.notices.notice import cut
from cmgr.words import runs, stamp

_PORTS: Mapping[str, int] = {"udp": 514, "tcp": 514, "tls": 6514}

_DAEMON = 3
_CRITICAL, _WARNING, _NOTICE = 2, 4, 5

_ID = "cmgr@8072.9999.9999"
"""cmgr has no enterprise number of its own; this one is net-snmp's, for everybody's use."""

_MOST_OF_DATAGRAM, _MOST = 1024, 8192
_MOST_OF_VALUE = 200

SENT = "sent; syslog has no answers"

_CLOSES_WITHIN = 1.0
"""So long is waited for a server that closes the connection, as one does that has read all of it."""


def send(channel: Channel, alarms: Sequence[Alarm], lost: int) -> str:
    """Send the one alarm; `lost` is told to nobody. As `Way.send`."""
    parts = urlsplit(address_of(channel.receiver))
    assert parts.hostname is not None
    port = parts.port or _PORTS[parts.scheme]
    if parts.scheme == "udp":
        return sent(parts.hostname, port, line(alarms[0], channel.machine, _MOST_OF_DATAGRAM, channel.receiver.lang))
    data = line(alarms[0], channel.machine, _MOST, channel.receiver.lang)
    stream = _Stream(channel, parts.hostname, port, tls=parts.scheme == "tls")
    with closing(stream), network.bounded(stream, channel.seconds):
        return stream.told(b"%d %s" % (len(data), data))


def line(alarm: Alarm, machine: str, most: int, language: str) -> bytes:
    """Return the alarm as a message of at most so many bytes, whose text is cut where that is needed."""
    severity = _NOTICE if alarm.over else _CRITICAL if alarm.kind.severity is Severity.CRITICAL else _WARNING
    about = {
        "id": alarm.id,
        "status": "resolved" if alarm.over else "firing",
        "ring": "" if alarm.ring is None else str(alarm.ring),
        "chips": runs(alarm.chips),
        "codes": " ".join(alarm.codes),
        "containers": " ".join(alarm.containers),
    }
    data = "".join(f' {name}="{_value(text)}"' for name, text in about.items() if text)
    host = re.sub("[^!-~]", "", machine)[:255] or "-"
    prefix = f"<{_DAEMON * 8 + severity}>1 {stamp(alarm.at)} {host} cmgr {os.getpid()} {alarm.event} [{_ID}{data}] "
    told = say("notice.in-one-line", summary=alarm.summary, hint=alarm.hint) if alarm.hint else alarm.summary
    text = in_language(told, language)
    # Anything but plain ASCII is marked as UTF-8.
    mark = "" if text.isascii() else "\ufeff"
    return f"{prefix}{mark}{cut(text, most - len(prefix.encode()) - len(mark.encode()))}".encode()


def _value(text: str) -> str:
    return re.sub(r'(["\\\]])', r"\\\1", cut(text, _MOST_OF_VALUE))


class _Stream:
    """A connection that is made, told one thing, and closed."""

    def __init__(self, channel: Channel, host: str, port: int, *, tls: bool) -> None:
        self.sock: socket.socket | None = None
        self._place = (host, port)
        self._seconds = channel.seconds
        self._context = network.trusting(channel.receiver.ca_file) if tls else None

    def told(self, data: bytes) -> str:
        sock = self.sock = socket.create_connection(self._place, self._seconds)
        if self._context is not None:
            self.sock = secured = self._context.wrap_socket(sock, server_hostname=self._place[0])
            secured.sendall(data)
            secured.settimeout(_CLOSES_WITHIN)
            with suppress(OSError):  # Not every server says goodbye.
                secured.unwrap()
            return SENT
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        sock.settimeout(_CLOSES_WITHIN)
        # A server that has let go of the connection meanwhile resets it now, and not before.
        with suppress(TimeoutError):
            sock.recv(1)
        return SENT

    def close(self) -> None:
        if self.sock is not None:
            self.sock.close()
