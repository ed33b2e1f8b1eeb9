"""The log as a file. loguru writes it; logrotate, or whoever else moves it away, rotates it."""

import copy
import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress

from loguru import logger

from cmgr.errors import system_words
from cmgr.sentences.sentence import say
from cmgr.service.log.writer import Line

MODE = 0o640


class LogFile:
    """Writes to a file. `report` is told once that this fails, and once that it works again.

    Made before anything is added to the logger. Raises OSError when the file cannot be opened.
    """

    def __init__(self, path: str, report: Callable[[str], None]) -> None:
        self._path = os.path.abspath(path)
        self._report = report
        self._failing = False
        # A logger of its own, as loguru's documentation makes one: what is logged elsewhere does not get here.
        self._logger = copy.deepcopy(logger)
        self._logger.add(
            self._path.replace("{", "{{").replace("}", "}}"),
            # Where the file was moved away, a new one is begun with the next line: no signal is needed.
            format="{message}", watch=True,
            catch=False, opener=_opened, errors="backslashreplace", backtrace=False, diagnose=False,
        )  # fmt: skip

    def write(self, line: Line) -> None:
        try:
            self._logger.opt(raw=True).info(line.text + "\n")
        except (OSError, ValueError) as error:
            if not self._failing:
                why = system_words(error)
                self._report(f"cannot write the log file {self._path}: {why}; the journal goes on")
            self._failing = True
            return
        if self._failing:
            self._report(f"the log file {self._path} is written again")
        self._failing = False

    def close(self) -> None:
        # Lines that could not be written stay unwritten, and that was told.
        with suppress(OSError, ValueError):
            self._logger.remove()


def _opened(path: str, flags: int) -> int:
    # Without NONBLOCK, opening a pipe that nobody reads would block for ever.
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, MODE)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, say("trust.is-no-file"), path)
    if status.st_mode & ~MODE & 0o777 and status.st_uid == os.geteuid():
        os.fchmod(descriptor, status.st_mode & MODE)
    return descriptor
