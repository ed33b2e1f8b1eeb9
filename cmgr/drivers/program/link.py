"""A connection to a program that drives chips: requests and their answers, and what it tells by itself."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

from cmgr.drivers.program import wire
from cmgr.errors import DriverError
from cmgr.ports import DriverFact
from cmgr.sentences.sentence import because, say


class Late(DriverError):
    """The program has not answered in time; it may yet."""


class Lost(DriverError):
    """The program is gone, or what it says cannot be understood: there will be no answer."""


class Unasked(Lost):
    """It was gone before it was asked, so that it has begun nothing."""


class _Answer:
    def __init__(self) -> None:
        self.come = threading.Event()
        self.result: Any = None
        self.error: DriverError | None = None


class Link:
    """From `start` to `close`. Any thread.

    `end` ends the program at once; `why` says in a few words how it ended, once the connection is over; `lives` says
    whether it is still there then, as one is whose call into the kernel never returns.
    """

    def __init__(
        self, line: socket.socket, end: Callable[[], None], why: Callable[[], str], lives: Callable[[], bool]
    ) -> None:
        self._line = line
        self._end = end
        self._why = why
        self.lives = lives
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._waiting: dict[int, _Answer] = {}
        self._retired = False
        self.lost = ""
        """Why the connection is over; empty while it is not."""

    def start(self, tell: Callable[[DriverFact], None], over: Callable[[], None]) -> None:
        """Hand what the program tells to `tell`, and call `over` once when the connection is over: foreign thread."""
        self._reader = threading.Thread(target=self._read, args=(tell, over), name="chips-program", daemon=True)
        self._reader.start()

    def ask(self, do: str, seconds: float | None = None, **words: Any) -> Any:
        """Return the answer. Raises `Late`, `Lost`, and what the program answers with."""
        answer = self.begin(do, **words)
        if not answer.come.wait(seconds):
            with self._lock:
                self._waiting = {number: each for number, each in self._waiting.items() if each is not answer}
            raise Late(because(say("driver.cannot-drive"), say("driver.program-late", seconds=f"{seconds:g}")))
        return self.answered(answer)

    def begin(self, do: str, **words: Any) -> _Answer:
        """Send the request without waiting for the answer."""
        answer = _Answer()
        with self._lock:
            if self.lost:
                raise Unasked(because(say("driver.cannot-drive"), self.lost))
            number = next(self._numbers)
            self._waiting[number] = answer
            with suppress(OSError):  # The reader notices, too, and answers everything.
                self._line.sendall(wire.line({"id": number, "do": do, **words}))
        return answer

    @staticmethod
    def answered(answer: _Answer) -> Any:
        if answer.error is not None:
            raise answer.error
        return answer.result

    def retire(self) -> None:
        """Close it once everything has been answered."""
        with self._lock:
            self._retired = True
        self._leave()

    def close(self, seconds: float = 0.0) -> None:
        """Let the program end, and wait so long for that: it finishes resets that are under way."""
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        if seconds and self._reader is not threading.current_thread():
            self._reader.join(seconds)

    def kill(self) -> None:
        """End the program at once, and whatever it does."""
        self._end()
        self.close()

    def _leave(self) -> None:
        if self._retired and not self._waiting:
            self.close()

    def _read(self, tell: Callable[[DriverFact], None], over: Callable[[], None]) -> None:
        why = ""
        try:
            with self._line.makefile("rb") as lines:
                while line := lines.readline(wire.MOST):
                    self._take(wire.heard(line), tell)
        except (ValueError, LookupError, TypeError) as error:
            why = say("driver.not-understood", error=str(error))
            self._end()
        except OSError:
            pass  # As if it had said nothing more.
        ended = self._why()
        self._over(why or ended)
        over()

    def _take(self, message: Any, tell: Callable[[DriverFact], None]) -> None:
        if "tell" in message:
            if not self._retired:
                tell(wire.fact(message))
            return
        with self._lock:
            answer = self._waiting.pop(message["id"], None)
        if answer is not None:  # Else nobody waits for it any more.
            if "error" in message:
                answer.error = wire.failed(message["error"])
            else:
                answer.result = message["result"]
            answer.come.set()
        self._leave()

    def _over(self, why: str) -> None:
        with self._lock:
            self.lost = why
            waiting, self._waiting = [*self._waiting.values()], {}
        for answer in waiting:
            answer.error = Lost(because(say("driver.cannot-drive"), why))
            answer.come.set()
        self._line.close()
