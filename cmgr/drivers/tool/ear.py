"""The call `watch` of a program, which goes on for as long as there is a driver: it is begun again whenever it ends."""

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from cmgr.drivers import asked
from cmgr.drivers.tool import spoken
from cmgr.errors import DriverError
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

MOST_SAID = 1 << 16
"""So many bytes one line of `watch` may have."""

STEADY = 60.0
"""After so many seconds a `watch` has worked: the next one is begun soon after its end."""


@dataclass(frozen=True, slots=True)
class Again:
    """In seconds: from `first` to `most` between the end of a `watch` and the next one."""

    first: float = 1.0
    most: float = 60.0


class Ear:
    """`take` is called with all that is heard, `begun` whenever a `watch` has said that it hears: on one thread.

    `beat`: in so many seconds it says something, or it is killed; 0: it need not.
    """

    def __init__(
        self,
        path: str,
        take: Callable[[spoken.News], None],
        begun: Callable[[], None],
        beat: Callable[[], float],
        again: Again = Again(),  # noqa: B008 - a frozen value
    ) -> None:
        self._path, self._take, self._begun, self._beat, self._again = path, take, begun, beat, again
        self._closed = threading.Event()
        self._hears, self._tried = threading.Event(), threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._why: str = say("driver.says-not-yet")
        self._thread = threading.Thread(target=self._listen_on, name="tool-watch", daemon=True)

    def start(self, seconds: float) -> None:
        """Listen from now on, and return once the first one hears or has ended, or after so many seconds."""
        self._thread.start()
        self._tried.wait(seconds)

    def deaf(self) -> str:
        """Return why no fault is heard; nothing while they are. Any thread."""
        return "" if self._hears.is_set() else say("driver.not-heard", call=f"{self._path} watch", why=self._why)

    def close(self) -> None:
        self._closed.set()
        self._kill()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=1)

    def _listen_on(self) -> None:
        pause = self._again.first
        while not self._closed.is_set():
            began = time.monotonic()
            why = self._listen()
            self._why = why
            self._hears.clear()
            self._tried.set()
            pause = self._again.first if time.monotonic() - began > STEADY else pause
            self._closed.wait(pause)
            pause = min(pause * 2, self._again.most)

    def _listen(self) -> str:
        """Hear what one `watch` says, and return why it ended."""
        try:
            asked.trusted(self._path, "tool.program")
            self._process = process = subprocess.Popen(  # noqa: S603 - only root can write it
                [self._path, "watch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=asked.ENVIRONMENT, cwd="/",
                start_new_session=True,
            )  # fmt: skip
        except DriverError as error:
            return error.message
        except OSError as error:
            return say("driver.cannot-run-it", why=error.strerror or "")
        try:
            for line in self._lines(process):
                self._hear(line)
        except ValueError as error:
            return say("driver.it-not-understood", error=str(error))
        finally:
            self._kill()
            code = process.wait()
            for pipe in filter(None, (process.stdin, process.stdout)):
                with suppress(OSError):
                    pipe.close()
        killed = code < 0 and say("driver.killed-by", signal=signal.Signals(-code).name)
        return killed or say("driver.exit-code", code=code)

    def _hear(self, line: bytes) -> None:
        try:
            said = spoken.news(line)
        except ValueError as error:
            raise ValueError(f"{error}: {line!a:.120}") from None
        if not self._hears.is_set():
            self._hears.set()
            self._tried.set()
            self._begun()
        self._take(said)

    def _lines(self, process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
        """Yield its lines to the end. Raises `ValueError` for one that is too long, or where none comes in time."""
        assert process.stdout is not None
        file, rest = process.stdout.fileno(), b""
        waiting = select.poll()
        waiting.register(file, select.POLLIN)
        while not self._closed.is_set():
            beat = self._beat()
            if not waiting.poll(beat * 1000 if beat else None):
                raise ValueError(f"nothing for {beat:g} s, and it has said that it beats")
            some = os.read(file, MOST_SAID)
            if not some:
                return
            *lines, rest = (rest + some).split(b"\n")
            if any(len(each) > MOST_SAID for each in (*lines, rest)):
                raise ValueError(f"a line of more than {MOST_SAID} bytes")
            yield from lines

    def _kill(self) -> None:
        process = self._process
        # Not reaped yet, so that its number can be nobody else's.
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
