"""A container that says that it is busy is not stopped for a fault that is not urgent, for `limits.busy` at most."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cmgr.model.recovery.vetoes import to_ask
from cmgr.model.values.faults import Level
from cmgr.model.values.handling.calendar import Opening
from cmgr.model.values.handling.policy import DEFAULT_LEVELS, LevelPolicy, LimitsPolicy, Policy, Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ResetRing, StopContainer
from cmgr.model.values.messages.health_facts import BusySaid
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container
from cmgr.model.values.troubles import TroubleKind
from cmgr.view.explain import what
from cmgr.view.status import containers
from cmgr.view.troubles import troubles
from tests.model.builders import BUSINESS, FREE, REQUEST, RESET, RING, SINGLE, Cmgr, container, key, names, seconds

SAVING = "/run/saving"
HALF_AN_HOUR = 1800.0
THERE, GONE = "/run/saving is there", "/run/saving is not there"


def train(name: str = "train", *chips: int, **fields: Any) -> Container:
    return container(name, *(chips or (0,)), busy=SAVING, **fields)


def asked(cmgr: Cmgr) -> list[str]:
    return sorted(key.id for key in to_ask(cmgr.node, cmgr.now))


def says(cmgr: Cmgr, *, busy: bool, name: str = "train", mute: bool = False, run: str = "") -> None:
    run = run or cmgr.booked(name).run
    said = "no answer in 5 s" if mute else THERE if busy else GONE
    cmgr.tell(BusySaid(key(name), run, SAVING, busy, said, mute))
    cmgr.run()


def waiting(*containers: Container, policy: Policy = RING, code: str = BUSINESS) -> Cmgr:
    """Return a machine with a fault on chip 0 for which somebody is asked whether he is busy."""
    cmgr = Cmgr(*(containers or (train(),)), policy=policy)
    assert asked(cmgr) == [], "nobody is asked in peace"
    cmgr.fault(0, code)
    cmgr.run()
    assert (cmgr.held(), cmgr.phase()) == ([], Phase.HEALTHY)
    return cmgr


def levels(level: Level, **changes: Any) -> dict[Level, LevelPolicy]:
    return {**DEFAULT_LEVELS, level: replace(DEFAULT_LEVELS[level], **changes)}


def stopped(cmgr: Cmgr) -> list[str]:
    return sorted(names(cmgr.log))


def test_nobody_is_stopped_before_he_says_that_he_is_not_busy() -> None:
    cmgr = waiting()
    assert asked(cmgr) == ["train"]
    words = (
        "the reset of chips 0-3 waits for train, which is asked whether it is busy, for 30 min at most (limits.busy)"
    )
    assert cmgr.ring().reason == words
    says(cmgr, busy=True)
    cmgr.wait(HALF_AN_HOUR - 10)
    assert f"train, which is busy ({THERE})" in cmgr.ring().reason
    assert (stopped(cmgr), cmgr.sent(ResetRing)) == ([], [])
    says(cmgr, busy=False)
    assert stopped(cmgr) == ["train"]
    cmgr.wait(120)
    assert (cmgr.phase(), cmgr.held(), len(cmgr.sent(ResetRing)), asked(cmgr)) == (Phase.HEALTHY, [], 1, [])
    told = cmgr.notes(NoteKind.RESULT)
    assert [words, f"train is busy: {THERE}", f"train is not busy any more: {GONE}"] == told[:3]
    assert cmgr.ring().vetoed is None


def test_nobody_waits_longer_than_the_longest_wait() -> None:
    cmgr = waiting()
    says(cmgr, busy=True)
    cmgr.wait(HALF_AN_HOUR + 1)
    assert stopped(cmgr) == ["train"]
    (told,) = [note for note in cmgr.notes(NoteKind.WARNING) if "waited for no longer" in note]
    assert told == f"train is busy still after 30 min (limits.busy) and is waited for no longer: {THERE}"
    assert asked(cmgr) == []


def test_one_that_has_never_answered_is_stopped_when_the_time_is_over() -> None:
    cmgr = waiting()
    cmgr.wait(HALF_AN_HOUR + 1)
    assert stopped(cmgr) == ["train"]


def test_one_that_is_mute_is_told_and_not_waited_for() -> None:
    cmgr = waiting()
    says(cmgr, busy=False, mute=True)
    assert stopped(cmgr) == ["train"]
    assert "train does not say whether it is busy, and is not waited for: no answer in 5 s" in cmgr.notes()


@pytest.mark.parametrize("code", [RESET])
def test_an_urgent_fault_waits_for_nobody(code: str) -> None:
    cmgr = Cmgr(train())
    cmgr.fault(0, code)
    cmgr.run()
    assert stopped(cmgr) == ["train"]
    cmgr = waiting()
    says(cmgr, busy=True)
    cmgr.fault(1, code)
    cmgr.run()
    assert stopped(cmgr) == ["train"]


def test_a_level_can_be_made_urgent_or_not_and_nobody_asked_at_all() -> None:
    cmgr = waiting(policy=replace(RING, levels=levels(Level.RestartNPU, busy=True)), code=RESET)
    assert asked(cmgr) == ["train"]
    none = (levels(Level.RestartBusiness, busy=False), LimitsPolicy()), (DEFAULT_LEVELS, LimitsPolicy(busy=timedelta()))
    for of_levels, limits in none:
        cmgr = Cmgr(train(), policy=replace(RING, levels=of_levels, limits=limits))
        cmgr.fault(0, BUSINESS)
        cmgr.run()
        assert stopped(cmgr) == ["train"]


def test_two_are_waited_for_both() -> None:
    cmgr = waiting(train("a", 0), train("b", 1), container("c", 2))
    says(cmgr, busy=False, name="a")
    assert stopped(cmgr) == []
    says(cmgr, busy=True, name="b")
    assert asked(cmgr) == ["a", "b"]
    says(cmgr, busy=False, name="b")
    assert stopped(cmgr) == ["a", "b", "c"]


def test_a_ring_mate_that_would_not_be_stopped_at_first_is_waited_for_too() -> None:
    cmgr = waiting(container("a", 0), train("b", 1), policy=SINGLE)
    assert stopped(cmgr) == [], "its reset could not come while b runs"
    says(cmgr, busy=False, name="b")
    assert stopped(cmgr) == ["a"]


@pytest.mark.parametrize(
    "fields", [{"strategy": Strategy.NEVER}, {"enabled": False}, {"frozen": True}, {"restarting": True}]
)
def test_who_is_not_stopped_or_cannot_answer_is_not_asked(fields: dict[str, Any]) -> None:
    cmgr = Cmgr(train("a", 1, **fields), container("b", 0), policy=SINGLE)
    cmgr.fault(0, BUSINESS)
    cmgr.run()
    assert (asked(cmgr), "b" in stopped(cmgr)) == ([], True)


def test_one_that_dies_holds_nobody_up_and_comes_back_with_the_rest() -> None:
    cmgr = waiting()
    says(cmgr, busy=True)
    cmgr.dies("train")
    cmgr.run()
    cmgr.wait(120)
    assert (cmgr.held(), cmgr.phase(), cmgr.booked("train").running) == ([], Phase.HEALTHY, True)


def test_that_a_mate_has_died_of_the_fault_takes_nobody_his_time() -> None:
    cmgr = waiting(train("a", 0), train("b", 1))
    says(cmgr, busy=True, name="b")
    cmgr.dies("a")
    cmgr.run()
    assert (stopped(cmgr), asked(cmgr)) == ([], ["b"])
    says(cmgr, busy=False, name="b")
    cmgr.wait(200)
    assert stopped(cmgr) == ["b"]
    assert all(cmgr.booked(name).running for name in "ab"), "a died long before the episode, and is started again"


def test_a_busy_member_spares_its_group() -> None:
    a = container("a", 0, group="tp", group_size=2)
    b = train("b", 4, group="tp", group_size=2)
    cmgr = waiting(a, b)
    assert asked(cmgr) == ["b"]
    says(cmgr, busy=True, name="b")
    assert stopped(cmgr) == []
    says(cmgr, busy=False, name="b")
    assert stopped(cmgr) == ["a", "b"]


def test_the_next_life_of_cmgr_asks_again_and_the_time_goes_on() -> None:
    cmgr = waiting()
    says(cmgr, busy=False, name="train", run="life 0")
    assert stopped(cmgr) == [], "another life's answer is none"
    says(cmgr, busy=True)
    cmgr.wait(1000)
    since = cmgr.ring().vetoed
    cmgr.begin()
    cmgr.run()
    assert (cmgr.ring().vetoed, asked(cmgr), stopped(cmgr)) == (since, ["train"], [])
    cmgr.wait(801)
    assert stopped(cmgr) == ["train"]


def test_an_answer_of_an_earlier_wait_is_none() -> None:
    cmgr = waiting()
    says(cmgr, busy=True)
    cmgr.clears(0, BUSINESS)
    cmgr.run()
    assert (cmgr.ring().vetoed, asked(cmgr), cmgr.ring().reason) == (None, [], "")
    cmgr.wait(60)
    cmgr.fault(0, BUSINESS)
    cmgr.run()
    assert (stopped(cmgr), asked(cmgr)) == ([], ["train"])
    assert "is asked whether it is busy" in cmgr.ring().reason


def test_the_time_begins_when_nothing_else_keeps_it_from_its_stop() -> None:
    name = "levels.FreeRestartNPU.window"
    policy = replace(RING, levels=levels(Level.FreeRestartNPU, idle_at_most=timedelta(hours=2)))
    cmgr = Cmgr(train(), policy=policy)
    cmgr.tell(facts.CalendarRead((Opening(name, open=False),)))
    cmgr.fault(0, FREE)
    cmgr.wait(7190)
    assert asked(cmgr) == []
    cmgr.wait(20)
    assert (asked(cmgr), stopped(cmgr)) == (["train"], [])
    says(cmgr, busy=True)
    cmgr.wait(HALF_AN_HOUR)
    assert stopped(cmgr) == ["train"]


def test_in_an_episode_that_stops_later_the_time_begins_with_the_stop() -> None:
    policy = replace(RING, levels=levels(Level.RestartRequest, stop_after=seconds(30), reset_after=seconds(90)))
    cmgr = Cmgr(train(), policy=policy)
    cmgr.fault(0, REQUEST)
    cmgr.wait(29)
    assert (asked(cmgr), cmgr.phase()) == ([], Phase.WAITING)
    cmgr.wait(2)
    assert (asked(cmgr), stopped(cmgr)) == (["train"], [])
    says(cmgr, busy=True)
    cmgr.wait(600)
    assert stopped(cmgr) == []
    assert f"train, which is busy ({THERE})" in cmgr.ring().reason
    says(cmgr, busy=False)
    assert stopped(cmgr) == ["train"]


def test_what_happened_once_is_not_over_while_somebody_is_busy() -> None:
    cmgr = Cmgr(train())
    cmgr.once(0, BUSINESS)
    cmgr.run()
    says(cmgr, busy=True)
    cmgr.wait(600)
    assert stopped(cmgr) == []
    says(cmgr, busy=False)
    assert stopped(cmgr) == ["train"]


def test_who_only_observes_asks_nobody() -> None:
    cmgr = Cmgr(train(), policy=replace(RING, observe=True))
    cmgr.fault(0, BUSINESS)
    cmgr.run()
    assert (asked(cmgr), cmgr.sent(StopContainer)) == ([], [])


def test_that_one_is_down_who_was_not_waited_for_is_a_trouble_until_he_runs_again() -> None:
    def told() -> list[str]:
        return [trouble.text for trouble in troubles(cmgr.node) if trouble.kind is TroubleKind.HURRIED]

    cmgr = waiting(train("a", 0), container("b", 1))
    says(cmgr, busy=True, name="a")
    assert told() == []
    cmgr.wait(HALF_AN_HOUR + 1, run=False)
    assert told() == ["stopped while busy: a"]
    cmgr.run()
    cmgr.wait(120)
    assert (told(), cmgr.booked("a").running) == ([], True)
    cmgr = waiting()
    says(cmgr, busy=False)
    assert told() == []


def test_what_it_says_stands_beside_it_and_is_explained() -> None:
    cmgr = waiting()
    says(cmgr, busy=True)
    assert f"says that it is busy, and a reset waits: {THERE}" in containers(cmgr.node)[0]["reason"]
    cmgr.clears(0, BUSINESS)
    assert containers(cmgr.node)[0]["reason"] == "", "nothing waits any more"
    words = ", and waits for those that are busy (cmgr.busy) for 30 min at most"
    assert words in " ".join(what(Level.RestartBusiness, cmgr.node.policy))
    assert words not in " ".join(what(Level.RestartNPU, cmgr.node.policy))
