"""A machine with rules of escalation, and what its counters say."""

from dataclasses import replace
from datetime import timedelta

from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import FaultCode, Handling
from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.handling.rules import DurationRule, FrequencyRule, Rules, Tally
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.services.containers import Container
from tests.model.builders import CATALOG, MINOR, RESET, RING, Cmgr, container, seconds

DAY = timedelta(days=1)
TWICE_A_DAY = FrequencyRule(DAY, 2, Handling.SeparateNPU)
"""The rule that Ascend has for most of its codes: only a person ends it."""

RESET_FIRST = replace(TWICE_A_DAY, after_reset=True)
"""The same as cmgr ships it."""

FIVE_A_DAY = FrequencyRule(DAY, 5, Handling.SeparateNPU, release=2 * DAY)
"""The one that it ships for a RoCE link that goes down, for a code that can isolate a chip."""

LINK_DOWN = DurationRule(seconds(20), seconds(60), Handling.SeparateNPU)


def rules(frequency: FrequencyRule | None = None, duration: DurationRule | None = None, code: str = RESET) -> Rules:
    return Rules(
        {FaultCode(code): frequency} if frequency else {},
        {FaultCode(code): duration} if duration else {},
    )


def ruled(*containers: Container, policy: Policy = RING, by: Rules) -> Cmgr:
    """Return a machine whose catalog has these rules. Faults of `MINOR` disturb nobody, those of `RESET` are reset.

    Without `containers` one uses each chip: of a chip that nobody uses nothing is counted.
    """
    containers = containers or tuple(container(f"on {chip}", chip) for chip in range(8))
    return Cmgr(*containers, policy=policy, catalog=replace(CATALOG, rules=by))


def comes_and_goes(cmgr: Cmgr, chip: int = 0, code: str = MINOR, lasts: float = 0) -> None:
    cmgr.fault(chip, code)
    cmgr.wait(lasts)
    cmgr.clears(chip, code)


def tally(cmgr: Cmgr, chip: int = 0, code: str = MINOR) -> Tally:
    return cmgr.node.tallies[ChipId(chip), FaultCode(code)]


def isolated(cmgr: Cmgr) -> dict[int, str]:
    """Return the isolated chips, and by what they are."""
    return {int(chip): isolation.by for chip, isolation in cmgr.node.isolations.items()}


def released(cmgr: Cmgr, chip: int = 0) -> None:
    cmgr.tell(facts.ReleaseOrdered(ChipId(chip), "uid 0"))
    cmgr.run()


def said(cmgr: Cmgr, text: str) -> bool:
    return any(text in note for note in cmgr.notes(NoteKind.FAULT, NoteKind.ISOLATION, NoteKind.WARNING))
