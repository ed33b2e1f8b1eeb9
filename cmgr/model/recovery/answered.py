"""The answers to orders about resets, and about a reboot."""

from typing import assert_never

from cmgr.model.recovery.reboots import reboot_scheduled
from cmgr.model.recovery.resetting import chips_tested, reset_prepared
from cmgr.model.recovery.shares import shares_made
from cmgr.model.turn import Turn
from cmgr.model.values.messages.reboot_facts import RebootScheduled
from cmgr.model.values.messages.reset_facts import ChipsTested, ResetPrepared, SharesMade

OfResets = ResetPrepared | SharesMade | ChipsTested | RebootScheduled


def order_answered(turn: Turn, fact: OfResets) -> None:
    """Take it in."""
    match fact:
        case ResetPrepared():
            reset_prepared(turn, fact)
        case SharesMade():
            shares_made(turn, fact)
        case ChipsTested():
            chips_tested(turn, fact)
        case RebootScheduled():
            reboot_scheduled(turn, fact)
        case _:
            assert_never(fact)
