"""Running one command of an operator: bounded in time and output, and nothing of it left afterwards."""

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from cmgr.frozen import dataclass

OUTPUT = 4096
"""So many bytes of what it says are kept, the last ones."""

_LOOK_EVERY = 0.05


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. `code`: its exit code, -N for signal N, None when it could not be run or was killed by us.

    `why`: why there is no code. `output`: the end of what it said, standard error with it.
    """

    code: int | None
    why: str
    output: str
    seconds: float

    @property
    def well(self) -> bool:
        return self.code == 0


def run(path: Path, environment: Mapping[str, str], seconds: float, cut: threading.Event) -> Ended:
    """Run the file with nothing but this environment, and wait for its end, for so long, or until `cut` is set.

    No shell, directory /, no input. It leads a process group of its own, which is killed when time is up, and when it
    has ended: what is to live longer has to be given to somebody else. Any thread. Does not raise.
    """
    began = time.monotonic()
    try:
        process = subprocess.Popen(  # noqa: S603 - an operator's file, checked by `hook_files`, with no arguments
            [str(path)], env=dict(environment), cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return Ended(None, f"cannot be run: {error.strerror or error}", "", time.monotonic() - began)
    assert process.stdout is not None
    with process.stdout as out:
        said = _Output(out.fileno())
        why = _wait(process.pid, said, began + seconds, cut)
        # It is not reaped yet, so that its number, and that of its group, can be nobody else's.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        said.take_rest()
    took = time.monotonic() - began
    return Ended(None if why else code, why and f"{why} after {took:.1f} s", said.text(), took)


def _wait(pid: int, said: "_Output", until: float, cut: threading.Event) -> str:
    """Wait for the end of the process, and take in what it says. Return why it is waited for no longer."""
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        left = until - time.monotonic()
        if left <= 0:
            return "was killed"
        if cut.is_set():
            return "was killed because cmgr ends"
        said.take(min(left, _LOOK_EVERY))
    return ""


class _Output:
    """The reading end of a pipe, and the last of what came out of it."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._open = True
        self._kept = b""
        self._more = False
        os.set_blocking(file, False)

    def take(self, seconds: float) -> None:
        """Take in what is there; wait for it, and for the end of the pipe, for so long."""
        if not self._open:
            # Nobody can write any more, so the process is most likely about to end.
            time.sleep(min(seconds, 0.005))
            return
        waiting = select.poll()
        waiting.register(self._file, select.POLLIN)
        if waiting.poll(seconds * 1000):
            self._read()

    def take_rest(self) -> None:
        # Bounded: a process that left the group may go on writing for ever.
        for _ in range(64):
            if not self._open or not self._read():
                return

    def _read(self) -> bool:
        try:
            some = os.read(self._file, 65536)
        except BlockingIOError:
            return False
        self._open = bool(some)
        self._more = self._more or len(self._kept) + len(some) > OUTPUT
        self._kept = (self._kept + some)[-OUTPUT:]
        return True

    def text(self) -> str:
        return ("… " if self._more else "") + self._kept.decode(errors="replace").strip()
