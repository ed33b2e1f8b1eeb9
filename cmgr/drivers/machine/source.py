"""The common ground of all sources of the machine's faults."""

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from cmgr.model.values.machine import Symptom

MOST_READ = 65536
"""Bytes of one file that are read: none that is read here is longer on a machine that is well."""


class Off(Exception):
    """There is nothing here to look at, or no right to: the text says what, and what would change that."""


class Source(Protocol):
    """Asked on a thread of its own, which it may keep for as long as the kernel or a program keeps it."""

    name: str
    slow: int
    """It is asked once in so many rounds."""

    def look(self) -> Sequence[Symptom]:
        """Return everything that is wrong now, or has happened. Raises `Off`, `OSError` or `DriverError`."""


_NO_VALUE = frozenset({errno.ENODATA, errno.ENXIO, errno.EOPNOTSUPP, errno.EINVAL, errno.ENODEV})
"""A sensor that is there and has nothing to say."""


def word(path: Path) -> str:
    """Return the text of a small file; nothing where there is none, or the kernel has no value for it."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(MOST_READ).decode(errors="replace").strip()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""
    except OSError as error:
        if error.errno in _NO_VALUE:
            return ""
        raise


def number(path: Path) -> int | None:
    """Return the whole number that is the text of a small file."""
    text = word(path)
    try:
        return int(text) if len(text) < 20 else None
    except ValueError:
        return None


def below(directory: Path, pattern: str) -> list[Path]:
    """Return what there is of this pattern in a directory, by name; nothing where there is none."""
    return sorted(directory.glob(pattern))
