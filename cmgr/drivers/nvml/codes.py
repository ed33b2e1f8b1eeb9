"""The codes of what is wrong with a GPU: Xids, and conditions that it is found in.

An Xid's code is what NVIDIA's people write: Xid 79, and SXid 20034 for a switch. A condition that is no Xid has a code
that begins with E. The levels stand in tables/levels.json.
"""

import json
from pathlib import Path

from cmgr.drivers.nvml.library import abi

ACTIONS = {action: f"E001{action:04d}" for action in range(1, 8)}
"""The condition for each recovery action that the driver asks for (field 230)."""

REBOOT = ACTIONS[2]

LOST = "E0020001"
RESET_REQUIRED = "E0020002"
NOT_BEGUN = "E0020004"
ROWS_PENDING = "E0030001"
ROWS_FAILED = "E0030002"
PAGES_PENDING = "E0030003"
SRAM_WORN = "E0030004"
UNREPAIRABLE = "E0030005"
REPAIR_PENDING = "E0030006"
FABRIC = "E0040001"
NO_POWER = "E0050001"
NO_INTERRUPTS = "E0050002"
BAD_INFOROM = "E0050003"

ANSWERS = {
    abi.GPU_IS_LOST: LOST,
    abi.RESET_REQUIRED: RESET_REQUIRED,
    abi.INSUFFICIENT_POWER: NO_POWER,
    abi.IRQ_ISSUE: NO_INTERRUPTS,
    abi.CORRUPTED_INFOROM: BAD_INFOROM,
}
"""The conditions that are told by the error that a call returns."""

RECOVERY_ACTION_XID = 154
"""It says that the recovery action changed, and nothing of its own."""

GSP_TIMEOUT = 119
"""One alone asks for nothing; after three in a row the driver marks the GPU for a reset."""

_LINKED = {
    565: (48, 62, 63, 64, 74, 79, 94, 95, 110, 120, 136, *range(144, 151), 155, 156, 158, 159),
    570: (109,),
    575: (143, 160, 161, GSP_TIMEOUT),
    595: (175,),
}
"""Xids with which the driver itself raises the recovery action, from that release on: NVIDIA's Xid catalogue; of 119
and 175 its kernel modules (gpu/gsp/kernel_gsp.c; 119 since 570.195 and in every 575, in none before)."""

FIRST_WITH_ACTIONS = 565

HUSHING = frozenset({79, 119, 120})
"""Xids of a GPU, or of its own processor, that answers no more: calls about it hang, or wait for minutes."""

_LEVELS = {
    key: frozenset(codes)
    for key, codes in json.loads((Path(__file__).parent / "tables" / "levels.json").read_text(encoding="utf-8")).items()
}

_LASTING = ("FreeRestartNPUCodes", "RestartNPUCodes", "SeparateNPUCodes")


def code_of(xid: int) -> str:
    """Return its code; of a number below 0 that of the action which an Xid has asked for in words."""
    return f"Xid {xid}" if xid >= 0 else ACTIONS[-xid]


def raises_action(xid: int, release: int) -> bool:
    """Return whether that driver raises the recovery action with this Xid."""
    return any(xid in xids for since, xids in _LINKED.items() if release >= since)


def is_known(xid: int) -> bool:
    return any(code_of(xid) in codes for codes in _LEVELS.values())


def lasts(xid: int) -> bool:
    """Return whether the fault stays until the GPU was reset: the others are over when their program is."""
    return xid < 0 or any(code_of(xid) in _LEVELS[key] for key in _LASTING)
