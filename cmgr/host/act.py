"""One run of a program in the host: what is to be run, how it goes on, and how it ended."""

from collections.abc import Mapping
from threading import Event
from typing import Protocol

from cmgr.errors import CmgrError
from cmgr.frozen import dataclass


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
    begun it. `executed`: false where nothing of it ever ran.
    """

    code: int | None
    why: str
    output: str
    seconds: float
    found: bool = False
    executed: bool = True

    @property
    def well(self) -> bool:
        return self.code == 0


class Begun(Protocol):
    """A run that has begun. Its methods on one thread at a time; none raises."""

    def wait(self, seconds: float, cut: Event) -> Ended | None:
        """Wait for its end. Return None when it still runs after so long, or when `cut` is set."""

    def leave(self) -> Ended:
        """Wait for it no more, because cmgr ends."""

    def kill(self) -> Ended:
        """Kill it, with all that it has started; it must be one with a time. Waits some seconds for that at most."""
