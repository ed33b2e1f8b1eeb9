"""Shares of chips that a reset took: which are to be made again, and who lacks one. Questions, as those of `scope`."""

from collections.abc import Mapping

from cmgr.model.index import held_on, users_on
from cmgr.model.values.chips import Chip, ChipId, Share, lost_names, lost_shares
from cmgr.model.values.node import Node, is_unsure
from cmgr.model.values.rings import Phase, Ring
from cmgr.model.values.services.containers import Container
from cmgr.sentences.sentence import because, say

MOST_MAKES = 3
"""How often shares are made again after a reset, in one life of the process, before that is given up."""


def shares_to_make(node: Node, ring: Ring) -> Mapping[ChipId, tuple[Share, ...]]:
    """Return the shares of the ring's chips that are to be made again, by chip; none where that was tried enough.

    A ring does so that is well: nobody is on those chips then, and nothing is started there before.
    """
    tried = ring.makes >= MOST_MAKES and ring.making is None and ring.asked is None
    if tried or ring.phase not in (Phase.HEALTHY, Phase.RESUMING):
        return {}
    chips = [node.chips[c] for c in ring.chips if c in node.chips]
    return {chip.id: lost for chip in chips if (lost := lost_shares(chip)) and _is_free(node, ring, chip.id)}


def _is_free(node: Node, ring: Ring, chip: ChipId) -> bool:
    if chip not in node.reports or chip in node.isolations or chip in node.down:
        return False
    # A container that somebody starts while they are made must not have others started, too.
    return ring.making is not None or not any(c.running for c in users_on(node, (chip,)))


def can_be_divided(node: Node, chip: ChipId) -> bool:
    """Return whether shares can be made on the chip now: it answers, and no held container may be running on it."""
    report = node.reports.get(chip)
    used = any(hold.attempt.command is not None or is_unsure(node, hold) for hold in held_on(node, (chip,)))
    return report is not None and report.is_up and not used


def lost_words(node: Node, chip: Chip, share: Share) -> str:
    """Return that the share is not there, and what keeps it from being made again, as far as that is known."""
    users = sorted(c.name for c in users_on(node, (chip.id,)) if c.running)
    why = share.why or (say("hold.runs-on-the-chip", name=users[0]) if users else "")
    lost = say("hold.share-lost", share=share.title, chip=chip.id)
    return because(lost, why)


def lost_share(node: Node, container: Container | None) -> tuple[Chip, Share] | None:
    """Return the first share that the container asks for by name and that is not there since a reset, with its chip."""
    for chip in sorted(container.kept.chips) if container is not None else ():
        names = lost_names(node.chips[chip]) if chip in node.chips else {}
        for claim in sorted(container.claims & names.keys()) if container is not None else ():
            return node.chips[chip], names[claim]
    return None
