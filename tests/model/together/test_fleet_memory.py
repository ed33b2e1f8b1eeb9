"""Groups over appliances whose engine forgets: the round that was on goes on, by what its appliances remember."""

from cmgr.model.values.chips import ChipId
from cmgr.model.values.messages import facts
from cmgr.model.values.services.groups import GroupPhase
from cmgr.view.groups import groups
from tests.model.fleet_builders import ALL, TP, Fleet, running


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
