"""Shares of chips: a fault reaches everybody on them, and a reset that takes them is not over until they are back."""

from dataclasses import replace

import pytest

from cmgr.model.containers.moving.spares import free_chips
from cmgr.model.holds.obstacles import start_blocker
from cmgr.model.values.chips import Chip, ChipId, RingId, Share, lost_names, lost_shares, resolve, with_shares
from cmgr.model.values.handling.policy import Policy, Strategy
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    ListContainers,
    MakeShares,
    NoteKind,
    ReadRing,
    ResetRing,
    SetRestartPolicy,
    StartContainer,
    StopContainer,
)
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container
from cmgr.model.wanted import missing
from tests.model.builders import Cmgr, container, key, names

A = Share("100", "vir04", aliases=frozenset({"/dev/vdavinci100"}), by_hand="make 100")
B = Share("101", "vir02", aliases=frozenset({"/dev/vdavinci101"}), by_hand="make 101")
SINGLE = Policy(strategy=Strategy.SINGLE)


def on_share(name: str, share: Share) -> Container:
    return replace(container(name), claims=share.aliases)


def divided(*, policy: Policy = SINGLE, cures: bool = True) -> Cmgr:
    """Return a machine whose chip 0 is divided into two shares, a container on each, and one alone on chip 1."""
    cmgr = Cmgr(on_share("a", A), on_share("b", B), container("c", 1), policy=policy, ring=1)
    cmgr.shares[0] = (A, B)
    cmgr.tell(facts.Resync())
    cmgr.run()
    cmgr.cures = cures
    cmgr.log.clear()
    return cmgr


def shares(cmgr: Cmgr, chip: int = 0) -> list[tuple[str, bool]]:
    return [(share.id, share.there) for share in cmgr.node.chips[ChipId(chip)].shares]


def until_made(cmgr: Cmgr) -> None:
    """Answer everything else until shares are ordered."""
    for _ in range(200):
        if any(isinstance(c, MakeShares) for c in cmgr.pending):
            return
        if cmgr.pending:
            cmgr.answer(type(cmgr.pending[0]))
        else:
            cmgr.wait(1, run=False)
    raise AssertionError(cmgr.ring().reason)


def given_up() -> Cmgr:
    """Return a machine whose shares the driver has not made again, so that a and b wait."""
    cmgr = divided()
    cmgr.fault(0)
    for _ in range(3):
        until_made(cmgr)
        cmgr.answer(MakeShares, error="no")
    cmgr.wait(60)
    assert cmgr.held() == ["a", "b"]
    return cmgr


def test_a_fault_of_a_chip_reaches_all_containers_on_its_shares_and_nobody_else() -> None:
    cmgr = divided()
    cmgr.fault(0)
    cmgr.run()
    assert sorted(command.name for command in cmgr.sent(StopContainer)) == ["a", "b"]
    assert all(cmgr.booked(name).running for name in "abc")
    assert cmgr.held() == []


def test_shares_are_made_again_after_the_reset_and_before_anything_starts_on_their_chip() -> None:
    cmgr = divided()
    cmgr.fault(0)
    cmgr.run()
    orders = [c for c in cmgr.log if isinstance(c, ResetRing | MakeShares | StartContainer)]
    assert [type(order) for order in orders] == [ResetRing, MakeShares, StartContainer, StartContainer]
    assert isinstance(orders[1], MakeShares)
    assert [share.id for share in orders[1].shares[ChipId(0)]] == ["100", "101"]
    assert shares(cmgr) == [("100", True), ("101", True)]
    assert "chip 0 has share 100 (vir04), share 101 (vir02) after the reset" in cmgr.notes(NoteKind.RESULT)
    assert not any(share.kept for share in cmgr.node.chips[ChipId(0)].shares)


def test_the_shares_are_written_down_with_the_order_of_the_reset() -> None:
    cmgr = divided()
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    assert all(share.kept for share in cmgr.node.chips[ChipId(0)].shares)


def test_shares_that_the_driver_brings_back_by_itself_are_not_made() -> None:
    cmgr = divided()
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.run(ResetRing)
    cmgr.shares[0] = (A, B)
    cmgr.run()
    assert not cmgr.sent(MakeShares)
    assert cmgr.held() == []


def test_only_what_is_missing_is_made() -> None:
    cmgr = divided()
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.run(ResetRing)
    cmgr.shares[0] = (B,)
    cmgr.run()
    (order,) = cmgr.sent(MakeShares)
    assert [share.id for share in order.shares[ChipId(0)]] == ["100"]


@pytest.mark.parametrize("phase", [Phase.RESETTING, Phase.VERIFYING, Phase.RESUMING])
def test_killed_at_any_time_after_the_order_the_shares_are_made_all_the_same(phase: Phase) -> None:
    cmgr = divided()
    cmgr.fault(0)
    cmgr.run_until(phase)
    if phase is Phase.RESETTING:
        cmgr.run(ResetRing)  # Its answer is lost with this life.
    cmgr.begin()
    cmgr.run()
    assert shares(cmgr) == [("100", True), ("101", True)]
    assert (cmgr.held(), cmgr.phase()) == ([], Phase.HEALTHY)


def test_killed_before_they_were_made_the_episode_is_not_over_before_they_are() -> None:
    cmgr = divided()
    cmgr.fault(0)
    until_made(cmgr)
    cmgr.begin()
    assert cmgr.phase() is Phase.RESUMING
    cmgr.run()
    assert shares(cmgr) == [("100", True), ("101", True)]
    assert (cmgr.held(), cmgr.phase()) == ([], Phase.HEALTHY)
    assert len(cmgr.notes(NoteKind.CLOSED)) == 1


def test_what_cannot_be_made_again_keeps_those_down_that_ask_for_it_and_nobody_else() -> None:
    cmgr = divided()
    cmgr.fault(0)
    for _ in range(3):
        until_made(cmgr)
        cmgr.shares[0] = (B,)
        cmgr.answer(MakeShares, error="the template vir04 does not fit")
    cmgr.wait(60)
    assert cmgr.held() == ["a"]
    assert cmgr.booked("b").running
    assert len(cmgr.sent(MakeShares)) == 3
    assert shares(cmgr) == [("100", False), ("101", True)]
    assert cmgr.hold("a").state is HoldState.DOWN
    # A person makes it: the next look finds it, and the container starts.
    cmgr.shares[0] = (A, B)
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert cmgr.held() == []
    assert cmgr.booked("a").running


def test_a_new_life_tries_again_what_the_last_gave_up() -> None:
    cmgr = given_up()
    cmgr.begin()
    cmgr.run()
    assert cmgr.held() == []


def test_a_person_has_what_was_given_up_tried_again() -> None:
    cmgr = given_up()
    cmgr.tell(facts.ResumeOrdered(key("a"), "a person"))
    cmgr.run()
    assert (cmgr.held(), shares(cmgr)) == ([], [("100", True), ("101", True)])


def test_nobody_is_started_on_the_chip_while_an_order_for_another_there_keeps_its_shares_from_being_made() -> None:
    cmgr = divided()
    cmgr.sees(container("whole", 0))
    cmgr.sees(replace(cmgr.truth[key("a")], restart_policy="always:0"))
    cmgr.fault(0)
    cmgr.run(StopContainer, ListContainers, ReadRing, ResetRing)
    assert (cmgr.phase(), names(cmgr.log, StartContainer), cmgr.sent(MakeShares)) == (Phase.RESUMING, [], [])
    cmgr.run(SetRestartPolicy, ReadRing)
    assert (names(cmgr.log, StartContainer), len(cmgr.sent(MakeShares))) == ([], 1)
    cmgr.run()
    assert (cmgr.held(), shares(cmgr)) == ([], [("100", True), ("101", True)])


def test_nobody_is_started_on_the_chip_while_its_shares_are_made_though_somebody_has_started_one_there() -> None:
    cmgr = divided()
    cmgr.sees(container("whole", 0))
    cmgr.sees(container("theirs", 0, running=False))
    cmgr.fault(0)
    until_made(cmgr)
    cmgr.starts_by_hand("theirs")
    assert names(cmgr.log, StartContainer) == []
    cmgr.run()
    assert cmgr.held() == []


def test_nobody_is_started_on_a_chip_that_lacks_shares_and_does_not_answer_now() -> None:
    cmgr = divided()
    cmgr.sees(container("whole", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.tell(facts.MaintenanceOrdered(on=True, who="a person"))
    cmgr.run()
    cmgr.silent = {0}
    cmgr.tell(facts.Resync())
    cmgr.run()
    cmgr.tell(facts.MaintenanceOrdered(on=False, who="a person"))
    assert (cmgr.phase(), names(cmgr.log, StartContainer), cmgr.sent(MakeShares)) == (Phase.HEALTHY, [], [])
    cmgr.silent = set()
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (cmgr.held(), shares(cmgr)) == ([], [("100", True), ("101", True)])


def test_of_a_share_that_cannot_be_made_it_is_told_who_is_on_its_chip() -> None:
    cmgr = divided()
    cmgr.sees(container("theirs", 0, running=False, enabled=False))
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.starts_by_hand("theirs")
    cmgr.run()
    blocker = start_blocker(cmgr.node, cmgr.hold("a"))
    assert blocker.why == "share 100 (vir04) of chip 0 is not there since the reset: theirs runs on the chip"
    cmgr.dies("theirs", 0)
    cmgr.run()
    assert cmgr.held() == []


def test_one_that_dies_before_it_is_known_what_its_share_s_name_means_is_missed() -> None:
    cmgr = Cmgr(on_share("a", A), ring=1)
    cmgr.shares[0] = (A,)
    cmgr.run(ListContainers)
    cmgr.dies("a", 1)
    cmgr.run()
    assert missing(cmgr.node) == (key("a"),)


def test_shares_that_nobody_asks_for_are_made_too_and_forgotten_when_that_fails() -> None:
    cmgr = Cmgr(container("c", 1), policy=SINGLE, ring=1)
    cmgr.shares[0] = (A,)
    cmgr.tell(facts.Resync())
    cmgr.run()
    cmgr.fault(0)
    for _ in range(3):
        until_made(cmgr)
        cmgr.answer(MakeShares, error="no")
    cmgr.wait(60)
    assert cmgr.phase() is Phase.HEALTHY
    assert shares(cmgr) == []
    assert any("has lost share 100 (vir04) in the reset" in text for text in cmgr.notes(NoteKind.WARNING))


def test_no_reset_begins_while_shares_are_made() -> None:
    cmgr = divided()
    cmgr.fault(0)
    until_made(cmgr)
    making = next(c for c in cmgr.pending if isinstance(c, MakeShares))
    cmgr.pending.remove(making)
    cmgr.fault(0)
    cmgr.run()
    assert len(cmgr.sent(ResetRing)) == 1
    assert "waits until its shares are made again" in cmgr.ring().reason
    cmgr.pending.append(making)
    cmgr.run()
    assert len(cmgr.sent(ResetRing)) == 2
    assert cmgr.held() == []


def test_a_share_that_a_person_destroys_is_not_made_again() -> None:
    cmgr = divided()
    cmgr.shares[0] = (A,)
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert shares(cmgr) == [("100", True)]
    assert not cmgr.sent(MakeShares)


def test_a_divided_chip_is_nobody_s_spare() -> None:
    cmgr = Cmgr(policy=SINGLE, ring=1, chips=2)
    cmgr.shares[0] = (A,)
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert free_chips(cmgr.node) == (1,)


def chip(*found: Share) -> Chip:
    return with_shares(Chip(ChipId(0), RingId(0), 0), found)


def test_an_instance_in_the_same_place_and_of_the_same_make_stands_in_for_the_lost_one() -> None:
    old = Share("MIG-1", "1g.10gb", aliases=frozenset({"MIG-1", "0:0"}), kept=True)
    new = Share("MIG-2", "1g.10gb", aliases=frozenset({"MIG-2", "0:0"}))
    now = with_shares(replace(chip(old), shares=(old,)), (new,))
    assert lost_shares(now) == ()
    # Its place is there again, and its own name is not.
    assert lost_names(now).keys() == {"MIG-1"}
    other = with_shares(replace(chip(old), shares=(old,)), (replace(new, template="2g.20gb"),))
    assert [share.id for share in lost_shares(other)] == ["MIG-1"]


@pytest.mark.parametrize(
    ("claim", "meant"),
    [
        ("/dev/vdavinci100", {0}),
        ("0:1", {0}),
        ("1:0", {1}),
        ("/dev/vdavinci116", {1}),
        ("9:0", set()),
        ("100", {0}),
        ("1", {1}),
        ("117", set()),
    ],
)
def test_a_share_is_its_chip_s(claim: str, meant: set[int]) -> None:
    # The driver's word counts more than what numbers usually mean.
    chips = {
        ChipId(0): chip(replace(A, aliases=A.aliases | {"100"})),
        ChipId(1): replace(chip(), id=ChipId(1), aliases=frozenset({"/dev/vdavinci100", "/dev/vdavinci116"})),
    }
    assert resolve({claim}, chips, {})[0] == meant
