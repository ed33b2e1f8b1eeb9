"""Programs that a driver asks: bounded in time and in what is read of them, and nothing of them left.

They are children, not units in the host as `host/transient.py` makes them: they only read, over and over, so nothing is
lost when they end with their process, and a unit takes ten times as long and writes lines into the journal each time.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from cmgr import trust
from cmgr.errors import DriverError, DriverMissing
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

ENVIRONMENT: Mapping[str, str] = {"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TZ": "UTC"}
MOST_SAID = 1 << 20


@dataclass(frozen=True, slots=True)
class Said:
    """The words of a program before it ended, and how it ended."""

    status: int
    text: str
    complaint: str


def trusted(path: str, setting: str) -> None:
    """Raise `DriverMissing` when the program is not there, `DriverError` when others could have written it.

    No sticky bit excuses its directory: a program may load what lies beside it, as a script of Python's does.
    """
    if not Path(path).exists():
        raise DriverMissing(say("driver.not-there", path=path), hint=say("driver.correct", setting=setting))
    weak = trust.weakness(path, itself=True, sticky=False)
    if weak is not None:
        raise DriverError(say("driver.cannot-run", path=path, why=weak.reason), hint=weak.hint)


def ask(path: str, words: Sequence[str], seconds: float, setting: str) -> Said:
    """Run the program with these words. A program that does not end in time is killed, with all that it has started.

    `setting`: the one that names the program. Raises `DriverMissing` when it is not there, and `DriverError` when it
    cannot be run or does not end.
    """
    trusted(path, setting)
    # Into files: a pipe could be kept open by whatever the program has left behind.
    with TemporaryFile() as out, TemporaryFile() as err:
        try:
            process = subprocess.Popen(  # noqa: S603  # A program that only root can write.
                [path, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=ENVIRONMENT, cwd="/",
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            why = say("driver.cannot-run", path=path, why=error.strerror or "")
            raise DriverError(why, hint=say("driver.correct", setting=setting)) from error
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            program = f"{Path(path).name} {words[-1]}"
            raise DriverError(say("driver.not-ended", program=program, seconds=f"{seconds:g}")) from None
        text, complaint = (_start(file) for file in (out, err))
    return Said(status, text, complaint)


def _start(file: object) -> str:
    file.seek(0)  # type: ignore[attr-defined]
    return str(file.read(MOST_SAID), "utf-8", "replace")  # type: ignore[attr-defined]
