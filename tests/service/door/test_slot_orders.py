"""Orders about slots: what is refused, and in which words."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from cmgr.errors import CmgrError, NotThere
from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import SparePolicy
from cmgr.model.values.messages import facts
from cmgr.model.values.services.containers import TIED, Spare
from cmgr.model.values.troubles import TroubleKind
from cmgr.service.door.orders.slots import SlotOrders
from cmgr.service.door.routes import Request
from cmgr.view.containers import containers
from cmgr.view.slots import slots
from cmgr.view.status import available
from cmgr.view.troubles import troubles
from tests.model.builders import Cmgr, container
from tests.model.moving.test_moves import STOPPING, on_slot


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

    return SlotOrders(lambda: cmgr.node, lambda: cmgr.now, give, lambda request: f"uid {request.uid}")


def ask(cmgr: Cmgr, do: str, **args: object) -> Mapping[str, object]:
    asked = Request(f"slot-{do}", args, uid=7)
    known = orders(cmgr)
    deed = {"create": known.create, "assign": known.assign, "remove": known.remove, "reserve": known.reserve}[do]
    return dict(deed(asked))


@pytest.mark.parametrize(
    ("do", "args", "error", "hint"),
    [
        ("create", {"slot": "Chat", "count": 1}, "cannot create slot: 'Chat' is no slot's name", "small letters"),
        ("create", {"slot": "../x", "count": 1}, "cannot create slot: '../x' is no slot's name", ""),
        ("create", {"count": 1}, "cannot create slot: 'None' is no slot's name", ""),
        ("create", {"slot": "a", "did": ["slot a: removed"]}, "cannot create slot a: give either count or chips", ""),
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


@pytest.mark.parametrize(
    ("args", "chips"),
    [
        ({"count": 1}, [0]),
        ({"count": 1, "policy": "spread"}, [0]),
        ({"count": 1, "policy": "binpack"}, [0]),
        ({"count": 3, "policy": "ring"}, [0, 1, 3]),
        ({"count": 1, "model": ""}, [0]),
    ],
)
def test_free_chips_are_found_and_kept_for_who_asks(cmgr: Cmgr, args: Mapping[str, object], chips: list[int]) -> None:
    assert ask(cmgr, "reserve", **args) == {"available": chips, "numbers": chips, "until": None}
    assert ask(cmgr, "reserve", **args)["available"] == chips, "nothing was kept"
    kept = ask(cmgr, "reserve", seconds=60, **args)
    assert kept["available"] == chips
    assert not set(chips) & set(available(cmgr.node))
    cmgr.wait(61)
    assert set(chips) <= set(available(cmgr.node))


def test_whoever_asks_at_the_same_time_gets_other_chips(cmgr: Cmgr) -> None:
    found = [ask(cmgr, "reserve", count=2, seconds=60)["available"] for _ in range(2)]
    assert found == [[0, 1], [4, 5]]
    with pytest.raises(CmgrError) as refused:
        ask(cmgr, "reserve", count=2, seconds=60)
    assert refused.value.message == (
        "cannot find 2 such chips: chips 3,6 are free, and spares.reserve keeps 1 of them for moves"
    )
    cmgr.begin()
    cmgr.run()
    assert available(cmgr.node) == [3, 6], "a reservation outlives the process that gave it"
    moved = ask(cmgr, "assign", slot="chat", chips="0", stop=True)
    assert moved["chips"] == [0], "who names chips has reserved them, or knows better"


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({}, "count must be from 1 to 64"),
        ({"count": 99}, "count must be from 1 to 64"),
        ({"count": 1, "seconds": "x"}, "seconds must be a number"),
        ({"count": 1, "seconds": 3601}, "it must last longer than nothing and at most an hour"),
        ({"count": 1, "policy": "best"}, "policy is none of ring, binpack, spread"),
        ({"count": 4, "policy": "ring"}, "cannot find 4 such chips"),
        ({"count": 1, "model": "other"}, "cannot find 1 such chip"),
    ],
)
def test_what_cannot_be_reserved_is_refused(cmgr: Cmgr, args: Mapping[str, object], error: str) -> None:
    with pytest.raises(CmgrError, match=error):
        ask(cmgr, "reserve", **args)


def test_what_is_not_there_is_called_so(cmgr: Cmgr) -> None:
    with pytest.raises(NotThere):
        ask(cmgr, "remove", slot="a")


def test_a_slot_is_made_moved_and_removed(cmgr: Cmgr) -> None:
    assert ask(cmgr, "create", slot="a", count=2) == {
        "slot": "a", "chips": [0, 1], "device": "cmgr.io/slot=a",
        "did": ["slot a: chips 0-1; --device cmgr.io/slot=a"],
    }  # fmt: skip
    assert ask(cmgr, "assign", slot="a", chips="3,4") == {
        "slot": "a", "chips": [3, 4], "containers": [], "did": ["slot a: chips 3-4"],
    }  # fmt: skip
    moved = ask(cmgr, "assign", slot="chat", chips="0", stop=True)
    did = ["slot chat: chips 0", "stopped for that, and started again there: chat"]
    assert moved == {"slot": "chat", "chips": [0], "containers": ["chat"], "did": did}
    assert ask(cmgr, "assign", slot="chat", chips="0")["containers"] == []
    assert cmgr.booked("chat").running
    a, chat = slots(cmgr.node)
    assert (a["chips"], a["containers"], a["reason"]) == ([3, 4], [], "uid 7 ordered it")
    assert (chat["chips"], chat["home"], chat["containers"]) == ([0], [0], ["chat"])
    assert ask(cmgr, "remove", slot="a") == {"slot": "a", "did": ["slot a: removed"]}


@pytest.mark.parametrize(
    ("do", "args", "does"),
    [
        ("create", {"slot": "a", "count": 2}, ["makes slot a of chips 0-1; --device cmgr.io/slot=a"]),
        ("create", {"slot": "a", "chips": "3"}, ["makes slot a of chip 3; --device cmgr.io/slot=a"]),
        (
            "assign", {"slot": "chat", "chips": "0", "stop": True},
            ["gives chat chip 0", "stops chat", "starts chat again there"],
        ),
        ("assign", {"slot": "chat", "chips": "2"}, ["gives chat chip 2"]),
        (
            "assign", {"slot": "loose", "chips": "4", "stop": True},
            ["gives loose chip 4", "stops loose", "starts loose again there"],
        ),
        ("remove", {"slot": "idle"}, ["removes slot idle, and gives back chip 5"]),
    ],
)  # fmt: skip
def test_a_preview_says_which_chips_and_whom_it_stops(
    cmgr: Cmgr, do: str, args: Mapping[str, object], does: list[str]
) -> None:
    cmgr.sees(container("loose", 6, spare=Spare.AUTO, tied=""))
    cmgr.tell(facts.SlotOrdered("idle", "a", frozenset({ChipId(5)})))
    before = cmgr.node
    assert ask(cmgr, do, **args, preview=True) == {"does": does}
    assert cmgr.node is before


def test_what_cannot_be_is_refused_in_a_preview_too(cmgr: Cmgr) -> None:
    with pytest.raises(CmgrError, match="cannot create slot a: chips 0-1,3-6 are free"):
        ask(cmgr, "create", slot="a", count=6, preview=True)


def test_a_container_that_cmgr_must_not_touch_is_not_stopped_for_it(cmgr: Cmgr) -> None:
    cmgr.sees(on_slot("chat", enabled=False))
    with pytest.raises(CmgrError, match=r"chat has the label cmgr.enable=false"):
        ask(cmgr, "assign", slot="chat", chips="4", stop=True)


def test_a_slot_that_has_moved_says_from_where(cmgr: Cmgr) -> None:
    cmgr.tell(facts.IsolateOrdered(ChipId(2), "it smells", "a"))
    cmgr.run()
    (row,) = slots(cmgr.node)
    assert row["reason"] == "moved from 2 to 0; chip 2 is isolated: it smells"


def test_a_slot_that_gives_fewer_chips_says_so_and_how_it_gets_all_again() -> None:
    others = [container(f"c{n}", n) for n in range(8) if n not in (2, 3)]
    cmgr = Cmgr(on_slot("chat", min_chips=1), *others, policy=STOPPING)
    cmgr.tell(facts.SlotOrdered("chat", "a", frozenset({ChipId(2), ChipId(3)})))
    cmgr.tell(facts.IsolateOrdered(ChipId(3), "it smells", "a"))
    cmgr.run()
    (row,) = slots(cmgr.node)
    assert (row["chips"], row["given"]) == ([2, 3], [2])
    assert row["reason"] == (
        "on 1 of its 2 chips, without 3; chip 3 is isolated: it smells; no spare of its kind is free"
    )
    told = [trouble for trouble in troubles(cmgr.node) if trouble.kind is TroubleKind.FEWER_CHIPS]
    (trouble,) = told
    assert (trouble.text, trouble.id) == ("chat runs on 1 of its 2 chips, without 3", "fewer-chips-slot-chat")
    assert trouble.hint == "when the work on chip 3 is done, type: cmgr release 3"
    cmgr.tell(facts.ReleaseOrdered(ChipId(3), "a"))
    cmgr.run()
    (trouble,) = [trouble for trouble in troubles(cmgr.node) if trouble.kind is TroubleKind.FEWER_CHIPS]
    assert trouble.hint == "cmgr slot assign chat 2,3 --stop stops it, and starts it on all"
    (running,) = [row for row in containers(cmgr.node) if row["name"] == "chat"]
    assert running["reason"] == "on 1 of its 2 chips, without 3"
    assert ask(cmgr, "assign", slot="chat", chips="2,3", stop=True)["containers"] == ["chat"]
    assert not [trouble for trouble in troubles(cmgr.node) if trouble.kind is TroubleKind.FEWER_CHIPS]


def placed(cmgr: Cmgr) -> dict[str, object]:
    (row,) = [row for row in containers(cmgr.node) if row["name"] == "plain"]
    return dict(row)


@pytest.fixture
def without_slot() -> Cmgr:
    """Return a machine on which `plain` runs on chip 3, on no slot, and can be given others."""
    known = [container("plain", 3, spare=Spare.AUTO, tied=""), container("other", 7), container("fixed", 6)]
    return Cmgr(*known, policy=STOPPING)


@pytest.mark.parametrize(
    ("args", "error", "hint"),
    [
        ({"slot": "plain", "chips": "5"}, "cannot give plain other chips: it runs", "--stop stops it"),
        (
            {"slot": "plain", "chips": "4,5", "stop": True},
            "cannot give plain other chips: plain was made for chip 3: as many chips are to be given",
            "cmgr chips",
        ),
        ({"slot": "plain", "chips": "7", "stop": True}, "other runs on chip 7", "cmgr chips"),
        ({"slot": "fixed", "chips": "5", "stop": True}, f"fixed {TIED}", "cmgr slot adopt fixed"),
        ({"slot": "nobody", "chips": "5"}, "cannot assign slot nobody: there is no such slot", "cmgr slot"),
    ],
)
def test_what_cannot_be_moved_says_why(without_slot: Cmgr, args: dict[str, object], error: str, hint: str) -> None:
    with pytest.raises(CmgrError) as info:
        ask(without_slot, "assign", **args)
    assert error in info.value.message
    assert hint in (info.value.hint or "")
    assert not without_slot.node.holds


def test_a_container_on_no_slot_moves_and_is_moved_back(without_slot: Cmgr) -> None:
    told = ask(without_slot, "assign", slot="plain", chips="0", stop=True)
    did = ["slot plain: chips 0", "stopped for that, and started again there: plain"]
    assert told == {"slot": "plain", "chips": [0], "containers": ["plain"], "did": did}
    assert (placed(without_slot)["chips"], placed(without_slot)["reason"]) == ([0], "moved from 3 to 0")
    ask(without_slot, "assign", slot="plain", chips="3", stop=True)
    assert (placed(without_slot)["chips"], placed(without_slot)["reason"]) == ([3], "")


def test_one_that_waits_says_that_it_cannot_be_moved(without_slot: Cmgr) -> None:
    without_slot.sees(container("plain", 3, spare=Spare.AUTO, tied="has a hook that names its chip"))
    without_slot.tell(facts.IsolateOrdered(ChipId(3), "it smells", "a"))
    without_slot.run()
    assert placed(without_slot)["reason"] == (
        "chip 3 is isolated: it smells; it cannot be moved: it has a hook that names its chip"
    )
    without_slot.sees(container("plain", 3, running=False, spare=Spare.AUTO, tied=""))
    without_slot.run()
    assert placed(without_slot)["chips"] == [4]


def test_one_on_no_slot_that_runs_on_fewer_chips_is_a_trouble() -> None:
    others = [container(f"c{n}", n) for n in range(8) if n not in (2, 3)]
    cmgr = Cmgr(container("pair", 2, 3, spare=Spare.AUTO, tied="", min_chips=1), *others, policy=STOPPING)
    cmgr.tell(facts.IsolateOrdered(ChipId(3), "it smells", "a"))
    cmgr.run()
    (trouble,) = [trouble for trouble in troubles(cmgr.node) if trouble.kind is TroubleKind.FEWER_CHIPS]
    assert trouble.text == "container pair runs on 1 of its 2 chips, without 3"
    cmgr.tell(facts.ReleaseOrdered(ChipId(3), "a"))
    cmgr.tell(facts.Resync())  # Until then the last read-out of chip 3 has a process of the container on it.
    cmgr.run()
    (trouble,) = [trouble for trouble in troubles(cmgr.node) if trouble.kind is TroubleKind.FEWER_CHIPS]
    assert trouble.hint == "cmgr slot assign pair 2,3 --stop stops it, and starts it on all"
