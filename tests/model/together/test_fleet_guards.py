"""The guards of the agreement between appliances. Each test fails without its guard."""

from dataclasses import replace

from cmgr.model.values.chips import ChipId
from cmgr.model.values.fleet import Engine, FleetGroup, gate
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ReadGroup, StartContainer, StopContainer, WriteGroup
from cmgr.model.values.messages.documents import Document, Entry, EntryState, Seen
from cmgr.model.values.services.groups import GroupPhase
from tests.model.builders import names
from tests.model.fleet_builders import ALL, TP, Fleet, running


def waiting(on: str = "b") -> Fleet:
    """Return a fleet in its first round, which waits for a chip of this appliance."""
    fleet = Fleet()
    fleet[on].tell(facts.IsolateOrdered(ChipId(4), "it smells", "a person"))
    fleet["a"].fault(0)
    fleet.settle()
    assert (fleet.phase(), running(fleet["a"]), running(fleet["b"])) == ((GroupPhase.HALTING, 1), ["x"], ["x"])
    return fleet


def test_a_round_that_is_followed_already_stops_nobody_who_was_started_alone_since() -> None:
    fleet = waiting()
    a = fleet["a"]
    a.tell(facts.GroupResumeOrdered(TP, "a person", alone=True))
    fleet.settle()
    assert (running(a), a.part.alone, fleet.phase()) == (ALL, True, (GroupPhase.HALTING, 1))


def test_who_was_started_alone_is_stopped_by_the_next_round_and_waits_for_the_others_again() -> None:
    fleet = waiting()
    a, b = fleet.all
    a.tell(facts.GroupResumeOrdered(TP, "a person", alone=True))
    fleet.settle()
    b.tell(facts.GroupRestartOrdered(TP, "a person"))
    fleet.settle()
    assert (fleet.phase(), a.part.alone, running(a)) == ((GroupPhase.HALTING, 2), False, ["x"])


def test_an_order_to_restart_reaches_who_was_started_alone_also_when_a_member_is_gone() -> None:
    fleet = waiting()
    a, b = fleet.all
    a.tell(facts.GroupResumeOrdered(TP, "a person", alone=True))
    b.removes("r0")
    fleet.settle()
    assert (b.part.whole, running(a)) == (False, ALL)
    b.tell(facts.GroupRestartOrdered(TP, "a person"))
    b.tell(facts.ReleaseOrdered(ChipId(4), "a person"))
    fleet.settle()
    assert (fleet.phase(), a.part.alone, running(a), running(b)) == ((GroupPhase.RUNNING, 2), False, ALL, ["r1", "x"])


def test_who_cannot_start_any_more_when_the_others_do_has_all_of_them_stop_again() -> None:
    fleet = waiting()
    a, b = fleet.all
    a.tell(facts.IsolateOrdered(ChipId(0), "it smells", "a person"))  # Its entry still says that it is ready.
    b.tell(facts.ReleaseOrdered(ChipId(4), "a person"))
    b.run()
    assert (fleet.phase(), running(b)) == ((GroupPhase.STARTING, 1), ALL)
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.HALTING, 2), ["x"], ["x"])


def test_a_round_waits_for_members_that_are_removed_in_it() -> None:
    fleet = waiting()
    a, b = fleet.all
    for name in ("r0", "r1"):
        b.removes(name)
    b.tell(facts.ReleaseOrdered(ChipId(4), "a person"))
    fleet.settle()
    assert (fleet.phase(), running(a), b.node.groups[TP].in_round) == ((GroupPhase.HALTING, 1), ["x"], True)


def test_a_round_that_is_not_followed_yet_says_nothing_of_whom_this_one_waits_for() -> None:
    entry = Entry(2, EntryState.HALTED, "ring 0 is resetting", ("r0",))
    later = Document(4, 2, GroupPhase.HALTING, "b", "a fault", "", members={"b": entry})
    group = FleetGroup(TP, round=2, phase=GroupPhase.HALTING, held=1, whole=True, seen=Seen(later, 1))
    assert gate(Engine("a", up=True), group) == "the others are told that it stops"
    assert gate(Engine("a", up=True), replace(group, held=2)) == "b: ring 0 is resetting"


def test_an_appliance_that_was_left_out_of_a_round_does_not_stop_its_members_for_it() -> None:
    fleet = Fleet()
    a, b = fleet.all
    b.down()
    a.tell(facts.IsolateOrdered(ChipId(4), "it smells", "a person"))
    a.fault(0)
    fleet.settle()
    a.tell(facts.GroupResumeOrdered(TP, "a person", without=frozenset({"b"})))
    fleet.settle()
    b.up()
    fleet.settle()
    assert (fleet.phase(), running(b), b.sent(StopContainer)) == ((GroupPhase.HALTING, 1), ALL, [])


def test_a_snapshot_of_an_earlier_round_stops_nobody() -> None:
    fleet = Fleet()
    a, b = fleet.all
    a.fault(0)
    b.hears()
    a.run()
    kept, revision = dict(fleet.engine.kept), fleet.engine.revision
    assert fleet.phase() == (GroupPhase.HALTING, 1)
    fleet.settle()
    b.fault(4)
    fleet.settle()
    assert fleet.phase() == (GroupPhase.RUNNING, 2)
    fleet.engine.kept, fleet.engine.revision = kept, revision
    for each in fleet.all:
        each.log.clear()
        each.up()
    fleet.settle()
    assert (fleet.phase(), a.sent(StopContainer), b.sent(StopContainer)) == ((GroupPhase.RUNNING, 2), [], [])


def test_an_appliance_without_members_follows_no_round() -> None:
    fleet = Fleet()
    a, b = fleet.all
    b.down()
    for name in ("r0", "r1"):
        b.removes(name)
    a.fault(0)
    fleet.settle()
    b.log.clear()
    b.up()
    fleet.settle()
    assert (b.notes(NoteKind.HOLD), sorted(fleet.document.members), running(a)) == ([], ["a"], ALL)


def test_one_that_is_left_out_while_no_round_is_on_is_not() -> None:
    fleet = Fleet()
    fleet["a"].tell(facts.GroupResumeOrdered(TP, "a person", without=frozenset({"b"})))
    fleet["a"].dies("r0", 0, asked=True)
    fleet.settle()
    assert fleet.document.members["b"].state is EntryState.RUNNING
    fleet["a"].fault(4)
    fleet.settle()
    assert (fleet.phase(), fleet.document.members["b"].state) == ((GroupPhase.RUNNING, 1), EntryState.RUNNING)
    assert "r1" in names(fleet["b"].log), "nor is it out of the next round"


def test_nobody_leaves_itself_out() -> None:
    fleet = waiting()
    fleet["a"].tell(facts.GroupResumeOrdered(TP, "a person", without=frozenset({"a"})))
    fleet["b"].tell(facts.ReleaseOrdered(ChipId(4), "a person"))
    fleet.settle()
    assert {entry.state for entry in fleet.document.members.values()} == {EntryState.RUNNING}
    assert (running(fleet["a"]), running(fleet["b"])) == (ALL, ALL)


def test_in_maintenance_an_appliance_begins_no_round_for_what_it_held_before() -> None:
    fleet = Fleet()
    a, b = fleet.all
    a.down()
    a.fault(0)
    a.run()
    a.tell(facts.MaintenanceOrdered(on=True, who="a person"))
    a.up()
    fleet.settle()
    assert (fleet.phase(), running(b)) == ((GroupPhase.RUNNING, 0), ALL)
    a.tell(facts.MaintenanceOrdered(on=False, who="a person"))
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 1), ALL, ALL)


def test_an_order_to_restart_during_an_ordered_round_is_another_one() -> None:
    fleet = Fleet()
    a, b = fleet.all
    b.tell(facts.IsolateOrdered(ChipId(4), "it smells", "a person"))
    for number in (1, 2):
        a.tell(facts.GroupRestartOrdered(TP, "a person"))
        fleet.settle()
        assert (fleet.phase(), fleet.document.ordered, a.part.restart) == ((GroupPhase.HALTING, number), True, 0)


def test_whoever_was_started_alone_is_waited_for_and_never_counts_as_down() -> None:
    fleet = waiting()
    a, b = fleet.all
    a.tell(facts.GroupResumeOrdered(TP, "a person", alone=True))
    b.tell(facts.ReleaseOrdered(ChipId(4), "a person"))
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.HALTING, 1), ALL, ["x"])
    assert b.why("r0") == "group tp waits: a: a person has started the members here without the others"


def test_after_the_engine_was_away_it_is_looked_once_more_before_the_next_member_starts() -> None:
    fleet = Fleet(order=1)
    a, b = fleet.all
    a.fault(0)
    a.run()
    b.hears()
    b.run()
    a.hears()
    a.answer(ReadGroup)
    assert (fleet.phase(), names(a.log, StartContainer)) == ((GroupPhase.STARTING, 1), ["r1"])
    a.down()
    b.fault(4)
    b.run(WriteGroup)
    a.up()
    a.answer(StartContainer)
    assert (fleet.phase(), names(a.log, StartContainer)) == ((GroupPhase.HALTING, 2), ["r1"])
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 2), ALL, ALL)


def test_an_order_that_was_given_while_the_engine_was_away_reaches_those_who_are_down_elsewhere() -> None:
    fleet = Fleet()
    a, b = fleet.all
    b.dies("r1", 0, asked=True)
    fleet.settle()
    a.down()
    a.tell(facts.GroupRestartOrdered(TP, "a person"))
    a.run()
    a.up()
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 1), ALL, ALL)
