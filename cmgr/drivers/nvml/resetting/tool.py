"""nvidia-smi, the only way to reset a GPU: NVML has no function for it. The rules are section "resets" of docs/nvml.md.

Its words are no stable interface: what counts is how it ended, and how the GPU is afterwards.
"""

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from cmgr import trust
from cmgr.drivers.nvml.library.load import IN_CONTAINER
from cmgr.drivers.nvml.settings import Nvml
from cmgr.errors import DriverError, ResetRefused, bare
from cmgr.frozen import dataclass
from cmgr.host import act
from cmgr.host.act import Act, CannotBegin
from cmgr.host.host import Host
from cmgr.sentences.sentence import say

DONE = 0

RESCAN = "sys/bus/pci/rescan"
"""nvidia-smi resets a GPU by removing it from the kernel's list and having that look for it again, by this file."""

_NOT_BEGUN = {
    3: say("driver.smi-no-such-gpu"),
    4: say("driver.smi-only-root", unit="cmgr-chips@.service"),
    9: say("driver.smi-no-driver", command="nvidia-smi"),
    12: say("driver.smi-no-library"),
    13: say("driver.smi-other-release"),
    18: say("driver.smi-updated"),
}
"""Statuses with which no reset has begun, and what to do (manual of 550, NVML's answer 18)."""

MOST_SAID = 500
"""Letters of what it said that are told."""

_IN_USE = ("in use by another", "currently in use", "being used by")

_ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
_NEVER = threading.Event()


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended, and what it said."""

    status: int
    said: str

    @property
    def in_use(self) -> bool:
        return self.status != DONE and any(words in self.said.lower() for words in _IN_USE)

    @property
    def not_begun(self) -> str:
        """Return what to do where the status says that it has begun nothing; nothing where that is not so."""
        return _NOT_BEGUN.get(self.status, "")

    @property
    def words(self) -> str:
        """Return all that it said, in one line: the reason seldom stands in the first."""
        return " ".join(self.said.split())[:MOST_SAID] or say("driver.said-nothing")


PERSISTENT = "-pm 1"
"""The words by which the persistence mode is turned on."""


def done(run: Callable[[], Ended | threading.Event], seconds: float) -> str:
    """Run it, for so long at most. Return why it has not done what it was to do, or nothing."""
    try:
        ended = run()
    except DriverError as error:
        return error.message
    if isinstance(ended, Ended):
        return "" if ended.status == DONE else ended.words
    return say("driver.lasted", seconds=f"{seconds:g}")


def in_its_root(settings: Nvml, library: str) -> Nvml:
    """Return the settings with the driver's own nvidia-smi, where the driver runs in a container."""
    if not library.startswith(f"{IN_CONTAINER}/") or settings.tool.startswith(IN_CONTAINER):
        return settings
    return replace(settings, tool=f"{IN_CONTAINER}{settings.tool}")


class Tool:
    """A program at this path, which that setting names, run in this host. Any thread.

    One of a driver that runs in a container is run with that one's root, since its library is there.
    """

    def __init__(self, path: str, host: Host, setting: str = "nvml.tool") -> None:
        self._path = path
        self._host = host
        self._correct = say("driver.correct", setting=setting)

    def reset(self, buses: Sequence[str], seconds: float, held: int) -> Ended | threading.Event:
        """Reset these GPUs together. Return how it ended, or, when it has not by then, what is set once it has.

        It is not killed, not even by the end of cmgr: it may be in the middle of the kernel's work. `held` as
        `Host.begin` has it. Raises `ResetRefused` when it could not be begun, `DriverError` when that went wrong.
        """
        return self._run(f"reset-{'-'.join(buses)}", ("--gpu-reset", "-i", ",".join(buses)), seconds, held)

    def persist(self, buses: Sequence[str], seconds: float, *, on: bool) -> Ended | threading.Event:
        """Turn the persistence mode on or off. As `reset`."""
        mode = str(int(on))
        return self._run(f"pm{mode}-{'-'.join(buses)}", ("-pm", mode, "-i", ",".join(buses)), seconds)

    def set(self, bus: str, option: str, value: str, seconds: float) -> Ended | threading.Event:
        """Set something of this GPU. As `reset`."""
        return self._run(f"set{option}-{bus}", (option, value, "-i", bus), seconds)

    def rescan(self, file: Path, seconds: float, held: int) -> Ended | threading.Event:
        """Have the kernel look for what is on PCI. Only for a shell. As `reset`."""
        return self._run("rescan", ("-c", f"echo 1 >{file}"), seconds, held)

    def divide(self, buses: Sequence[str], seconds: float) -> Ended | threading.Event:
        """Have the parts of these GPUs made again, whose bus ids are all that this program is told. As `reset`."""
        return self._run(f"divide-{'-'.join(buses)}", buses, seconds)

    def _run(self, what: str, words: Sequence[str], seconds: float, held: int | None = None) -> Ended | threading.Event:
        why = weakness(self._path)
        if why:
            raise ResetRefused(say("driver.cannot-run", path=self._path, why=why), hint=self._correct)
        over = threading.Event()
        try:
            root = IN_CONTAINER if self._path.startswith(f"{IN_CONTAINER}/") else ""
            run = Act(f"nvidia-{what}", (self._path.removeprefix(root), *words), _ENVIRONMENT, None, root)
            begun = self._host.begin(run, held)
        except CannotBegin as error:
            # Nothing has begun, so that nothing has failed.
            text = say("driver.cannot-run", path=self._path, why=bare(error.message, "be"))
            raise ResetRefused(text, hint=error.hint or self._correct) from error
        ended = begun.wait(seconds, _NEVER)
        if ended is not None:
            return self._told(ended)

        def wait() -> None:
            begun.wait(math.inf, _NEVER)
            over.set()

        threading.Thread(target=wait, name="nvidia-smi", daemon=True).start()
        return over

    def _told(self, ended: act.Ended) -> Ended:
        if ended.code is None:
            kind = DriverError if ended.executed else ResetRefused
            raise kind(say("driver.program-did", path=self._path, how=ended.why), hint=self._correct)
        return Ended(ended.code, ended.output)


def weakness(path: str) -> str:
    """Return what keeps the program from being run, in words; nothing when it can be."""
    try:
        Path(path).stat()
        found = trust.weakness(path, itself=True, sticky=False)
    except OSError as error:
        return say("driver.cannot-look", why=error.strerror or "")
    return "" if found is None else found.reason
