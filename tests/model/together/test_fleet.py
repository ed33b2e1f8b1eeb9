"""Groups over appliances: all stop everywhere, none starts anywhere before all can, and nobody waits for the engine but
the start of such a group.
"""

from dataclasses import replace

from cmgr.model.containers.together.fleet_group_part import wanted
from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    Note,
    NoteKind,
    ReadGroup,
    ResetRing,
    StartContainer,
    StopContainer,
    WriteGroup,
)
from cmgr.model.values.messages.documents import Entry, EntryState, Outcome
from cmgr.model.values.messages.fleet_facts import FleetDown, FleetUp, GroupWritten
from cmgr.model.values.services.groups import GroupPhase
from tests.model.builders import Cmgr, container, key, names
from tests.model.fleet_builders import ALL, TP, Fleet, Member, running
from tests.model.walks.fleet_world import Register


def test_the_members_of_all_appliances_are_known_to_each() -> None:
    fleet = Fleet("abc")
    assert fleet.phase() == (GroupPhase.RUNNING, 0)
    assert (fleet.document.size, fleet.document.known, sorted(fleet.document.members)) == (6, 6, ["a", "b", "c"])
    assert all(each.part.whole and not each.node.groups for each in fleet.all)


def test_a_fault_on_one_stops_all_and_all_start_together() -> None:
    fleet = Fleet()
    a, b = fleet.all
    assert names(a.fault(0)) == ["r0", "r1"], "the first stop waits for nobody"
    a.answer(WriteGroup)
    b.hears()
    assert names(b.log) == ["r0", "r1"]
    fleet.settle()
    assert fleet.phase() == (GroupPhase.RUNNING, 1)
    assert (running(a), running(b)) == (ALL, ALL)
    assert [c.ring for c in a.sent(ResetRing)] == [0]
    assert not b.sent(ResetRing), "a chip is reset where it is faulty, and nowhere else"
    assert b.node.groups[TP].history[-1].number == 1
    assert "chip 0" in b.node.groups[TP].history[-1].cause


def test_none_is_started_before_every_appliance_could() -> None:
    fleet = Fleet()
    a, b = fleet.all
    b.sees(replace(b.truth[key("r1")], auto_remove=False))
    a.fault(0)
    a.run()
    assert (fleet.phase(), running(a)) == ((GroupPhase.HALTING, 1), ["x"])
    assert fleet.document.members["a"].state is EntryState.READY
    assert a.why("r0") == "group tp waits: b has not answered to round 1 yet"
    b.hears()
    b.answer(StopContainer)
    a.hears()
    a.run()
    assert running(a) == ["x"], "b still stops one"
    fleet.settle()
    assert (running(a), running(b)) == (ALL, ALL)


def test_its_why_is_told_to_the_others() -> None:
    fleet = Fleet()
    a, b = fleet.all
    b.tell(facts.IsolateOrdered(ChipId(4), "it smells", "a person"))
    a.fault(0)
    fleet.settle()
    assert fleet.document.members["b"].state is EntryState.HALTED
    assert a.why("r0") == "group tp waits: b: r1 cannot be started: chip 4 is isolated: it smells"
    b.tell(facts.ReleaseOrdered(ChipId(4), "a person"))
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 1), ALL, ALL)


def test_faults_on_two_appliances_at_once_are_one_round() -> None:
    fleet = Fleet()
    a, b = fleet.all
    a.fault(0)
    b.fault(4)
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 1), ALL, ALL)


def test_a_fault_in_mid_start_begins_the_next_round() -> None:
    fleet = Fleet()
    a, b = fleet.all
    a.fault(0)
    while fleet.phase()[0] is not GroupPhase.STARTING:
        for each in fleet.all:
            each.hears()
            each.run(StopContainer, ResetRing, WriteGroup)
            if each.pending:
                each.answer(type(each.pending[0]))
    b.fault(4)
    fleet.settle()
    assert fleet.phase()[1] >= 2
    assert (fleet.phase()[0], running(a), running(b)) == (GroupPhase.RUNNING, ALL, ALL)


def test_while_the_engine_is_away_all_but_the_start_goes_on() -> None:
    fleet = Fleet()
    a, b = fleet.all
    a.down()
    a.fault(0)
    a.fault(9)
    a.wait(30)
    assert [c.ring for c in a.sent(ResetRing)] == [0, 8]
    assert (running(a), running(b)) == (["x"], ALL), "x is nobody's business but its own"
    assert a.why("r0") == "group tp waits: the fleet's engine is away: a.example does not answer"
    assert not [r for r in a.node.rings.values() if r.in_episode], "no episode waits for it"
    a.up()
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 1), ALL, ALL)


def test_an_appliance_that_is_absent_stops_nothing_and_a_round_waits_for_it() -> None:
    fleet = Fleet()
    a, b = fleet.all
    b.down()
    fleet.settle()
    assert running(a) == ALL
    a.fault(0)
    fleet.settle()
    assert (fleet.phase(), a.why("r0")) == (
        (GroupPhase.HALTING, 1),
        "group tp waits: b has not answered to round 1 yet",
    )
    assert running(b) == ALL
    b.up()
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 1), ALL, ALL)


def test_a_person_has_the_others_go_on_without_one_which_finds_itself_out() -> None:
    fleet = Fleet()
    a, b = fleet.all
    b.down()
    a.fault(0)
    fleet.settle()
    a.tell(facts.GroupResumeOrdered(TP, "a person", without=frozenset({"b"})))
    fleet.settle()
    assert (fleet.phase(), running(a)) == ((GroupPhase.RUNNING, 1), ALL)
    b.up()
    fleet.settle()
    assert (running(b), b.sent(StopContainer)) == (ALL, [])
    b.fault(4)
    fleet.settle()
    assert (running(a), running(b), fleet.phase()[1]) == (ALL, ["x"], 1), "it is out: its fault is nobody else's"
    assert b.why("r0") == "group tp waits: this appliance was left out of it"
    a.tell(facts.GroupRestartOrdered(TP, "a person"))
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 2), ALL, ALL)
    assert fleet.document.members["b"].state is EntryState.RUNNING


def test_a_person_starts_the_members_here_alone() -> None:
    fleet = Fleet()
    a, b = fleet.all
    a.down()
    a.fault(0)
    a.run()
    a.tell(facts.GroupResumeOrdered(TP, "a person", alone=True))
    a.run()
    assert (running(a), a.part.alone) == (ALL, True)
    a.up()
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 0), ALL, ALL)


def test_a_resume_without_more_leaves_behind_what_cannot_be_started_here_and_waits_for_the_others() -> None:
    fleet = Fleet()
    a, b = fleet.all
    a.tell(facts.IsolateOrdered(ChipId(4), "it smells", "a person"))
    b.fault(0)
    fleet.settle()
    assert running(b) == ["x"]
    a.tell(facts.GroupResumeOrdered(TP, "a person"))
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 1), ["r0", "x"], ALL)


def test_an_order_to_restart_reaches_every_member_also_those_that_are_down() -> None:
    fleet = Fleet("abc")
    c = fleet["c"]
    c.dies("r1", 0, asked=True)
    fleet.settle()
    assert (running(c), fleet.phase()) == (["r0", "x"], (GroupPhase.RUNNING, 0))
    fleet["a"].tell(facts.GroupRestartOrdered(TP, "a person", "new weights"))
    fleet.settle()
    assert [running(each) for each in fleet.all] == [ALL] * 3
    assert (fleet.phase(), fleet.document.cause) == ((GroupPhase.RUNNING, 1), "ordered by a person: new weights")


def test_an_order_that_is_given_while_the_engine_is_away_is_carried_out_when_it_is_back() -> None:
    fleet = Fleet()
    a, b = fleet.all
    a.down()
    a.tell(facts.GroupRestartOrdered(TP, "a person"))
    a.run()
    assert (running(a), running(b)) == (["x"], ALL)
    a.begin()
    a.up()
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 1), ALL, ALL)
    assert b.node.groups[TP].history[-1].cause.startswith("a: ordered by a person")


def test_a_member_that_a_person_stops_opens_no_round_and_nobody_starts_it() -> None:
    fleet = Fleet()
    a, b = fleet.all
    a.dies("r0", 0, asked=True)
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 0), ["r1", "x"], ALL)


def test_a_member_whose_label_says_hands_off_keeps_the_round_waiting() -> None:
    fleet = Fleet(strategy=Strategy.NEVER)
    a, b = fleet.all
    b.fault(4)
    fleet.settle()
    assert (running(a), running(b)) == (["r0", "x"], ["x"])
    assert fleet.document.members["a"].why == "r0 runs, and its strategy is never"
    a.dies("r0", 0, asked=True)
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 1), ["r1", "x"], ALL)


def test_maintenance_on_one_appliance_keeps_the_round_waiting_and_nothing_of_it_is_stopped() -> None:
    fleet = Fleet()
    a, b = fleet.all
    a.tell(facts.MaintenanceOrdered(on=True, who="a person"))
    b.fault(4)
    fleet.settle()
    assert (running(a), running(b)) == (ALL, ["x"])
    assert "maintenance" in b.why("r0")
    a.tell(facts.MaintenanceOrdered(on=False, who="a person"))
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 1), ALL, ALL)


def test_with_fewer_members_known_than_there_are_the_group_is_a_local_one() -> None:
    engine = Register()
    a = Member(engine, "a", container("r0", 0, group=TP, group_size=3), container("r1", 4, group=TP, group_size=3))
    a.up()
    a.run()
    a.fault(0)
    a.run()
    assert (running(a), a.part.whole, a.node.groups[TP].round) == (["r0", "r1"], False, 1)


def test_a_group_whose_members_are_all_here_has_no_document() -> None:
    engine = Register()
    a = Member(engine, "a", container("r0", 0, group=TP, group_size=2), container("r1", 4, group=TP, group_size=2))
    a.up()
    a.fault(0)
    a.run()
    assert (running(a), engine.kept, a.node.fleet_groups) == (["r0", "r1"], {}, {})


def test_without_an_engine_nothing_of_a_fleet_is_known() -> None:
    a = Cmgr(container("r0", 0, group=TP, group_size=4))
    a.fault(0)
    a.run()
    assert (running(a), a.node.fleet_groups, a.sent(ReadGroup), a.sent(WriteGroup)) == (["r0"], {}, [], [])


def test_a_write_of_which_nobody_knows_whether_it_was_done_is_looked_up() -> None:
    fleet = Fleet()
    a, b = fleet.all
    a.fault(0)
    command = next(c for c in a.pending if isinstance(c, WriteGroup))
    fleet.engine.write(command)
    a.pending.remove(command)
    a.tell(GroupWritten(command.id, TP, Outcome.UNKNOWN))
    assert len(a.sent(ReadGroup)) == 1
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 1), ALL, ALL)


def test_a_write_that_failed_is_tried_again_with_a_growing_wait() -> None:
    fleet = Fleet()
    a = fleet["a"]
    a.reached = False
    a.fault(0)
    a.run()
    a.wait(60)
    assert 3 <= len(a.sent(ReadGroup)) <= 10
    assert a.part.error == "timed out"
    a.reached = True
    a.wait(11)
    fleet.settle()
    assert (fleet.phase(), a.part.error) == ((GroupPhase.RUNNING, 1), "")


def test_an_old_view_starts_nothing() -> None:
    """Paused while it saw a round start, it wakes when the next one is on."""
    fleet = Fleet()
    a, b = fleet.all
    a.fault(0)
    a.run()
    b.hears()
    b.run()
    assert fleet.phase() == (GroupPhase.STARTING, 1)
    a.hears()
    assert (len(a.sent(ReadGroup)), a.sent(StartContainer)) == (1, []), "it looks once more before it starts any"
    b.fault(4)
    b.run(WriteGroup)
    assert fleet.phase() == (GroupPhase.HALTING, 2)
    a.answer(ReadGroup)
    assert a.sent(StartContainer) == []
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 2), ALL, ALL)


def test_a_killed_cmgr_goes_on_in_every_phase() -> None:
    """It dies after each command that it sends, in turn."""
    for died in range(14):
        fleet = Fleet()
        a, b = fleet.all
        a.fault(0)
        for _ in range(died):
            for each in (a, b):
                each.hears()
                if each.pending:
                    each.answer(type(each.pending[0]))
        a.begin()
        a.up()
        fleet.settle()
        fleet["a"].wait(30)
        fleet["b"].wait(30)
        fleet.settle()
        assert (fleet.phase()[0], running(a), running(b)) == (GroupPhase.RUNNING, ALL, ALL), died


def test_a_document_that_cannot_be_read_is_left_alone_until_a_person_orders_a_restart() -> None:
    fleet = Fleet()
    a, b = fleet.all
    fleet.puts(None)
    a.hears()
    a.fault(0)
    a.run()
    assert (a.why("r0"), a.sent(WriteGroup)) == ("group tp waits: its document cannot be read: it is no JSON", [])
    a.tell(facts.GroupRestartOrdered(TP, "a person"))
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 1), ALL, ALL)


def test_an_appliance_without_members_leaves_the_document_and_the_last_takes_it_away() -> None:
    fleet = Fleet()
    a, b = fleet.all
    for name in ("r0", "r1"):
        b.removes(name)
    fleet.settle()
    assert (sorted(fleet.document.members), b.node.fleet_groups) == (["a"], {})
    for name in ("r0", "r1"):
        a.removes(name)
    fleet.settle()
    assert (fleet.engine.kept, a.node.fleet_groups) == ({}, {})


def test_a_stranger_who_writes_the_document_can_stop_and_start_the_group_and_nothing_else() -> None:
    fleet = Fleet()
    a, b = fleet.all
    fleet.puts(replace(fleet.document, round=7, phase=GroupPhase.HALTING, by="evil", cause="because"))
    fleet.settle()
    assert (fleet.phase(), running(a), running(b)) == ((GroupPhase.RUNNING, 7), ALL, ALL)
    stops = {c.name for each in fleet.all for c in each.sent(StopContainer)}
    touched = stops | {c.name for each in fleet.all for c in each.sent(StartContainer)}
    assert (touched, [each.sent(ResetRing) for each in fleet.all]) == ({"r0", "r1"}, [[], []])


def test_a_document_that_says_starting_starts_nothing_that_is_not_held() -> None:
    fleet = Fleet()
    a = fleet["a"]
    a.dies("r0", 0, asked=True)
    a.run()
    fleet.settle()
    ready = {name: replace(e, round=9, state=EntryState.READY) for name, e in fleet.document.members.items()}
    fleet.puts(replace(fleet.document, round=9, phase=GroupPhase.STARTING, members=ready))
    fleet.settle()
    assert (running(a), fleet.phase()) == (["r1", "x"], (GroupPhase.RUNNING, 9))


def test_the_document_says_how_far_each_is() -> None:
    fleet = Fleet()
    a = fleet["a"]
    a.fault(0)
    a.answer(WriteGroup)
    told = wanted(a.node, a.part, a.now).members["a"]
    assert told == Entry(1, EntryState.HALTING, "r0 is stopping", ("r0", "r1"))


def test_that_the_engine_goes_and_comes_is_in_the_timeline_once() -> None:
    a = Fleet()["a"]
    a.tell(FleetDown("timed out"))
    a.tell(FleetDown("timed out"))
    a.tell(FleetUp("1"))
    a.tell(FleetUp("1"))
    assert a.notes(NoteKind.WARNING, NoteKind.RESULT) == [
        "the fleet's engine is away: timed out",
        "the fleet's engine answers",
    ]


def test_where_the_others_are_is_in_the_timeline_of_the_episode_that_they_wait_for() -> None:
    a, b = Fleet().all
    a.fault(0)
    a.answer(WriteGroup)
    b.hears()
    b.run()
    a.hears()
    a.hears()
    told = [note for note in a.log if isinstance(note, Note) and "appliance" in note.text]
    assert [note.text for note in told] == ["group tp: appliance b is ready"]
    assert told[0].episode == a.ring().episode != 0
