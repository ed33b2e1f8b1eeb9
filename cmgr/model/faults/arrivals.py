"""Chips that come and go: a card that was dropped at the start, or one that was put in."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from cmgr.frozen import replace
from cmgr.model.faults.isolation import separate
from cmgr.model.holds.restarters import look_who_uses, take_places
from cmgr.model.index import users_on
from cmgr.model.numbers import chips_meant, names_numbers
from cmgr.model.pieces import fitted, matched
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ALL_CHIPS, Chip, ChipId, rings_of, with_shares
from cmgr.model.values.holds import Hold
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.facts import ChipsListed
from cmgr.model.values.messages.piece_facts import ChipForgetOrdered, StragglersSeen
from cmgr.model.values.node import Node, chips_of_slots
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.values.services.slots import can_be_placed
from cmgr.sentences.sentence import say


def refitted(
    holds: Mapping[ContainerKey, Hold], containers: Mapping[ContainerKey, Container], *, renumbered: bool = False
) -> Mapping[ContainerKey, Hold]:
    """Return the holds with the chips that their containers mean now: one that asks for all may have lost some.

    `renumbered`: the numbers by which they ask mean other chips than before.
    """
    return {k: _refitted(h, containers[k], renumbered) if k in containers else h for k, h in holds.items()}


def _refitted(hold: Hold, container: Container, renumbered: bool) -> Hold:
    if not container.kept.chips or (can_be_placed(container) and not container.running):
        return hold
    anew = ALL_CHIPS in container.claims or (renumbered and not container.running and names_numbers(container))
    return replace(hold, chips=container.kept.chips if anew else hold.chips | container.kept.chips)


def _called(known: Chip, now: Chip) -> Chip:
    named = replace(known, logical=now.logical, aliases=now.aliases, number=now.number, tool_name=now.tool_name)
    return with_shares(replace(named, pod=now.pod, server=now.server, counted=now.counted), now.shares)


def put_chips(turn: Turn, chips: Mapping[ChipId, Chip]) -> bool:
    """Take in that these chips are so now, and whom claims mean by that. Return whether anything is new."""
    node, now = turn.node, {**turn.node.chips, **chips}
    if now == node.chips:
        return False
    slots, new = chips_of_slots(node), now.keys() - node.chips.keys()
    containers = {
        k: replace(c, kept=replace(c.kept, chips=chips_meant(c, now, slots, new))) for k, c in node.containers.items()
    }
    turn.node = replace(node, chips=now, containers=containers, holds=refitted(node.holds, containers))
    return True


def find_pieces(turn: Turn, listed: Collection[Chip]) -> bool:
    """Put the books under the numbers that their pieces have in this list. Return whether any has another number."""
    before = turn.node
    turn.node, names = fitted(before, listed, turn.at)
    moved = {old: new for old, new in names.items() if old != new and old in before.chips and new in turn.node.chips}
    if moved:
        names_now = [say("chip.renumbered", old=old, new=new) for old, new in sorted(moved.items())]
        turn.note(NoteKind.WARNING, say("chip.all-renumbered", names=names_now))
    for id_, lost in before.missing.items():
        if names[id_] not in turn.node.missing:
            text = say("chip.there-again", title=lost.title, chip=names[id_])
            turn.note(NoteKind.WARNING, text, chip=names[id_])
    for lost in turn.node.missing.values():
        if lost.since == turn.at:
            turn.note(NoteKind.WARNING, say("chip.missing", title=lost.title))
    return bool(moved)


def piece_forgotten(turn: Turn, fact: ChipForgetOrdered) -> None:
    """Forget what is remembered of a piece that is missing. Slots go on having its place: a person fills it."""
    lost = turn.node.missing.get(fact.chip)
    if lost is None:
        return
    turn.note(NoteKind.ACTION, say("chip.gone-for-good", who=fact.who, title=lost.title))
    node, id_ = turn.node, lost.id
    mates = {chip.ring for chip in node.chips.values()}
    turn.node = replace(
        node,
        missing={c: m for c, m in node.missing.items() if c != id_},
        isolations={c: i for c, i in node.isolations.items() if c != id_},
        reservations={c: r for c, r in node.reservations.items() if c != id_},
        tallies={k: t for k, t in node.tallies.items() if t.chip != id_},
        rings={r: ring for r, ring in node.rings.items() if r in mates or r != lost.chip.ring},
        holds={k: replace(h, chips=h.chips - {id_} or h.chips) for k, h in node.holds.items()},
    )


def stragglers_seen(turn: Turn, fact: StragglersSeen) -> None:
    """Take in which chips lag behind those with which they work: it is told, and nothing follows from it."""
    before = turn.node.stragglers
    lagging = {lag.chip: lag for lag in fact.chips if lag.chip in turn.node.chips}
    turn.node = replace(turn.node, stragglers=lagging)
    for chip, lag in lagging.items():
        if chip not in before:
            text = say("chip.slower", chip=chip, words=lag.words)
            turn.note(NoteKind.WARNING, text, turn.ring_of(chip), chip=chip)
    for chip in before.keys() - lagging.keys():
        turn.note(NoteKind.RESULT, say("chip.no-slower", chip=chip), turn.ring_of(chip), chip=chip)


def is_numbered_anew(node: Node, listed: Collection[Chip]) -> bool:
    """Return whether a number of a chip in the books is another piece's in this list."""
    names = matched(node.chips.values(), listed)
    return any(chip.id in node.chips and names.get(chip.id) != chip.id for chip in listed)


def chips_listed(turn: Turn, fact: ChipsListed) -> None:
    """Take new chips in, each into its ring, and what known ones are called now. Rings that have become one are joined.

    No chip leaves, no ring falls apart and no ring's phase changes.
    A chip that vanished is told by its report: it does not answer any more.
    """
    if turn.node.missing:
        find_pieces(turn, [*turn.node.chips.values(), *(c for c in fact.chips if c.id not in turn.node.chips)])
    for chips in rings_of(fact.chips).values():
        _join(turn, [chip for chip in chips if chip in turn.node.chips])
    node = turn.node
    # A chip stays in the ring that it is in: an episode of that ring may be under way.
    new = {chip.id: chip for chip in fact.chips if chip.id not in node.chips}
    called = {c.id: _called(node.chips[c.id], c) for c in fact.chips if c.id in node.chips}
    if not put_chips(turn, {**called, **new}):
        return
    members = rings_of(turn.node.chips.values())
    for ring_id in sorted({chip.ring for chip in new.values()}):
        ring = turn.put_ring(replace(node.rings.get(ring_id, Ring(ring_id, ())), chips=members[ring_id]))
        found = [chip for chip in members[ring_id] if chip in new]
        turn.note(NoteKind.WARNING, say("chip.listed", found=found, ring=ring.chips), ring)
        turn.ask_read(turn.put_ring(replace(ring, asked=None, read=None)), "is it well?", not_older=turn.at)
    for chip in sorted(new):
        separate(turn, chip)  # The reason for its isolation has perhaps ended while it was away.
    look_who_came(turn, new)


def look_who_came(turn: Turn, new: Iterable[ChipId]) -> None:
    """Look at those who run on chips that are new, or are held: while one was away nobody knew that they use it."""
    for container in users_on(turn.node, new):
        hold, now = turn.node.holds.get(container.key), turn.node.containers[container.key]
        if hold is not None and hold.is_held_down:
            take_places(turn, now)
        elif container.running:
            look_who_uses(turn, now)


def _join(turn: Turn, chips: Sequence[ChipId]) -> None:
    """Make one ring of those of these chips, which the driver resets together.

    A ring with an episode of its own stays by itself until the driver says it again.
    """
    node = turn.node
    rings = [node.rings[id_] for id_ in sorted({node.chips[chip].ring for chip in chips})]
    ring = next((ring for ring in rings if ring.in_episode), next(iter(rings), None))
    free = [other for other in rings if other is not ring and not other.in_episode]
    if ring is None or not free:
        return
    before, joins, gone = ring.chips, [chip for other in free for chip in other.chips], {other.id for other in free}
    put_chips(turn, {chip: replace(node.chips[chip], ring=ring.id) for chip in joins})
    turn.node = replace(turn.node, rings={k: known for k, known in node.rings.items() if k not in gone})
    ring = turn.put_ring(replace(ring, chips=tuple(sorted((*ring.chips, *joins))), asked=None, read=None))
    turn.note(NoteKind.WARNING, say("chip.joined", joins=joins, before=before), ring)
    turn.ask_read(ring, "is it well?", not_older=turn.at)
