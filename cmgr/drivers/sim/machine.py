"""Faults of the machine around simulated chips, as a script has them. Pure."""

from collections.abc import Sequence
from datetime import timedelta

from cmgr.config.sim import SimMachineEvent
from cmgr.model.values.faults import Assertion, FaultCode
from cmgr.model.values.handling.catalog import normal_code
from cmgr.model.values.machine import MachineKey, Symptom
from cmgr.model.values.messages.facts import MachineTold
from cmgr.sentences.sentence import say

SOURCE = "script"


def due(script: Sequence[SimMachineEvent], passed: timedelta) -> int:
    """Return how many lines of the script, which is in the order of time, have happened by now."""
    return sum(event.after <= passed for event in script)


def told(script: Sequence[SimMachineEvent], began: float) -> MachineTold:
    """Return what a source finds after these lines. `began`: the Unix time at which the script did."""
    found: dict[MachineKey, Symptom] = {}
    for number, event in enumerate(script):
        key = FaultCode(normal_code(event.code) or event.code), event.part
        if event.assertion is Assertion.CLEARED:
            found.pop(key, None)
        else:
            # The same word in each life that the script goes on in: it has not happened again.
            mark = f"{began:.0f} {number}" if event.assertion is Assertion.ONCE else ""
            found[key] = Symptom(*key, say("symptom.simulated"), mark)
    return MachineTold(SOURCE, tuple(found.values()), off=all(symptom.mark for symptom in found.values()))
