"""This very program once more, in a process of its own."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import socket
    import subprocess

SERVE = ("chips", "--serve")
"""The command that is a program which drives chips: its standard input and output are a connection to the service."""


class Child(NamedTuple):
    """A program that was started, and the service's end of the connection."""

    process: "subprocess.Popen[bytes]"
    line: "socket.socket"

    def let_go(self) -> None:
        self.line.close()
        self.process.kill()
        self.process.wait()


_ahead: list[Child] = []


def program() -> list[str]:
    """Return the command that runs `cmgr`, as this process was called: in a package that is not as out of it."""
    own = sys.modules["__main__"]
    if (getattr(own, "__file__", None) or "").endswith(("/cmgr", "cmgr/__main__.py")):
        return [sys.executable, *sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]]
    return [sys.executable, "-m", "cmgr"]


def child(command: Sequence[str] = ()) -> Child:
    """Start one; `command`: another program than this one. Raises `OSError`."""
    import socket
    import subprocess

    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = subprocess.Popen(  # noqa: S603 - this program once more
                command or [*program(), *SERVE],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                start_new_session=True,
            )
        except OSError:
            ours.close()
            raise
    return Child(process, ours)


def begin_ahead() -> None:
    """Start one before it is known what it is to begin with: it loads beside this process, and opens nothing."""
    with suppress(OSError):  # Whoever needs it tries again, and says why not.
        _ahead.append(child())


def ahead() -> Child | None:
    """Return the one that was started ahead, once. Whoever has it lets it go."""
    return _ahead.pop() if _ahead else None
