"""Free chips, and choosing among them."""

from collections.abc import Collection, Iterable
from itertools import chain

from cmgr.model.scope import chip_words, grave_faults, pre_isolating, unclear_users
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.handling.policy import Packing
from cmgr.model.values.node import Node, unmanaged
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import NO_RESTART, Container
from cmgr.sentences.sentence import say

Chips = frozenset[ChipId]


def free_chips(node: Node, mover: str | None = None, also: frozenset[ChipId] = frozenset()) -> tuple[ChipId, ...]:
    """Return the chips that are healthy and that nobody uses, is to use again, or has been given; by id.

    Only a chip that answered in this life counts: who is on it is not known otherwise. A chip whose ring is in an
    episode may be reset at any time. `mover`: a slot that is to be moved now, or "" for a container on none: its own
    chips do not count as given, and a ring that starts its containers again is in order. `also`: chips that may be
    pre-isolated.
    """
    taken: set[ChipId] = set(node.reservations)
    # A person who asks for chips knows whether that which he has just removed comes back. A move does not.
    taken |= node.left.keys() if mover is not None else set()
    for slot in node.slots.values():
        taken |= slot.wish if slot.name == mover else slot.chips | slot.wish
    for container in node.containers.values():
        taken |= container.kept.chips if how_given(node, container) else frozenset()
    for container in chain.from_iterable(unmanaged(node).values()):
        taken |= container.kept.chips  # It may run: nobody looks.
    for hold in node.holds.values():
        taken |= hold.chips | hold.wish if hold.keeps_chips else frozenset()
    fit = (chip for chip in sorted(node.chips) if chip not in taken and _is_fit(node, chip, now=mover is not None))
    return tuple(chip for chip in fit if chip in also or not pre_isolating(node, chip))


def how_given(node: Node, container: Container) -> str:
    """Return in words that follow its name why the container's chips are nobody else's; nothing where they are free.

    That it is held is not asked here.
    """
    if container.running:
        return say("slot.runs-on")
    if container.kept.wanted:
        return say("slot.is-to-run-on")
    runtime = node.runtimes.get(container.key.runtime)
    if runtime is None or container.restart_policy == NO_RESTART:
        return ""
    # Its daemon starts some again when it comes up, of which the books do not tell before a list.
    since = runtime.restarted
    silent = runtime.why_down or runtime.listed is None or (since is not None and runtime.listed < since)
    return say("slot.may-come-back-on", runtime=runtime.name) if silent else ""


def _is_fit(node: Node, chip: ChipId, *, now: bool) -> bool:
    """Return whether nothing speaks against starting something on the chip, and nobody is seen on it."""
    report, known = node.reports.get(chip), node.chips.get(chip)
    if known is None or report is None or not report.is_up or report.unwell or report.processes or known.shares:
        return False  # A divided chip is given in parts, and not as a whole.
    ring = node.rings.get(known.ring)
    busy = ring is not None and ring.keeps_others and not (now and ring.phase is Phase.RESUMING)
    return not busy and not chip_words(node, chip, grave_faults(node, chip))


def to_hand_out(
    node: Node, count: int, *, model: str = "", packing: Packing | None = None, one_ring: bool = False
) -> Chips:
    """Return so many free chips for somebody new; none where fewer are free, beside those that are kept for moves.

    `model`: only of this one. `packing`: None is that of the configuration. `one_ring`: all of one ring, or none.
    """
    free = free_chips(node)
    if len(free) - count < node.policy.spares.reserve:
        return frozenset()
    of_model = [chip for chip in free if model in ("", node.chips[chip].model)]
    return pick(node, of_model, count, packing or node.policy.spares.policy, one_ring=one_ring)


def in_place_of(node: Node, bad: Chips, chips: Chips, slot: str) -> Chips:
    """Return the chips that a slot has instead when these of its chips are bad; none where it has to wait.

    They are of the same model. Where all were in one ring they are again: in the same, or all of them in another.
    """
    # Whoever can reach chips may be on any of which nobody can tell.
    if unclear_users(node, node.chips):
        return frozenset()
    kept, models = chips - bad, {node.chips[c].model for c in chips if c in node.chips}
    free = [c for c in free_chips(node, slot) if node.chips[c].model in models and c not in chips]
    rings = {node.chips[c].ring for c in chips if c in node.chips}
    packing = node.policy.spares.policy
    if len(chips) == 1 or len(rings) != 1 or not models:
        found = pick(node, free, len(bad), packing)
        return kept | found if found else frozenset()
    mates = [c for c in free if node.chips[c].ring in rings]
    if len(mates) >= len(bad):
        return kept | frozenset(mates[: len(bad)])
    return pick(node, free, len(chips), packing, one_ring=True)


def look_again(turn: Turn) -> None:
    """Have the rings read whose chips are no spares for what the last look saw on them: it may have gone since."""
    for ring in list(turn.node.rings.values()):
        reports = [turn.node.reports.get(chip) for chip in ring.chips]
        if any(report is not None and report.processes for report in reports):
            turn.ask_read(ring, "who is on its chips?", not_older=turn.at)


def pick(node: Node, free: Collection[ChipId], count: int, packing: Packing, *, one_ring: bool = False) -> Chips:
    """Return so many of these chips: of one ring if one has as many, else of as few rings as can be; or none."""
    if count <= 0 or len(free) < count:
        return frozenset()
    rings = _by_ring(node, free)
    sign = -1 if packing is Packing.SPREAD else 1
    for chips in sorted(rings.values(), key=lambda chips: (sign * len(chips), chips)):
        if len(chips) >= count:
            return frozenset(chips[:count])
    if one_ring:
        return frozenset()
    found: list[ChipId] = []
    for chips in sorted(rings.values(), key=len, reverse=True):
        found += chips
    return frozenset(found[:count])


def _by_ring(node: Node, chips: Iterable[ChipId]) -> dict[RingId, list[ChipId]]:
    rings: dict[RingId, list[ChipId]] = {}
    for chip in sorted(chips):
        rings.setdefault(node.chips[chip].ring, []).append(chip)
    return rings
