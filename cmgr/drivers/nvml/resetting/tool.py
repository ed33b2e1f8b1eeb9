"""nvidia-smi, the only way to reset a GPU: NVML has no function for it. The rules are section "resets" of docs/nvml.md.

Its words are no stable interface: what counts is how it ended, and how the GPU is afterwards.
"""

import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from cmgr import trust
from cmgr.errors import DriverError, chain
from cmgr.frozen import dataclass

DONE = 0

_IN_USE = ("in use by another", "currently in use", "being used by")

_ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
_MOST_OUTPUT = 4096


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended, and what it said."""

    status: int
    said: str

    @property
    def in_use(self) -> bool:
        return self.status != DONE and any(words in self.said.lower() for words in _IN_USE)

    @property
    def first_line(self) -> str:
        return next((line.strip() for line in self.said.splitlines() if line.strip()), "it said nothing")


class Tool:
    """A program at this path, which that setting names. Any thread."""

    def __init__(self, path: str, setting: str = "nvml.tool") -> None:
        self._path = path
        self._setting = setting

    def reset(self, buses: Sequence[str], seconds: float, inherited: Sequence[int]) -> Ended | threading.Event:
        """Reset these GPUs together. Return how it ended, or, when it has not by then, what is set once it has.

        It is not killed: it may be in the middle of the kernel's work. It inherits the descriptors `inherited`.
        Raises `DriverError` when it cannot be run.
        """
        return self.run(("--gpu-reset", "-i", ",".join(buses)), seconds, inherited)

    def persist(self, buses: Sequence[str], seconds: float, *, on: bool) -> Ended | threading.Event:
        """Turn the persistence mode on or off. As `reset`."""
        return self.run(("-pm", str(int(on)), "-i", ",".join(buses)), seconds)

    def weakness(self) -> str:
        """Return what keeps the program from being run, in words; nothing when it can be."""
        try:
            Path(self._path).stat()
            found = trust.weakness(self._path, itself=True, sticky=False)
        except OSError as error:
            return f"it cannot be looked at: {error.strerror}"
        return "" if found is None else found.reason

    def run(self, words: Sequence[str], seconds: float, inherited: Sequence[int] = ()) -> Ended | threading.Event:
        """Run it with these words. As `reset`."""
        why = self.weakness()
        if why:
            raise DriverError(f"cannot run {self._path}: {why}", hint=f"correct {self._setting}")
        over, ended = threading.Event(), list[Ended]()
        try:
            process = subprocess.Popen(  # noqa: S603  # A program that only root can write.
                [self._path, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=_ENVIRONMENT,
                pass_fds=inherited,
            )
        except OSError as error:
            raise DriverError(f"cannot run {self._path}: {chain(error)}", hint=f"correct {self._setting}") from error

        def wait() -> None:
            said, _ = process.communicate()
            ended.append(Ended(process.returncode, said[:_MOST_OUTPUT].decode(errors="replace")))
            over.set()

        threading.Thread(target=wait, name="nvidia-smi", daemon=True).start()
        return ended[0] if over.wait(seconds) else over
