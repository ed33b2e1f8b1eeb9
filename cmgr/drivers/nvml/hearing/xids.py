"""The Xids that have happened and still count: an Xid is told in a moment, and what it says of the GPU may last.

Rules:
1. An Xid that asks for a reset counts until its GPU was reset, or the driver's module was loaded anew.
2. Where the driver itself says which action a GPU needs, its word is better than the Xid's: an answer that asks for
   none, to a question that began once it had time to speak, ends the Xid.
3. The Xids that count stand in a file, with the line of the kernel's log up to which they are known: an older line is
   old news, and a newer one happened while nobody listened. A restart of the machine ends all.
4. All that an earlier life has left is remembered: a driver that asks for no action has the better word, for somebody
   else may have reset the GPU meanwhile.
5. Of errors of NVLink NVIDIA's decode says more than their number. Some ask for nothing, and for some the driver has
   the word: its action is what they ask for. Those count where it says nothing in the time that it has.
6. So it is with Xid 48: alone it asks for a reset, and for one that can wait where the error was contained (94) or its
   memory was replaced (63). An older driver, which does not say that, writes these beside it.
7. Where there is no file cmgr is new on this machine. Others have lived with what the log tells: it counts only on a
   GPU that itself says that something is wrong.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from cmgr import atomic
from cmgr.drivers.kernel_log import boot_id
from cmgr.drivers.nvml import codes
from cmgr.drivers.nvml.hearing import nvlink4, nvlink5
from cmgr.drivers.nvml.hearing.kernel_log import Xid
from cmgr.drivers.nvml.hearing.nvlink5 import Decision
from cmgr.frozen import dataclass
from cmgr.words import json_of

NAME = "nvml-xids.json"

SETTLE, LOCKED = 2.0, 60.0
"""Seconds that the driver has for raising the recovery action after an Xid, which it does on a thread of its own; and
where the GPU answers no more: whoever waits for its processor has the driver's locks for 45 s (kernel_gsp.c)."""

BY_WORDS = frozenset({nvlink4.XID, *nvlink5.XIDS})
"""Xids of which the words of their line decide."""

_UNCORRECTABLE, _EASING = 48, frozenset({63, 94})
"""The Xid of rule 6, and those beside which its reset can wait: NVIDIA's WORKFLOW_XID_48, and real logs."""

_MODE = 0o640


@dataclass(frozen=True, slots=True)
class Asked:
    """The answer of a GPU about itself. `action`: what the driver asks for; None where it does not say.

    `began`: when the question did (monotonic, seconds). `is_well`: it finds nothing wrong.
    """

    action: int | None
    began: float
    is_well: bool = True


@dataclass(frozen=True, slots=True)
class _Since:
    """`asks`: it waits for another's word, by rules 5 and 6. `doubtful`: by rule 7."""

    at: float
    remembered: bool = False
    asks: bool = False
    doubtful: bool = False


class Xids:
    """Any thread. `file`: where they are kept; GPUs are known there by their bus ids."""

    def __init__(
        self, release: int, file: Path, now: Callable[[], float] = time.monotonic, boot: str | None = None
    ) -> None:
        self._release = release
        self._file = file
        self._now = now
        self._boot = boot_id() if boot is None else boot
        self._lock = threading.Lock()
        self._since: dict[str, dict[int, _Since]] = {}
        self._eased: dict[str, float] = {}
        self._known_to = -1
        self._kept: object = None
        self._lives = False
        self._read()

    def _read(self) -> None:
        """Learn what the last life knew. A file that cannot be read is none."""
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
            read = json_of(self._file.read_text(encoding="utf-8"))
            if read["boot"] != self._boot:
                self._known_to = 0
                return
            then = _Since(self._now(), remembered=True)
            since = {str(bus): {int(xid): then for xid in xids} for bus, xids in read["xids"].items()}
            self._since, self._known_to = since, int(read["line"])

    def begin(self, line: int) -> None:
        """Keep the file from now on: the log was read up to this line."""
        with self._lock:
            self._lives = True
            self._known_to = max(line, self._known_to, 0)
            self._write()

    def _write(self) -> None:
        told = {bus: sorted(x for x, s in xids.items() if not s.doubtful) for bus, xids in self._since.items()}
        kept = {bus: xids for bus, xids in told.items() if xids}
        if not self._lives or kept == self._kept:
            return
        # At worst the next life takes for new what is old. Whatever a power cut takes away is over with the boot.
        with suppress(OSError), atomic.written(self._file, _MODE, durable=False) as file:
            file.write(json.dumps({"boot": self._boot, "line": self._known_to, "xids": kept}).encode() + b"\n")
            self._kept = kept

    def lasts(self, xid: int) -> bool:
        """Return whether this Xid counts after its moment. Of an unknown one only a newer driver says whether."""
        if codes.is_known(xid):
            return codes.lasts(xid)
        return self._release < codes.FIRST_WITH_ACTIONS

    def meant(self, xid: int, asks: int) -> tuple[int, ...]:
        """Return the numbers that a line counts as, which `asks` for an action; a newer driver says that by itself."""
        return (xid, -asks) if asks and self._release < codes.FIRST_WITH_ACTIONS else (xid,)

    def is_judged(self, xid: int) -> bool:
        """Return whether the driver will say by its recovery action what the Xid asks for."""
        return codes.raises_action(xid, self._release)

    def settle(self, xid: int) -> float:
        """Return the seconds after which an answer says what became of this Xid."""
        return LOCKED if xid in codes.HUSHING else SETTLE

    def decision(self, said: Xid, architecture: int) -> Decision:
        """Return what is to be done for it on a GPU of that architecture; what the driver decides mostly is nothing."""
        decided = _decided(said, architecture)
        waits = self.is_judged(said.number) or said.number == _UNCORRECTABLE
        return Decision.LEVEL if decided is Decision.ASK and not waits else decided

    def waits_for_line(self, xid: int) -> bool:
        """Return whether what has to be known of an Xid is said by its line in the kernel's log alone."""
        return xid in BY_WORDS or not self.lasts(xid)

    def add(self, bus: str, xid: int, *, asks: bool = False) -> None:
        """Count it from now on; `asks`: as the driver says. `keep` follows once it is told."""
        with self._lock:
            there, now = self._since.setdefault(bus, {}), self._now()
            asks = asks and (xid not in there or there[xid].asks)
            if not (asks and self._can_wait(xid, self._eased.get(bus, -math.inf))):
                there[xid] = _Since(now, asks=asks)

    def eases(self, bus: str, xid: int) -> None:
        """Note that this Xid was heard, beside which the reset for another can wait. `keep` follows."""
        if xid not in _EASING:
            return
        with self._lock:
            self._eased[bus] = self._now()
            there = self._since.get(bus, {})
            for other in [x for x, since in there.items() if since.asks and self._can_wait(x, since.at)]:
                del there[other]

    def _can_wait(self, xid: int, other: float) -> bool:
        """Return whether the reset for this Xid can wait, by another that was heard then, or now if it was then."""
        return not self.is_judged(xid) and self._now() <= other + SETTLE

    def keep(self) -> None:
        """Write those that count into the file, which takes as long as the file system likes."""
        with self._lock:
            self._write()

    def recall(self, bus: str, xid: int, line: int) -> None:
        """Take in what this line of the log says, which was written before this life. `begin` follows."""
        with self._lock:
            if line > self._known_to:
                doubtful = self._known_to < 0
                self._since.setdefault(bus, {})[xid] = _Since(self._now(), remembered=True, doubtful=doubtful)

    def codes(self, bus: str, asked: Asked) -> tuple[str, ...]:
        """Return the codes that count now, after this answer of the GPU."""
        with self._lock:
            there = self._since.get(bus, {})
            over = [x for x, since in there.items() if asked.action == 0 and self._is_over(x, since, asked.began)]
            for xid in over:
                del there[xid]
            if over:
                self._write()
            counts = sorted(x for x, since in there.items() if self._counts(x, since, asked))
            return tuple(map(codes.code_of, counts))

    def is_ill(self, bus: str) -> bool:
        """Return whether an Xid of this GPU may still count, so that it may be unable to answer."""
        with self._lock:
            return bool(self._since.get(bus))

    def _counts(self, xid: int, since: _Since, asked: Asked) -> bool:
        if xid == codes.GSP_TIMEOUT and self.is_judged(xid):
            return bool(asked.action)
        if since.asks:
            return asked.action is None and asked.began >= since.at + self.settle(xid)
        return not (since.doubtful and asked.is_well)

    def _is_over(self, xid: int, since: _Since, began: float) -> bool:
        return since.remembered or (self.is_judged(xid) and began >= since.at + self.settle(xid))

    def hushed(self, bus: str) -> bool:
        """Return whether the GPU is asked nothing until its reset but for the action, which the CPU keeps."""
        with self._lock:
            return any(x in codes.HUSHING and not since.doubtful for x, since in self._since.get(bus, {}).items())

    def cured(self, buses: Iterable[str]) -> None:
        """Forget those of GPUs that were reset."""
        with self._lock:
            for bus in buses:
                self._since.pop(bus, None)
            self._write()

    def loaded(self, line: int) -> None:
        """The driver's module was loaded when this line was written."""
        with self._lock:
            if line > self._known_to:
                self._since.clear()
                self._write()

    def heard(self, line: int) -> None:
        """Note that this line of the log is known; it is written with what changes next."""
        with self._lock:
            self._known_to = max(line, self._known_to)


def _decided(said: Xid, architecture: int) -> Decision:
    if isinstance(said.nvlink, nvlink4.Error):
        return nvlink4.decision(said.nvlink, architecture)
    if isinstance(said.nvlink, nvlink5.Error):
        return nvlink5.decision(said.number, said.nvlink)
    return Decision.ASK if said.number in {*BY_WORDS, codes.GSP_TIMEOUT, _UNCORRECTABLE} else Decision.LEVEL
