"""The machine is rebooted as the last step: where nothing else helps, nobody is left down by it, and once a day."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cmgr.config.week import window
from cmgr.model.recovery.reboots import AGAIN, DAY, LATE, starts_by_itself
from cmgr.model.values.chips import ChipId, ChipReport, Process
from cmgr.model.values.faults import FaultCode
from cmgr.model.values.handling.calendar import REBOOT_WINDOW, Opening
from cmgr.model.values.handling.catalog import Catalog
from cmgr.model.values.handling.policy import Policy, RebootPolicy, RebootWhen, ResetPolicy, Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import CommandId, ListContainers, Note, NoteKind, ReadRing, ScheduleReboot
from cmgr.model.values.messages.reboot_facts import Boot, RebootCancelOrdered
from cmgr.model.values.services.containers import Container
from cmgr.model.values.services.groups import Group, GroupPhase
from cmgr.model.values.services.origins import Origin
from cmgr.model.values.standing import Reboot, RebootStage
from cmgr.service.loop import unwritten
from tests.model.builders import CATALOG, RESET, SEPARATE, Cmgr, container, key, seconds

DEAD = {FaultCode(SEPARATE): replace(CATALOG.entries[FaultCode(SEPARATE)], reboots=True)}
REBOOTS = Catalog({**CATALOG.entries, **DEAD})
DELAY = timedelta(minutes=5)
NOW = RebootPolicy(RebootWhen.NOW, DELAY)


class Machine(Cmgr):
    """One whose driver says in which container each process is."""

    def _report(self, chip: ChipId) -> ChipReport:
        report = super()._report(chip)
        told = (replace(each, container=each.name) if each.pid == 1 else each for each in report.processes)
        return replace(report, processes=tuple(told))


def machine(*others: Container, reboot: RebootPolicy = NOW, **fields: object) -> Cmgr:
    """Return one on which container a is started by its runtime after a boot."""
    policy = Policy(strategy=Strategy.RING, reboot=reboot)
    a = container("a", 0, restart_policy="always", boots=True)
    return Machine(a, *others, policy=policy, catalog=REBOOTS, **fields)  # type: ignore[arg-type]


def dead(cmgr: Cmgr, chip: int = 4) -> Cmgr:
    """Let a chip have what only a reboot cures, and everything be answered."""
    cmgr.fault(chip, SEPARATE)
    cmgr.run()
    return cmgr


def reboot(cmgr: Cmgr) -> Reboot:
    assert cmgr.node.reboot is not None
    return cmgr.node.reboot


def boots(cmgr: Cmgr, *, cured: bool = True) -> None:
    """Let the machine go down at its time, and boot within a minute."""
    cmgr.wait(DELAY.total_seconds())
    for known in list(cmgr.truth.values()):
        cmgr.truth[known.key] = replace(known, run=f"{known.run}, booted", running=known.boots)
    cmgr.faults = {chip: set() if cured else codes for chip, codes in cmgr.faults.items()}
    cmgr.now += seconds(60)
    cmgr.boot = Boot("boot 2", seconds(30))
    cmgr.begin()
    cmgr.run()


def test_where_only_that_helps_the_machine_is_told_and_all_is_written_before() -> None:
    cmgr = machine()
    cmgr.fault(4, SEPARATE)
    cmgr.run(ListContainers, ReadRing)
    (order,) = cmgr.sent(ScheduleReboot)
    assert (reboot(cmgr).stage, reboot(cmgr).command) == (RebootStage.ORDERED, order.id)
    assert (order.delay, order.reason) == (
        DELAY, f"cmgr reboots this machine in 5 min, as nothing else brings back chip 4 ({SEPARATE})",
    )  # fmt: skip
    cmgr.run()
    assert (reboot(cmgr).stage, reboot(cmgr).due) == (RebootStage.ANNOUNCED, reboot(cmgr).since + DELAY)
    assert len(cmgr.sent(ScheduleReboot)) == 1


def test_nothing_is_ordered_that_could_not_be_noted() -> None:
    order = ScheduleReboot(CommandId("reboot-1"), "", DELAY)
    assert str(unwritten(order, "the disk is full")) == "nothing is rebooted that could not be noted: the disk is full"
    assert unwritten(replace(order, delay=None), "the disk is full") is None


def test_by_default_no_machine_is_rebooted() -> None:
    cmgr = dead(machine(reboot=RebootPolicy()))
    assert (cmgr.node.reboot, cmgr.sent(ScheduleReboot)) == (None, [])


def test_it_is_ordered_for_a_chip_whose_resets_are_used_up_and_for_none_that_a_person_has_taken_out() -> None:
    cmgr = machine()
    cmgr.policy = replace(cmgr.policy, reset=ResetPolicy(attempts=1))
    cmgr.tell(facts.Reconfigured(cmgr.policy, REBOOTS))
    cmgr.cures = False
    cmgr.tell(facts.IsolateOrdered(ChipId(5), "it is loud", "a"))
    cmgr.fault(5, SEPARATE)
    cmgr.fault(4, RESET)
    cmgr.wait(60)
    (order,) = cmgr.sent(ScheduleReboot)
    assert order.reason.endswith("brings back chip 4 (its resets are used up)")
    (told,) = [note for note in cmgr.log if isinstance(note, Note) and note.text.startswith("the machine is rebooted")]
    assert (told.ring, told.episode) == (4, 1), "in the timeline of the episode in which it was given up"


def _with(*others: Container) -> Callable[[], Cmgr]:
    return lambda: dead(machine(*others))


def _maintained() -> Cmgr:
    cmgr = machine()
    cmgr.tell(facts.MaintenanceOrdered(on=True, who="a"))
    return dead(cmgr)


def _observing() -> Cmgr:
    cmgr = machine()
    cmgr.policy = replace(cmgr.policy, observe=True)
    cmgr.tell(facts.Reconfigured(cmgr.policy, REBOOTS))
    return dead(cmgr)


def _in_an_episode() -> Cmgr:
    cmgr = machine()
    cmgr.fault(0, RESET)
    cmgr.fault(4, SEPARATE)
    return cmgr


def _in_a_round() -> Cmgr:
    cmgr = machine(container("b", 1, boots=True, group="g"), container("c", 2, boots=True, group="g"))
    group = Group("g", GroupPhase.HALTING, since=cmgr.now, cause="a person wants it")
    cmgr.node = replace(cmgr.node, groups={"g": group})
    cmgr.fault(4, SEPARATE)
    return cmgr


def _with_a_process() -> Cmgr:
    cmgr = machine()
    cmgr.listed[7] = Process(4242, "python3")  # Of whom only the last look tells.
    return dead(cmgr)


def _out_of_reach() -> Cmgr:
    cmgr = machine()
    cmgr.tell(facts.RuntimeDown("docker", "connection refused"))
    cmgr.fault(4, SEPARATE)
    return cmgr


def _nobody_knows_its_boot() -> Cmgr:
    cmgr = machine()
    cmgr.boot = Boot()
    cmgr.begin()
    return dead(cmgr)


IN_THE_WAY: dict[str, Callable[[], Cmgr]] = {
    "b runs and nothing would start it after the boot": _with(container("b", 1)),
    "b runs and has the label cmgr.enable=false": _with(container("b", 1, enabled=False, boots=True)),
    "maintenance until": _maintained,
    "cmgr only observes": _observing,
    "ring 0 is in an episode": _in_an_episode,
    "process 4242 is on chip 7, and nothing would start it after the boot": _with_a_process,
    "cannot reach docker": _out_of_reach,
    "nobody knows since when this machine runs": _nobody_knows_its_boot,
}


@pytest.mark.parametrize("why", IN_THE_WAY)
def test_what_is_in_its_way_is_said_and_nothing_is_ordered(why: str) -> None:
    cmgr = IN_THE_WAY[why]()
    assert (reboot(cmgr).stage, cmgr.sent(ScheduleReboot)) == (RebootStage.WAITING, [])
    assert reboot(cmgr).reason.startswith(why)
    assert any(text.startswith(f"the machine is not rebooted, which chip 4 needs: {why}") for text in cmgr.notes())


def test_a_round_of_a_group_is_waited_for() -> None:
    cmgr = _in_a_round()
    assert cmgr.sent(ScheduleReboot) == []


@pytest.mark.parametrize(
    ("fields", "starts"),
    [({}, False), ({"boots": True}, True), ({"owner": "swarm"}, True), ({"restart_policy": "on-failure"}, False)],
)
def test_somebody_has_to_start_each_afterwards(fields: dict[str, Any], starts: bool) -> None:
    cmgr = machine(b := container("b", 1, **fields))
    assert starts_by_itself(cmgr.node, cmgr.node.containers[b.key]) is starts


def test_an_engine_without_a_daemon_starts_nobody_and_an_enabled_unit_does() -> None:
    unit = container("svc.service", 2, runtime="systemd", boots=True)
    cmgr = machine(container("b", 2, unit="svc.service"), unit, runtimes=("docker", "systemd"))
    node = replace(cmgr.node, origins={"docker": Origin("docker", "podman /var", boots=False)})
    assert not starts_by_itself(node, node.containers[key("a")])
    assert starts_by_itself(node, node.containers[key("b")])


def test_what_is_held_counts_as_started_afterwards() -> None:
    cmgr = machine(container("b", 1))
    cmgr.fault(1, SEPARATE)
    cmgr.run()
    assert reboot(cmgr).reason == "b runs and nothing would start it after the boot"
    cmgr.dies("b", 1)
    cmgr.run()
    assert len(cmgr.sent(ScheduleReboot)) == 1


def test_in_a_window_there_must_be_time_for_its_delay() -> None:
    cmgr = dead(machine(reboot=RebootPolicy(RebootWhen.WINDOW, DELAY, (window("Sat"),))))
    assert reboot(cmgr).reason == f"it waits for its window ({REBOOT_WINDOW})"
    for minutes, ordered in ((4, 0), (60, 1)):
        until = cmgr.now + timedelta(minutes=minutes)
        cmgr.tell(facts.CalendarRead((Opening(REBOOT_WINDOW, open=True, until=until, wall=until),)))
        cmgr.run()
        assert len(cmgr.sent(ScheduleReboot)) == ordered


def test_after_the_boot_what_is_held_is_started_and_the_timeline_says_what_came_of_it() -> None:
    cmgr = machine(container("b", 4))
    cmgr.dies("b", 1)
    dead(cmgr)
    assert cmgr.held() == ["b"]
    boots(cmgr)
    assert reboot(cmgr).stage is RebootStage.BOOTED
    cmgr.wait(600)
    assert (reboot(cmgr).stage, reboot(cmgr).vain) == (RebootStage.OVER, frozenset())
    assert f"the reboot of the machine has helped: chip 4 ({SEPARATE})" in cmgr.notes(NoteKind.RESULT)
    assert (cmgr.held(), cmgr.truth[key("b")].running) == ([], True)


def test_one_that_comes_though_it_was_called_off_is_told_of_as_any() -> None:
    """As a machine goes down before the time, its own word that it is called off may come first."""
    cmgr = dead(machine())
    cmgr.tell(RebootCancelOrdered("somebody on the machine (shutdown)", done=True))
    cmgr.run()
    assert reboot(cmgr).stage is RebootStage.CALLED_OFF
    boots(cmgr)
    cmgr.wait(600)
    assert "the reboot of the machine has helped: chip 4" in " ".join(cmgr.notes(NoteKind.RESULT))
    assert reboot(cmgr).stage is RebootStage.OVER


def test_one_that_has_not_helped_is_told_and_not_made_again_for_the_same_chips() -> None:
    cmgr = dead(machine())
    boots(cmgr, cured=False)
    cmgr.wait(3 * DAY.total_seconds())
    assert any("has not helped: chip 4 (" in text for text in cmgr.notes(NoteKind.WARNING))
    assert reboot(cmgr).reason == "the last reboot did not bring back chip 4"
    assert len(cmgr.sent(ScheduleReboot)) == 1
    dead(cmgr, chip=5)
    assert len(cmgr.sent(ScheduleReboot)) == 2


def test_a_chip_that_is_gone_after_it_is_not_back() -> None:
    cmgr = dead(machine())
    cmgr.chips = tuple(chip for chip in cmgr.chips if chip.id != 4)
    boots(cmgr)
    cmgr.wait(3600)
    assert any("has not helped: chip 4 (" in text for text in cmgr.notes(NoteKind.WARNING))


def test_at_most_one_is_ordered_a_day_whatever_the_clock_shows() -> None:
    cmgr = dead(machine())
    boots(cmgr)
    cmgr.wait(600)
    cmgr.now += timedelta(days=400)  # Somebody sets the clock.
    cmgr.boot = Boot("boot 2", timedelta(hours=1))
    cmgr.begin()
    dead(cmgr, chip=5)
    assert (len(cmgr.sent(ScheduleReboot)), reboot(cmgr).reason) == (1, "one was ordered within the last day")
    cmgr.wait(timedelta(hours=22).total_seconds())
    assert len(cmgr.sent(ScheduleReboot)) == 1
    cmgr.wait(timedelta(hours=2).total_seconds())
    assert len(cmgr.sent(ScheduleReboot)) == 2


def test_one_that_did_not_come_is_told_and_not_tried_again() -> None:
    cmgr = dead(machine())
    cmgr.wait((DELAY + LATE).total_seconds() + 1)
    assert reboot(cmgr).stage is RebootStage.FAILED
    assert any("has failed: its time was" in text for text in cmgr.notes(NoteKind.WARNING))
    cmgr.wait(3 * DAY.total_seconds())
    assert len(cmgr.sent(ScheduleReboot)) == 1
    cmgr.boot = Boot("boot 2", seconds(30))  # A person reboots.
    cmgr.begin()
    assert reboot(cmgr).stage is RebootStage.BOOTED


def test_a_machine_that_does_not_take_the_order_is_told() -> None:
    cmgr = machine()
    cmgr.fault(4, SEPARATE)
    cmgr.run(ListContainers, ReadRing)
    cmgr.answer(ScheduleReboot, error="there is no systemd-logind")
    assert (reboot(cmgr).stage, reboot(cmgr).reason) == (RebootStage.FAILED, "there is no systemd-logind")


def test_what_is_refused_is_ordered_again_later() -> None:
    cmgr = machine()
    cmgr.fault(4, SEPARATE)
    cmgr.run(ListContainers, ReadRing)
    cmgr.answer(ScheduleReboot, error="db runs and nothing would start it after the boot", refused=True)
    assert (reboot(cmgr).stage, reboot(cmgr).reason) == (
        RebootStage.WAITING, "db runs and nothing would start it after the boot",
    )  # fmt: skip
    cmgr.wait(AGAIN.total_seconds() + 1)
    assert (len(cmgr.sent(ScheduleReboot)), reboot(cmgr).stage) == (2, RebootStage.ANNOUNCED)


def test_a_person_calls_it_off_for_a_day() -> None:
    cmgr = dead(machine())
    cmgr.tell(RebootCancelOrdered("root"))
    assert (reboot(cmgr).stage, reboot(cmgr).reason) == (RebootStage.CALLED_OFF, "by root")
    cmgr.run()
    assert [order.delay for order in cmgr.sent(ScheduleReboot)] == [DELAY, None]
    cmgr.wait(DAY.total_seconds() - 60)
    assert reboot(cmgr).stage is RebootStage.CALLED_OFF
    cmgr.wait(120)
    assert (reboot(cmgr).stage, len(cmgr.sent(ScheduleReboot))) == (RebootStage.ANNOUNCED, 3)


def test_what_the_machine_has_already_called_off_is_not_called_off_again() -> None:
    cmgr = dead(machine())
    cmgr.tell(RebootCancelOrdered("somebody", done=True))
    assert (reboot(cmgr).stage, reboot(cmgr).due) == (RebootStage.CALLED_OFF, None)
    assert len(cmgr.sent(ScheduleReboot)) == 1


def test_whoever_comes_up_in_the_delay_calls_it_off_until_the_machine_has_taken_that() -> None:
    cmgr = dead(machine())
    cmgr.sees(container("job", 6))
    assert reboot(cmgr).reason == "job runs and nothing would start it after the boot"
    cmgr.answer(ScheduleReboot, error="timed out")
    cmgr.answer(ScheduleReboot, error="timed out") if cmgr.sent(ScheduleReboot)[2:] else None
    cmgr.wait(30)
    assert [order.delay for order in cmgr.sent(ScheduleReboot)] == [DELAY, None, None]
    assert (reboot(cmgr).stage, reboot(cmgr).due) == (RebootStage.CALLED_OFF, None)
    assert sum("is not called off yet: timed out" in text for text in cmgr.notes()) == 1


def test_a_life_that_ended_before_the_answer_came_orders_it_again_and_one_in_its_delay_does_not() -> None:
    cmgr = machine()
    cmgr.fault(4, SEPARATE)
    cmgr.run(ListContainers, ReadRing)
    cmgr.begin()
    cmgr.run()
    assert (len(cmgr.sent(ScheduleReboot)), reboot(cmgr).stage) == (2, RebootStage.ANNOUNCED)
    cmgr.begin()
    cmgr.run()
    assert (len(cmgr.sent(ScheduleReboot)), reboot(cmgr).stage) == (2, RebootStage.ANNOUNCED)


def test_it_is_called_off_when_it_is_switched_off_or_no_chip_needs_it_any_more() -> None:
    cmgr = dead(machine())
    cmgr.tell(facts.Reconfigured(replace(cmgr.policy, reboot=RebootPolicy()), REBOOTS))
    assert reboot(cmgr).reason == "machine.reboot is never now"
    other = dead(machine())
    other.clears(4, SEPARATE)
    other.tell(facts.ReleaseOrdered(ChipId(4), "a"))
    assert reboot(other).reason == "no chip needs it any more"
