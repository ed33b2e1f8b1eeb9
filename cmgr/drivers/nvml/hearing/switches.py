"""Errors of NVLink's switches: faults of the machine, for nobody says which GPUs they concern."""

import time
from datetime import timedelta

from cmgr.drivers.kernel_log import boot_id
from cmgr.drivers.nvml.hearing.kernel_log import SwitchXid
from cmgr.model.values.faults import FaultCode
from cmgr.model.values.machine import MachineTold, Symptom
from cmgr.sentences.sentence import say

MOST_XIDS = 64
"""So many errors are told at once, the newest ones."""

SOURCE = "nvswitch"
"""Of them, beside those of the machine's other faults."""


class Switches:
    """One thread at a time."""

    def __init__(self) -> None:
        self._xids: dict[tuple[str, int], SwitchXid] = {}
        self._boot = boot_id()

    def heard(self, line: SwitchXid) -> MachineTold:
        """Note the error, and return all that the switches have said."""
        self._xids.pop((line.switch, line.number), None)
        self._xids[line.switch, line.number] = line
        for key in list(self._xids)[:-MOST_XIDS]:
            del self._xids[key]
        return MachineTold(SOURCE, tuple(map(self._symptom, self._xids.values())))

    def _symptom(self, line: SwitchXid) -> Symptom:
        code = FaultCode(f"SXid {line.number}")
        text = say("symptom.fatal") if line.fatal else say("symptom.not-fatal")
        age = timedelta(seconds=max(0.0, time.clock_gettime(time.CLOCK_MONOTONIC) - line.seconds))
        mark = f"{self._boot}:{line.record}"
        return Symptom(code, line.switch, text, mark, age, grave=line.fatal)
