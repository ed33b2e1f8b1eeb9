"""A file system of our own whose server can go away: whoever looks at it then waits, as with NFS.

The protocol is that of the kernel's include/uapi/linux/fuse.h: a request has a header of 40 bytes (length, operation,
its own number, …), an answer one of 16 (length, error, that number).
"""

import errno
import os
import select
import struct
import subprocess
import threading
from pathlib import Path

from tests.support.waiting import PATIENCE

_UNANSWERED = (2, 36, 42)
"""FORGET, INTERRUPT and BATCH_FORGET: nobody waits for an answer to them."""

_VERSION = (7, 22)
"""The last in which the answer to INIT has 24 bytes."""

_DIRECTORY = 0o40755
_ROOT = 1
_GIVEN = struct.pack("=QQQQQQIIIIIIIIII", _ROOT, 0, 0, 0, 0, 0, 0, 0, 0, _DIRECTORY, 2, 0, 0, 0, 4096, 0)

_ANSWERS = {
    1: (errno.ENOENT, b""),  # LOOKUP: it is empty.
    3: (0, struct.pack("=QII", 0, 0, 0) + _GIVEN),  # GETATTR: not to be believed for any time.
    26: (0, struct.pack("=IIIIHHI", *_VERSION, 1 << 17, 0, 8, 6, 1 << 17)),  # INIT
    27: (0, struct.pack("=QII", 0, 0, 0)),  # OPENDIR
    28: (0, b""),  # READDIR
    29: (0, b""),  # RELEASEDIR
}
"""The error, or 0, and what follows, by the operation."""


class CannotMount(Exception):
    """Why there can be none here."""


class Share:
    """An empty directory at `path`, from its making until `close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._there = threading.Event()
        self._asked = threading.Event()
        try:
            self._device = os.open("/dev/fuse", os.O_RDWR | os.O_NONBLOCK)
        except OSError as exc:
            raise CannotMount(str(exc)) from exc
        path.mkdir()
        options = f"fd={self._device},rootmode=40000,user_id=0,group_id=0,allow_other"
        # Without its helper, which would ask for a program of FUSE's own.
        words = ["mount", "-i", "-t", "fuse", "-o", options, "share", str(path)]
        done = subprocess.run(
            words, pass_fds=[self._device], capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        if done.returncode:
            os.close(self._device)
            raise CannotMount(done.stderr.strip())
        self._over, self._end = os.pipe()
        self._there.set()
        self._thread = threading.Thread(target=self._serve, name="share", daemon=True)
        self._thread.start()

    def goes_away(self) -> None:
        """Answer nobody any more."""
        self._asked.clear()
        self._there.clear()

    def is_asked(self) -> bool:
        """Return whether somebody has waited for an answer since."""
        return self._asked.is_set()

    def comes_back(self) -> None:
        self._there.set()

    def close(self) -> None:
        os.close(self._end)
        self.comes_back()
        self._thread.join(PATIENCE)
        os.close(self._over)
        os.close(self._device)  # Whoever waits for an answer still gets an error.
        subprocess.run(["umount", "--lazy", str(self.path)], check=False, timeout=PATIENCE)

    def _serve(self) -> None:
        while self._over not in select.select([self._device, self._over], [], [])[0]:
            try:
                request = os.read(self._device, 1 << 18)
            except OSError as exc:
                if exc.errno in (errno.ENOENT, errno.EAGAIN):  # The request was taken back meanwhile.
                    continue
                raise
            _, operation, number, _ = struct.unpack_from("=IIQQ", request)
            if not self._there.is_set():
                self._asked.set()
                self._there.wait()
            if operation not in _UNANSWERED:
                self._answer(number, *_ANSWERS.get(operation, (errno.ENOSYS, b"")))

    def _answer(self, number: int, error: int, body: bytes = b"") -> None:
        try:
            os.write(self._device, struct.pack("=IiQ", 16 + len(body), -error, number) + body)
        except OSError as exc:
            if exc.errno != errno.ENOENT:  # Whoever had asked has given up.
                raise
