"""One run of a program in the host: what is to be run, how it goes on, and how it ended."""

from collections.abc import Mapping
from threading import Event
from typing import Protocol

from cmgr import redact
from cmgr.errors import CmgrError
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say
from cmgr.words import one_line

PLAIN: Mapping[str, str] = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/",
}
"""The environment of every program of an operator's."""

_SHOWN = 500


class CannotBegin(CmgrError):
    """The program does not run: it never began."""


@dataclass(frozen=True, slots=True)
class Act:
    """A run. It has these words, nothing but this environment, directory /, no input. `root`: what is / to it.

    `name`: by which the next life of cmgr finds it; no two that differ in anything have the same one.
    `seconds`: after so long it is killed, with all that it has started; None: never, and it outlives cmgr.
    """

    name: str
    words: tuple[str, ...]
    environment: Mapping[str, str]
    seconds: float | None
    root: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended. `code`: its exit code, -N for signal N, None when it could not be run, was killed, or nobody knows.

    `why`: why there is no code. `output`: the end of what it said, standard error with it. `found`: an earlier life had
    begun it. `executed`: false where nothing of it ever ran. `late`: it was killed because its time was up.
    """

    code: int | None
    why: str
    output: str
    seconds: float
    found: bool = False
    executed: bool = True
    late: bool = False

    @property
    def well(self) -> bool:
        return self.code == 0

    @property
    def how(self) -> str:
        """How it ended, as the rest of a sentence that begins with its name."""
        if self.code is None:
            return self.why
        return say("act.code", code=self.code) if self.code >= 0 else say("act.signal", signal=-self.code)

    @property
    def said(self) -> str:
        """The beginning of its output, on one line and without secrets."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        text = one_line(redact.text(" | ".join(lines)))
        return f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text


class Begun(Protocol):
    """A run that has begun. Its methods on one thread at a time; none raises."""

    def wait(self, seconds: float, cut: Event) -> Ended | None:
        """Wait for its end. Return None when it still runs after so long, or when `cut` is set."""

    def leave(self) -> Ended:
        """Wait for it no more, because cmgr ends."""

    def kill(self) -> Ended:
        """Kill it, with all that it has started; it must be one with a time. Waits some seconds for that at most."""
