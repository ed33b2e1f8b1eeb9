"""The advice of makers' tables says the same as cmgr does at the level of the code."""

import json

import pytest

from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_catalog
from cmgr.model.values.faults import FaultCode, Handling, Level
from cmgr.model.values.handling.policy import Policy
from cmgr.vendor import Vendor, vendors

ALL = frozenset(Handling)
LETS_BE = frozenset({Handling.NotHandleFault})
SPARES = frozenset({Handling.SubHealthFault, Handling.PreSeparateNPU})
PROGRAMS = frozenset({Handling.RestartRequest, Handling.RestartBusiness})
WAITS = frozenset({Handling.FreeRestartNPU})
RESETS = frozenset({Handling.RestartNPU})
ISOLATES = frozenset({Handling.SeparateNPU})

AT = {
    "ascend": {
        "none": LETS_BE, "corrected": LETS_BE, "watch": LETS_BE, "weak": SPARES, "isolated": ISOLATES,
        "replace": ISOLATES, "board": SPARES | ISOLATES, "card": RESETS, "program": ALL, "heat": ALL, "power": ALL,
        "link": LETS_BE | SPARES, "memory": PROGRAMS | RESETS, "hardware": PROGRAMS | WAITS | RESETS,
        "software": PROGRAMS | WAITS | RESETS,
    },
    "nvidia": {
        "none": LETS_BE, "IGNORE": LETS_BE, "watch": LETS_BE, "told": LETS_BE, "by-hand": LETS_BE, "XID_154": LETS_BE,
        "WORKFLOW_XID_45": LETS_BE, "UPDATE_SWFW": LETS_BE, "fabric": LETS_BE, "imex": LETS_BE, "link": LETS_BE,
        "RESTART_APP": PROGRAMS, "RESET_GPU_IF_ASKED": PROGRAMS, "CHECK_UVM": PROGRAMS, "program": LETS_BE | PROGRAMS,
        "CONTACT_SUPPORT": LETS_BE | PROGRAMS, "RESET_GPU": RESETS, "WORKFLOW_NVLINK_ERR": RESETS, "reset": RESETS,
        "WORKFLOW_NVLINK5_ERR": RESETS, "WORKFLOW_XID_48": RESETS, "RESET_GPU_IDLE": WAITS, "IGNORE_UNTIL_IDLE": WAITS,
        "idle": WAITS, "RESET_GPU_REPLACE": ISOLATES, "CHECK_MECHANICALS": ISOLATES, "RESTART_BM": ISOLATES,
        "RESTART_VM": ISOLATES, "bus": ISOLATES, "cables": ISOLATES, "replace": LETS_BE | ISOLATES,
        # No GPU is named, or it is not the GPU that has to be restarted.
        "reboot": LETS_BE | SPARES | ISOLATES, "reload": SPARES, "sometime": SPARES,
    },
}  # fmt: skip
"""The handlings at which each kind of advice may stand."""

RAISED = {"E0010004": Handling.FreeRestartNPU}
"""Codes whose rule raises them when they last: their advice is that for what lasts."""


@pytest.mark.parametrize("vendor", [each for each in vendors() if each.tables is not None], ids=lambda each: each.chips)
def test_no_code_is_advised_what_its_level_does_not_do(vendor: Vendor) -> None:
    assert vendor.tables is not None
    tables, kinds = vendor.tables, AT[vendor.chips]
    entries = load_catalog(Config()).entries
    told = json.loads((tables / "meanings.json").read_text("utf-8"))
    wrong = {
        code: (entries[FaultCode(code)].handling.name, each["advice"])
        for code, each in told.items()
        if RAISED.get(code, entries[FaultCode(code)].handling) not in kinds[each["advice"]]
    }
    assert not wrong
    assert {each["advice"] for each in told.values()} == kinds.keys(), "each kind is of use"


def test_levels_do_by_default_what_is_meant_here_by_them() -> None:
    levels = Policy().levels
    assert not any(levels[each.level].reset for each in LETS_BE | ISOLATES)
    assert all(levels[each.level].reset for each in PROGRAMS | RESETS | WAITS)
    assert levels[Level.FreeRestartNPU].spares
    assert not any(levels[each.level].spares for each in PROGRAMS | RESETS)


@pytest.mark.parametrize("code", ["80818C00", "A8193235", "4C4BA00C", "Xid 64", "E0030002"])
def test_nobody_is_told_to_reset_a_chip_that_is_isolated(code: str) -> None:
    advice = load_catalog(Config()).entries[FaultCode(code)].advice
    assert "a reset mostly cures it" not in advice
    assert "have the card checked" in advice or "has to be replaced" in advice
