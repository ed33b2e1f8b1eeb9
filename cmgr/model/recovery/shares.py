"""Shares of chips: parts that containers are given, which a reset may take.

Rules:
1. A share belongs to its chip: what happens to the chip, and what is decided about it, reaches everybody on its shares.
2. Which shares a ring's chips have is written down with the order of a reset, before anything is reset.
3. A ring that is well again has the shares made that are missing, before anything is started on their chips. That is
   asked for again after a restart of cmgr: making what is there already is harmless.
4. A share that cannot be made again keeps down the containers that ask for it by name, and no others.
"""

from collections.abc import Mapping
from datetime import timedelta

from cmgr.frozen import replace
from cmgr.model.faults.arrivals import put_chips
from cmgr.model.lost_shares import MOST_MAKES, can_be_divided, lost_share, shares_to_make
from cmgr.model.scope import observing
from cmgr.model.turn import Turn
from cmgr.model.values.chips import Chip, ChipId, ChipReport, Share, listed, lost_names, lost_shares, with_shares
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.messages.commands import MakeShares, NoteKind
from cmgr.model.values.messages.reset_facts import SharesMade
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import Container
from cmgr.sentences.sentence import say

FIRST = timedelta(seconds=1)
LATEST = timedelta(seconds=30)
"""The waits between the tries to make shares again."""


def shares_read(turn: Turn, report: ChipReport) -> None:
    """Take in which shares a chip has that answered."""
    chip = turn.node.chips.get(report.chip)
    if chip is not None and report.shares is not None:
        put_chips(turn, {chip.id: with_shares(chip, report.shares)})


def promise_shares(turn: Turn, ring: Ring) -> None:
    """Remember which shares the ring's chips have: they are to be there again after the reset that is ordered now."""
    put_chips(turn, {c: _kept(turn.node.chips[c], kept=True) for c in ring.chips if c in turn.node.chips})


def _kept(chip: Chip, *, kept: bool) -> Chip:
    return replace(chip, shares=tuple(replace(s, kept=kept) if s.there else s for s in chip.shares))


def bring_back(turn: Turn, ring: Ring) -> str:
    """Have the shares made again that the ring's chips lack. Return what is waited for, in words, or nothing.

    For a ring that is well.
    """
    wanted = {} if observing(turn.node) else shares_to_make(turn.node, ring)
    if not wanted and (unheard := _unheard(turn.node, ring)):
        return say("ring.shares-unknown", chips=unheard)
    if not wanted and ring.making is None:
        _settle(turn, ring)
        return ""
    words = say("ring.shares-made", shares=_titles(wanted), chips=[*wanted]) if wanted else say("ring.shares-are-made")
    due = ring.make_at is None or turn.at >= ring.make_at
    if ring.making is not None or (ring.makes and ring.asked is not None) or not due:
        return words
    _make(turn, ring, {chip: lost for chip, lost in wanted.items() if can_be_divided(turn.node, chip)})
    return words


def _make(turn: Turn, ring: Ring, lost: Mapping[ChipId, tuple[Share, ...]]) -> None:
    if not lost:
        return
    reason = f"{', '.join(_titles(lost))} is missing since the reset"
    command = MakeShares(turn.command_id("shares"), reason, ring.id, lost)
    turn.commands.append(command)
    turn.note(NoteKind.ACTION, say("ring.makes-shares", shares=_titles(lost), chips=[*lost]), ring)
    turn.put_ring(replace(turn.ring(ring.id), making=command.id, makes=ring.makes + 1, make_at=None))


def try_shares_again(turn: Turn, container: Container | None) -> None:
    """Begin anew with the share that the container lacks: a person has seen to what was in the way."""
    lost = lost_share(turn.node, container)
    ring = turn.ring_of(lost[0].id) if lost is not None else None
    if ring is not None:
        turn.put_ring(replace(ring, makes=0, make_at=None))


def _unheard(node: Node, ring: Ring) -> list[ChipId]:
    """Return the chips that a reset had taken shares from, and that have told nothing yet in this life."""
    return [c for c in ring.chips if c in node.chips and lost_shares(node.chips[c]) and c not in node.reports]


def _titles(shares: Mapping[ChipId, tuple[Share, ...]]) -> list[str]:
    return [share.title for chip in sorted(shares) for share in shares[chip]]


def shares_made(turn: Turn, fact: SharesMade) -> None:
    """Take in the answer. Whether they are there, the next read-out tells."""
    ring = turn.node.rings.get(fact.ring)
    if ring is None or ring.making != fact.command:
        return
    if fact.error:
        turn.note(NoteKind.RESULT, say("ring.shares-failed", chips=ring.chips, error=fact.error), ring)
    put_chips(turn, {c: _tried(turn.node.chips[c], fact.error) for c in ring.chips if c in turn.node.chips})
    again = turn.at + backed_off(FIRST, LATEST, ring.makes)
    ring = turn.put_ring(replace(turn.ring(ring.id), making=None, make_at=again))
    turn.ask_read(ring, f"which shares does {listed(ring.chips)} have now?", not_older=turn.at)


def _tried(chip: Chip, error: str) -> Chip:
    return replace(chip, shares=tuple(s if s.there else replace(s, why=error) for s in chip.shares))


def _settle(turn: Turn, ring: Ring) -> None:
    """Nothing is made again now: what is there is as it was, and what nobody asks for is forgotten."""
    changed: dict[ChipId, Chip] = {}
    for chip in (turn.node.chips[c] for c in ring.chips if c in turn.node.chips):
        report = turn.node.reports.get(chip.id)
        if not any(share.kept for share in chip.shares) or report is None or not report.is_up:
            continue  # Of a chip that has not answered since the reset nobody knows which are there.
        names = lost_names(chip)
        asked = {names[claim].id for c in turn.node.containers.values() for claim in c.claims if claim in names}
        asked |= {share.id for share in lost_shares(chip)} if ring.makes < MOST_MAKES else set()
        left = replace(chip, shares=tuple(s for s in chip.shares if s.there or s.id in asked))
        changed[chip.id] = _kept(left, kept=False)
        _tell(turn, ring, chip, changed[chip.id])
    put_chips(turn, changed)


def _tell(turn: Turn, ring: Ring, before: Chip, now: Chip) -> None:
    back = tuple(share for share in before.shares if share.there and share.kept)
    left = {share.id for share in now.shares}
    gone = tuple(share for share in before.shares if share.id not in left)
    if back:
        turn.note(NoteKind.RESULT, say("ring.shares-back", chip=now.id, shares=_titles({now.id: back})), ring)
    if gone:
        text = say("ring.shares-lost", chip=now.id, shares=_titles({now.id: gone}))
        turn.note(NoteKind.WARNING, text, ring)
