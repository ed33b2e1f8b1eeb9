"""Alarms as SNMP traps, version 2c (RFC 3416 and 3417): their bytes by hand, as one message needs no library.

The meaning of the numbers stands in etc/snmp/CMGR-MIB.txt.
"""

import time
from collections.abc import Sequence
from itertools import count
from urllib.parse import urlsplit

from cmgr.config.receivers import address_of, secret_of
from cmgr.model.values.troubles import Severity
from cmgr.sentences.sentence import in_language
from cmgr.service.notices.alarms import Alarm
from cmgr.service.notices.channel import Channel
from cmgr.service.notices.datagrams import sent
from cmgr.service.notices.notice import cut
from cmgr.words import runs, stamp

_PORT = 162

BASE = (1, 3, 6, 1, 4, 1, 8072, 9999, 9999, 9477)
"""cmgr has no enterprise number of its own; this is a corner of what net-snmp keeps for everybody's use."""

_UP_TIME = (1, 3, 6, 1, 2, 1, 1, 3, 0)
_TRAP = (1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0)

_BEGUN, _OVER = 1, 2
_CRITICAL, _WARNING = 1, 2

_INTEGER, _OCTETS, _OID, _SEQUENCE, _TICKS, _V2_TRAP = 0x02, 0x04, 0x06, 0x30, 0x43, 0xA7

_MOST_OF_TEXT = 255
"""Of bytes, as a DisplayString has: seven of them fit into one packet of a network."""

_numbers = count(1)


def send(channel: Channel, alarms: Sequence[Alarm], lost: int) -> str:
    """Send the one alarm; `lost` is told to nobody. As `Way.send`."""
    parts = urlsplit(address_of(channel.receiver))
    assert parts.hostname is not None
    community = secret_of(channel.receiver.secret_file) or "public"
    return sent(parts.hostname, parts.port or _PORT, trap(alarms[0], channel.machine, community, channel.receiver.lang))


def trap(alarm: Alarm, machine: str, community: str, language: str) -> bytes:
    """Return the alarm as a trap."""
    summary, hint = in_language(alarm.summary, language), in_language(alarm.hint, language)
    texts = (machine, alarm.event, alarm.id, summary, hint, stamp(alarm.since), runs(alarm.chips))
    severity = _CRITICAL if alarm.kind.severity is Severity.CRITICAL else _WARNING
    bound = [
        # The time since the machine was booted, in hundredths of a second.
        _bound(_UP_TIME, _whole(round(time.monotonic() * 100) % 2**32, _TICKS)),
        _bound(_TRAP, _name((*BASE, 0, _OVER if alarm.over else _BEGUN))),
        *(_bound((*BASE, 1, place, 0), _text(text)) for place, text in enumerate(texts, start=1)),
        _bound((*BASE, 1, len(texts) + 1, 0), _whole(severity)),
    ]
    pdu = _whole(next(_numbers)) + _whole(0) + _whole(0) + _of(_SEQUENCE, b"".join(bound))
    return _of(_SEQUENCE, _whole(1) + _of(_OCTETS, community.encode()) + _of(_V2_TRAP, pdu))


def _bound(name: tuple[int, ...], value: bytes) -> bytes:
    return _of(_SEQUENCE, _name(name) + value)


def _text(text: str) -> bytes:
    return _of(_OCTETS, cut(text, _MOST_OF_TEXT).encode())


def _whole(number: int, tag: int = _INTEGER) -> bytes:
    # One bit more than it needs: the first says that it is not negative.
    return _of(tag, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _name(parts: tuple[int, ...]) -> bytes:
    first, second, *others = parts
    return _of(_OID, bytes([first * 40 + second]) + b"".join(map(_sevens, others)))


def _sevens(number: int) -> bytes:
    """Return the number seven bits a byte, of which all but the last have the eighth set."""
    found = [number & 0x7F]
    while number := number >> 7:
        found.append(number & 0x7F | 0x80)
    return bytes(reversed(found))


def _of(tag: int, body: bytes) -> bytes:
    size = len(body)
    if size < 0x80:
        return bytes([tag, size]) + body
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + body
