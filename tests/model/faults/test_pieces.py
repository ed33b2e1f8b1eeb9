"""Chips are pieces of hardware: whatever number the driver gives one, what is remembered of it stays with it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.containers.moving.spares import free_chips
from cmgr.model.pieces import APART, matched
from cmgr.model.values.chips import Chip, ChipId, RingId
from cmgr.model.values.faults import FaultCode
from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ReadRing, StopContainer
from cmgr.model.values.messages.piece_facts import ChipForgetOrdered
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container
from cmgr.view.troubles import troubles
from tests.model.builders import RING, SEPARATE, Cmgr, container, key, names

WHO = "uid 0 (root)"


def cards(*pieces: str, ring: int = 1) -> tuple[Chip, ...]:
    """Return chips with these words burnt in, numbered as they stand here."""
    return tuple(
        Chip(ChipId(n), RingId(n // ring * ring), n, bus=f"0000:{n:02x}:00.0", serial=piece)
        for n, piece in enumerate(pieces)
    )


def machine(*containers: Container, chips: Sequence[Chip] = cards(*"abcd"), policy: Policy = RING) -> Cmgr:
    cmgr = Cmgr(*containers, policy=policy, chips=len(chips), ring=1)
    cmgr.chips = tuple(chips)
    cmgr.begin()
    cmgr.run()
    cmgr.log.clear()
    return cmgr


def reborn(cmgr: Cmgr, *chips: Chip) -> None:
    """Let another life begin, in which the driver lists these."""
    cmgr.chips = chips
    cmgr.begin()
    cmgr.run()


def missing(cmgr: Cmgr) -> list[tuple[int, str]]:
    return [(lost.number, lost.chip.piece) for lost in cmgr.node.missing.values()]


def numbers(cmgr: Cmgr, name: str) -> list[ChipId]:
    """Return the chips that the container is booked on."""
    return sorted(cmgr.booked(name).kept.chips)


def texts(cmgr: Cmgr) -> list[str]:
    return [trouble.words for trouble in troubles(cmgr.node)]


def gone(*pieces: str) -> tuple[Chip, ...]:
    """Return chips whose bus addresses, too, stayed with them, as where one was taken out of the machine."""
    bus = {piece: f"0000:{place:02x}:00.0" for place, piece in enumerate("abcdefgh")}
    return tuple(replace(chip, bus=bus[chip.serial]) for chip in cards(*pieces))


def test_an_isolation_stays_with_its_piece_when_one_before_it_is_missing() -> None:
    cmgr = machine()
    cmgr.tell(facts.IsolateOrdered(ChipId(2), "its fan is loud", WHO))
    reborn(cmgr, *gone(*"acd"))
    assert {c: i.reason for c, i in cmgr.node.isolations.items()} == {1: "its fan is loud"}
    assert cmgr.node.isolations[ChipId(1)].chip == 1
    assert free_chips(cmgr.node) == (0, 2)
    assert "the driver has renumbered the chips: chip 2 is chip 1 now, chip 3 is chip 2 now" in cmgr.notes()
    assert missing(cmgr) == [(1, "b")]


def test_two_cards_that_were_swapped_swap_what_is_remembered_of_them() -> None:
    cmgr = machine()
    cmgr.tell(facts.IsolateOrdered(ChipId(0), "loud", WHO))
    cmgr.tell(facts.SlotOrdered("one", WHO, frozenset({ChipId(3)})))
    reborn(cmgr, *cards(*"dbca"))
    assert [*cmgr.node.isolations] == [3]
    assert cmgr.node.slots["one"].chips == cmgr.node.slots["one"].home == {0}
    assert not cmgr.node.missing


def test_the_budget_of_resets_and_the_counts_of_faults_go_with_the_piece() -> None:
    cmgr = machine(policy=replace(RING, reset=replace(RING.reset, window=timedelta(hours=1))))
    cmgr.fault(2)
    cmgr.wait(60)
    before, resets = cmgr.node.tallies, cmgr.ring(2).resets
    assert len(resets) == 1
    reborn(cmgr, *gone(*"acd"))
    assert (cmgr.ring(1).resets, cmgr.ring(2).resets) == (resets, ())
    assert {(1, code): tally.times for (_, code), tally in before.items()} == {
        k: tally.times for k, tally in cmgr.node.tallies.items()
    }


def test_an_episode_goes_on_with_its_piece_and_its_container_under_the_new_number() -> None:
    cmgr = machine(container("a", 2, claims=frozenset({"c"})))
    cmgr.unbooted = {2}
    cmgr.fault(2)
    cmgr.wait(20)
    assert cmgr.ring(2).in_episode
    cmgr.unbooted, cmgr.faults = set(), {n: set() for n in range(4)}
    reborn(cmgr, *gone(*"acd"))
    assert (numbers(cmgr, "a"), cmgr.phase(2)) == ([1], Phase.HEALTHY)
    cmgr.wait(60)
    assert (cmgr.booked("a").running, cmgr.phase(1), cmgr.node.holds) == (True, Phase.HEALTHY, {})


def test_what_a_container_names_by_number_stays_that_piece_until_its_next_start() -> None:
    cmgr = machine(container("a", 2))
    reborn(cmgr, *gone(*"acd"))
    assert cmgr.booked("a").kept.chips == {1}, "it runs on the piece that was 2 when it was started"
    cmgr.log.clear()
    cmgr.fault(2, SEPARATE)
    assert not cmgr.sent(StopContainer)
    cmgr.starts("a", "life 2")
    assert cmgr.booked("a").kept.chips == {2}


def test_what_is_down_and_names_its_chip_by_number_is_started_on_the_chip_of_that_number() -> None:
    cmgr = machine(container("a", 1))
    cmgr.unbooted = {1}
    cmgr.fault(1)
    cmgr.wait(20)
    assert cmgr.held() == ["a"]
    cmgr.unbooted, cmgr.faults = set(), {n: set() for n in range(4)}
    cmgr.chips = gone(*"acd")
    cmgr.begin()
    assert cmgr.hold("a").chips == {1}
    cmgr.wait(60)
    assert (cmgr.booked("a").running, numbers(cmgr, "a")) == (True, [1])


def test_a_piece_that_is_missing_is_a_trouble_until_a_person_says_that_it_is_gone() -> None:
    cmgr = machine()
    cmgr.tell(facts.IsolateOrdered(ChipId(3), "loud", WHO))
    reborn(cmgr, *gone(*"abc"))
    (said,) = (text for text in texts(cmgr) if "missing" in text)
    assert said == "chip 3 (d) is missing: the driver lists it no more; it was isolated: loud"
    reborn(cmgr, *gone(*"abc"))
    assert len([text for text in texts(cmgr) if "missing" in text]) == 1
    cmgr.tell(ChipForgetOrdered(ChipId(3), WHO))
    assert (cmgr.node.missing, cmgr.node.isolations) == ({}, {})
    assert not [text for text in texts(cmgr) if "missing" in text]
    reborn(cmgr, *gone(*"abcd"))
    assert not cmgr.node.isolations, "a piece that was forgotten comes as a new one"


@pytest.mark.parametrize("again", ["abcd", "acdb"])
def test_a_piece_that_comes_back_has_what_was_remembered_of_it_whatever_its_number(again: str) -> None:
    cmgr = machine()
    cmgr.tell(facts.IsolateOrdered(ChipId(1), "loud", WHO))
    reborn(cmgr, *gone(*"acd"))
    (kept,) = cmgr.node.isolations
    assert kept > APART, "its number is another one's now"
    reborn(cmgr, *gone(*again))
    assert ([*cmgr.node.isolations], missing(cmgr)) == ([again.index("b")], [])
    assert f"chip 1 (b) is there again: it is chip {again.index('b')} now" in cmgr.notes(NoteKind.WARNING)


def test_a_piece_that_is_found_while_cmgr_runs_has_what_was_remembered_of_it() -> None:
    cmgr = machine(container("a", 3))
    cmgr.tell(facts.IsolateOrdered(ChipId(3), "loud", WHO))
    reborn(cmgr, *gone(*"abc"))
    assert cmgr.booked("a").kept.chips == frozenset()
    cmgr.tell(facts.ChipsListed(gone(*"abcd")))
    assert ([*cmgr.node.isolations], missing(cmgr)) == ([3], [])
    assert cmgr.booked("a").kept.chips == {3}, "it may have run on it all the time"


def test_another_card_in_the_place_of_one_has_none_of_its_memories() -> None:
    cmgr = machine()
    cmgr.tell(facts.IsolateOrdered(ChipId(1), "loud", WHO))
    reborn(cmgr, *cards(*"axcd"))
    assert [*cmgr.node.isolations] != [1]
    assert missing(cmgr) == [(1, "b")]
    assert 1 in free_chips(cmgr.node)


def test_a_driver_that_begins_without_chips_loses_nothing_once_it_lists_them() -> None:
    cmgr = machine()
    cmgr.tell(facts.IsolateOrdered(ChipId(1), "loud", WHO))
    reborn(cmgr)
    assert len(cmgr.node.missing) == 4
    cmgr.tell(facts.ChipsListed(cards(*"abcd")))
    assert ([*cmgr.node.isolations], missing(cmgr), [*cmgr.node.rings]) == ([1], [], [0, 1, 2, 3])


def test_when_numbers_change_while_cmgr_runs_everything_is_looked_at_anew() -> None:
    cmgr = machine(container("a", 2))
    cmgr.tell(facts.IsolateOrdered(ChipId(2), "loud", WHO))
    cmgr.log.clear()
    cmgr.chips = gone(*"acd")
    cmgr.tell(facts.ChipsListed(cmgr.chips))
    assert ([*cmgr.node.isolations], missing(cmgr), numbers(cmgr, "a")) == ([1], [(1, "b")], [1])
    assert {read.ring for read in cmgr.sent(ReadRing)} == {0, 1, 2}
    cmgr.run()
    cmgr.tell(facts.ReleaseOrdered(ChipId(1), WHO))
    cmgr.log.clear()
    cmgr.fault(1)
    assert names(cmgr.log) == ["a"], "what it does is done to the piece of today's number"


def test_a_chip_in_the_middle_of_a_reset_that_is_not_listed_is_not_missing() -> None:
    cmgr = machine(container("a", 3))
    cmgr.fault(3)
    cmgr.run_until(Phase.RESETTING, 3)
    cmgr.chips = gone(*"abc")
    cmgr.begin()
    assert (3 in cmgr.node.chips, missing(cmgr)) == (True, [])


def test_of_two_rings_each_keeps_its_order_to_be_reset_and_what_holds_it_back() -> None:
    first, second = cards(*"abcd", ring=2), cards(*"cdab", ring=2)
    cmgr = machine(container("a", 0), chips=first)
    cmgr.node = replace(cmgr.node, restraint=replace(cmgr.node.restraint, waived=frozenset({RingId(2)})))
    cmgr.tell(facts.IsolateOrdered(ChipId(3), "loud", WHO))
    cmgr.chips = second
    cmgr.begin()
    assert ([*cmgr.node.restraint.waived], [*cmgr.node.isolations]) == ([0], [1])


def on_board(board: str, *places: int, first: int = 0, bus: bool = True) -> list[Chip]:
    return [
        Chip(ChipId(n), RingId(0), n, device=place, board=board, bus=f"0000:{n:02x}:00.0" if bus else "")
        for n, place in enumerate(places, first)
    ]


def test_chips_of_one_board_share_its_serial_number_and_are_told_apart_by_their_places() -> None:
    before = [*on_board("B1", 0, 1), *on_board("B2", 0, 1, first=2)]
    now = [*on_board("B2", 0, 1), *on_board("B1", 0, 1, first=2)]
    assert matched(before, now) == {0: 2, 1: 3, 2: 0, 3: 1}


def test_a_serial_number_that_several_chips_have_at_one_place_says_nothing() -> None:
    before = [*on_board("NA", 0), *on_board("NA", 0, first=1)]
    assert matched(before, before[:1]) == {0: 0}, "their bus addresses tell them apart"
    swapped = [replace(before[0], bus=before[1].bus), replace(before[1], bus=before[0].bus)]
    assert matched(before, swapped) == {0: 1, 1: 0}


def test_a_chip_whose_burnt_in_word_cannot_be_read_today_is_found_by_its_bus_address() -> None:
    before, now = cards(*"abc"), cards("a", "", "c")
    assert matched(before, now) == {0: 0, 1: 1, 2: 2}
    # But not where the address is another piece's now, which says so.
    assert matched(before, [replace(now[0], serial="b"), *now[1:]]) == {1: 0, 2: 2}


def test_what_was_burnt_in_is_remembered_when_a_later_life_cannot_read_it() -> None:
    cmgr = machine()
    cmgr.tell(facts.IsolateOrdered(ChipId(1), "loud", WHO))
    reborn(cmgr, *cards("a", "", "c", "d"))
    assert cmgr.node.chips[ChipId(1)].serial == "b"
    reborn(cmgr, *cards("b", "a", "c", "d"))
    assert [*cmgr.node.isolations] == [0]


def test_without_anything_else_the_number_is_what_tells_chips_apart() -> None:
    bare = [Chip(ChipId(n), RingId(n), n) for n in range(3)]
    assert matched(bare, bare[:2]) == {0: 0, 1: 1}
    assert [chip.piece for chip in (bare[0], cards("", "b")[0], on_board("B", 1)[0])] == [
        "", "at bus address 0000:00:00.0", "place 1 of board B",
    ]  # fmt: skip


def test_an_isolated_chip_that_an_older_cmgr_knew_to_be_gone_is_missing() -> None:
    cmgr = machine()
    cmgr.tell(facts.IsolateOrdered(ChipId(3), "loud", WHO))
    left = {c: chip for c, chip in cmgr.node.chips.items() if c != 3}
    cmgr.node = replace(cmgr.node, chips=left)
    reborn(cmgr, *gone(*"abc"))
    assert (missing(cmgr), [*cmgr.node.isolations]) == ([(3, "")], [3])


def test_a_fault_of_a_piece_is_never_another_one_s() -> None:
    cmgr = machine()
    cmgr.fault(1, SEPARATE)
    cmgr.run()
    cmgr.faults = {0: set(), 1: set(), 2: set(), 3: set()}
    cmgr.chips = gone(*"acd")
    cmgr.begin()
    assert not cmgr.node.faults.get(ChipId(1))
    assert FaultCode(SEPARATE) not in {code for chip, code in cmgr.node.tallies if chip == 1}
    assert key("a") not in cmgr.node.holds
