"""Chips that containers ask for by their place in the driver's list, which is shorter while one is being reset."""

from dataclasses import replace

import pytest

from cmgr.model.holds.obstacles import start_blocker
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, ReadRing, ResetRing, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from tests.model.builders import REQUEST, Cmgr, container, key, names


def call(cmgr: Cmgr, *, counted: bool = True) -> None:
    """Begin a life in which the chips have these names."""
    cmgr.chips = tuple(
        replace(c, serial=f"GPU-{c.id}", aliases=frozenset({f"/dev/x{c.id}"}), counted=counted) for c in cmgr.chips
    )
    cmgr.begin()
    cmgr.run()
    cmgr.log.clear()


def machine(*claims: str, counted: bool = True) -> Cmgr:
    """Return two chips, each a ring of its own, of which the first is being reset and the second is well again."""
    cmgr = Cmgr(container("a", 0), replace(container("b"), claims=frozenset(claims)), chips=2, ring=1)
    call(cmgr, counted=counted)
    cmgr.fault(1, REQUEST)
    cmgr.run()
    assert names(cmgr.log, StopContainer) == ["b"]
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.clears(1, REQUEST)
    cmgr.run(ListContainers, ReadRing, StopContainer, StartContainer)
    assert cmgr.phase(0) is Phase.RESETTING
    return cmgr


@pytest.mark.parametrize("claim", ["1", "1:0"])
def test_who_asks_for_a_chip_by_number_is_not_started_while_another_is_being_reset(claim: str) -> None:
    cmgr = machine(claim)
    assert names(cmgr.log, StartContainer) == []
    reason = "it asks for chips by number, and numbers mean others as long as chip 0 is being reset"
    assert start_blocker(cmgr.node, cmgr.node.holds[key("b")]).why == reason
    cmgr.answer(ResetRing)
    cmgr.wait(1)
    assert sorted(names(cmgr.log, StartContainer)) == ["a", "b"]


@pytest.mark.parametrize(("claim", "counted"), [("GPU-1", True), ("1", False)])
def test_who_asks_by_serial_is_and_so_is_everybody_where_numbers_stay_what_they_are(claim: str, counted: bool) -> None:
    assert names(machine(claim, counted=counted).log, StartContainer) == ["b"]


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        (("1", "/dev/x0"), ("asks for chip 1 by number, and has the device files of chip 0",)),
        (("0", "1", "/dev/x1"), ("asks for chips 0-1 by number, and has the device files of chip 1",)),
        (("1", "/dev/x1"), ()),
        (("1", "/dev/x0", "/dev/x1"), ()),
        (("1",), ()),
        (("GPU-1", "/dev/x1"), ()),
    ],
)
def test_who_was_given_other_chips_than_those_asked_for_by_number_is_warned_of(
    claims: tuple[str, ...], told: tuple[str, ...]
) -> None:
    cmgr = Cmgr(chips=2, ring=1)
    call(cmgr)
    cmgr.tell(facts.ContainerSeen(replace(container("c"), claims=frozenset(claims))))
    assert cmgr.booked("c").warnings == told


def test_the_logical_number_of_a_chip_is_the_one_that_was_listed_last() -> None:
    cmgr = Cmgr(chips=2, ring=1)
    cmgr.tell(facts.ChipsListed(tuple(replace(chip, logical=7 - chip.id) for chip in cmgr.chips)))
    assert [cmgr.node.chips[chip.id].logical for chip in cmgr.chips] == [7, 6]
