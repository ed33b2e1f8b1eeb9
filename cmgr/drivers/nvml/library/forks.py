"""Processes forked off one that was forked before this process had threads, or the maker's library.

A new interpreter for each would cost 11 MB; a fork shares nearly everything with its parent. But to fork off a process
with threads is to copy locks that nobody will open.
"""

import gc
import os
import pickle
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from cmgr.errors import DriverError
from cmgr.sentences.sentence import say

_WORDS = 4096


def packed(value: object) -> bytes:
    """Return a value as these processes send it to each other: a function goes by its name."""
    return pickle.dumps(value)


def unpacked(message: bytes) -> Any:
    return pickle.loads(message)  # noqa: S301 - of a fork of this very process, over a connection that has no name


def received(line: socket.socket) -> bytes:
    """Return the next message as a whole; nothing where the other side is gone. Raises `OSError`.

    Its size is asked first: room for the longest one is a mapping of memory that is made and given back each time.
    """
    size = line.recv_into(bytearray(1), 1, socket.MSG_PEEK | socket.MSG_TRUNC)
    return line.recv(size) if size else b""


class Forked(NamedTuple):
    """A process, and this side of its two connections."""

    pid: int
    asks: socket.socket
    tells: socket.socket


class Forks:
    """`work` is what the processes do: with their side of the connections, and the words of `fork`. Any thread."""

    def __init__(self, work: Callable[..., None]) -> None:
        self._lock = threading.Lock()
        self._parent, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._pid = os.fork()
        if self._pid == 0:
            _serve(theirs, work)
        theirs.close()

    def fork(self, *words: object) -> Forked:
        """Return a new process. Raises `DriverError`."""
        asks, tells = (socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2))
        said = b""
        with self._lock, suppress(OSError), asks[1], tells[1]:
            socket.send_fds(self._parent, [packed(words)], [asks[1].fileno(), tells[1].fileno()])
            said = self._parent.recv(_WORDS)
        if not said:
            asks[0].close()
            tells[0].close()
            raise DriverError(say("driver.no-forks"))
        return Forked(int(said), asks[0], tells[0])

    def close(self) -> None:
        self._parent.close()
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


def _serve(control: socket.socket, work: Callable[..., None]) -> NoReturn:
    try:
        _keep_only(control.fileno())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        gc.freeze()
        while True:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Nobody has to wait for those that end.
            words, files, _, _ = socket.recv_fds(control, _WORDS, 2, socket.MSG_CMSG_CLOEXEC)
            if not words:
                break
            pid = os.fork()
            if pid == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # The library waits for nvidia-modprobe.
                control.close()
                work(*(socket.socket(fileno=file) for file in files), *unpacked(words))
                break
            for file in files:
                os.close(file)
            control.send(str(pid).encode())
    finally:
        os._exit(0)


def _keep_only(kept: int) -> None:
    """Close what the parent has open: its connections end when it does, and not only with these processes."""
    os.dup2(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), 0)
    os.dup2(2, 1)
    for name in [int(each.name) for each in Path("/proc/self/fd").iterdir()]:
        if name > 2 and name != kept:
            with suppress(OSError):
                os.close(name)
