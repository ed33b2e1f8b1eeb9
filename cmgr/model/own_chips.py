"""Where containers are at home, what they are given instead, and who is there besides. As `scope`, questions."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from cmgr.frozen import replace
from cmgr.model.index import users_on
from cmgr.model.values.chips import ALL_CHIPS, BY_ID, Chip, ChipId, resolve
from cmgr.model.values.holds import Hold
from cmgr.model.values.node import SYSTEMD, Node
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.values.services.slots import can_be_placed, slots_of
from cmgr.sentences.sentence import say

Chips = frozenset[ChipId]

Placing = tuple[tuple[Chip, Chip | None], ...]
"""Each chip that a definition was made for, and the one that it gives instead: mostly itself; None: none."""


def home_of(node: Node, container: Container) -> Chips:
    """Return the chips that the container was made for, whatever it has been given since."""
    return resolve(container.made_for or container.claims, node.chips, {})[0]


def placing(node: Node, hold: Hold) -> Placing:
    """Return what its definition is to give when it is started; nothing: the definition is to be left as it is."""
    container = node.containers.get(hold.key)
    if container is None or not can_be_placed(container):
        return ()
    home = home_of(node, container)
    gone, new = sorted(home - hold.chips), sorted(hold.chips - home)
    if len(new) > len(gone) or (not gone and not container.made_for):
        return ()
    instead = dict(zip_longest(gone, new))
    return tuple((node.chips[chip], _chip(node, instead.get(chip, chip))) for chip in sorted(home))


def _chip(node: Node, chip: ChipId | None) -> Chip | None:
    return node.chips[chip] if chip is not None else None


def slots_asked_for(node: Node, key: ContainerKey) -> tuple[str, ...]:
    """Return the names of the slots that this container asks for; none where it is not in the books."""
    container = node.containers.get(key)
    return slots_of(container) if container is not None else ()


def given_away(node: Node, hold: Hold) -> Mapping[ChipId, str]:
    """Return the chips of the hold that somebody else has by now, and who.

    No chip is given away while a container of it ought to run or is held, but one that was neither may be held once
    more, and people start another in the place of one that died. Those that have run there together do so again:
    people had wanted that. A container that asks for every chip shares them all.
    """
    container = node.containers.get(hold.key)
    if container is None or ALL_CHIPS in container.claims:
        return {}
    others = [other for other in users_on(node, hold.chips) if other.key != hold.key and ALL_CHIPS not in other.claims]
    if not others and not node.slots:
        return {}
    given, found = _given(node, hold), dict[ChipId, str]()
    for other in others:
        theirs = node.holds.get(other.key)
        if other.key not in hold.beside and (theirs is None or hold.key not in theirs.beside):
            met = _moved(node, other) | (given & _has(node, other))
            met |= _taken_over(node, container, other) if hold.died else frozenset()
            found |= {chip: say("hold.chip-taken", name=other.name, chip=chip) for chip in hold.chips & met}
    return {**found, **_given_to_slots(node, hold, given)}


def replaced(node: Node, container: Container) -> Mapping[ChipId, str]:
    """Return the chips of a container that is down which another has by now that was started since, and which."""
    others = (other for other in users_on(node, container.kept.chips) if other.key != container.key)
    return {chip: other.name for other in others for chip in sorted(_taken_over(node, container, other))}


def _taken_over(node: Node, down: Container, other: Container) -> Chips:
    """Return the chips that `other`, which is to run, has begun to use since the end of one with which it never ran."""
    hold = node.holds.get(other.key)
    to_run = other.running or other.kept.wanted or (hold is not None and hold.keeps_chips)
    beside = have_met(down, other) or (hold is not None and down.key in hold.beside)
    later = down.kept.since is None or other.kept.since is None or other.kept.since > down.kept.since
    if down.running or not to_run or not later or beside or ALL_CHIPS in down.claims | other.claims:
        return frozenset()
    if _unit(down) and _unit(down) == _unit(other):
        return frozenset()  # A unit begins when its container does, which is another one each time.
    shared = (chip for chip in down.kept.chips & other.kept.chips if chip in node.chips)
    return frozenset(chip for chip in shared if not node.chips[chip].shares)


def _unit(container: Container) -> str:
    return container.name if container.key.runtime == SYSTEMD else container.unit


def crowded(node: Node) -> Mapping[ChipId, tuple[Container, ...]]:
    """Return the chips that several run on, one of which cmgr has moved there, and these: that one first.

    Or one was made in another's place, which runs again.
    """
    using: dict[ChipId, list[Container]] = {}
    for _, container in sorted(node.containers.items()):
        if container.running:
            for chip in container.kept.chips:
                using.setdefault(chip, []).append(container)
    found = dict[ChipId, tuple[Container, ...]]()
    for chip, everybody in sorted(using.items()):
        users = [container for container in everybody if ALL_CHIPS not in container.claims]
        moved = [container for container in users if chip in _moved(node, container) | _moved_by_slot(node, container)]
        if others := [other for other in users if moved and not _same_use(moved[0], other)]:
            found[chip] = (moved[0], *others)
        elif both := _with_former(everybody):
            found[chip] = both
    return found


def _with_former(users: Sequence[Container]) -> tuple[Container, ...]:
    """Return the last one that was made in the place of others of these, and those, or nothing."""
    found = [(c, *(former for former in users if former.key in c.kept.instead_of)) for c in users if c.kept.instead_of]
    return max((both for both in found if len(both) > 1), key=len, default=())


def _moved_by_slot(node: Node, container: Container) -> Chips:
    if not node.slots:
        return frozenset()
    slots = (node.slots[name] for name in slots_of(container) if name in node.slots)
    return frozenset(chip for slot in slots for chip in slot.given - slot.home)


def _same_use(one: Container, other: Container) -> bool:
    """Return whether the two are one to people: itself, of one slot, or a unit and what it runs."""
    of_one = _unit(one) and _unit(one) == _unit(other)
    return one.key == other.key or bool(of_one) or not set(slots_of(one)).isdisjoint(slots_of(other))


def have_met(one: Container, other: Container) -> bool:
    """Return whether the two have run at one time, as far as the books can tell."""
    if other.key in one.kept.met or one.key in other.kept.met:
        return True
    runs, down = (one, other) if one.running else (other, one)
    # Of a life that goes on the books know when it began, and of one that is over when it ended.
    began, ended = runs.kept.since, down.kept.since
    return runs.running and (down.running or (began is not None and ended is not None and began < ended))


def _given_to_slots(node: Node, hold: Hold, given: Chips) -> Mapping[ChipId, str]:
    own = {name for key in (hold.key, *hold.beside) for name in slots_asked_for(node, key)}
    return {
        chip: say("hold.chip-of-slot", chip=chip, slot=slot.name)
        for slot in node.slots.values()
        for chip in hold.chips & (((slot.chips | slot.wish) & given) | (slot.chips - slot.home))
        if slot.name not in own
    }


def _given(node: Node, hold: Hold) -> Chips:
    """Return the chips that the hold is to be started on instead of its own."""
    return frozenset(new.id for old, new in placing(node, hold) if new is not None and new != old)


def _has(node: Node, container: Container) -> Chips:
    """Return the chips that the container runs on, or is just being started on."""
    hold = node.holds.get(container.key)
    starts = hold is not None and hold.is_being_started
    return container.kept.chips if container.running or starts else frozenset()


def _moved(node: Node, container: Container) -> Chips:
    """Return those of them that are not its own."""
    hold = node.holds.get(container.key)
    if hold is not None and hold.is_being_started:
        return _given(node, hold)
    return _has(node, container) - home_of(node, container) if container.made_for else frozenset()


def as_placed(node: Node, container: Container, chips: Chips) -> Container:
    """Return the container as its runtime will tell of it, once its definition gives these chips."""
    home, made_for = home_of(node, container), container.made_for or container.claims
    placed = replace(container, kept=replace(container.kept, chips=chips))
    if chips == home:
        return replace(placed, claims=made_for, made_for=frozenset())
    return replace(placed, claims=frozenset(f"{BY_ID}{chip}" for chip in chips), made_for=made_for)
