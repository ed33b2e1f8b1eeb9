"""The log as a file: begun anew when it has its size, the older ones kept for a while. loguru writes and rotates it."""

import copy
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from loguru import logger

from cmgr.service.log.writer import Line

if TYPE_CHECKING:
    from loguru import Message

MODE = 0o640


@dataclass(frozen=True, slots=True)
class Keep:
    """How much is kept: bytes of one file, and the age and number of the older ones."""

    size: int = 20 << 20
    age: timedelta = timedelta(days=7)
    files: int = 30


class LogFile:
    """Writes to a file. `report` is told once that this fails, and once that it works again.

    Made before anything is added to the logger. Raises OSError when the file cannot be opened.
    """

    def __init__(self, path: str, keep: Keep, report: Callable[[str], None]) -> None:
        self._path = os.path.abspath(path)
        self._keep = keep
        self._report = report
        self._failing = False
        root, extension = os.path.splitext(self._path)
        # loguru's names for older files, and no others: cmgr.audit.log beside cmgr.log is somebody else's.
        when = r"\.\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_\d{6}(\.\d+)?"
        self._older = re.compile(re.escape(root) + when + re.escape(extension))
        # A logger of its own, as loguru's documentation makes one: what is logged elsewhere does not get here.
        self._logger = copy.deepcopy(logger)
        self._logger.add(
            self._path.replace("{", "{{").replace("}", "}}"),
            format="{message}", rotation=self._is_full, retention=self._retire,
            # Where logrotate has moved the file away, a new one is begun.
            watch=True, catch=False, opener=_opened, errors="backslashreplace", backtrace=False, diagnose=False,
        )  # fmt: skip
        self._retire([])

    def write(self, line: Line) -> None:
        try:
            self._logger.opt(raw=True).info(line.text + "\n")
        except (OSError, ValueError) as error:
            if not self._failing:
                why = getattr(error, "strerror", None) or str(error)
                self._report(f"cannot write the log file {self._path}: {why}; the journal goes on")
            self._failing = True
            return
        if self._failing:
            self._report(f"the log file {self._path} is written again")
        self._failing = False

    def close(self) -> None:
        # What could not be written stays unwritten, and was told.
        with suppress(OSError, ValueError):
            self._logger.remove()

    def _is_full(self, message: "Message", file: TextIO) -> bool:
        # loguru's own rule counts characters, and rotates an empty file away for a line larger than the limit.
        size = os.fstat(file.fileno()).st_size
        return size > 0 and size + len(message.encode("utf-8", "backslashreplace")) > self._keep.size

    def _retire(self, _found: list[str]) -> None:
        """Remove the older files that are too many or too old. loguru knows one rule or the other, and other names."""
        oldest = (datetime.now().astimezone() - self._keep.age).timestamp()
        older = sorted(self._older_files(), reverse=True)
        for number, (changed, path) in enumerate(older, start=1):
            if number > self._keep.files or changed <= oldest:
                try:
                    path.unlink(missing_ok=True)
                except OSError as error:
                    self._report(f"cannot remove the old log file {path}: {error.strerror}")

    def _older_files(self) -> list[tuple[float, Path]]:
        found: list[tuple[float, Path]] = []
        with suppress(OSError):
            here = Path(self._path).parent.iterdir()
            found.extend((path.lstat().st_mtime, path) for path in here if self._older.fullmatch(str(path)))
        return found


def _opened(path: str, flags: int) -> int:
    # Without NONBLOCK, opening a pipe that nobody reads would block for ever.
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, MODE)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file")
    if status.st_mode & ~MODE & 0o777 and status.st_uid == os.geteuid():
        os.fchmod(descriptor, status.st_mode & MODE)
    return descriptor
