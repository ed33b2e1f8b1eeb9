"""Orders of a person that are about slots. Each is checked here, so that a refusal says why and what to do."""

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cmgr.errors import BadRequest, CmgrError, NotThere
from cmgr.frozen import dataclass, replace
from cmgr.model.containers.moving.moves import to_reserve, users_of, why_not
from cmgr.model.containers.moving.placing import why_not_placed
from cmgr.model.containers.moving.spares import free_chips, to_hand_out
from cmgr.model.values.chips import SLOT, ChipId
from cmgr.model.values.handling.policy import Packing
from cmgr.model.values.messages.facts import MoveOrdered, Ordered, ReserveOrdered, SlotOrdered, SlotRemoveOrdered
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container
from cmgr.model.values.services.slots import LONGEST_RESERVATION, NAME, slots_of
from cmgr.sentences.sentence import say
from cmgr.service.door.orders.chip_list import chips_in
from cmgr.service.door.orders.declared import Wish, asked, order
from cmgr.service.door.routes import Arg, Request
from cmgr.view.advice import called
from cmgr.words import runs, stamp

if TYPE_CHECKING:
    from cmgr.view import slot_shapes

SLOT_NAME = Arg("slot", "string", "The slot's name.", required=True)
CHIPS = Arg("chips", "string", "The chips: 4,5 or 0-3.")

MOST = 64
"""As many chips as a machine can have."""

IN_ONE_RING = "ring"
"""The policy of those who want chips of one ring, or none."""


@dataclass(frozen=True, slots=True)
class SlotOrders:
    """Any thread; each raises `CmgrError`. `give` returns when the order is in force; `who` names who asks."""

    node: Callable[[], Node]
    now: Callable[[], datetime]
    give: Callable[[Ordered], None]
    who: Callable[[Request], str]

    @order(
        "slot-create", "Make a slot.", SLOT_NAME, CHIPS,
        Arg("count", "integer", "So many free ones, where no chips are given."),
    )  # fmt: skip
    def create(self, request: Request) -> "Wish[slot_shapes.SlotMade]":
        name = _name(request)
        chips, count = _chips(request), request.args.get("count")
        if bool(chips) is (count is not None):
            raise BadRequest(_cannot(request, name, say("error.either", names=["count", "chips"])))
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or not 0 < count <= MOST):
            raise BadRequest(_cannot(request, name, say("error.from-one-to", name="count", most=MOST)))
        if name in self.node().slots:
            raise CmgrError(_cannot(request, name, say("error.there-is-one")), hint=f"cmgr slot assign {name} CHIPS")
        if chips and (why := why_not(self.node(), name, chips)):
            raise CmgrError(_cannot(request, name, why), hint="cmgr chips")
        device, number = f"{SLOT}{name}", count if isinstance(count, int) else 0
        if found := chips or to_hand_out(self.node(), number):
            fact = SlotOrdered(name, self.who(request), chips, number)
            yield [say("order.makes-slot", slot=name, chips=[*found], device=device)], fact
        made = self.node().slots.get(name)
        if made is None:
            raise CmgrError(_cannot(request, name, _too_few(self.node())), hint="cmgr chips")
        did = say("order.slot-made", slot=name, chips=runs(made.chips), device=device)
        return {"slot": name, "chips": sorted(made.chips), "device": device, "did": [did]}

    @order(
        "slot-assign", "Give a slot other chips.", SLOT_NAME, CHIPS,
        Arg("stop", "boolean", "Stop what runs on it, and start it again on the other chips."),
    )  # fmt: skip
    def assign(self, request: Request) -> "Wish[slot_shapes.SlotAssigned]":
        container = self._on_no_slot(request)
        if container is not None:
            return (yield from self._move(request, container))
        name = self._there(request)
        slot, chips = self.node().slots[name], _chips(request)
        stop = request.args.get("stop", False) is True
        if len(chips) != len(slot.chips):
            other = say("error.other-number", has=len(slot.chips), given=len(chips))
            raise CmgrError(_cannot(request, name, other), hint=say("error.number-stays"))
        if why := why_not(self.node(), name, chips):
            raise CmgrError(_cannot(request, name, why), hint="cmgr chips")
        running = [container for container in users_of(self.node(), name) if container.running]
        names = [called(self.node(), container.key) for container in running]
        if running and chips != slot.given and not stop:
            used = say("error.run-on-slot", names=names)
            raise CmgrError(_cannot(request, name, used), hint=say("error.to-stop-it"))
        for theirs in (container for container in running if not container.enabled):
            label = say("error.has-label", name=called(self.node(), theirs.key), label=theirs.hands_off)
            raise CmgrError(_cannot(request, name, label), hint=say("error.stop-it"))
        stopped = names if chips != slot.given else []
        yield _assigns(name, chips, stopped), SlotOrdered(name, self.who(request), chips, stop=stop)
        return _assigned(name, chips, stopped)

    def _on_no_slot(self, request: Request) -> Container | None:
        """Return the container that is meant, where no slot has this name."""
        node, name = self.node(), str(request.args.get("slot"))
        if name in node.slots:
            return None
        found = [container for key, container in node.containers.items() if name in (container.name, called(node, key))]
        return found[0] if len(found) == 1 and not slots_of(found[0]) else None

    def _move(self, request: Request, container: Container) -> "Wish[slot_shapes.SlotAssigned]":
        """Have a container that is on no slot started on these chips."""
        name, chips = called(self.node(), container.key), _chips(request)
        hold, stop = self.node().holds.get(container.key), request.args.get("stop", False) is True
        held = hold is not None and hold.is_held_down

        def cannot(why: str) -> str:
            return say("error.cannot-move", name=name, why=why)

        if why := why_not_placed(self.node(), container, chips):
            raise CmgrError(cannot(why), hint=f"cmgr slot adopt {name}" if container.tied else "cmgr chips")
        if not held and not container.running:
            raise CmgrError(cannot(say("error.is-neither")), hint=say("error.start-it-first"))
        if not held and not stop:
            raise CmgrError(cannot(say("error.it-runs")), hint=say("error.to-stop-it"))
        if not container.enabled:
            raise CmgrError(cannot(say("error.it-has-label", label=container.hands_off)))
        back = hold is not None and chips == hold.chips
        stopped = [name] if container.running and not back else []
        yield _assigns(name, chips, stopped), MoveOrdered(container.key, chips, self.who(request), stop=stop)
        return _assigned(name, chips, stopped)

    @asked(
        "reserve", "Find free chips, and keep them for you.", Arg("count", "integer", "How many.", required=True),
        Arg("model", "string", "Only chips of this model."),
        Arg("policy", "string", "ring: all of one ring, or none; binpack or spread; else as spares.policy says."),
        Arg("seconds", "number", "Nobody else is given them for so long, an hour at most."),
    )  # fmt: skip
    def reserve(self, request: Request) -> "slot_shapes.Reserved":
        """Return free chips, and keep them for who asks where that is wished."""
        count, seconds = request.args.get("count"), request.args.get("seconds")
        if isinstance(count, bool) or not isinstance(count, int) or not 0 < count <= MOST:
            raise BadRequest(say("error.reserve", why=say("error.from-one-to", name="count", most=MOST)))
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
            raise BadRequest(say("error.must-be-number", do=request.do, name="seconds"))
        if seconds is not None and not 0 < seconds <= LONGEST_RESERVATION.total_seconds():
            raise BadRequest(say("error.reserve", why=say("error.length-hour")))
        asked = _asked(request, count, self.who(request))
        if seconds is None:
            chips = sorted(to_reserve(self.node(), asked))
        else:
            asked = replace(asked, until=self.now() + timedelta(seconds=seconds))
            self.give(asked)
            kept = self.node().reservations.values()
            chips = sorted(each.chip for each in kept if each.asker == asked.asker)
        if not chips:
            raise CmgrError(say("error.not-found", count=count, why=_too_few(self.node())), hint="cmgr chips")
        numbers = [self.node().chips[chip].asked_as for chip in chips]
        until = None if seconds is None else stamp(asked.until)
        return {"available": [*chips], "numbers": numbers, "until": until}

    @order("slot-remove", "Take a slot away that no container asks for.", SLOT_NAME)
    def remove(self, request: Request) -> "Wish[slot_shapes.SlotRemoved]":
        name = self._there(request)
        names = [called(self.node(), container.key) for container in users_of(self.node(), name)]
        if names:
            why = say("error.ask-for-slot", names=names)
            raise CmgrError(_cannot(request, name, why), hint=say("error.remove-that-first"))
        does = say("order.removes-slot", slot=name, chips=[*self.node().slots[name].chips])
        yield [does], SlotRemoveOrdered(name, self.who(request))
        return {"slot": name, "did": [say("order.slot-removed", slot=name)]}

    def _there(self, request: Request) -> str:
        name = _name(request)
        if name not in self.node().slots:
            raise NotThere(_cannot(request, name, say("error.no-slot")), hint="cmgr slot")
        return name


def _assigns(name: str, chips: frozenset[ChipId], users: Sequence[str]) -> list[str]:
    more = [say("order.stops", names=users), say("order.starts-there", names=users)] if users else []
    return [say("order.gives-chips", name=name, chips=[*chips]), *more]


def _assigned(name: str, chips: frozenset[ChipId], users: list[str]) -> "slot_shapes.SlotAssigned":
    more = [say("order.stopped-for-that", names=users)] if users else []
    did = [say("order.slot-has", slot=name, chips=runs(chips)), *more]
    return {"slot": name, "chips": sorted(chips), "containers": users, "did": [*did]}


def _asked(request: Request, count: int, who: str) -> ReserveOrdered:
    model, policy = request.args.get("model") or "", request.args.get("policy")
    if policy not in (None, IN_ONE_RING, *Packing):
        why = say("error.none-of", name="policy", those=[IN_ONE_RING, *Packing])
        raise BadRequest(say("error.reserve", why=why))
    one_ring = policy == IN_ONE_RING
    packing = None if policy is None or one_ring else Packing(str(policy))
    never = datetime.max.replace(tzinfo=UTC)
    return ReserveOrdered(os.urandom(8).hex(), who, count, never, str(model), packing, one_ring)


def _name(request: Request) -> str:
    name = request.args.get("slot")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise BadRequest(
            say("error.slot-name", do=_do(request), name=repr(str(name)[:80])), hint=say("error.slot-letters")
        )
    return name


def _do(request: Request) -> str:
    return request.do.removeprefix("slot-")


def _cannot(request: Request, slot: str, why: str) -> str:
    return say("error.cannot-slot", do=_do(request), slot=slot, why=why)


def _chips(request: Request) -> frozenset[ChipId]:
    """Return the chips of a list such as `4,5` or `0-3`; none where none is given."""
    text = request.args.get("chips")
    if text is None:
        return frozenset()
    try:
        return chips_in(str(text))
    except ValueError as error:
        told = say("error.slot-chips", do=_do(request), chips=repr(str(error)))
        raise BadRequest(told, hint=say("error.such-chips")) from error


def _too_few(node: Node) -> str:
    free, reserve = free_chips(node), node.policy.spares.reserve
    if not free:
        return say("error.no-chip-free")
    found = say("error.chips-free", chips=[*free])
    return say("error.chips-kept", free=found, reserve=reserve) if reserve else found
