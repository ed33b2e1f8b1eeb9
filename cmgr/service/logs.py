"""The log: one line a decision, through loguru, to the journal or the terminal, and to a file if one is set."""

import logging
import os
import sys
from typing import TYPE_CHECKING

from loguru import logger

from cmgr.errors import chain
from cmgr.model.commands import Note, NoteKind

if TYPE_CHECKING:
    from loguru import Record

# systemd reads <N> at the head of a line as the syslog priority (sd-daemon(3)).
_PRIORITIES = {"CRITICAL": 2, "ERROR": 3, "WARNING": 4, "SUCCESS": 5, "INFO": 6, "DEBUG": 7, "TRACE": 7}
_LOUD = frozenset({NoteKind.WARNING, NoteKind.ISOLATION})

_TALKATIVE = ("urllib3", "grpc")
"""They log each answer that cannot be read with a traceback. What became of the call cmgr says itself, once."""

_FILE_SIZE = "20 MB"
_FILES_KEPT = 30


class Log:
    """Where the service says what it does. Any thread, but no signal handler and no callback of a driver."""

    def note(self, note: Note) -> None:
        """Log a line of the timeline."""
        where = f"[episode {note.episode}] " if note.episode else ""
        fields = {"ring": note.ring, "episode": note.episode, "chip": note.chip, "container": note.container}
        level = "WARNING" if note.kind in _LOUD else "INFO"
        logger.bind(**fields).log(level, "{}", where + note.text)

    def say(self, text: str) -> None:
        logger.info("{}", text)

    def warn(self, text: str) -> None:
        logger.warning("{}", text)

    def bug(self, text: str, error: BaseException) -> None:
        """Log something that should not have happened, with its traceback."""
        logger.opt(exception=error).error("{}: {}", text, chain(error))


def _journal_line(record: "Record") -> str:
    priority = _PRIORITIES.get(record["level"].name, 6)
    # loguru would take <N> for a colour.
    return f"\\<{priority}>{{message}}\n{{exception}}"


class _ToLoguru(logging.Handler):
    """Hands what libraries log to loguru."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            level: str | int = logger.level(record.levelname).name
        except ValueError:
            level = record.levelno
        logger.opt(exception=record.exc_info).log(level, "{}: {}", record.name, record.getMessage())


def set_up(level: str, file: str) -> Log:
    """Send the log of this process where it belongs. Raises OSError when the file cannot be opened."""
    logger.remove()
    named = level.upper()
    if os.environ.get("JOURNAL_STREAM"):
        logger.add(sys.stderr, level=named, format=_journal_line, backtrace=False, diagnose=False)
    else:
        text = "{time:YYYY-MM-DD HH:mm:ss.SSS} {level: <7} {message}"
        logger.add(sys.stderr, level=named, format=text, backtrace=False, diagnose=False)
    if file:
        logger.add(
            file, level=named, rotation=_FILE_SIZE, retention=_FILES_KEPT, backtrace=False, diagnose=False,
            opener=lambda path, flags: os.open(path, flags, 0o640),
        )  # fmt: skip
    # Warnings only: every library's INFO is not ours to say.
    logging.basicConfig(handlers=[_ToLoguru()], level=logging.WARNING, force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return Log()
