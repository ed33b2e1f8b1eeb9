"""Whose deaths were asked for."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from cmgr.errors import ContainerGone
from cmgr.model.values.messages.facts import ContainerRemoved, ContainerSeen
from cmgr.model.values.services.containers import Container, ContainerKey, Exit, Heal
from cmgr.ports import RuntimeFact
from cmgr.runtimes.docker.deaths import Deaths
from cmgr.runtimes.docker.events import Event
from cmgr.runtimes.docker.inspect import Described
from cmgr.runtimes.docker.known import Known
from cmgr.runtimes.docker.tell import Teller

AT = datetime(2024, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("story", "asked"),
    [
        ("", None),
        ("start", None),
        ("start told", True),
        ("start told die", True),
        ("start die", False),
        ("die", False),
        ("start die stop", True),
        ("start told die start die", False),
        ("start told start die", False),
        ("start told die start", None),
        ("start past-die", None),
        ("start told past-die", True),
        ("start told die drop", None),
        ("start told over", None),
        ("start told over die", False),
        ("start told over past-die", None),
        ("start told over die stop", True),
        ("start told over told die", True),
        ("start told die start stop", None),
        ("start told die start stop die", False),
        ("stop", True),
        ("start podman-stop die", True),
        ("start past-die obeyed", True),
        ("start obeyed past-die", True),
        ("start die obeyed", False),
        ("start past-die told", None),
        ("start ending past-die", True),
        ("start ending over past-die", True),
        ("start ending past-die start past-die", None),
        # The life that a stop of ours has ended began before it, and that is told after it.
        ("obeyed told-late", True),
        ("obeyed told-late past-die", True),
        ("obeyed told-late start", None),
    ],
)
def test_a_death_is_asked_for_when_its_life_was_told_to_end_and_that_is_not_over(
    story: str, asked: bool | None
) -> None:
    deaths, now = Deaths(), 100.0
    deaths.told("other")
    for word in story.split():
        match word:
            case "start":
                deaths.started("c")
            case "told":
                deaths.told("c", until=now + 12)
            case "obeyed":
                deaths.obeyed("c", now)
            case "told-late":
                deaths.started("c", at=now - 1)
            case "ending":
                deaths.found_ending("c")
            case "over":
                now += 13
            case "drop":
                deaths.drop("c")
            case "stop" | "podman-stop":
                deaths.stopped("c", after_death=word == "stop")
            case _:
                deaths.died("c", now, 1, all_seen=word == "die")
    assert deaths.asked("c", now) is asked
    assert deaths.asked("other", now) is True


@pytest.mark.parametrize(("code", "asked"), [(131, True), (0, False), (1, False), (139, False), (137, False)])
def test_a_signal_that_means_something_else_is_an_order_to_end_for_the_end_that_it_causes(
    code: int, asked: bool
) -> None:
    deaths = Deaths()
    deaths.started("c")
    deaths.told("c", until=12, code=131)
    deaths.died("c", 1, code, all_seen=True)
    assert deaths.asked("c", 1) is asked


@pytest.mark.parametrize(
    ("story", "missed"),
    [
        ("", True),
        ("start", True),
        ("start told", False),
        ("start die", False),
        ("start past-die", False),
        ("start told swept", True),
        ("start told swept die", False),
        ("start told die drop", True),
    ],
)
def test_a_death_that_no_event_told_was_missed_and_so_was_one_by_a_new_daemon(story: str, missed: bool) -> None:
    deaths = Deaths()
    tell: dict[str, Callable[[str], None]] = {
        "start": deaths.started, "told": deaths.told, "swept": deaths.swept, "drop": deaths.drop,
    }  # fmt: skip
    for word in story.split():
        if word.endswith("die"):
            deaths.died("c", 0, 1, all_seen=word == "die")
        else:
            tell[word]("c")
    exit_ = deaths.completed(Container(ContainerKey("docker", "", "c"), "c", exit=Exit(0, AT))).exit
    assert exit_ is not None
    assert exit_.missed is missed
    assert exit_.asked is not True or not missed


def test_only_a_container_that_ended_is_completed() -> None:
    deaths = Deaths()
    deaths.died("c", 0, 1, all_seen=True)
    ended = Container(ContainerKey("docker", "", "c"), "c", exit=Exit(1, AT))
    assert deaths.completed(ended).exit == Exit(1, AT, asked=False)
    running = Container(ContainerKey("docker", "", "c"), "c", running=True)
    assert deaths.completed(running) is running


@pytest.mark.parametrize(
    ("story", "policy", "left"),
    [
        ("die", "always:0", True), ("die", "on-failure:3", True), ("die", "", False),
        ("told die", "always:0", False), ("past-die", "always:0", False), ("", "always:0", False),
    ],
)  # fmt: skip
def test_one_that_docker_tells_has_died_and_is_not_restarting_its_policy_starts_no_more(
    story: str, policy: str, left: bool
) -> None:
    deaths = Deaths()
    for word in story.split():
        if word == "told":
            deaths.told("c")
        else:
            deaths.died("c", 0, 1, all_seen=word == "die")
    ended = Container(ContainerKey("docker", "", "c"), "c", exit=Exit(1, AT), restart_policy=policy)
    end = deaths.completed(ended).exit
    assert end is not None
    assert end.left is left


@pytest.mark.parametrize(
    ("policy", "heal", "code", "told", "amiss"),
    [
        ("always:0", None, 0, False, True), ("unless-stopped:0", None, 0, False, True), ("", Heal(), 0, False, True),
        ("on-failure:3", None, 0, False, False), ("", None, 0, False, False), ("always:0", None, 1, False, False),
        ("always:0", None, 0, True, False),
    ],
)  # fmt: skip
def test_a_service_that_ends_well_was_to_run_on_unless_somebody_has_asked(
    policy: str, heal: Heal | None, code: int, told: bool, amiss: bool
) -> None:
    deaths = Deaths()
    deaths.started("c")
    if told:
        deaths.told("c")
    deaths.died("c", 0, code, all_seen=True)
    ended = Container(ContainerKey("docker", "", "c"), "c", exit=Exit(code, AT), restart_policy=policy, heal=heal)
    assert (exit_ := deaths.completed(ended).exit) is not None
    assert exit_.amiss is amiss
    assert exit_.by_itself is (not told and (amiss or code != 0))


def test_containers_that_are_no_more_are_forgotten() -> None:
    deaths = Deaths()
    for id_ in ("a", "b"):
        deaths.told(id_)
        deaths.died(id_, 0, 1, all_seen=True)
    deaths.keep({"b", "c"})
    assert (deaths.asked("a", 0), deaths.asked("b", 0)) == (None, True)


def test_an_end_is_told_though_a_list_without_the_container_came_before_it() -> None:
    """Docker removes a container with `--rm` at once, and a list may be quicker than the events."""
    known, deaths, told = Known(), Deaths(), list[RuntimeFact]()

    def look(id_: str) -> Described:
        raise ContainerGone(f"cannot find {id_}")

    teller = Teller(look, known, deaths, told.append, lambda: True)
    teller.up(restarted=False, came=None)
    web = Container(ContainerKey("docker", "", "c"), "web", running=True)
    known.put("c", Described(web, 15, "running", True), known.ticket())
    deaths.keep(known.keep((), known.ticket()))
    teller.event(Event("die", "c", 1_700_000_000 * 10**9, {"exitCode": "137"}))
    teller.event(Event("destroy", "c", 1_700_000_000 * 10**9, {}))
    seen, removed = told[-2:]
    assert isinstance(seen, ContainerSeen)
    assert seen.container.exit is not None
    assert (seen.container.running, seen.container.exit.code, seen.container.exit.asked) == (False, 137, False)
    assert removed == ContainerRemoved(ContainerKey("docker", "", "c"))


def test_that_somebody_asked_for_an_end_is_known_after_such_a_list() -> None:
    known, deaths = Known(), Deaths()
    known.flow(True)
    known.put("c", Described(Container(ContainerKey("docker", "", "c"), "web"), 15, "running", True), known.ticket())
    deaths.told("c")
    deaths.keep(known.keep((), known.ticket()))
    deaths.died("c", 0, 1, all_seen=True)
    assert deaths.asked("c", 0) is True


@pytest.mark.parametrize(
    ("story", "theirs"),
    [
        ("ours kill die stop", False),
        ("kill ours kill die stop stop", True),
        ("kill over ours kill die stop", False),
        ("kill over ours kill die stop stop", True),
        ("ours kill kill die stop stop", False),
        ("kill ours kill over die stop stop", True),
        ("ours kill ours kill die stop stop", False),
        ("kill over kill ours kill die stop", True),
        ("kill die start ours kill die stop", False),
        # The new life is told late.
        ("kill die stop ours", False),
        ("kill die start ours start kill die stop", False),
        ("ours told-late kill ours kill die stop stop", False),
        # As podman tells: of no order, and seldom of a stop that has worked.
        ("ending ours die", True),
        ("ending over ours die", True),
        ("ending ours ending die", True),
        ("ours ending die", False),
        ("ours ending ours ending die", False),
        ("ending die start ours die", False),
        ("ending told-late ours die", True),
        ("ending start ours die", False),
    ],
)
def test_a_stop_of_somebody_else_that_was_under_way_when_ours_began_is_known(story: str, theirs: bool) -> None:
    deaths, ahead, began = Deaths(), 0.0, 0.0
    deaths.started("c")
    for word in story.split():
        now = time.monotonic() + ahead
        match word:
            case "ours":
                began = deaths.stopping("c") + ahead
            case "kill":
                deaths.asked_to_end("c", now, now + 12)
            case "ending":
                deaths.found_ending("c")
            case "over":
                ahead += 60
            case "die":
                deaths.died("c", now, 0, all_seen=True)
            case "start":
                deaths.started("c")
            case "told-late":
                deaths.started("c", at=0.0)
            case _:
                deaths.stopped("c", after_death=True)
    assert deaths.was_theirs("c", began, 0) is theirs


@pytest.mark.parametrize("died_first", [True, False])
def test_an_order_of_which_only_is_told_that_it_has_worked_was_given_before_the_end(died_first: bool) -> None:
    # Podman's way: its word may come before anybody has looked at the end.
    deaths, now = Deaths(), time.monotonic()
    deaths.started("c", now - 2)
    if died_first:
        deaths.died("c", now - 1, 0, all_seen=False)
    deaths.stopped("c", after_death=False)
    end = deaths.completed(Container(ContainerKey("docker", "", "c"), "c", exit=Exit(0, AT))).exit
    assert end is not None
    assert (end.asked, end.told is not None) == (True, True)


def test_of_our_own_stop_nobody_else_had_told_it() -> None:
    deaths = Deaths()
    deaths.started("c", time.monotonic() - 1)
    deaths.stopping("c")
    deaths.stopped("c", after_death=False)
    end = deaths.completed(Container(ContainerKey("docker", "", "c"), "c", exit=Exit(0, AT))).exit
    assert end is not None
    assert (end.asked, end.told) == (True, None)
