"""The downtime of services is counted once, by its cause, from when they went down until they serve again."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Policy, Strategy
from cmgr.model.values.handling.questions import question
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, StartContainer, StopContainer
from cmgr.model.values.messages.health_facts import Answered
from cmgr.model.values.services.containers import HEALTHY, UNHEALTHY, Heal
from cmgr.model.values.services.outages import Days, Downtime, Outage, OutageCause, added, booked
from tests.model.builders import RING, T0, Cmgr, container, key

DAY = timedelta(days=1)
MIDNIGHT = datetime(2026, 1, 2, tzinfo=UTC)
WEB = "docker//a"
NEVER = Policy(strategy=Strategy.NEVER)


def spent(cmgr: Cmgr) -> dict[OutageCause, Downtime]:
    """Return what the service a was down for, by cause: all tests are over within a day."""
    return {day.cause: day for day in cmgr.node.downtime.values() if day.service == WEB}


def about(length: timedelta, seconds: float) -> bool:
    """Return whether it is that long, but for the steps of a millisecond in which events are told."""
    return abs(length - timedelta(seconds=seconds)) < timedelta(milliseconds=100)


def causes(cmgr: Cmgr) -> dict[str, OutageCause]:
    return {outage.service: outage.cause for outage in cmgr.node.outages.values()}


def test_a_recovery_is_down_from_its_stop_until_the_service_serves_and_is_cmgrs() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 4), policy=RING, settle=30)
    cmgr.fault(0)
    cmgr.run(ListContainers)
    assert causes(cmgr) == {}, "it runs until it is stopped"
    cmgr.wait(60)
    assert (cmgr.held(), cmgr.node.outages) == ([], {})
    (down,) = spent(cmgr).values()
    assert (down.cause, down.outages, down.recoveries, down.recovered) == (OutageCause.FAULT, 1, 1, down.down)
    assert timedelta() < down.down < timedelta(seconds=5), "the time in which it shows that it stays up does not count"
    assert {day.service for day in cmgr.node.downtime.values()} == {WEB}


def test_a_start_that_does_not_stay_up_has_ended_nothing() -> None:
    cmgr = Cmgr(container("a", 0), policy=RING, settle=30)
    cmgr.fault(0)
    cmgr.run()
    cmgr.wait(10)
    cmgr.dies("a")
    assert spent(cmgr) == {}
    cmgr.wait(100)
    (down,) = spent(cmgr).values()
    assert (down.outages, down.recoveries) == (1, 1)
    assert down.down > timedelta(seconds=10), "it has been out all the time"


def test_one_that_is_asked_is_down_until_it_answers() -> None:
    cmgr = Cmgr(container("a", 0, ready=question("http://:8000/health")), policy=RING, settle=30)
    cmgr.fault(0)
    cmgr.run()
    cmgr.wait(300)
    assert (causes(cmgr), spent(cmgr)) == ({WEB: OutageCause.FAULT}, {})
    cmgr.tell(Answered(key("a"), cmgr.booked("a").run, question("http://:8000/health"), HEALTHY, "HTTP 200"))
    cmgr.wait(60)
    (down,) = spent(cmgr).values()
    assert about(down.down, 300)
    assert down.recoveries == 1


def test_what_a_person_stops_pauses_or_removes_is_not_counted() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1), container("c", 2))
    cmgr.dies("a", 137, asked=True)
    cmgr.sees(replace(cmgr.truth[key("b")], frozen=True))
    cmgr.removes("c")
    cmgr.wait(600)
    assert (cmgr.node.outages, cmgr.node.downtime) == ({}, {})


def test_one_that_was_paused_is_down_from_when_it_is_stopped() -> None:
    cmgr = Cmgr(container("a", 0), policy=RING)
    cmgr.fault(0)
    cmgr.sees(replace(cmgr.truth[key("a")], frozen=True))
    cmgr.run(StopContainer)
    assert causes(cmgr) == {WEB: OutageCause.FAULT}


def test_one_that_dies_by_itself_is_down_by_itself_until_somebody_starts_it_and_that_is_no_recovery() -> None:
    cmgr = Cmgr(container("a", 0), policy=NEVER)
    cmgr.dies("a")
    assert causes(cmgr) == {WEB: OutageCause.ITSELF}
    cmgr.wait(120)
    cmgr.starts("a", "by hand")
    cmgr.wait(60)
    (down,) = spent(cmgr).values()
    assert (down.cause, down.outages, down.recoveries, down.recovered) == (OutageCause.ITSELF, 1, 0, timedelta())
    assert about(down.down, 120)


def test_one_that_a_person_starts_while_it_is_held_was_not_recovered_by_cmgr() -> None:
    cmgr = Cmgr(container("a", 0), policy=RING)
    cmgr.cures = False
    cmgr.fault(0)
    cmgr.run(ListContainers)
    cmgr.wait(30)
    assert causes(cmgr) == {WEB: OutageCause.FAULT}
    cmgr.tell(facts.ForgetOrdered(key("a"), "a"))
    cmgr.run()
    (down,) = spent(cmgr).values()
    assert (down.outages, down.recoveries) == (1, 0)


def test_one_that_is_healed_is_down_from_when_it_ailed() -> None:
    cmgr = Cmgr(container("a", 0, heal=Heal(), health=HEALTHY, says_within=timedelta(seconds=5)))
    cmgr.sees(replace(cmgr.truth[key("a")], health=UNHEALTHY))
    assert causes(cmgr) == {WEB: OutageCause.ITSELF}
    cmgr.wait(60)
    cmgr.run()
    assert causes(cmgr) in ({WEB: OutageCause.HEAL}, {})
    cmgr.sees(replace(cmgr.truth[key("a")], health=HEALTHY))
    cmgr.wait(60)
    (down,) = spent(cmgr).values()
    assert (down.cause, down.recoveries) == (OutageCause.HEAL, 1)


def test_an_ordered_reset_is_the_doing_of_who_ordered_it() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.ResetOrdered(ChipId(0), "uid 0", stop=True))
    cmgr.wait(60)
    (down,) = spent(cmgr).values()
    assert (down.cause, down.recoveries) == (OutageCause.ORDER, 1)


def test_a_fault_that_nobody_acts_on_is_to_blame_all_the_same() -> None:
    cmgr = Cmgr(container("a", 0), policy=replace(RING, observe=True))
    cmgr.fault(0)
    cmgr.dies("a")
    assert causes(cmgr) == {WEB: OutageCause.FAULT}


def test_what_goes_down_while_a_person_works_on_the_machine_is_told_apart() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.MaintenanceOrdered(True, "uid 0"))
    cmgr.dies("a")
    assert causes(cmgr) == {WEB: OutageCause.MAINTENANCE}


def test_who_is_in_the_same_life_after_a_restart_of_cmgr_has_been_as_he_was() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1), policy=NEVER)
    cmgr.dies("b")
    began = cmgr.node.outages[key("b")].since
    alive, cmgr.now = cmgr.now, cmgr.now + timedelta(hours=1)
    again(cmgr, alive)
    assert cmgr.node.downtime == {}
    assert [(o.service, o.since) for o in cmgr.node.outages.values()] == [("docker//b", began)]


def test_of_one_in_another_life_nobody_knows_how_long_it_was_down_meanwhile() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1), policy=NEVER)
    cmgr.dies("b")
    cmgr.wait(60)
    alive, cmgr.now = cmgr.now, cmgr.now + timedelta(hours=1)
    for name in "ab":
        cmgr.truth[key(name)] = replace(cmgr.truth[key(name)], running=True, run="later", exit=None)
    again(cmgr, alive)
    assert cmgr.node.outages == {}
    found = {(day.service, day.cause): day for day in cmgr.node.downtime.values()}
    assert {*found} == {
        (WEB, OutageCause.UNSEEN),
        ("docker//b", OutageCause.UNSEEN),
        ("docker//b", OutageCause.ITSELF),
    }
    assert about(found["docker//b", OutageCause.ITSELF].down, 60)
    assert all(about(day.down, 3600) for (_, cause), day in found.items() if cause is OutageCause.UNSEEN)


def silent(cmgr: Cmgr, length: timedelta, **fields: Any) -> None:
    """Let the runtime tell nothing for so long, while this becomes of its containers."""
    cmgr.tell(facts.RuntimeDown("docker", "its events have ended"))
    cmgr.now += length
    cmgr.truth = {known: replace(container, **fields) for known, container in cmgr.truth.items()}
    cmgr.tell(facts.RuntimeUp("docker"))
    cmgr.run()
    cmgr.wait(60)


def test_who_is_in_the_same_life_after_his_runtimes_silence_has_been_as_he_was() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1), policy=NEVER)
    cmgr.dies("b")
    silent(cmgr, timedelta(hours=1))
    assert cmgr.node.downtime == {}
    assert causes(cmgr) == {"docker//b": OutageCause.ITSELF}


def test_of_one_in_another_life_nobody_knows_how_long_it_was_down_while_its_runtime_was_silent() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1), policy=NEVER)
    cmgr.dies("b")
    cmgr.wait(60)
    silent(cmgr, timedelta(hours=1), running=True, run="later", exit=None)
    assert (cmgr.node.outages, cmgr.node.runtimes["docker"].silent) == ({}, None)
    found = {(day.service, day.cause): day.down for day in cmgr.node.downtime.values()}
    assert {*found} == {
        (WEB, OutageCause.UNSEEN),
        ("docker//b", OutageCause.UNSEEN),
        ("docker//b", OutageCause.ITSELF),
    }
    assert about(found["docker//b", OutageCause.ITSELF], 60)
    assert all(about(down, 3600) for (_, cause), down in found.items() if cause is OutageCause.UNSEEN)


def test_what_cmgr_has_done_while_a_runtime_was_silent_is_known_by_its_answer() -> None:
    cmgr = Cmgr(container("a", 0), policy=RING)
    cmgr.fault(0)
    cmgr.run(ListContainers)
    cmgr.tell(facts.RuntimeDown("docker", "its events have ended"))
    cmgr.run(StopContainer)
    assert causes(cmgr) == {WEB: OutageCause.FAULT}
    cmgr.tell(facts.RuntimeUp("docker"))
    cmgr.run()
    cmgr.wait(60)
    (down,) = spent(cmgr).values()
    assert (down.cause, down.recoveries) == (OutageCause.FAULT, 1)


def again(cmgr: Cmgr, alive: datetime) -> None:
    """Let another life begin, which is told when the last one was there last."""
    cmgr.begin()
    cmgr.node = replace(cmgr.node, alive=alive)
    cmgr.run()


def test_a_recovery_that_cmgr_does_not_live_through_is_one_outage_and_a_recovery() -> None:
    cmgr = Cmgr(container("a", 0), policy=RING, settle=30)
    cmgr.fault(0)
    cmgr.run(ListContainers)
    while not cmgr.pending or not isinstance(cmgr.pending[0], StartContainer):
        cmgr.answer(type(cmgr.pending[0]))
    began = cmgr.node.outages[key("a")].since
    again(cmgr, cmgr.now)
    cmgr.wait(100)
    (down,) = spent(cmgr).values()
    assert (down.cause, down.outages, down.recoveries) == (OutageCause.FAULT, 1, 1)
    assert began < cmgr.now - down.down


def outage(since: datetime, cause: OutageCause = OutageCause.FAULT, *, ours: bool = False) -> Outage:
    return Outage(key("a"), WEB, since, cause, ours)


def test_an_outage_is_of_each_day_that_it_has_a_part_of_and_is_over_on_the_last() -> None:
    days = booked({}, outage(MIDNIGHT - timedelta(minutes=3), ours=True), MIDNIGHT + DAY)
    assert [(d.day, d.down, d.outages, d.recoveries) for d in days.values()] == [
        ("2026-01-01", timedelta(minutes=3), 0, 0),
        ("2026-01-02", DAY, 0, 0),
        ("2026-01-03", timedelta(), 1, 1),
    ]


def test_a_clock_that_was_set_back_makes_nothing_negative_and_one_that_was_far_behind_no_ages() -> None:
    (day,) = booked({}, outage(MIDNIGHT), MIDNIGHT - DAY).values()
    assert (day.down, day.outages) == (timedelta(), 1)
    assert len(booked({}, outage(datetime(1970, 1, 1, tzinfo=UTC)), MIDNIGHT)) == 732


def test_the_days_of_a_month_in_which_nothing_could_be_saved_are_all_known() -> None:
    days: Days = {}
    for day in range(31):
        days = booked(days, outage(MIDNIGHT + day * DAY), MIDNIGHT + day * DAY + timedelta(minutes=2))
    (first, *more) = added({}, days)
    assert (first.day, first.down, len(more)) == ("2026-01-02", timedelta(minutes=2), 30)


def test_what_is_added_is_the_difference_also_over_days_that_are_forgotten() -> None:
    old = booked({}, outage(T0), T0 + timedelta(minutes=5))
    new = booked(old, outage(T0 + timedelta(minutes=6), ours=True), T0 + timedelta(minutes=8))
    (more,) = added(old, new)
    two = timedelta(minutes=2)
    assert (more.down, more.outages, more.recoveries, more.recovered) == (two, 1, 1, two)
    assert [*added(new, new)] == []
    later = booked(new, outage(T0 + 40 * DAY), T0 + 40 * DAY + timedelta(minutes=1))
    assert len(later) == 1
    assert [d.day for d in added(new, later)] == ["2026-02-10"]
    anew: Days = booked({}, outage(T0), T0 + timedelta(minutes=1))
    assert [*added(new, anew)] == [*anew.values()]
