"""systemd's journal: its native protocol, and the fields that cmgr's lines have there.

The protocol: https://systemd.io/JOURNAL_NATIVE_PROTOCOL/. Written by hand, because what python3-systemd and others wrap
in C is this page of code, and a package for every distribution would have to be built with their library.
"""

import errno
import fcntl
import os
import socket
import struct
from _sha1 import sha1  # type: ignore[import-not-found]  # hashlib's own: with hashlib comes OpenSSL, 4 MB for good.
from array import array
from collections.abc import Mapping
from contextlib import closing

from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.service.log.writer import Fields, Line, Target

SOCKET = "/run/systemd/journal/socket"
IDENTIFIER = "cmgr"

SERVICE, TROUBLE, BUG, LIBRARY = "service", "trouble", "bug", "library"
"""Kinds of lines beside those of notes: about the service itself, what troubles it, bugs in it, what a library logs."""

_OURS = bytes.fromhex("0e4552b38d0f40a697eb836c9e49911b")


def _made(kind: str) -> str:
    """Return the name-based UUID of RFC 9562, version 5, as `uuid5` makes it."""
    made = bytearray(sha1(_OURS + kind.encode()).digest()[:16])
    made[6], made[8] = made[6] & 0x0F | 0x50, made[8] & 0x3F | 0x80
    return made.hex()


_MESSAGE_IDS = {kind: _made(kind) for kind in (SERVICE, TROUBLE, BUG, LIBRARY, *NoteKind)}
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_SECONDS = 2


def message_id(kind: str) -> str:
    """Return the MESSAGE_ID of such lines. Made from the kind's word, so that a new kind has one and keeps it."""
    return _MESSAGE_IDS[kind]


def fields_of_kind(kind: str) -> dict[str, str]:
    return {"MESSAGE_ID": message_id(kind), "CMGR_KIND": kind}


def fields_of(note: Note) -> dict[str, str]:
    """Return the fields of a line of the timeline; those that it has nothing to say to are left out."""
    key, fault = note.container, note.fault
    known = {
        "CMGR_RING": note.ring,
        "CMGR_EPISODE": note.episode or None,
        "CMGR_CHIP": note.chip,
        "CMGR_CARD": note.card,
        "CMGR_DEVICE": note.device,
        "CMGR_CODE": fault and fault.code,
        "CMGR_LEVEL": fault and fault.level,
        "CMGR_HANDLING": fault and fault.handling,
        "CMGR_ASSERTION": fault and fault.assertion,
        "CMGR_RUNTIME": key and key.runtime,
        "CMGR_NAMESPACE": key and key.namespace,
        "CMGR_CONTAINER": key and key.id,
        "CMGR_OUTCOME": note.outcome,
    }
    said = {name: str(value) for name, value in known.items() if value not in (None, "")}
    return {**fields_of_kind(note.kind), **said}


def reads(descriptor: int, environ: Mapping[str, str]) -> bool:
    """Return whether the journal reads what is written to this descriptor. Environments are inherited, streams not."""
    device, _, inode = environ.get("JOURNAL_STREAM", "").partition(":")
    try:
        status = os.fstat(descriptor)
    except OSError:
        return False
    return (device, inode) == (str(status.st_dev), str(status.st_ino))


def encoded(fields: Fields) -> bytes:
    """Return the fields as one datagram. A value with line breaks carries its length, so that it can forge no field."""
    parts = []
    for name, values in fields.items():
        for value in (values,) if isinstance(values, str) else values:
            data = value.encode("utf-8", "backslashreplace")
            middle = b"\n" + struct.pack("<Q", len(data)) if b"\n" in data else b"="
            parts.append(name.encode() + middle + data + b"\n")
    return b"".join(parts)


class Journal:
    """Writes to journald; to `fallback` what does not get there."""

    def __init__(self, fallback: Target, path: str = SOCKET) -> None:
        self._fallback = fallback
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        # Not settimeout: that polls, and an unconnected datagram socket always counts as writable, so that Python
        # would spin while journald's queue is full.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SECONDS, 0))

    def write(self, line: Line) -> None:
        fixed = {"MESSAGE": line.text, "PRIORITY": str(line.priority), "SYSLOG_IDENTIFIER": IDENTIFIER}
        data = encoded({**fixed, **line.fields})
        try:
            self._send(data)
        except OSError:
            self._fallback.write(line)

    def close(self) -> None:
        self._socket.close()
        self._fallback.close()

    def _send(self, data: bytes) -> None:
        try:
            # Addressed anew each time: journald's socket may have been made anew since.
            self._socket.sendto(data, self._path)
        except OSError as error:
            if error.errno not in (errno.EMSGSIZE, errno.ENOBUFS):
                raise
            self._send_file(data)

    def _send_file(self, data: bytes) -> None:
        """Send what is too large for a datagram as a sealed file in memory."""
        descriptor = os.memfd_create("cmgr-log", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        with closing(open(descriptor, "wb", buffering=0)) as file:
            left = memoryview(data)
            while left:
                left = left[file.write(left) :]
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [descriptor]))
            self._socket.sendmsg([], [rights], 0, self._path)
