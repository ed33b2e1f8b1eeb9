"""Orders about slots: what is refused, and in which words."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from cmgr.errors import CmgrError, NotThere
from cmgr.model.values import facts
from cmgr.model.values.chips import ChipId
from cmgr.model.values.policy import SparePolicy
from cmgr.service.door.routes import Request
from cmgr.service.door.slot_orders import SlotOrders
from cmgr.view.slots import slots
from tests.model.builders import Cmgr, container
from tests.model.test_moves import STOPPING, on_slot


@pytest.fixture
def cmgr() -> Cmgr:
    made = Cmgr(on_slot("chat"), container("other", 7), policy=replace(STOPPING, spares=SparePolicy(reserve=1)))
    made.tell(facts.SlotOrdered("chat", "a", frozenset({ChipId(2)})))
    made.run()
    return made


def orders(cmgr: Cmgr) -> SlotOrders:
    def give(order: facts.Ordered) -> None:
        cmgr.tell(order)
        cmgr.run()

    return SlotOrders(lambda: cmgr.node, give, lambda request: f"uid {request.uid}")


def ask(cmgr: Cmgr, do: str, **args: object) -> Mapping[str, object]:
    asked = Request(f"slot-{do}", args, uid=7)
    deed = {"create": orders(cmgr).create, "assign": orders(cmgr).assign, "remove": orders(cmgr).remove}[do]
    return dict(deed(asked))


@pytest.mark.parametrize(
    ("do", "args", "error", "hint"),
    [
        ("create", {"slot": "Chat", "count": 1}, "cannot create slot: 'Chat' is no slot's name", "small letters"),
        ("create", {"slot": "../x", "count": 1}, "cannot create slot: '../x' is no slot's name", ""),
        ("create", {"count": 1}, "cannot create slot: 'None' is no slot's name", ""),
        ("create", {"slot": "a"}, "cannot create slot a: give either count or chips", ""),
        ("create", {"slot": "a", "chips": "1", "count": 1}, "cannot create slot a: give either count or chips", ""),
        ("create", {"slot": "a", "count": 0}, "cannot create slot a: count must be from 1 to 64", ""),
        ("create", {"slot": "a", "count": True}, "cannot create slot a: count must be from 1 to 64", ""),
        ("create", {"slot": "chat", "count": 1}, "cannot create slot chat: there is one", "cmgr slot assign chat"),
        ("create", {"slot": "a", "chips": "x"}, "cannot create slot: 'x' is no chip", "such as 4,5 or 0-3"),
        ("create", {"slot": "a", "chips": "5-3"}, "cannot create slot: '5-3' is no chip", ""),
        ("create", {"slot": "a", "chips": "0-999"}, "cannot create slot: '0-999' is no chip", ""),
        ("create", {"slot": "a", "chips": "9"}, "cannot create slot a: there is no chip 9", "cmgr chips"),
        ("create", {"slot": "a", "chips": "1-2"}, "cannot create slot a: chip 2 belongs to slot chat", "cmgr chips"),
        ("create", {"slot": "a", "chips": "7"}, "cannot create slot a: other runs on chip 7", "cmgr chips"),
        (
            "create", {"slot": "a", "count": 6},
            "cannot create slot a: chips 0-1,3-6 are free, and spares.reserve keeps 1 of them for moves", "cmgr chips",
        ),
        ("assign", {"slot": "a", "chips": "1"}, "cannot assign slot a: there is no such slot", "cmgr slot"),
        (
            "assign", {"slot": "chat", "chips": "0-1"},
            "cannot assign slot chat: it has 1 chip, and 2 chips are given", "make another slot",
        ),
        ("assign", {"slot": "chat", "chips": "4"}, "cannot assign slot chat: chat runs on it", "--stop stops it"),
        ("remove", {"slot": "chat"}, "cannot remove slot chat: chat asks for it", "remove that first"),
        ("remove", {"slot": "a"}, "cannot remove slot a: there is no such slot", "cmgr slot"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_the_reason(
    cmgr: Cmgr, do: str, args: Mapping[str, object], error: str, hint: str
) -> None:
    before = cmgr.node
    with pytest.raises(CmgrError) as refused:
        ask(cmgr, do, **args)
    assert refused.value.message == error
    assert hint in refused.value.hint
    assert cmgr.node.slots == before.slots


def test_what_is_not_there_is_called_so(cmgr: Cmgr) -> None:
    with pytest.raises(NotThere):
        ask(cmgr, "remove", slot="a")


def test_a_slot_is_made_moved_and_removed(cmgr: Cmgr) -> None:
    assert ask(cmgr, "create", slot="a", count=2) == {"slot": "a", "chips": [0, 1], "device": "cmgr.io/slot=a"}
    assert ask(cmgr, "assign", slot="a", chips="3,4") == {"slot": "a", "chips": [3, 4], "containers": []}
    moved = ask(cmgr, "assign", slot="chat", chips="0", stop=True)
    assert moved == {"slot": "chat", "chips": [0], "containers": ["chat"]}
    assert ask(cmgr, "assign", slot="chat", chips="0") == {"slot": "chat", "chips": [0], "containers": []}
    assert cmgr.booked("chat").running
    a, chat = slots(cmgr.node)
    assert (a["chips"], a["containers"], a["reason"]) == ([3, 4], [], "uid 7 ordered it")
    assert (chat["chips"], chat["home"], chat["containers"]) == ([0], [0], ["chat"])
    assert ask(cmgr, "remove", slot="a") == {"slot": "a"}


def test_a_container_that_cmgr_must_not_touch_is_not_stopped_for_it(cmgr: Cmgr) -> None:
    cmgr.sees(on_slot("chat", enabled=False))
    with pytest.raises(CmgrError, match=r"chat has the label cmgr.enable=false"):
        ask(cmgr, "assign", slot="chat", chips="4", stop=True)


def test_a_slot_that_has_moved_says_from_where(cmgr: Cmgr) -> None:
    cmgr.tell(facts.IsolateOrdered(ChipId(2), "it smells", "a"))
    cmgr.run()
    (row,) = slots(cmgr.node)
    assert row["reason"] == "moved from 2 to 0; chip 2 is isolated: it smells"
