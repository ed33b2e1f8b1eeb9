"""Whatever follows from cmgr's own stop goes and comes with the one that was stopped, and is no wish of a person."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cmgr.model.holds.consequences import SOON
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, NoteKind, ResetRing, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.compose import Composed, Condition, Need
from cmgr.model.values.services.containers import Container, Exit, Heal
from cmgr.model.values.troubles import TroubleKind
from cmgr.view.troubles import troubles
from tests.model.builders import REQUEST, RING, SINGLE, Cmgr, container, key, names, seconds


def service(name: str, *chips: int, project: str = "ai", needs: str = "", **fields: Any) -> Container:
    """Return a container of a project; it is to be restarted with the service that it `needs`."""
    needed = (Need(needs, Condition.STARTED, restart=True),) if needs else ()
    return container(name, *chips, composed=Composed(project, name, 1, needed), **fields)


def is_ended(cmgr: Cmgr, name: str, *, told: float = 0, runtime: str = "docker") -> None:
    """Have somebody end it, who had told it to so many seconds ago."""
    end = Exit(143, cmgr.now, asked=True, told=cmgr.now - seconds(told))
    cmgr.sees(replace(cmgr.truth[key(name, runtime)], running=False, exit=end))


def stopped(*others: Container, llm: Container | None = None, **more: Any) -> Cmgr:
    """Return a cmgr that has stopped `llm`, on chip 0, for a fault whose reset comes after a minute."""
    cmgr = Cmgr(llm or service("llm", 0), *others, policy=SINGLE, **more)
    cmgr.fault(0, REQUEST)
    cmgr.run()
    assert cmgr.held() == ["llm"]
    return cmgr


def kinds(cmgr: Cmgr) -> set[TroubleKind]:
    return {trouble.kind for trouble in troubles(cmgr.node)}


def test_whoever_a_client_ends_with_it_comes_back_with_it_on_whatever_chips_or_none() -> None:
    cmgr = stopped(service("embed", 4), service("web"))
    is_ended(cmgr, "embed")
    is_ended(cmgr, "web")
    cmgr.run()
    assert cmgr.held() == ["embed", "llm", "web"]
    cmgr.wait(30)
    assert cmgr.sent(StartContainer) == [], "they wait for the one with which they went"
    cmgr.wait(40)
    assert names(cmgr.sent(StartContainer), StartContainer) == ["llm", "embed", "web"]
    assert (cmgr.held(), cmgr.phase(), kinds(cmgr)) == ([], Phase.HEALTHY, set())
    assert "embed was stopped right after llm, because of that: it is started again with it" in cmgr.notes(
        NoteKind.HOLD
    )


def test_one_that_was_told_in_the_very_stop_is_one_and_so_is_one_whose_end_takes_its_time() -> None:
    cmgr = Cmgr(service("llm", 0), service("embed", 4), policy=SINGLE)
    cmgr.fault(0, REQUEST)
    is_ended(cmgr, "embed")
    cmgr.run()
    assert cmgr.held() == ["embed", "llm"]
    cmgr = stopped(service("embed", 4))
    cmgr.wait(20)
    is_ended(cmgr, "embed", told=18)
    cmgr.run()
    assert cmgr.held() == ["embed", "llm"]


def test_a_project_that_a_person_takes_down_is_not_started_before_its_removal() -> None:
    cmgr = stopped(service("embed", 4), service("web"))
    is_ended(cmgr, "embed")
    is_ended(cmgr, "web")
    cmgr.removes("llm")
    cmgr.run()
    assert cmgr.sent(StartContainer) == []
    cmgr.removes("embed")
    cmgr.wait(SOON.total_seconds() - 1)
    assert cmgr.sent(StartContainer) == []
    cmgr.wait(2)
    assert names(cmgr.sent(StartContainer), StartContainer) == ["web"], "only the other two were taken away"


def test_one_whose_other_runs_again_already_is_started_at_once() -> None:
    cmgr = stopped(service("embed", 4))
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert cmgr.held() == []
    is_ended(cmgr, "embed")
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("embed").running) == ([], True)


def test_one_that_a_person_stops_once_it_runs_again_is_the_persons() -> None:
    cmgr = stopped(service("embed", 4))
    is_ended(cmgr, "embed")
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert cmgr.booked("embed").running
    is_ended(cmgr, "embed")
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("embed").kept.wanted) == ([], False)


@pytest.mark.parametrize("told", [-1.0, 6.0], ids=["before", "long after"])
def test_a_stop_at_another_time_is_a_persons(told: float) -> None:
    cmgr = Cmgr(service("llm", 0), service("embed", 4), policy=SINGLE)
    before = cmgr.now
    cmgr.wait(1)
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.wait(max(told, 0))
    is_ended(cmgr, "embed", told=0 if told > 0 else (cmgr.now - before).total_seconds())
    cmgr.run()
    assert (cmgr.held(), kinds(cmgr)) == (["llm"], {TroubleKind.EPISODE, TroubleKind.DOWN, TroubleKind.UNHEALTHY})
    assert cmgr.booked("embed").kept.wanted is False


def test_where_no_tie_can_be_seen_it_is_told_until_somebody_starts_it() -> None:
    cmgr = stopped(container("other", 4))
    is_ended(cmgr, "other")
    cmgr.wait(70)
    assert (cmgr.held(), cmgr.phase(), kinds(cmgr)) == ([], Phase.HEALTHY, {TroubleKind.DOWN})
    (down,) = [t for t in troubles(cmgr.node) if t.kind is TroubleKind.DOWN]
    assert down.why.startswith("it was stopped right after llm, which cmgr had stopped, by somebody else")
    assert any("other was stopped right after llm" in note for note in cmgr.notes(NoteKind.WARNING))
    cmgr.begin()
    cmgr.run()
    assert kinds(cmgr) == {TroubleKind.DOWN}, "also in the next life"
    cmgr.starts_by_hand("other")
    assert kinds(cmgr) == set()


@pytest.mark.parametrize(
    "more", [{"enabled": False}, {"strategy": Strategy.NEVER}, {"auto_remove": True}], ids=["hands off", "never", "rm"]
)
def test_one_that_is_not_cmgrs_to_start_is_not_held(more: dict[str, Any]) -> None:
    cmgr = stopped(service("embed", 4, **more))
    is_ended(cmgr, "embed")
    cmgr.run()
    assert cmgr.held() == ["llm"]


def test_what_a_units_stop_ends_is_the_units_business() -> None:
    unit = container("llm.service", 0, runtime="systemd")
    cmgr = Cmgr(unit, container("llm", 0, unit="llm.service"), policy=SINGLE, runtimes=("docker", "systemd"))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    is_ended(cmgr, "llm")
    cmgr.wait(70)
    assert TroubleKind.DOWN not in kinds(cmgr)
    assert not any("right after" in note for note in cmgr.notes(NoteKind.WARNING))


def test_a_person_who_starts_it_meanwhile_has_it() -> None:
    cmgr = stopped(service("embed", 4))
    is_ended(cmgr, "embed")
    cmgr.run()
    cmgr.starts_by_hand("embed")
    assert "embed" not in cmgr.held()
    assert names(cmgr.sent(StopContainer), StopContainer) == ["llm"]


def test_it_is_not_kept_from_well_chips_for_longer_than_the_mercy() -> None:
    cmgr = Cmgr(service("llm", 0), service("embed", 4), policy=SINGLE)
    cmgr.cures = False
    cmgr.fault(0)
    is_ended(cmgr, "embed")
    cmgr.run()
    assert "embed" in cmgr.held()
    cmgr.wait(cmgr.policy.limits.mercy / timedelta(seconds=1) + 1)
    assert cmgr.booked("embed").running
    assert "llm" in cmgr.held()


def test_units_that_systemd_stops_with_one_come_back_with_it_however_far_they_hang() -> None:
    llm = container("llm.service", 0, runtime="systemd", takes=frozenset({"web.service"}))
    web = container("web.service", runtime="systemd", takes=frozenset({"log.service"}))
    cmgr = Cmgr(llm, web, container("log.service", runtime="systemd"), policy=SINGLE, runtimes=("systemd",))
    cmgr.fault(0, REQUEST)
    is_ended(cmgr, "web.service", runtime="systemd")
    is_ended(cmgr, "log.service", runtime="systemd")
    cmgr.run()
    assert cmgr.held() == ["llm.service", "log.service", "web.service"]
    cmgr.wait(70)
    assert cmgr.held() == []
    assert all(cmgr.booked(name, "systemd").running for name in ("llm.service", "web.service", "log.service"))


@pytest.mark.parametrize("before", [False, True], ids=["at its first stop", "at its second"])
@pytest.mark.parametrize("done", [False, True], ids=["in the stop", "after it"])
def test_units_that_ended_along_while_cmgr_was_dead_come_back_too(done: bool, before: bool) -> None:
    # systemd has forgotten them by then: how they ended, when, and whose parts they were.
    parts = ("web.service", "log.service")
    llm = container("llm.service", 0, runtime="systemd", takes=frozenset({"web.service"}))
    web = container("web.service", runtime="systemd", takes=frozenset({"log.service"}))
    others = (container("log.service", runtime="systemd"), container("apart.service", runtime="systemd"))
    cmgr = Cmgr(llm, web, *others, policy=SINGLE, runtimes=("systemd",))
    if before:
        cmgr.fault(0)
        cmgr.run()
        cmgr.wait(3600)
    cmgr.fault(0, REQUEST)
    if done:
        cmgr.run(StopContainer)
    for name in ("llm.service", *parts, "apart.service"):
        unit = cmgr.truth[key(name, "systemd")]
        cmgr.truth[unit.key] = replace(unit, running=False, run="", exit=None, takes=frozenset())
    cmgr.begin()
    cmgr.run(ListContainers)  # It may be in before our own stop is answered.
    cmgr.run()
    assert cmgr.held() == ["llm.service", "log.service", "web.service"]
    cmgr.wait(70)
    assert cmgr.held() == []
    assert all(cmgr.booked(name, "systemd").running for name in ("llm.service", *parts))
    assert not cmgr.booked("apart.service", "systemd").running


@pytest.mark.parametrize("dies", [False, True], ids=["alive", "dead meanwhile"])
def test_a_part_of_whose_end_is_heard_after_its_unit_was_seen_to_run_again_comes_back(*, dies: bool) -> None:
    # systemd forgets with the part whose part it was, and news of the unit can be ahead of those of the part.
    llm = container("llm.service", 0, runtime="systemd", takes=frozenset({"web.service"}))
    cmgr = Cmgr(llm, container("web.service", runtime="systemd"), policy=SINGLE, runtimes=("systemd",))
    cmgr.fault(0)
    cmgr.run()
    web = cmgr.truth[key("web.service", "systemd")]
    cmgr.truth[web.key] = replace(web, running=False, run="", exit=None)
    cmgr.truth[llm.key] = replace(cmgr.truth[llm.key], takes=frozenset())
    if dies:
        cmgr.begin()
    for _ in range(3):
        cmgr.sees(cmgr.truth[llm.key])
    cmgr.sees(cmgr.truth[web.key])
    cmgr.run()
    assert cmgr.booked("web.service", "systemd").running
    cmgr.sees(cmgr.truth[llm.key])
    assert cmgr.booked("llm.service", "systemd").takes == {"web.service"}
    cmgr.wait(3600)
    cmgr.sees(replace(cmgr.truth[web.key], running=False, exit=None))
    cmgr.sees(cmgr.truth[llm.key])
    assert cmgr.booked("llm.service", "systemd").takes == frozenset(), "what systemd says is true again"


def test_parts_of_whose_end_cmgr_heard_nothing_before_it_died_come_back_though_their_unit_runs_again() -> None:
    llm = container("llm.service", 0, runtime="systemd", takes=frozenset({"web.service"}))
    cmgr = Cmgr(llm, container("web.service", runtime="systemd"), policy=SINGLE, runtimes=("systemd",))
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.held(), len(cmgr.sent(StopContainer)), cmgr.booked(llm.name, "systemd").running) == ([], 1, True)
    web = cmgr.truth[key("web.service", "systemd")]
    cmgr.truth[web.key] = replace(web, running=False, run="", exit=None)
    cmgr.truth[llm.key] = replace(cmgr.truth[llm.key], takes=frozenset())
    cmgr.begin()
    cmgr.run()
    assert cmgr.booked("web.service", "systemd").running
    cmgr.truth[web.key] = replace(cmgr.truth[web.key], running=False, run="", exit=None)
    cmgr.wait(3600)
    cmgr.begin()
    cmgr.run()
    assert not cmgr.booked("web.service", "systemd").running, "that is another matter"


def test_whoever_is_to_be_restarted_with_it_is_chips_or_not() -> None:
    cmgr = Cmgr(service("llm", 0), service("web", needs="llm"), service("gate", 4, needs="web"), policy=SINGLE)
    cmgr.wait(1)
    cmgr.fault(0)
    cmgr.run()
    assert names(cmgr.sent(StopContainer), StopContainer) == ["llm", "web", "gate"]
    assert names(cmgr.sent(StartContainer), StartContainer) == ["llm", "web", "gate"]
    assert (len(cmgr.sent(ResetRing)), cmgr.held(), kinds(cmgr)) == (1, [], set())


@pytest.mark.parametrize(
    "left", [{"enabled": False}, {"strategy": Strategy.NEVER}, {"auto_remove": True}], ids=["hands off", "never", "rm"]
)
def test_nobody_that_cmgr_leaves_alone_is_restarted_with_another(left: dict[str, Any]) -> None:
    cmgr = Cmgr(service("llm", 0), service("web", needs="llm", **left), policy=SINGLE)
    cmgr.wait(1)
    cmgr.fault(0)
    cmgr.run()
    assert names(cmgr.sent(StopContainer), StopContainer) == ["llm"]
    assert (len(cmgr.sent(ResetRing)), cmgr.held()) == (1, [])


def test_a_stop_does_not_wait_for_those_that_are_restarted_with_it() -> None:
    cmgr = Cmgr(service("llm", 0), service("web", needs="llm"), policy=SINGLE)
    cmgr.wait(1)
    cmgr.fault(0)
    assert names(cmgr.sent(StopContainer), StopContainer) == ["llm", "web"]


def test_one_of_another_project_or_started_since_is_left_alone() -> None:
    cmgr = Cmgr(service("llm", 0), service("web", needs="llm", project="other"), policy=SINGLE)
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.sees(service("late", needs="llm"))
    cmgr.wait(5)
    assert names(cmgr.sent(StopContainer), StopContainer) == ["llm"]


def test_one_that_died_by_itself_takes_nobody_with_it() -> None:
    cmgr = Cmgr(service("llm", 0), service("web", needs="llm"), policy=SINGLE)
    cmgr.wait(1)
    cmgr.dies("llm")
    cmgr.fault(0)
    cmgr.run()
    assert names(cmgr.sent(StopContainer), StopContainer) == []
    assert names(cmgr.sent(StartContainer), StartContainer) == ["llm"]


def inside(name: str, *chips: int, of: str = "llm", **fields: Any) -> Container:
    """Return a container in the namespaces of another: as Docker says it, by that one's id or its name."""
    return container(name, *chips, joins=frozenset({of}), **fields)


@pytest.mark.parametrize("of", [key("llm").id, "llm"])
def test_whoever_runs_in_its_namespaces_goes_and_comes_with_it_however_far_they_hang(of: str) -> None:
    cmgr = Cmgr(container("llm", 0), inside("proxy", of=of), inside("probe", 4, of="proxy"), policy=SINGLE)
    cmgr.wait(1)
    cmgr.fault(0)
    cmgr.run()
    assert sorted(names(cmgr.sent(StopContainer), StopContainer)) == ["llm", "probe", "proxy"]
    assert names(cmgr.sent(StartContainer), StartContainer) == ["llm", "proxy", "probe"]
    assert (len(cmgr.sent(ResetRing)), cmgr.held(), kinds(cmgr)) == (1, [], set())


def test_one_on_its_ring_is_started_after_it_and_one_is_restarted_with_it_though_that_had_died() -> None:
    cmgr = Cmgr(container("llm", 0), inside("agent", 1), inside("proxy"), policy=RING)
    cmgr.wait(1)
    cmgr.dies("llm")
    cmgr.fault(0)
    cmgr.run()
    assert sorted(names(cmgr.sent(StopContainer), StopContainer)) == ["agent", "proxy"]
    started = names(cmgr.sent(StartContainer), StartContainer)
    assert (started[0], sorted(started[1:])) == ("llm", ["agent", "proxy"])


def test_it_is_not_started_before_it_however_long_that_takes() -> None:
    cmgr = Cmgr(container("llm", 0), inside("proxy"), policy=SINGLE)
    cmgr.cures = False
    cmgr.fault(0)
    cmgr.run()
    cmgr.wait(2 * (cmgr.policy.limits.mercy / timedelta(seconds=1)))
    assert cmgr.held() == ["llm", "proxy"]
    assert not cmgr.sent(StartContainer)


def test_one_that_a_person_has_forgotten_is_left_as_it_is() -> None:
    cmgr = stopped(inside("proxy", enabled=False))
    assert names(cmgr.sent(StopContainer), StopContainer) == ["llm"]
    cmgr = Cmgr(container("llm", 0), inside("proxy"), policy=SINGLE)
    cmgr.fault(0, REQUEST)
    cmgr.tell(facts.ForgetOrdered(key("proxy"), "uid 0"))
    cmgr.run()
    assert cmgr.held() == ["llm"]


def ends(cmgr: Cmgr, name: str, code: int) -> None:
    """Have it end as podman tells that: nobody knows whether somebody had told it to."""
    cmgr.sees(replace(cmgr.truth[key(name)], running=False, exit=Exit(code, cmgr.now)))
    cmgr.run()


def pod(*others: Container) -> Cmgr:
    """Return a cmgr that has stopped `llm` of a pod, on chip 0: its containers join the namespaces of its first one."""
    return stopped(*others, llm=inside("llm", 0, of="infra"))


def test_one_whose_record_says_in_our_stop_that_a_person_has_ended_it_is_the_persons() -> None:
    cmgr = Cmgr(container("llm", 0, marked=False), container("theirs", 0, marked=False))
    cmgr.fault(0, REQUEST)
    cmgr.sees(replace(cmgr.truth[key("theirs")], marked=True))
    cmgr.run(StopContainer)
    cmgr.sees(replace(cmgr.truth[key("theirs")], running=False, exit=Exit(143, cmgr.now, asked=True, told=cmgr.now)))
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("theirs").kept.wanted, cmgr.booked("theirs").kept.along) == (["llm"], False, "")


@pytest.mark.parametrize("code", [0, 137, 143])
def test_one_of_the_same_pod_that_looks_told_to_end_comes_back_with_it(code: int) -> None:
    cmgr = pod(inside("web", of="infra"), inside("embed", 4, of="infra"))
    ends(cmgr, "web", code)
    ends(cmgr, "embed", code)
    assert cmgr.held() == ["embed", "llm", "web"]
    cmgr.wait(70)
    assert (cmgr.held(), cmgr.phase(), kinds(cmgr)) == ([], Phase.HEALTHY, set())
    assert all(cmgr.booked(name).running for name in ("llm", "embed", "web"))


def test_one_of_the_same_pod_that_was_seen_to_be_stopping_before_is_one() -> None:
    cmgr = pod(inside("web", of="infra"))
    cmgr.sees(replace(cmgr.truth[key("web")], running=False))
    ends(cmgr, "web", 0)
    assert cmgr.held() == ["llm", "web"]


def test_one_of_the_same_pod_that_a_list_has_down_before_its_end_is_told_is_one() -> None:
    cmgr = pod(inside("web", of="infra"))
    down = replace(cmgr.truth[key("web")], running=False, exit=Exit(143, cmgr.now, missed=True))
    cmgr.sees(down)
    assert cmgr.held() == ["llm"], "the daemon may have ended it as it went"
    cmgr.sees(replace(down, exit=Exit(143, cmgr.now)))
    assert cmgr.held() == ["llm", "web"]


def test_one_of_the_same_pod_that_ends_at_another_time_or_of_an_error_is_not_started_with_it() -> None:
    cmgr = pod(inside("late", of="infra"), inside("fails", of="infra"), inside("other", of="another"))
    ends(cmgr, "fails", 1)
    ends(cmgr, "other", 143)
    cmgr.wait(6)
    ends(cmgr, "late", 143)
    assert cmgr.held() == ["llm"]


def test_one_of_the_same_pod_that_a_person_has_forgotten_stays_down() -> None:
    cmgr = pod(inside("web", of="infra"))
    ends(cmgr, "web", 143)
    cmgr.tell(facts.ForgetOrdered(key("web"), "uid 0"))
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert cmgr.held() == ["llm"]


def test_one_of_the_same_pod_is_not_kept_from_well_chips_for_longer_than_the_mercy() -> None:
    cmgr = pod(inside("web", of="infra"))
    cmgr.cures = False
    ends(cmgr, "web", 143)
    cmgr.wait(70 + cmgr.policy.limits.mercy / timedelta(seconds=1))
    assert (cmgr.booked("web").running, cmgr.held()) == (True, ["llm"])


def test_whoever_is_looked_at_when_another_life_of_the_one_begins_by_no_hand_of_ours() -> None:
    cmgr = Cmgr(container("llm", 0), inside("proxy"), policy=SINGLE)
    cmgr.sees(replace(cmgr.truth[key("llm")], run="by hand"))
    assert [c.reason for c in cmgr.sent(ListContainers)] == ["who is in a namespace that llm had?"]
    cmgr.truth[key("proxy")] = replace(cmgr.truth[key("proxy")], cut_off="llm")
    cmgr.run()
    (idle,) = [t for t in troubles(cmgr.node) if t.kind is TroubleKind.IDLE]
    assert idle.words.startswith(
        "container proxy does not serve: it is cut off, for llm, in whose namespaces it runs, has"
    )
    assert idle.hint.startswith("restart it as it was started (docker restart")
    cmgr.sees(replace(cmgr.truth[key("proxy")], cut_off=""))
    assert kinds(cmgr) == {TroubleKind.IDLE}, "only a list tells"
    cmgr.sees(replace(cmgr.truth[key("proxy")], cut_off="", run="another"))
    assert kinds(cmgr) == set()


def test_whoever_is_looked_at_when_the_one_is_removed_and_its_hint_is_to_make_it_anew() -> None:
    cmgr = Cmgr(container("llm", 0), inside("proxy"), policy=SINGLE)
    cmgr.truth[key("proxy")] = replace(cmgr.truth[key("proxy")], cut_off="llm", orphaned=True)
    cmgr.removes("llm")
    cmgr.run()
    (idle,) = [t for t in troubles(cmgr.node) if t.kind is TroubleKind.IDLE]
    assert (idle.why[-14:], idle.hint[:15]) == ("exists no more", "recreate it (do")


def test_one_that_can_never_start_again_is_held_told_and_not_tried() -> None:
    cmgr = Cmgr(inside("proxy", 0, cut_off="llm", orphaned=True), policy=SINGLE)
    cmgr.fault(0)
    cmgr.run()
    cmgr.wait(600)
    assert not cmgr.sent(StartContainer)
    (down,) = [t for t in troubles(cmgr.node) if t.kind is TroubleKind.DOWN]
    assert down.why == "llm, in whose namespaces it was to run, exists no more"
    assert down.hint.startswith("recreate it")


@pytest.mark.parametrize("left", [{"enabled": False}, {"owner": "kubelet"}], ids=["hands off", "an owner's"])
def test_one_that_is_not_cmgrs_business_is_not_told(left: dict[str, Any]) -> None:
    assert kinds(Cmgr(inside("proxy", cut_off="llm", **left))) == set()


def test_one_that_wishes_to_be_healed_is_restarted_but_not_one_that_could_not_start() -> None:
    for orphaned in (False, True):
        cmgr = Cmgr(inside("proxy", cut_off="llm", orphaned=orphaned, heal=Heal(backoff=seconds(1))), policy=SINGLE)
        cmgr.wait(1.5)
        assert names(cmgr.sent(StopContainer), StopContainer) == ["proxy"] * (not orphaned)
        assert cmgr.booked("proxy").rejoins is False, "no list has said so of its new life"
