"""Containers that a unit of systemd runs: orders go to the unit, and the hold is on it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.invariants import unsafe
from cmgr.model.units import unit_key
from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, ResetRing, StartContainer, StopContainer
from cmgr.model.values.node import units_known
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container, ContainerKey, Exit, Heal, Kept
from cmgr.model.wanted import missing
from cmgr.view import status as view
from tests.model.builders import REQUEST, RESET, SINGLE, Cmgr, answered, container, key, names, seconds

UNIT = "llm.service"
BOTH = ("docker", "systemd")

Step = Callable[[], object]


def unit(name: str = UNIT, **fields: Any) -> Container:
    return replace(container(name, runtime="systemd"), **fields)


class Machine(Cmgr):
    """A machine whose units bring their containers with them: a stop of a unit ends them, a start makes new ones."""

    outlived = False
    made = 0

    def _carry_out(self, command: Any) -> dict[str, Any]:
        told = super()._carry_out(command)
        if isinstance(command, StopContainer) and command.key.runtime == "systemd" and not self.outlived:
            for mine in self.of(command.key):
                del self.truth[mine.key]
        if isinstance(command, StartContainer) and command.key.runtime == "systemd":
            self.make(command.key.id)
        return told

    def of(self, unit: ContainerKey) -> list[Container]:
        return [c for c in self.truth.values() if c.unit == unit.id]

    def make(self, unit: str, *chips: int) -> Container:
        """Do what `docker run --rm` in the unit does."""
        self.made += 1
        made = container(f"llm-{self.made}", *(chips or (0,)), unit=unit, auto_remove=True)
        self.truth[made.key] = made
        return made


def machine(
    *others: Container, chips: tuple[int, ...] = (0,), runtimes: tuple[str, ...] = BOTH, **more: Any
) -> Machine:
    first = container("llm", *chips, unit=UNIT, auto_remove=True)
    return Machine(unit(), first, *others, runtimes=runtimes, **more)


def booked(cmgr: Cmgr, name: str = UNIT) -> Container:
    return cmgr.booked(name, "systemd")


def test_a_unit_uses_the_chips_of_its_containers_and_a_fault_stops_and_starts_the_unit() -> None:
    cmgr = machine(chips=(0, 1))
    assert (set(booked(cmgr).kept.chips), booked(cmgr).kept.wanted) == ({0, 1}, True)
    cmgr.fault(1)
    cmgr.run()
    assert names(cmgr.sent(StopContainer)) == [UNIT]
    assert names(cmgr.sent(StartContainer), StartContainer) == [UNIT]
    assert (cmgr.phase(), cmgr.held(), len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, [], 1)
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert [c.name for c in cmgr.node.containers.values() if c.unit] == ["llm-1"]


def test_the_hold_is_on_the_unit_and_survives_that_its_container_is_removed_and_cmgr_killed() -> None:
    cmgr = machine()
    cmgr.fault(0, REQUEST)
    cmgr.run()
    assert (cmgr.held(), list(cmgr.node.containers)) == ([UNIT], [unit_key(UNIT)])
    assert cmgr.hold(UNIT, "systemd").chips == {0}
    assert units_known(cmgr.node).keys() == {UNIT}
    cmgr.begin()
    cmgr.run()
    assert set(booked(cmgr).kept.chips) == {0}, "what it ran is remembered while it is down"
    cmgr.wait(70)
    assert (cmgr.held(), cmgr.phase(), booked(cmgr).running) == ([], Phase.HEALTHY, True)
    assert set(booked(cmgr).kept.chips) == {0}


def test_a_unit_forgets_the_chips_that_its_new_containers_do_not_use_once_it_is_not_held() -> None:
    cmgr = machine(chips=(0, 1))
    cmgr.removes("llm")
    cmgr.sees(cmgr.make(UNIT, 4))
    cmgr.run(ListContainers)
    assert set(booked(cmgr).kept.chips) == {4}


def test_a_held_unit_keeps_its_chips_until_it_has_settled() -> None:
    cmgr = machine(chips=(0, 1), settle=30)
    cmgr.fault(1)
    cmgr.wait(2)
    assert set(cmgr.hold(UNIT, "systemd").chips) == {0, 1}, "it has started one of its containers"
    assert set(booked(cmgr).kept.chips) == {0, 1}
    cmgr.wait(40)
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert set(booked(cmgr).kept.chips) == {0}


def test_until_systemd_has_said_whether_the_unit_is_there_nothing_is_stopped() -> None:
    cmgr = machine(runtimes=("docker",))
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.sent(StopContainer), cmgr.phase()) == ([], Phase.WAITING)
    assert "systemd is asked about its unit llm.service" in cmgr.ring().reason
    cmgr.tell(facts.RuntimeFound("systemd", covering=True))
    cmgr.run()
    assert (names(cmgr.sent(StopContainer)), cmgr.phase(), cmgr.held()) == ([UNIT], Phase.HEALTHY, [])


def test_a_container_whose_unit_is_not_there_is_one_like_any_other_and_that_is_told() -> None:
    lone = container("llm", 0, unit="lmm.service")
    cmgr = Cmgr(lone, runtimes=BOTH)
    (row,) = view.containers(cmgr.node)
    assert (row["unit"], row["warnings"]) == (
        "",
        ["its unit lmm.service is not there (systemd knows no such unit): the container itself is stopped and started"],
    )
    cmgr.fault(0)
    cmgr.run()
    assert (names(cmgr.sent(StopContainer)), cmgr.held(), cmgr.phase()) == (["llm"], [], Phase.HEALTHY)


def test_a_container_that_names_a_unit_which_does_not_run_it_is_stopped_itself_and_the_unit_never() -> None:
    cmgr = Cmgr(unit("sshd.service"), container("llm", 0, unit="sshd.service"), runtimes=BOTH, strangers=["llm"])
    (row,) = view.containers(cmgr.node)
    assert row["warnings"] == [
        "label cmgr.unit=sshd.service is not obeyed: neither a client in that unit nor its commands name it"
    ]
    assert (row["unit"], booked(cmgr, "sshd.service").kept.chips) == ("", frozenset())
    cmgr.fault(0)
    cmgr.run()
    assert (names(cmgr.sent(StopContainer)), cmgr.held(), cmgr.phase()) == (["llm"], [], Phase.HEALTHY)


def test_a_strangers_container_beside_those_of_a_unit_says_nothing_for_it() -> None:
    spy = container("spy", 1, unit=UNIT, strategy=Strategy.NEVER, enabled=False, group="theirs")
    cmgr = machine(spy, policy=SINGLE, strangers=["spy"])
    assert (set(booked(cmgr).kept.chips), booked(cmgr).group, booked(cmgr).enabled) == ({0}, "", True)
    cmgr.fault(1)
    cmgr.run()
    assert UNIT not in names(cmgr.sent(StopContainer))


def test_until_systemd_has_said_whether_the_unit_runs_the_container_neither_is_stopped() -> None:
    cmgr = machine(strangers=["spy"], policy=SINGLE)
    cmgr.sees(container("spy", 1, unit=UNIT))
    cmgr.fault(1)
    cmgr.run(ListContainers)
    assert names(cmgr.sent(StopContainer)) == ["spy"]
    cmgr = machine(policy=SINGLE)
    cmgr.sees(container("more", 1, unit=UNIT))
    cmgr.fault(1)
    assert cmgr.sent(StopContainer) == []
    cmgr.run(ListContainers)
    assert names(cmgr.sent(StopContainer)) == [UNIT]


def test_that_a_unit_runs_a_container_is_remembered_when_nothing_in_it_says_so_any_more() -> None:
    cmgr = machine()
    cmgr.strangers = frozenset({"llm"})  # Its client is gone, and its commands do not name it.
    for _ in range(2):
        cmgr.tell(facts.Resync())
        cmgr.run()
        cmgr.begin()
        cmgr.run()
    cmgr.fault(0)
    cmgr.run()
    assert names(cmgr.sent(StopContainer)) == [UNIT]


def test_a_systemd_that_does_not_answer_keeps_nobody_waiting() -> None:
    cmgr = Cmgr(container("llm", 0, unit=UNIT), container("other", 4), runtimes=("docker",))
    cmgr.tell(facts.RuntimeFound("systemd", covering=True))
    cmgr.answer(ListContainers, error="nobody answers on /run/dbus")
    cmgr.fault(0)
    cmgr.fault(4)
    for _ in range(40):
        for command in [c for c in cmgr.pending if isinstance(c, ListContainers) and c.runtime == "systemd"]:
            cmgr.pending.remove(command)
            cmgr.tell(answered(command, error="nobody answers on /run/dbus"))
        if cmgr.pending:
            cmgr.answer(type(cmgr.pending[0]))
    assert (sorted(names(cmgr.sent(StopContainer))), len(cmgr.sent(ResetRing))) == (["llm", "other"], 2)
    assert "systemd does not answer: nobody answers on /run/dbus" in view.containers(cmgr.node)[0]["warnings"][0]


def test_a_container_that_outlives_its_unit_is_stopped_and_not_started() -> None:
    cmgr = machine()
    cmgr.outlived = True
    cmgr.fault(0)
    cmgr.run()
    assert names(cmgr.sent(StopContainer)) == [UNIT, "llm"]
    assert names(cmgr.sent(StartContainer), StartContainer) == [UNIT]
    assert (cmgr.held(), cmgr.phase(), len(cmgr.sent(ResetRing))) == ([], Phase.HEALTHY, 1)
    assert "llm runs on though its unit llm.service is down: it is stopped, too" in cmgr.notes()


def test_the_removal_of_what_has_outlived_its_unit_loses_nothing() -> None:
    cmgr = machine()
    cmgr.outlived = True
    cmgr.fault(0, REQUEST)
    cmgr.run(StopContainer)
    cmgr.run(ListContainers)
    assert cmgr.held() == ["llm", UNIT]
    cmgr.removes("llm")
    assert (cmgr.held(), dict(cmgr.node.troubles)) == ([UNIT], {})


def test_a_unit_that_was_started_when_cmgr_died_has_left_nothing_behind() -> None:
    cmgr = machine()
    cmgr.fault(0)
    while not any(isinstance(command, StartContainer) for command in cmgr.pending):
        cmgr.answer(type(cmgr.pending[0]))
    start = next(command for command in cmgr.pending if isinstance(command, StartContainer))
    cmgr._carry_out(start)  # cmgr dies before it hears of it.
    cmgr.begin()
    # Docker is faster than systemd, of which only the last life has said that the unit is down.
    docker = next(c for c in cmgr.pending if isinstance(c, ListContainers) and c.runtime == "docker")
    cmgr.pending.remove(docker)
    cmgr.tell(answered(docker, **Cmgr._carry_out(cmgr, docker)))
    assert not cmgr.sent(StopContainer)[1:]
    cmgr.run()
    assert names(cmgr.sent(StopContainer)) == [UNIT]
    assert (cmgr.held(), booked(cmgr).running, len(cmgr.of(unit_key(UNIT)))) == ([], True, 1)


def test_what_a_unit_that_is_still_starting_has_begun_is_not_left_behind() -> None:
    cmgr = machine()
    cmgr.fault(0)
    while not any(isinstance(command, StartContainer) for command in cmgr.pending):
        cmgr.answer(type(cmgr.pending[0]))
    cmgr.tell(facts.Resync())
    cmgr.run(ListContainers)  # As far as systemd has said, it is down, and Docker has listed its containers since.
    cmgr.wait(1, run=False)
    made = cmgr.make(UNIT)
    cmgr.sees(made)  # Docker is faster than systemd: of Type=notify its answer comes when the model is loaded.
    cmgr.tell(facts.Resync())
    cmgr.run(ListContainers)
    assert (names(cmgr.sent(StopContainer)), cmgr.booked(made.name).running) == ([UNIT], True)
    cmgr.sees(replace(unit(), run="still starting"))
    cmgr.run()
    assert (names(cmgr.sent(StopContainer)), cmgr.held(), booked(cmgr).running) == ([UNIT], [], True)


def test_what_is_started_beside_its_unit_again_and_again_is_given_in_to() -> None:
    cmgr = machine()
    cmgr.outlived = True
    cmgr.fault(0, REQUEST)
    cmgr.run()
    for life in range(6):
        cmgr.starts("llm", f"by a script {life}")
        cmgr.wait(1)
    assert len(cmgr.sent(StopContainer, "llm")) == 3
    cmgr.wait(120)
    assert "something starts it again" in cmgr.ring().reason
    assert cmgr.sent(ResetRing) == []


def test_a_container_whose_unit_a_person_has_stopped_is_one_like_any_other() -> None:
    cmgr = machine()
    cmgr.sees(unit(running=False, exit=Exit(0, cmgr.now, asked=True)))
    cmgr.run()
    cmgr.truth[key("llm")] = replace(cmgr.truth[key("llm")], auto_remove=False)
    cmgr.sees(cmgr.truth[key("llm")])
    cmgr.fault(0)
    cmgr.run()
    assert names(cmgr.sent(StopContainer)) == ["llm"]
    assert names(cmgr.sent(StartContainer), StartContainer) == ["llm"]


def test_a_unit_that_a_person_has_stopped_is_forgotten_with_its_container_and_nothing_is_down() -> None:
    cmgr = machine()
    cmgr.removes("llm")
    cmgr.sees(unit(running=False, exit=Exit(0, cmgr.now, asked=True)))
    assert (missing(cmgr.node), units_known(cmgr.node)) == ((), {})
    cmgr.fault(0)
    cmgr.run()
    assert cmgr.sent(StartContainer) == []


@pytest.mark.parametrize("unit_first", [True, False])
def test_that_a_person_stopped_the_container_is_why_its_unit_ended(unit_first: bool) -> None:
    cmgr = machine()
    end = Exit(1, cmgr.now)
    over = unit(running=False, exit=end)
    steps: list[Step] = [lambda: cmgr.sees(over), lambda: cmgr.dies("llm", 1, asked=True)]
    for step in steps if unit_first else reversed(steps):
        step()
    assert (missing(cmgr.node), booked(cmgr).exit) == ((), replace(end, asked=True))
    cmgr.fault(0)
    cmgr.run()
    assert cmgr.sent(StartContainer) == []


def test_that_a_container_which_outlived_its_unit_is_stopped_is_not_why_the_unit_ended() -> None:
    cmgr = machine()
    end = Exit(1, cmgr.now)
    cmgr.sees(unit(running=False, exit=end))
    cmgr.wait(600)
    cmgr.dies("llm", 143, asked=True)
    assert (unit_key(UNIT) in missing(cmgr.node), booked(cmgr).exit) == (True, end)


def test_a_container_whose_unit_becomes_known_while_it_waits_for_its_stop_is_left_to_that() -> None:
    llm, web = container("llm", 0, unit=UNIT, auto_remove=False), container("web", 1, order=1)
    cmgr = Machine(llm, web, runtimes=BOTH)
    cmgr.tell(facts.Resync())
    cmgr.run()
    cmgr.fault(0)
    assert (cmgr.held(), names(cmgr.sent(StopContainer))) == (["llm", "web"], ["web"])
    cmgr.sees(unit())
    cmgr.dies("llm", 1)
    cmgr.run()
    assert names(cmgr.sent(StopContainer)) == ["web", UNIT]
    assert sorted(names(cmgr.sent(StartContainer), StartContainer)) == [UNIT, "web"]


def test_that_cmgr_stops_a_container_which_outlived_its_unit_is_not_why_the_unit_ended() -> None:
    cmgr = machine()
    end = Exit(1, cmgr.now)
    cmgr.sees(unit(running=False, exit=end))
    cmgr.truth[key("llm")] = replace(cmgr.truth[key("llm")], auto_remove=False)
    cmgr.sees(cmgr.truth[key("llm")])
    cmgr.tell(facts.ResetOrdered(ChipId(0), "a", stop=True))
    cmgr.run(StopContainer)
    cmgr.dies("llm", 143, asked=True)  # The event of it.
    assert (names(cmgr.sent(StopContainer)), booked(cmgr).exit) == (["llm"], end)
    assert unit_key(UNIT) in missing(cmgr.node)


def test_that_the_container_of_an_earlier_life_was_stopped_is_not_why_this_life_ended() -> None:
    cmgr = machine()
    cmgr.fault(0)
    cmgr.run()
    old = Exit(143, cmgr.now, asked=True)
    cmgr.wait(600)
    cmgr.tell(facts.ContainerSeen(replace(container("llm", 0, unit=UNIT), running=False, exit=old)))  # Told late.
    end = Exit(1, cmgr.now)
    cmgr.sees(replace(cmgr.truth[unit_key(UNIT)], running=False, exit=end))
    assert (unit_key(UNIT) in missing(cmgr.node), booked(cmgr).exit) == (True, end)


@pytest.mark.parametrize("unit_first", [True, False])
def test_a_unit_whose_container_died_of_the_fault_is_started_again_whatever_its_client_said(unit_first: bool) -> None:
    cmgr = machine()
    steps: list[Step] = [
        lambda: cmgr.sees(unit(running=False, exit=Exit(137, cmgr.now))),
        lambda: (cmgr.dies("llm", 137), cmgr.removes("llm")),
    ]
    for step in steps if unit_first else reversed(steps):
        step()
    assert missing(cmgr.node) == (unit_key(UNIT),), "one row tells of it"
    assert units_known(cmgr.node).keys() == {UNIT}, "it is looked after, though no container names it any more"
    cmgr.fault(0)
    cmgr.run()
    assert names(cmgr.sent(StartContainer), StartContainer) == [UNIT]
    assert booked(cmgr).running


def test_the_end_of_a_container_counts_though_a_list_without_it_came_before() -> None:
    cmgr = machine()
    gone = cmgr.truth.pop(key("llm"))
    cmgr.sees(unit(running=False, exit=Exit(137, cmgr.now)))
    cmgr.run(ListContainers)  # Did what it ran end with it? The list is quicker than the events.
    assert "llm" not in {c.name for c in cmgr.node.containers.values()}
    cmgr.tell(facts.ContainerSeen(replace(gone, running=False, exit=Exit(137, cmgr.now, asked=False))))
    cmgr.tell(facts.ContainerRemoved(gone.key))
    assert missing(cmgr.node) == (unit_key(UNIT),)
    cmgr.fault(0)
    cmgr.run()
    assert booked(cmgr).running


def test_a_container_that_dies_while_its_unit_goes_on_is_told_until_another_is_in_its_place() -> None:
    cmgr = machine()
    cmgr.dies("llm", 1)
    assert missing(cmgr.node) == (key("llm"),)
    cmgr.sees(cmgr.make(UNIT))
    cmgr.run(ListContainers)
    assert missing(cmgr.node) == ()


def test_the_labels_of_its_containers_count_for_the_unit() -> None:
    cmgr = machine()
    cmgr.sees(replace(cmgr.truth[key("llm")], strategy=Strategy.NEVER, order=3, heal=Heal()))
    assert (booked(cmgr).strategy, booked(cmgr).order, booked(cmgr).heal) == (Strategy.NEVER, 3, Heal())
    cmgr.fault(0)
    cmgr.run()
    assert cmgr.sent(StopContainer) == []
    assert "llm.service (strategy never)" in cmgr.ring().reason
    cmgr.sees(replace(cmgr.truth[key("llm")], strategy=None))
    cmgr.tell(facts.ContainerSeen(unit()))
    assert booked(cmgr).strategy is None, "a label that is gone counts no more"


def test_hands_off_of_a_container_is_hands_off_of_its_unit() -> None:
    cmgr = machine()
    cmgr.sees(replace(cmgr.truth[key("llm")], enabled=False))
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.sent(StopContainer), cmgr.held()) == ([], [])


def test_the_unit_is_the_member_of_its_containers_group() -> None:
    mate = container("mate", 4, group="tp2")
    cmgr = machine(mate, policy=SINGLE)
    cmgr.sees(replace(cmgr.truth[key("llm")], group="tp2"))
    cmgr.fault(4)
    cmgr.run_until(Phase.WAITING, 4)
    assert sorted(names(cmgr.sent(StopContainer))) == [UNIT, "mate"]
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("mate").running, booked(cmgr).running) == ([], True, True)


def test_a_unit_whose_container_uses_no_chips_stays_in_its_group_while_it_is_down() -> None:
    router = container("router", unit="router.service", group="tp2", auto_remove=True)
    cmgr = machine(unit("router.service"), router, policy=SINGLE)
    cmgr.sees(replace(cmgr.truth[key("llm")], group="tp2"))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    assert (booked(cmgr, "router.service").running, booked(cmgr, "router.service").group) == (False, "tp2")
    assert cmgr.held() == [UNIT, "router.service"]
    cmgr.begin()
    cmgr.wait(60)
    assert (cmgr.held(), len(cmgr.sent(StopContainer)), len(cmgr.sent(StartContainer))) == ([], 2, 2)


def test_a_unit_that_is_unhealthy_by_its_container_is_restarted_where_that_wishes_it() -> None:
    cmgr = machine()
    cmgr.sees(replace(cmgr.truth[key("llm")], heal=Heal(backoff=seconds(1)), health="unhealthy"))
    cmgr.wait(5)
    assert names(cmgr.sent(StopContainer)) == [UNIT]
    assert names(cmgr.sent(StartContainer), StartContainer) == [UNIT]
    assert (booked(cmgr).health, cmgr.held()) == ("", [])


def test_a_unit_is_found_to_run_a_container_and_is_stopped_in_its_place_in_each_life() -> None:
    plain = container("llm", 0, auto_remove=True)
    cmgr = Machine(unit(runs=frozenset({"llm"})), plain, runtimes=BOTH)
    assert (cmgr.booked("llm").unit, set(booked(cmgr).kept.chips)) == (UNIT, {0})
    cmgr.fault(0, RESET)
    cmgr.run_until(Phase.WAITING)
    assert names(cmgr.sent(StopContainer)) == [UNIT]
    assert booked(cmgr).runs == {"llm"}, "what it runs is remembered while it is down"


def test_two_units_that_run_one_container_are_none_that_is_known() -> None:
    other = unit("other.service", runs=frozenset({"llm"}))
    cmgr = Cmgr(unit(runs=frozenset({"llm"})), other, container("llm", 0), runtimes=BOTH)
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert cmgr.booked("llm").unit == ""


def test_a_status_shows_which_unit_is_stopped_in_a_containers_place() -> None:
    rows = {row["name"]: row for row in view.containers(machine().node)}
    assert (rows["llm"]["unit"], rows["llm"]["reason"]) == (UNIT, f"{UNIT} is stopped and started in its place")
    assert (rows[UNIT]["chips"], rows[UNIT]["unit"]) == ([0], "")
    assert not rows["llm"]["spared"]


def test_nothing_is_reset_under_a_container_whose_unit_is_on_other_chips() -> None:
    cmgr = machine()
    stray = replace(booked(cmgr), claims=frozenset(), kept=Kept())
    cmgr.node = replace(cmgr.node, containers={**cmgr.node.containers, stray.key: stray})
    order = ResetRing("reset-1", "", 0, (0,), (0,), frozenset())  # type: ignore[arg-type]
    assert "llm runs on ring 0" in unsafe(cmgr.node, order)


def test_a_hold_from_before_the_unit_was_known_gives_way_to_that_of_the_unit() -> None:
    first = container("llm", 0, unit=UNIT, auto_remove=True, strategy=Strategy.RING)
    cmgr = Machine(first, container("last", 1, order=1), runtimes=("docker",))
    cmgr.tell(facts.RuntimeFound("systemd", covering=True))
    cmgr.answer(ListContainers, error="nobody answers on /run/dbus")
    cmgr.fault(0, REQUEST)
    assert (cmgr.held(), names(cmgr.sent(StopContainer))) == (["last", "llm"], ["last"])
    cmgr.truth[unit_key(UNIT)] = unit()
    cmgr.tell(facts.RuntimeUp("systemd"))
    cmgr.run()
    assert names(cmgr.sent(StopContainer)) == ["last", UNIT]
    cmgr.wait(70)
    assert (cmgr.held(), cmgr.phase()) == ([], Phase.HEALTHY)
