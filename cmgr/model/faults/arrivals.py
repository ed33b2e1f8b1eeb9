"""Chips that come and go: a card that was dropped at the start, or one that was put in."""

from collections.abc import Mapping

from cmgr.frozen import replace
from cmgr.model.faults.isolation import separate
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ALL_CHIPS, Chip, ChipId, listed, resolve, rings_of, with_shares
from cmgr.model.values.holds import Hold
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.facts import ChipsListed
from cmgr.model.values.node import chips_of_slots
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.values.services.slots import can_be_placed


def refitted(
    holds: Mapping[ContainerKey, Hold], containers: Mapping[ContainerKey, Container]
) -> Mapping[ContainerKey, Hold]:
    """Return the holds with the chips that their containers mean now: one that asks for all may have lost some."""
    return {k: _refitted(h, containers[k]) if k in containers else h for k, h in holds.items()}


def _refitted(hold: Hold, container: Container) -> Hold:
    if not container.chips or (can_be_placed(container) and not container.running):
        return hold
    every = ALL_CHIPS in container.claims
    return replace(hold, chips=container.chips if every else hold.chips | container.chips)


def _called(known: Chip, now: Chip) -> Chip:
    named = replace(known, logical=now.logical, aliases=now.aliases, number=now.number, tool_name=now.tool_name)
    return with_shares(replace(named, pod=now.pod, server=now.server, counted=now.counted), now.shares)


def put_chips(turn: Turn, chips: Mapping[ChipId, Chip]) -> bool:
    """Take in that these chips are so now, and whom claims mean by that. Return whether anything is new."""
    node, now = turn.node, {**turn.node.chips, **chips}
    if now == node.chips:
        return False
    slots = chips_of_slots(node)
    found = {k: resolve(c.claims, now, slots)[0] | c.used for k, c in node.containers.items()}
    containers = {k: replace(c, chips=found[k]) for k, c in node.containers.items()}
    turn.node = replace(node, chips=now, containers=containers, holds=refitted(node.holds, containers))
    return True


def chips_listed(turn: Turn, fact: ChipsListed) -> None:
    """Take new chips in, each into its ring, and what known ones are called now.

    No chip leaves and no ring's phase changes.
    A chip that vanished is told by its report: it does not answer any more.
    """
    node = turn.node
    # A chip stays in the ring that it was in: an episode of that ring may be under way.
    new = {chip.id: chip for chip in fact.chips if chip.id not in node.chips}
    called = {c.id: _called(node.chips[c.id], c) for c in fact.chips if c.id in node.chips}
    if not put_chips(turn, {**called, **new}):
        return
    members = rings_of(turn.node.chips.values())
    for ring_id in sorted({chip.ring for chip in new.values()}):
        ring = turn.put_ring(replace(node.rings.get(ring_id, Ring(ring_id, ())), chips=members[ring_id]))
        found = [chip for chip in members[ring_id] if chip in new]
        turn.note(NoteKind.WARNING, f"the driver lists {listed(found)} now, of the ring of {listed(ring.chips)}", ring)
        turn.ask_read(turn.put_ring(replace(ring, asked=None, read=None)), "is it well?", not_older=turn.at)
    for chip in sorted(new):
        separate(turn, chip)  # The reason for its isolation has perhaps ended while it was away.
