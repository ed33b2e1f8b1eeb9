"""Faults of the machine: a driver that wants a restart, one whose files were replaced, GPUs that it did not take.

That the driver wants it for one GPU, or for all, is both recovery action 2 of every GPU.

Source: the maker's kernel modules of 570 to 595: gpu/gpu.c (_gpuRefreshRecoveryActionInLock) asks for it by the flag of
one GPU or of the system; the system's is set by a fatal error of UVM (rmapi/nv_gpu_ops.c) and by an error of any of
UVM's channels (gpu/rc/kernel_rc_notification.c), which one lost GPU is enough for (osinit.c, osHandleGpuLost); then
core/system.c has every GPU say so. Programs that run may go on; new ones cannot start.
"""

import threading
import time
from collections.abc import Callable, Collection

from cmgr.drivers.nvml import codes
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import FaultCode
from cmgr.model.values.machine import DRIVER_REPLACED, MachineTold, Symptom
from cmgr.sentences.sentence import say

SETTLE = 2.0
"""Seconds in which every GPU says so, where it is the machine."""

SOURCE = "nvidia-driver"
"""Of such faults, beside those of the machine's other ones."""

NOT_PROBED = FaultCode("gpu-not-probed")
"""A GPU that was dead when the driver began with it: it is in no list, so that no chip has the fault."""

_WANTED = Symptom(FaultCode("restart-wanted"), text=say("symptom.wanted"), grave=True)


class Reboots:
    """Any thread. `tell` hears of the machine's faults when they are others than before; `gpus` has the bus ids of all.

    `mismatch` says in words that the driver's files are not those of its module.
    """

    def __init__(
        self,
        tell: Callable[[MachineTold], None],
        gpus: Callable[[], Collection[str]],
        mismatch: Callable[[], str],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell = tell
        self._gpus = gpus
        self._mismatch = mismatch
        self._now = now
        self._lock = threading.Lock()
        self._since: dict[ChipId, float] = {}
        self._lost: set[ChipId] = set()
        self._failed = False
        self._not_probed: set[str] = set()
        self._told: tuple[Symptom, ...] | None = None

    def memory(self, *, failed: bool) -> None:
        """Note that the driver's shared memory has failed, or that the driver was loaded anew."""
        with self._lock:
            self._failed = failed
        self.tell_changed()

    def not_probed(self, bus: str) -> None:
        """Note that the driver did not take the GPU at this bus id. Once it is listed that is over."""
        with self._lock:
            self._not_probed.add(bus)
        self.tell_changed()

    def tell_changed(self, *, anyway: bool = False) -> None:
        """Tell, if need be; `anyway`: for the first time, too, when nothing is wrong."""
        mismatch = self._mismatch()
        replaced = (Symptom(DRIVER_REPLACED, text=mismatch),) if mismatch else ()
        with self._lock:
            self._not_probed.difference_update(self._gpus())
            dead = (Symptom(NOT_PROBED, bus, say("symptom.not-taken")) for bus in sorted(self._not_probed))
            found = (*((_WANTED,) if self._of_machine() else ()), *replaced, *dead)
            if found == self._told or (not found and self._told is None and not anyway):
                return
            self._told = found
        self._tell(MachineTold(SOURCE, found))

    def _of_machine(self) -> bool:
        return self._failed or len(self._since) > 1 or bool(self._since and self._lost - self._since.keys())

    def sift(self, chip: ChipId, conditions: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
        """Return the GPU's own conditions, and whether one is kept back until others can have said it, too."""
        with self._lock:
            before = self._of_machine()
            (self._lost.add if codes.LOST in conditions else self._lost.discard)(chip)
            if codes.REBOOT in conditions:
                since = self._since.setdefault(chip, self._now())
                waits = len(self._gpus()) > 1 and self._now() < since + SETTLE and not self._of_machine()
                if waits or self._of_machine():
                    conditions = tuple(code for code in conditions if code != codes.REBOOT)
            else:
                self._since.pop(chip, None)
                waits = False
            changed = self._of_machine() != before
        if changed:
            self.tell_changed()
        return conditions, waits
