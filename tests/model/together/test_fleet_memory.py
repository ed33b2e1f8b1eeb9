"""Groups over appliances whose engine forgets: the round that was on goes on, by what its appliances remember.

And documents that come late, of a time or a memory that is gone.
"""

from dataclasses import replace

from cmgr.model.values.chips import ChipId
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    ListContainers,
    ReadGroup,
    ReadRing,
    ResetRing,
    StartContainer,
    StopContainer,
    WriteGroup,
)
from cmgr.model.values.messages.documents import Seen
from cmgr.model.values.messages.fleet_facts import FleetUp, GroupSeen
from cmgr.model.values.services.groups import GroupPhase
from cmgr.view.groups import groups
from tests.model.fleet_builders import ALL, TP, Fleet, Member, running


def test_what_the_engine_has_forgotten_is_written_again_and_nobody_is_stopped() -> None:
    fleet = Fleet()
    fleet["a"].fault(0)
    fleet.settle()
    fleet.engine.forget()
    for each in fleet.all:
        each.log.clear()
        each.up()
    fleet.settle()
    assert (fleet.phase(), sorted(fleet.document.members)) == ((GroupPhase.RUNNING, 1), ["a", "b"])
    assert [each.sent(StopContainer) for each in fleet.all] == [[], []]


def test_an_engine_that_was_put_back_to_a_snapshot_in_mid_round_stops_nobody() -> None:
    fleet = Fleet()
    a, b = fleet.all
    a.fault(0)
    a.answer(WriteGroup)
    kept, revision = dict(fleet.engine.kept), fleet.engine.revision
    fleet.settle()
    assert fleet.phase() == (GroupPhase.RUNNING, 1)
    fleet.engine.kept, fleet.engine.revision = kept, revision
    for each in fleet.all:
        each.log.clear()
        each.up()
    fleet.settle()
    assert (fleet.phase(), a.sent(StopContainer), b.sent(StopContainer)) == ((GroupPhase.RUNNING, 1), [], [])


def starting() -> tuple[Fleet, Member]:
    """Return a fleet whose b is about to start the last members of a round of which the engine knows nothing again."""
    fleet = Fleet()
    a, b = fleet.all
    kept, revision = dict(fleet.engine.kept), fleet.engine.revision
    a.fault(0)
    for _ in range(9):
        a.run()
        b.run(StopContainer, ReadGroup, WriteGroup, ListContainers)
        a.hears()
        b.hears()
    assert (running(a), running(b), len(b.sent(StartContainer))) == (ALL, ["x"], 2)
    fleet.engine.kept, fleet.engine.revision = kept, revision
    a.log.clear()
    b.log.clear()
    return fleet, b


def test_members_that_are_being_started_when_the_engine_forgets_the_round_are_started_once() -> None:
    fleet, b = starting()
    for each in fleet.all:
        each.up()
        each.run(ReadGroup, WriteGroup, ListContainers)
    assert fleet.phase() == (GroupPhase.RUNNING, 1)
    fleet.settle()
    assert (fleet.phase(), running(b), b.sent(StopContainer)) == ((GroupPhase.RUNNING, 1), ALL, [])


def test_a_member_whose_start_fails_when_the_engine_has_forgotten_the_round_waits_for_the_next_one() -> None:
    fleet, b = starting()
    for each in fleet.all:
        each.up()
        each.run(ReadGroup, WriteGroup, ListContainers)
    b.answer(StartContainer, error="no")
    fleet.settle()
    assert fleet.phase()[1] == 2


def test_an_engine_that_forgets_in_mid_round_costs_another_round() -> None:
    fleet = Fleet()
    a, b = fleet.all
    a.tell(facts.IsolateOrdered(ChipId(4), "it smells", "a person"))
    a.fault(0)
    fleet.settle()
    fleet.engine.forget()
    for each in fleet.all:
        each.up()
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.HALTING, 2), ["x"], ["x"])
    a.tell(facts.ReleaseOrdered(ChipId(4), "a person"))
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 2), ALL, ALL)


def test_an_old_document_that_comes_late_is_old_news() -> None:
    fleet = Fleet()
    a = fleet["a"]
    old = fleet.engine.read(TP)
    a.fault(0)
    fleet.settle()
    a.log.clear()
    a.tell(GroupSeen(TP, old))
    assert (a.log, a.part.seen.revision) == ([], fleet.engine.revision)


def test_a_document_of_a_memory_that_the_engine_has_lost_is_believed_until_the_resync_at_most() -> None:
    """It comes after all has been read again, and has a later revision than any that there is now."""
    fleet = Fleet()
    a, b = fleet.all
    lost = Seen(replace(fleet.document, size=9), fleet.engine.revision + 9)
    a.tell(GroupSeen(TP, lost))
    b.fault(0)
    fleet.settle()
    assert a.part.seen.revision == lost.revision, "what the engine has written since is earlier, and passed by"
    for each in fleet.all:
        each.tell(facts.Resync())
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 1), ALL, ALL)


def test_an_old_document_starts_nobody_while_the_group_is_to_be_read_anew() -> None:
    """It is of a time when b had not written yet, so that the members of a were a group of their own."""
    fleet = Fleet()
    a = fleet["a"]
    alone = {"a": fleet.document.members["a"]}
    a.fault(0)
    a.tell(FleetUp(str(fleet.engine.born)))
    a.tell(GroupSeen(TP, Seen(replace(fleet.document, members=alone), 1)))
    a.run(StopContainer, ResetRing, ReadRing, ListContainers)
    assert (a.part.whole, running(a), a.sent(StartContainer)) == (True, ["x"], [])
    fleet.settle()
    assert (fleet.phase(), running(a)) == ((GroupPhase.RUNNING, 1), ALL)


def forgotten_in_mid_round() -> Fleet:
    """Return a fleet in a round that waits for a chip of a, and of which b has lost a member; the engine forgot it."""
    fleet = Fleet()
    a, b = fleet.all
    a.tell(facts.IsolateOrdered(ChipId(4), "it smells", "a person"))
    a.fault(0)
    fleet.settle()
    b.removes("r0")
    b.tell(facts.GroupResumeOrdered(TP, "a person"))
    fleet.settle()
    assert (fleet.phase(), fleet.document.known) == ((GroupPhase.HALTING, 1), 3)
    fleet.engine.forget()
    return fleet


def test_a_round_of_which_a_member_is_gone_goes_on_after_the_engine_forgot() -> None:
    fleet = forgotten_in_mid_round()
    a, b = fleet.all
    for each in fleet.all:
        each.up()
    a.tell(facts.ReleaseOrdered(ChipId(4), "a person"))
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 2), ALL, ["r1", "x"])


def test_after_the_engine_forgot_a_round_waits_for_the_appliances_that_it_was_of() -> None:
    fleet = forgotten_in_mid_round()
    a, b = fleet.all
    b.down()
    a.up()
    a.tell(facts.ReleaseOrdered(ChipId(4), "a person"))
    fleet.settle()
    assert (sorted(fleet.document.members), running(a)) == (["a"], ["x"])
    assert a.why("r0") == "group tp waits: b has not written since the engine forgot it"
    assert groups(a.node)[0]["hint"] == "to go on without b: cmgr group resume tp --without b"
    a.tell(facts.GroupResumeOrdered(TP, "a person", without=frozenset({"b"})))
    fleet.settle()
    assert (running(a), running(b)) == (ALL, ["x"])
