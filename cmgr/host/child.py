"""A program as a child of cmgr's, where systemd has not begun that: a demo, tests, another init."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from threading import Event

from cmgr.frozen import replace
from cmgr.host.act import Act, CannotBegin, Ended
from cmgr.host.output import Memory, Pipe
from cmgr.sentences.sentence import say

_LOOK_EVERY = 0.05


class Child:
    """A run that was just begun. It leads a process group of its own, which is killed when it has ended, too.

    A run that outlives cmgr writes into memory: a pipe that nobody reads any more would end it.
    """

    def __init__(self, act: Act, held: int | None = None) -> None:
        """Raises `CannotBegin`. `held` as `Host.begin` has it."""
        if act.root:
            raise CannotBegin(f"cannot be run: only systemd, which has not begun cmgr, gives it {act.root} as its root")
        self._act = act
        self._began = time.monotonic()
        self._said: Memory | Pipe
        if act.seconds is None:
            self._said = Memory(out := os.memfd_create(act.name))
        else:
            file, out = os.pipe()
            self._said = Pipe(file)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - its caller has looked who may write it
                act.words, env=dict(act.environment), cwd="/", stdin=subprocess.DEVNULL if held is None else held,
                stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self._said.close()
            raise CannotBegin(f"cannot be run: {error.strerror or error}") from error
        finally:
            if act.seconds is not None:
                os.close(out)

    def wait(self, seconds: float, cut: Event) -> Ended | None:
        until = time.monotonic() + seconds
        limit = self._began + self._act.seconds if self._act.seconds is not None else float("inf")
        # It is not reaped, so that its number, and that of its group, can be nobody else's.
        while os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            now = time.monotonic()
            if now >= limit:
                return replace(self._ended(killed=True), late=True)
            if now >= until or cut.is_set():
                return None
            self._said.take(min(until - now, limit - now, _LOOK_EVERY))
        return self._ended()

    def leave(self) -> Ended:
        if self._act.seconds is None:
            return Ended(None, say("act.goes-on"), "", time.monotonic() - self._began)
        return self._ended(left=True)

    def kill(self) -> Ended:
        return self._ended(killed=True)

    def _ended(self, *, killed: bool = False, left: bool = False) -> Ended:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait()
        took, output = time.monotonic() - self._began, self._said.text()
        self._said.close()
        if left:
            return Ended(None, say("act.killed-cmgr-ends", seconds=f"{took:.1f}"), output, took)
        if killed:
            return Ended(None, say("act.killed", seconds=f"{took:.1f}"), output, took)
        return Ended(code, "", output, took)
