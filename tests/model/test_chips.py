"""Chips: what a container's claims mean, rings, and how chips are read out to a person."""

import pytest

from cmgr.model.values.chips import BY_ID, Chip, ChipId, RingId, listed, resolve, rings_of

CHIPS = {
    ChipId(n): Chip(ChipId(n), RingId(n // 4 * 4), logical=7 - n, bus=f"0000:{n:02x}:00.0", serial=f"S{n}")
    for n in range(8)
}


@pytest.mark.parametrize(
    ("claims", "chips"),
    [
        ({"3"}, {3}), ({"0", "7"}, {0, 7}), ({"all"}, set(range(8))), ({"S2"}, {2}), ({"0000:05:00.0"}, {5}),
        ({"03"}, {3}), (set(), set()), ({"all", "1"}, set(range(8))),
    ],
)  # fmt: skip
def test_claims_mean_chips(claims: set[str], chips: set[int]) -> None:
    found, warnings = resolve(claims, CHIPS, {})
    assert (set(found), warnings) == (chips, ())


@pytest.mark.parametrize("claim", ["8", "99999", "-1", "1_0", "٣", "0x1", "", " 1", "S", "all "])
def test_what_means_no_chip_is_a_warning_and_never_chip_0(claim: str) -> None:
    chips, warnings = resolve({claim, "5"}, CHIPS, {})
    assert (set(chips), warnings) == ({5}, (f"asks for chip {claim}, which this machine does not have",))


def test_a_slot_means_its_chips_and_one_that_there_is_not_means_none() -> None:
    slots = {"chat": frozenset({ChipId(4), ChipId(5)})}
    assert resolve({"cmgr.io/slot=chat"}, CHIPS, slots) == (slots["chat"], ())
    chips, warnings = resolve({"cmgr.io/slot=code"}, CHIPS, slots)
    assert (set(chips), warnings) == (set(), ("asks for slot code, which there is not: cmgr slot create code",))


def test_a_claim_is_a_physical_id_not_a_logical_one() -> None:
    assert resolve({"7"}, CHIPS, {})[0] == {7}


RENUMBERED = {
    ChipId(n): Chip(ChipId(n), RingId(n), logical=number, number=number) for number, n in enumerate((2, 3, 5, 6))
}
"""Chips that containers ask for by other numbers: 950 in four slots."""


@pytest.mark.parametrize(
    ("claims", "chips"),
    [
        ({"2"}, {5}), ({"0", "3"}, {2, 6}), ({f"{BY_ID}2"}, {2}), ({"2", f"{BY_ID}2"}, {2, 5}), ({"2:100"}, {5}),
        ({"all"}, {2, 3, 5, 6}),
    ],
)  # fmt: skip
def test_where_a_chip_has_another_number_that_is_what_claims_mean(claims: set[str], chips: set[int]) -> None:
    found, warnings = resolve(claims, RENUMBERED, {})
    assert (set(found), warnings) == (chips, ())


@pytest.mark.parametrize("claim", ["5", "6", f"{BY_ID}0", f"{BY_ID}1", f"{BY_ID}x", BY_ID])
def test_no_number_is_taken_for_an_id_nor_the_other_way_round(claim: str) -> None:
    chips, warnings = resolve({claim}, RENUMBERED, {})
    said = claim.removeprefix(BY_ID)
    assert (set(chips), warnings) == (set(), (f"asks for chip {said}, which this machine does not have",))


def test_chips_without_a_serial_are_not_all_meant_by_an_empty_claim() -> None:
    plain = {ChipId(0): Chip(ChipId(0), RingId(0), logical=0)}
    assert resolve({""}, plain, {})[0] == frozenset()


@pytest.mark.parametrize(
    ("chips", "text"),
    [
        ([3], "chip 3"), ([0, 1], "chips 0-1"), ([7, 0, 2, 1], "chips 0-2,7"), ([1, 3, 5], "chips 1,3,5"),
        ([0, 1, 4, 5, 6, 9], "chips 0-1,4-6,9"),
    ],
)  # fmt: skip
def test_chips_are_read_out_in_spans(chips: list[int], text: str) -> None:
    assert listed(ChipId(c) for c in chips) == text


def test_rings_are_made_of_their_chips_in_order() -> None:
    assert rings_of(reversed(CHIPS.values())) == {0: (0, 1, 2, 3), 4: (4, 5, 6, 7)}


def test_a_ring_keeps_its_name_when_its_first_chip_is_missing() -> None:
    assert rings_of(c for c in CHIPS.values() if c.id != 4) == {0: (0, 1, 2, 3), 4: (5, 6, 7)}
