"""Sees to it that reading a stranger's text opens nothing, runs nothing and changes nothing.

The interpreter itself tells of everything that reaches outside (PEP 578).
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from cmgr import frozen

_HARMLESS = ("object.__", "sys._getframe", "sys._current", "gc.", "time.", "code.__new__", "cpython.", "sys.unraisable")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Watch:
    """Hears all that one thread does while it is to be quiet. A process needs one only: it cannot be undone."""

    def __init__(self) -> None:
        self._thread: int | None = None
        self._heard: list[tuple[str, tuple[object, ...]]] = []
        # As the service does once it is ready: what is compiled then is cmgr's own, and of no data.
        frozen.finish()
        # Python imports these when it first meets them; JSON may come in any of them.
        for encoding in ("utf-8-sig", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-16", "utf-32"):
            "".encode(encoding)
        sys.addaudithook(self._hear)

    def _hear(self, event: str, details: tuple[object, ...]) -> None:
        if self._thread == threading.get_ident() and not event.startswith(_HARMLESS):
            self._heard.append((event, details))

    @contextmanager
    def quiet(self, *readable: str) -> Iterator[None]:
        """Check that nothing is done in here but to look at and read these files."""
        self._heard.clear()
        self._thread = threading.get_ident()
        try:
            yield
        finally:
            self._thread = None
            loud = [(event, details) for event, details in self._heard if not _reads(event, details, readable)]
            assert not loud, [f"{event}: {str(details)[:100]}" for event, details in loud]


def _reads(event: str, details: tuple[object, ...], readable: tuple[str, ...]) -> bool:
    if event != "open":
        return False
    path, _mode, flags = details
    # A descriptor that was opened already, or one of the files.
    known = isinstance(path, int) or path in readable
    return known and isinstance(flags, int) and not flags & _WRITING
