"""The log: one line a decision, through loguru, to the journal or the terminal, and to a file if one is set.

Whoever logs only queues a line; a thread for each target writes it (`log_writer`).
"""

import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from loguru import logger

from cmgr.errors import chain
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.service.log import journal
from cmgr.service.log.file import LogFile
from cmgr.service.log.lines import said
from cmgr.service.log.writer import FIELDS, Stream, Target, Writer
from cmgr.words import one_line

if TYPE_CHECKING:
    from loguru import Logger

_LOUD = frozenset({NoteKind.WARNING, NoteKind.ISOLATION})
_STDERR = 2
_CLOSE_SECONDS = 2.0
_WITH_TIME = "{time:YYYY-MM-DD HH:mm:ss.SSS} {level: <7} {message}"

_TALKATIVE = ("grpc",)
"""They log each answer that cannot be read with a traceback. cmgr itself says once what became of the call."""


class Log:
    """Where the service says what it does. Any thread, but no signal handler and no callback of a driver.

    Nothing here blocks or raises: what cannot be written as fast as it comes is lost, and counted in the log.
    """

    def __init__(self, writers: Sequence[Writer] = ()) -> None:
        self._writers = writers

    def tell(self, notes: Sequence[Note]) -> None:
        """Log what one step has to say in the timeline."""
        for line in said(notes):
            level = "WARNING" if line.kind in _LOUD else "INFO"
            # A name that a container gave itself must not look like a line of its own.
            logger.bind(**{FIELDS: line.fields}).log(level, "{}", one_line(line.text))

    def say(self, text: str) -> None:
        _of_kind(journal.SERVICE).info("{}", one_line(text))

    def warn(self, text: str) -> None:
        _of_kind(journal.TROUBLE).warning("{}", one_line(text))

    def bug(self, text: str, error: BaseException) -> None:
        """Log something that should not have happened, with its traceback."""
        _of_kind(journal.BUG).opt(exception=error).error("{}: {}", one_line(text), one_line(chain(error)))

    def close(self) -> None:
        """Have what was said written, for two seconds at most. Safe to repeat."""
        for writer in self._writers:
            writer.close(_CLOSE_SECONDS)


class _ToLoguru(logging.Handler):
    """Hands what libraries log to loguru."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            level: str | int = logger.level(record.levelname).name
        except ValueError:
            level = record.levelno
        bound = _of_kind(journal.LIBRARY).opt(exception=record.exc_info)
        bound.log(level, "{}: {}", record.name, one_line(record.getMessage()))


def set_up(level: str, file: str, socket: str = journal.SOCKET) -> Log:
    """Send the log of this process where it belongs. `socket` is the journal's.

    Raises OSError when the file cannot be opened.
    """
    logger.remove()
    of_file = LogFile(file, Log().warn) if file else None
    if journal.reads(_STDERR, os.environ):
        writers = [_add(journal.Journal(Stream(sys.stderr, prefixed=True), socket), level, "{message}")]
    else:
        writers = [_add(Stream(sys.stderr, prefixed=False), level, _WITH_TIME)]
    if of_file is not None:
        writers.append(_add(of_file, level, _WITH_TIME))
    # Warnings only: every library's INFO is not ours to say.
    logging.basicConfig(handlers=[_ToLoguru()], level=logging.WARNING, force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return Log(writers)


def _add(target: Target, level: str, text: str) -> Writer:
    writer = Writer(target, f"log-{type(target).__name__.lower()}")
    logger.add(writer.put, level=level.upper(), format=text, backtrace=False, diagnose=False)
    return writer


def _of_kind(kind: str) -> "Logger":
    return logger.bind(**{FIELDS: journal.fields_of_kind(kind)})
