"""Setting again what a reset of GPUs has set back: their power limit, compute and accounting mode."""

from collections.abc import Collection, Mapping
from functools import partial

from cmgr.drivers.nvml.resetting.promises import Promised, Promises
from cmgr.drivers.nvml.resetting.tool import Tool, done
from cmgr.sentences.sentence import say

NAMES = {"-pl": "power limit", "-c": "compute mode", "-am": "accounting mode"}


def set_again(tool: Tool, promises: Promises, buses: Collection[str], seconds: float) -> Mapping[str, str]:
    """Set it as it was promised for these GPUs. Return for each promise that is not kept why, and what to type."""
    failed = {}
    for promise in promises.all.settings:
        bus, option, value = promise.split()
        if bus not in buses:
            continue
        if why := done(partial(tool.set, bus, option, value, seconds), seconds):
            typed = f"nvidia-smi {option} {value} -i {bus}"
            failed[promise] = say("back.set-again-failed", setting=NAMES[option], name=bus, why=why, command=typed)
        else:
            promises.keep(Promised(settings=(promise,)))
    return failed
