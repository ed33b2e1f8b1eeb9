"""Whose program it was that an Xid came of: most Xids that pass are a program's own, and concern nobody else.

Rules:
1. The kernel's line names the process, and NVML's event does not: of an Xid that passes an event waits for its line.
2. A process that has ended is known from the driver's last list; where it is not, nobody is left whom it concerns.
3. Where no process is named it was in a part of MIG, if one is, and else nobody can say.
4. A server of MPS has the channels of all its clients, so that nobody can say either.

Source: the maker's kernel modules of 515 to 595, gpu/rc/kernel_rc.c: pid and name of the channel's client, the pid of
the host; before 570 they may be '<unknown>', since then both may be missing.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cmgr.drivers.nvml.hearing.kernel_log import Xid
from cmgr.drivers.nvml.library.calls import Part
from cmgr.drivers.processes import Holder, Owners, process_of
from cmgr.model.values.chips import ChipId

LINE = 0.5
"""Seconds for which an event waits for its line. That is mostly there before it."""

_MPS = "nvidia-cuda-mps"
"""The beginning of the names of its programs: the kernel keeps 15 letters."""


class Culprits:
    """Any thread. `parts` returns those of a GPU that MIG divides."""

    def __init__(self, parts: Callable[[ChipId], Iterable[Part]], proc: Path = Path("/proc")) -> None:
        self._parts = parts
        self._proc = proc
        self._owners = Owners(proc)
        self._lock = threading.Lock()
        self._waiting: dict[tuple[ChipId, int], tuple[float, Xid]] = {}  # The oldest first.

    def listed(self, chip: ChipId, holders: Iterable[Holder]) -> None:
        """Note which processes the driver has listed on a GPU."""
        self._owners.listed(chip, (holder.pid for holder in holders))

    def whose(self, chip: ChipId, pid: int, part: int | None) -> frozenset[str] | None:
        """Return whose program this process is, in this part of MIG, as `Fault` has it. `pid` 0: none is named."""
        if not pid:
            shares = (found.uuid for found in self._parts(chip) if part is not None and found.instances[0] == part)
            return frozenset(shares) or None
        owner = self._owners.of(chip, pid)
        if not owner and process_of(Holder(pid, 0), self._proc).name.startswith(_MPS):
            return None
        return frozenset({owner} if owner else ())

    def wait(self, chip: ChipId, event: Xid) -> None:
        """Have an event wait for its line."""
        with self._lock:
            self._waiting.setdefault((chip, event.number), (time.monotonic() + LINE, event))

    def has_line(self, chip: ChipId, xid: int) -> None:
        """Let no event wait any more for this line, which has come."""
        with self._lock:
            self._waiting.pop((chip, xid), None)

    def left(self, most: float) -> float:
        """Return the seconds until the next event has waited for long enough; so many at most."""
        with self._lock:
            until = next(iter(self._waiting.values()), (math.inf,))[0]
            return max(0.0, min(most, until - time.monotonic()))

    def due(self) -> Iterator[tuple[ChipId, Xid]]:
        """Yield, once, the events that have waited for long enough, each with its GPU."""
        while True:
            with self._lock:
                first = next(iter(self._waiting.items()), None)
                if first is None or time.monotonic() < first[1][0]:
                    return
                del self._waiting[first[0]]
            yield first[0][0], first[1][1]
