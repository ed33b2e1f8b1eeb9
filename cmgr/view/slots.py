"""Slots as a person or a program reads them, and who has fewer chips than he was given, or shares them."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cmgr.model.containers.moving.moves import NO_SPARE, users_of, whole_with
from cmgr.model.containers.moving.placing import whole_for
from cmgr.model.own_chips import crowded, home_of
from cmgr.model.values.chips import SLOT, ChipId
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.values.services.slots import Slot, slots_of
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.sentences.hints import order
from cmgr.sentences.sentence import messages, parts, say
from cmgr.view.advice import called, forget, isolation_hint, meant, titled
from cmgr.words import one_line, runs, stamp

if TYPE_CHECKING:
    from cmgr.view import slot_shapes


def slots(node: Node) -> "list[slot_shapes.Slot]":
    """Return every slot, by name."""
    return [_row(node, node.slots[name]) for name in sorted(node.slots)]


def _row(node: Node, slot: Slot) -> "slot_shapes.Slot":
    why = parts([moved(slot), fewer(slot), slot.reason, slot.short])
    told: slot_shapes.Slot = {
        "name": slot.name,
        "device": f"{SLOT}{slot.name}",
        "chips": sorted(slot.chips),
        "given": sorted(slot.given),
        "home": sorted(slot.home),
        "ordered": sorted(slot.wish),
        "since": stamp(slot.since),
        "containers": [called(node, container.key) for container in users_of(node, slot.name)],
        "reason": one_line(why),
    }
    if found := messages(reason=why):
        told["messages"] = found
    return told


def moved(slot: Slot) -> str:
    """Return in words that the slot is not on the chips that a person gave it; nothing when it is."""
    if slot.chips == slot.home:
        return ""
    return say("slot.moved", gone=runs(slot.home - slot.chips), new=runs(slot.chips - slot.home))


def fewer(slot: Slot) -> str:
    """Return in words that the slot gives fewer chips than it has; nothing when it gives all."""
    if not slot.without:
        return ""
    return say("slot.fewer", left=len(slot.given), all=len(slot.chips), without=runs(slot.without))


def away(node: Node, container: Container) -> str:
    """Return in words that a container on no slot has other chips than it was made for, or fewer; else nothing."""
    home = home_of(node, container) if container.made_for else container.kept.chips
    if container.kept.chips == home:
        return ""
    lacks, instead = home - container.kept.chips, container.kept.chips - home
    moved_to = say("slot.moved", gone=runs(lacks), new=runs(instead)) if instead else ""
    count = say("slot.fewer", left=len(container.kept.chips), all=len(home), without=runs(lacks))
    return parts([moved_to, count if len(container.kept.chips) < len(home) else ""])


def of_container(node: Node, container: Container | None) -> list[Slot]:
    """Return the slots that the container is on, of those that there are."""
    if container is None or not node.slots:
        return []
    return [node.slots[name] for name in slots_of(container) if name in node.slots]


def troubles(node: Node) -> Iterator[Trouble]:
    """Yield who runs on fewer chips than people gave it, and who shares a chip that people gave to one."""
    yield from _short(node)
    yield from _crowded(node)


def _short(node: Node) -> Iterator[Trouble]:
    for name, slot in sorted(node.slots.items()):
        names = tuple(container.name for container in users_of(node, name) if container.running)
        if slot.without and names:
            text = say("slot.runs-fewer", names=names, how=fewer(slot))
            isolated = sorted(slot.without & node.isolations.keys())
            what = _on_all(name, whole_with(node, slot)) or isolation_hint(node, isolated)
            why = parts([slot.reason, slot.short])
            yield Trouble(
                TroubleKind.FEWER_CHIPS, f"slot {name}", text, why, what, slot.since,
                chips=tuple(sorted(slot.chips)), containers=names,
            )  # fmt: skip
    others = (key for key, container in node.containers.items() if container.running and container.made_for)
    for key in sorted(others):
        container = node.containers[key]
        if len(container.kept.chips) < len(home_of(node, container)):
            what = _on_all(meant(node, key), whole_for(node, container)) or "cmgr chips"
            text = say("slot.container-runs", name=titled(node, key), how=away(node, container))
            yield Trouble(
                TroubleKind.FEWER_CHIPS, "/".join(key), text, NO_SPARE, what, container.kept.since,
                chips=tuple(sorted(container.kept.chips)), containers=(container.name,),
            )  # fmt: skip


def _crowded(node: Node) -> Iterator[Trouble]:
    """Yield each chip that two have of which cmgr has moved or started one there: people never wanted that."""
    chips: dict[tuple[ContainerKey, ...], list[ChipId]] = {}
    for chip, users in crowded(node).items():
        chips.setdefault(tuple(user.key for user in users), []).append(chip)
    for keys, on in chips.items():
        late, *others = (node.containers[key] for key in keys)
        names = tuple(container.name for container in (late, *others))
        text = say("slot.is-used-by", chips=on, names=[titled(node, key) for key in keys])
        former = [titled(node, other.key) for other in others if other.key in late.kept.instead_of]
        if former:
            why = say("slot.former-runs", name=one_line(late.name), names=former)
            what = say("hint.stop-one-or-forget", order=forget(node, late.key))
        else:
            why = say("slot.was-moved-there", name=one_line(late.name))
            what = say("hint.stop-one-or-move", name=called(node, late.key))
        yield Trouble(
            TroubleKind.CROWDED, f"chip {on[0]}", text, why, what, chips=tuple(on), containers=names,
        )  # fmt: skip


def _on_all(name: str, chips: Iterable[ChipId]) -> str:
    """Return how what runs on fewer chips gets all of them; nothing where there are none for it."""
    whole = ",".join(map(str, sorted(chips)))
    return say("hint.on-all", order=order("slot-assign", slot=name, chips=whole, stop=True)) if whole else ""
