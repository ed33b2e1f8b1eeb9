"""The check that somebody rotates the log file: cmgr itself does not, and it grows with each decision."""

import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from cmgr.cli.check.finding import OK, WARNING, Finding
from cmgr.sentences.sentence import say

WHAT = "log file"
PROGRAMS = "/usr/sbin:/sbin:/usr/bin:/bin"


def rotation(file: str, etc: Path = Path("/etc"), programs: str = PROGRAMS) -> Iterator[Finding]:
    """Yield whether logrotate's configuration in `etc` names the file; nothing where there is none."""
    if not file:
        return
    by = next((path for path in (etc / "logrotate.conf", *_own(etc)) if _names(path, file)), None)
    if by is None:
        hint = say("check.name-in", path=f"{etc}/logrotate.d/cmgr")
        yield Finding(WHAT, WARNING, say("check.not-rotated", file=file), hint)
    elif shutil.which("logrotate", path=programs) is None:
        yield Finding(WHAT, WARNING, say("check.no-logrotate", file=file), say("check.install-logrotate"))
    else:
        yield Finding(WHAT, OK, say("check.rotates", file=file, by=str(by)))


def _own(etc: Path) -> list[Path]:
    try:
        return sorted((etc / "logrotate.d").iterdir())
    except OSError:
        return []


def _names(path: Path, file: str) -> bool:
    # Nothing but a pattern of files looks like the whole path of one, so that braces need not be understood.
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    for line in lines:
        with suppress(ValueError):  # A quote that is not closed, in a script.
            words = shlex.split(line.replace("{", " "), comments=True)
            if any(word.startswith("/") and PurePosixPath(file).match(word) for word in words):
                return True
    return False
