"""Slots as a person or a program reads them."""

from typing import TYPE_CHECKING

from cmgr.model.containers.moving.moves import users_of
from cmgr.model.homes import home_of
from cmgr.model.values.chips import SLOT, ChipId, listed
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container
from cmgr.model.values.services.slots import Slot, slots_of
from cmgr.view.advice import called
from cmgr.words import joined, one_line, stamp

if TYPE_CHECKING:
    from cmgr.view import slot_shapes


def slots(node: Node) -> "list[slot_shapes.Slot]":
    """Return every slot, by name."""
    return [_row(node, node.slots[name]) for name in sorted(node.slots)]


def _row(node: Node, slot: Slot) -> "slot_shapes.Slot":
    return {
        "name": slot.name,
        "device": f"{SLOT}{slot.name}",
        "chips": sorted(slot.chips),
        "given": sorted(slot.given),
        "home": sorted(slot.home),
        "ordered": sorted(slot.wish),
        "since": stamp(slot.since),
        "containers": [called(node, container.key) for container in users_of(node, slot.name)],
        "reason": one_line("; ".join(filter(None, (moved(slot), fewer(slot), slot.reason, slot.short)))),
    }


def moved(slot: Slot) -> str:
    """Return in words that the slot is not on the chips that a person gave it; nothing when it is."""
    if slot.chips == slot.home:
        return ""
    return f"moved from {_numbers(slot.home - slot.chips)} to {_numbers(slot.chips - slot.home)}"


def fewer(slot: Slot) -> str:
    """Return in words that the slot gives fewer chips than it has; nothing when it gives all."""
    if not slot.without:
        return ""
    return f"on {len(slot.given)} of its {len(slot.chips)} chips, without {_numbers(slot.without)}"


def away(node: Node, container: Container) -> str:
    """Return in words that a container on no slot has other chips than it was made for, or fewer; else nothing."""
    home = home_of(node, container) if container.made_for else container.chips
    if container.chips == home:
        return ""
    lacks, instead = home - container.chips, container.chips - home
    moved_to = f"moved from {_numbers(lacks)} to {_numbers(instead)}" if instead else ""
    count = f"on {len(container.chips)} of its {len(home)} chips, without {_numbers(lacks)}"
    return joined([moved_to, count if len(container.chips) < len(home) else ""])


def _numbers(chips: frozenset[ChipId]) -> str:
    return listed(chips).partition(" ")[2]


def of_container(node: Node, container: Container | None) -> list[Slot]:
    """Return the slots that the container is on, of those that there are."""
    return [node.slots[name] for name in slots_of(container) if name in node.slots] if container is not None else []
