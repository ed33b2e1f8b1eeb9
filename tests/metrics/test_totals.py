"""The counts of whole episodes, whose time is moved by hand."""

from dataclasses import replace
from datetime import timedelta

from cmgr.model.values.handling.policy import ResetPolicy
from cmgr.model.values.messages.commands import Action, Command, Note, ResetRing, StartContainer, StopContainer
from cmgr.model.values.messages.facts import (
    ContainerRemoved,
    Event,
    Fact,
    GroupRestartOrdered,
    Restarted,
    RuntimeDown,
    Tick,
)
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Heal
from cmgr.service.metrics.totals import BOUNDS, Spread, Totals, counted
from cmgr.service.part import Step
from tests.metrics.test_samples import look, of, told
from tests.model.builders import RING, SEPARATE, Cmgr, container, key, seconds


class Counting(Cmgr):
    """A scripted machine whose every step is counted."""

    totals = Totals()

    def tell(self, fact: Fact) -> list[Command]:
        before = self.node
        commands = super().tell(fact)
        actions: list[Action] = [c for c in commands if not isinstance(c, Note)]
        notes = [c for c in commands if isinstance(c, Note)]
        self.totals = counted(self.totals, Step((Event(self.now, fact),), before, self.node, actions, notes))
        return commands


def sums(spreads: dict[str, Spread]) -> dict[str, tuple[int, float]]:
    """Return how many spans there were and how long they took in all, rounded to a tenth."""
    return {word: (sum(s.counts), round(s.seconds, 1)) for word, s in spreads.items()}


def test_a_span_is_counted_in_its_class_and_its_end_belongs_to_it() -> None:
    spread = Spread().with_one(seconds(0.1)).with_one(seconds(0.11)).with_one(seconds(99999)).with_one(seconds(-5))
    assert (spread.counts[0], spread.counts[1], spread.counts[-1]) == (2, 1, 1)
    assert len(spread.counts) == len(BOUNDS) + 1
    assert round(spread.seconds, 2) == 99999.21, "what a clock made negative takes no time"


def test_an_episode_gives_its_stops_its_reset_its_starts_and_its_end() -> None:
    cmgr = Counting(container("a", 0), container("b", 1), container("far", 5))
    cmgr.fault(0)
    cmgr.now += seconds(3)
    cmgr.answer(StopContainer)
    cmgr.now += seconds(4)
    cmgr.answer(StopContainer)
    cmgr.run_until(Phase.RESETTING)
    cmgr.now += seconds(20)
    cmgr.answer(ResetRing)
    cmgr.run_until(Phase.RESUMING)
    cmgr.now += seconds(2)
    cmgr.run()
    totals = cmgr.totals
    assert sums(dict(totals.stops)) == {"docker": (2, 10.0)}
    assert sums(dict(totals.resets)) == {"cured": (1, 20.0)}
    assert sums(dict(totals.starts)) == {"docker": (2, 4.0)}
    assert sums(dict(totals.recoveries)) == {"recovered": (1, 29.0)}
    assert totals.episodes == {"recovered": 1}
    assert (totals.stops_failed, totals.starts_failed, totals.sent) == ({}, {}, {})


def test_what_did_not_work_is_counted_apart() -> None:
    cmgr = Counting(container("a", 0))
    cmgr.fault(0)
    cmgr.answer(StopContainer, error="timed out")
    cmgr.wait(2, run=False)
    cmgr.answer(StopContainer)
    cmgr.run_until(Phase.RESUMING)
    cmgr.answer(StartContainer, error="no such image")
    cmgr.wait(10)
    assert (cmgr.totals.stops_failed, cmgr.totals.starts_failed) == ({"docker": 1}, {"docker": 1})
    assert sums(dict(cmgr.totals.stops))["docker"][0] == sums(dict(cmgr.totals.starts))["docker"][0] == 1


def test_a_container_that_is_gone_was_neither_stopped_nor_not() -> None:
    cmgr = Counting(container("a", 0))
    cmgr.fault(0)
    cmgr.answer(StopContainer, gone=True)
    assert (cmgr.totals.stops, cmgr.totals.stops_failed, cmgr.totals.sent) == ({}, {}, {})


def test_resets_are_told_apart_by_what_came_of_them() -> None:
    cmgr = Counting(policy=replace(RING, reset=ResetPolicy(attempts=2, backoff=seconds(1))))
    cmgr.cures = False
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.answer(ResetRing, error="a process is on chip 1", refused=True)
    assert sums(dict(cmgr.totals.resets)) == {"refused": (1, 0.0)}
    cmgr.wait(5)
    assert {word: number for word, (number, _) in sums(dict(cmgr.totals.resets)).items()} == {"refused": 1, "failed": 2}
    assert cmgr.totals.episodes == {"isolated": 1}


def test_a_reset_that_outlived_cmgr_is_counted_when_it_is_known_what_it_did() -> None:
    cmgr = Counting()
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.faults[0].clear()
    cmgr.now += seconds(50)
    cmgr.begin()
    cmgr.run()
    assert sums(dict(cmgr.totals.resets)) == {"cured": (1, 50.0)}
    assert cmgr.totals.episodes == {"recovered": 1}


def test_an_episode_that_begins_and_ends_in_one_step_took_no_time() -> None:
    cmgr = Counting()
    before, at = cmgr.node, cmgr.now
    cmgr.fault(0)
    cmgr.clears(0)
    cmgr.run()
    notes = [c for c in cmgr.log if isinstance(c, Note)]
    totals = counted(Totals(), Step((Event(at, Tick()),), before, cmgr.node, (), notes))
    assert totals.episodes == {"cleared": 1}
    (spread,) = totals.recoveries.values()
    assert spread.counts[0] == 1


def test_what_a_source_tells_on_its_own_is_counted_with_its_time() -> None:
    cmgr = Counting(container("a", 0), runtimes=("docker", "containerd"))
    cmgr.totals = Totals()
    cmgr.fault(3, SEPARATE)
    first = cmgr.now
    cmgr.now += seconds(5)
    cmgr.tell(RuntimeDown("containerd", "no such file"))
    cmgr.sees(cmgr.truth[key("a")])
    cmgr.tell(ContainerRemoved(key("nobody")))
    cmgr.tell(Tick())
    cmgr.run()
    assert cmgr.totals.events == {"driver": 1, "containerd": 1, "docker": 2}
    assert cmgr.totals.heard["driver"] == first
    assert cmgr.totals.heard["docker"] - cmgr.totals.heard["containerd"] == 2 * timedelta(milliseconds=1)


def test_a_step_in_which_nothing_is_to_be_counted_leaves_the_totals_as_they_are() -> None:
    cmgr = Cmgr()
    totals = Totals(episodes={"recovered": 3})
    events = (Event(cmgr.now, Tick()), Event(cmgr.now, Restarted((), ())))
    assert counted(totals, Step(events, cmgr.node, cmgr.node, (), ())) is totals


def test_what_came_of_ailing_containers_is_counted() -> None:
    cmgr = Counting(container("web", 0, heal=Heal(limit=2)))
    cmgr.dies("web")
    cmgr.wait(11)
    assert cmgr.totals.heals == {"restarted": 1}
    cmgr.dies("web")
    cmgr.fault(0)
    cmgr.run()
    assert cmgr.totals.heals == {"restarted": 1, "recovered": 1}
    cmgr.dies("web")
    cmgr.wait(60)
    cmgr.dies("web")
    assert cmgr.totals.heals == {"restarted": 2, "recovered": 1, "given_up": 1}
    assert told(of("cmgr_containers_given_up", look(cmgr.node))) == {}, "it is down, and failed"


def test_one_that_runs_on_unhealthy_is_told_of() -> None:
    cmgr = Counting(container("web", 0, heal=Heal(limit=1)))
    for _ in range(2):
        cmgr.sees(replace(cmgr.truth[key("web")], health="unhealthy"))
        cmgr.wait(11)
    assert told(of("cmgr_containers_given_up", look(cmgr.node))) == {"docker": 1}


def test_a_round_of_a_group_is_counted_once_with_its_length_and_its_end() -> None:
    cmgr = Counting(container("r0", 0, group="tp"), container("r1", 4, group="tp"))
    cmgr.fault(0)
    cmgr.now += seconds(3)
    cmgr.run()
    assert sums(dict(cmgr.totals.rounds)) == {"recovered": (1, 3.0)}
    cmgr.tell(GroupRestartOrdered("tp", "a"))
    cmgr.now += seconds(2)
    cmgr.tell(GroupRestartOrdered("tp", "a"))
    cmgr.run()
    assert sums(dict(cmgr.totals.rounds)) == {"recovered": (2, 3.0), "again": (1, 2.0)}
    assert told(of("cmgr_groups", look(cmgr.node, cmgr.totals))) == {"running": 1}


def test_an_outage_is_counted_by_its_cause_and_by_who_has_ended_it() -> None:
    cmgr = Counting(container("a", 0), container("b", 5))
    cmgr.fault(0)
    cmgr.run()
    cmgr.dies("b")
    assert told(of("cmgr_services_down", look(cmgr.node))) == {"itself": 1}
    cmgr.now += seconds(90)
    cmgr.starts("b", "by hand")
    cmgr.wait(60)
    assert told(of("cmgr_outages_total", look(cmgr.node, cmgr.totals))) == {"fault cmgr": 1, "itself others": 1}
    down = told(of("cmgr_downtime_seconds_total", look(cmgr.node, cmgr.totals)))
    assert {*down} == {"fault cmgr", "itself others"}
    assert round(down["itself others"]) == 90
    assert told(of("cmgr_services_down", look(cmgr.node))) == {}
