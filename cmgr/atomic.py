"""A file that is there as a whole or not at all: it is written beside its place and then moved there."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

UNFINISHED = ".new"
"""The end of the name of a file that is still being written, or was when its writer was killed."""


@contextmanager
def written(path: Path, mode: int, *, replace: bool = True, durable: bool = True) -> Iterator[BinaryIO]:
    """Give a file that becomes the one of this path when the block ends, and goes when the block raises.

    `mode` holds whatever the umask is. Without `replace` a file that is there already is left, and the end of the
    block raises `FileExistsError`. `durable`: it outlives a power cut, too. Raises `OSError`.
    """
    fresh = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
    with suppress(FileNotFoundError):
        os.unlink(fresh)  # Of a process that was killed; its number may come again.
    # Nobody else may have put a file or a link of his there, nor hold it open.
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            yield file
            file.flush()
            if durable:
                os.fsync(descriptor)
        if replace:
            os.replace(fresh, path)
        else:
            os.link(fresh, path)  # Unlike a rename, that replaces nothing.
    finally:
        with suppress(FileNotFoundError):
            os.unlink(fresh)


def tidy(path: Path) -> None:
    """Remove what writers of this path left that were killed. Only for whoever alone writes it. Does not raise."""
    unfinished = re.compile(rf"{re.escape(path.name)}(\.[0-9]+)?{re.escape(UNFINISHED)}")
    with suppress(OSError):
        for name in filter(unfinished.fullmatch, os.listdir(path.parent)):
            with suppress(OSError):
                os.unlink(path.parent / name)
