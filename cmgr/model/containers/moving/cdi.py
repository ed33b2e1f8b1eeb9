"""The CDI files that ought to be there, and having them written.

All of them are one order, safe to repeat: who carries it out changes what differs, and takes away what is too many.
"""

from datetime import timedelta

from cmgr.frozen import replace
from cmgr.model.scope import isolated_words
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ALL_CHIPS, ChipId, listed
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.messages.commands import NoteKind, WriteCdi
from cmgr.model.values.messages.facts import CdiWritten
from cmgr.model.values.node import Node
from cmgr.model.values.services.cdi import EVERY_CHIP, Device, Spec
from cmgr.model.values.services.slots import Slot
from cmgr.sentences.sentence import say

_BACKOFF = timedelta(seconds=1)
_BACKOFF_MAX = timedelta(seconds=60)


def specs_of(node: Node) -> tuple[Spec, ...]:
    """Return the files that ought to be there now."""
    chips = (of_chips(node),) if node.policy.cdi_chips else ()
    return (*chips, *(_of_slot(node, node.slots[name]) for name in sorted(node.slots)))


def _of_slot(node: Node, slot: Slot) -> Spec:
    """Return the file of the slot. It refuses where a chip that it gives is isolated or gone."""
    chips = tuple(node.chips[chip] for chip in sorted(slot.given) if chip in node.chips)
    refusal = next(filter(None, (_refusal(node, chip) for chip in sorted(slot.given))), "")
    if not refusal and len(chips) < len(slot.given):
        refusal = f"{listed(slot.given - node.chips.keys())} of slot {slot.name} is not there"
    return Spec(f"slot-{slot.name}", (Device(slot.name, chips, refusal, len(slot.chips)),))


def of_chips(node: Node) -> Spec:
    """Return the file that has a device for each chip, and one for all that are in use."""
    chips = sorted(node.chips.values(), key=lambda chip: chip.asked_as)
    each = tuple(Device(str(chip.asked_as), (chip,), _refusal(node, chip.id)) for chip in chips)
    healthy = tuple(chip for device in each if not device.refusal for chip in device.chips)
    return Spec(EVERY_CHIP, (*each, Device(ALL_CHIPS, healthy)) if healthy else each)


def _refusal(node: Node, chip: ChipId) -> str:
    return isolated_words(node, chip) if chip in node.isolations else ""


def write_files(turn: Turn) -> None:
    """Have the files written if they are not what they ought to be."""
    state, specs = turn.node.cdi, specs_of(turn.node)
    waits = state.asked is not None or (state.retry_at is not None and turn.at < state.retry_at)
    if turn.node.policy.observe or waits or (specs == state.written and not state.again):
        return
    command = WriteCdi(turn.command_id("cdi"), "chips or slots have changed", specs)
    known = () if state.again else state.written  # A file that is looked at again counts when that is answered.
    begun = replace(state, asked=(command.id, specs), written=known, again=False, retry_at=None)
    turn.node = replace(turn.node, cdi=begun)
    turn.commands.append(command)


def cdi_written(turn: Turn, fact: CdiWritten) -> None:
    """Take in the answer to our order."""
    state = turn.node.cdi
    if state.asked is None or state.asked[0] != fact.command:
        return
    _, specs = state.asked
    for text in fact.mended:
        turn.note(NoteKind.WARNING, text)
    if not fact.error:
        turn.node = replace(turn.node, cdi=replace(state, asked=None, written=specs, failures=0, error=""))
        return
    if fact.error != state.error:
        turn.note(NoteKind.WARNING, say("slot.cannot-write-files", error=fact.error))
    failures = state.failures + 1
    retry_at = turn.at + backed_off(_BACKOFF, _BACKOFF_MAX, failures)
    failed = replace(state, asked=None, again=True, failures=failures, retry_at=retry_at, error=fact.error)
    turn.node = replace(turn.node, cdi=failed)
