"""The machine is told to reboot as a person tells it, and whoever calls that off is heard."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from cmgr.errors import CmgrError, RuntimeDown
from cmgr.host.host import Host
from cmgr.model.values.messages.commands import CommandId, ScheduleReboot
from cmgr.model.values.messages.facts import Fact
from cmgr.model.values.messages.reboot_facts import RebootCancelOrdered, RebootScheduled
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container
from cmgr.model.values.services.origins import Origin
from cmgr.model.values.standing import Reboot, RebootStage
from cmgr.service.parts.core import Core
from cmgr.service.parts.rebooting import Place, Reboots, this_boot
from cmgr.service.work.workers import failed
from tests.model.builders import T0, container

ORDER = ScheduleReboot(CommandId("reboot-1"), "cmgr reboots this machine in 90 s", timedelta(seconds=90))
CALLED_OFF = ScheduleReboot(CommandId("reboot-2"), "", None)

# It writes what systemd-logind does (update_schedule_file in its logind-dbus.c), and removes it with -c.
SHUTDOWN = """#!/bin/sh
echo "$*" >> {said}
case $1 in
  -c) rm -f {scheduled} ;;
  *) printf 'USEC=1767225690000000\\nWARN_WALL=1\\nMODE=reboot\\nWALL_MESSAGE=%s\\n' "$3" > {scheduled} ;;
esac
exit {code}
"""


class Others:
    """A runtime with containers that use no chip."""

    def __init__(self, *found: Container) -> None:
        self.found = found

    def ended_by_boot(self) -> Iterable[Container]:
        return self.found


class Scene:
    def __init__(self, home: Path, *others: Container, why: str = "", code: int = 0) -> None:
        self.said, self.scheduled = home / "said", home / "scheduled"
        (home / "shutdown").write_text(SHUTDOWN.format(said=self.said, scheduled=self.scheduled, code=code))
        (home / "shutdown").chmod(0o755)
        self.node, self.now, self.told = Node(), T0, list[Fact]()
        core = SimpleNamespace(
            node=lambda: self.node, put=self.told.append, clock=SimpleNamespace(now=lambda: self.now)
        )
        runtimes = {"docker": Others(*others)}
        host, place = Host("", "systemd has not begun it"), Place(str(home), self.scheduled)
        self.part = Reboots(cast("Core", core), host, runtimes, lambda: why, place)  # type: ignore[arg-type]

    @property
    def typed(self) -> list[str]:
        return self.said.read_text().splitlines() if self.said.exists() else []


def test_the_machine_is_told_in_whole_minutes_with_the_reason_for_all_who_are_on_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.part.schedule(ORDER)
    scene.part.schedule(CALLED_OFF)
    assert scene.typed == ["-r +2 cmgr reboots this machine in 90 s", "-c"]


def test_what_somebody_else_has_scheduled_is_not_called_off(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.scheduled.write_text("USEC=1\nMODE=poweroff\nWALL_MESSAGE=the power is cut\n")
    scene.part.schedule(CALLED_OFF)
    assert scene.typed == []


@pytest.mark.parametrize(
    ("other", "refused"),
    [
        (container("db"), True),
        (container("db", boots=True), False),
        (container("task", owner="swarm"), False),
    ],
)
def test_whoever_uses_no_chip_and_would_stay_down_keeps_it_from_being_told(
    tmp_path: Path, other: Container, refused: bool
) -> None:
    scene = Scene(tmp_path, other)
    if refused:
        with pytest.raises(RuntimeDown, match="db runs and nothing would start it after the boot"):
            scene.part.schedule(ORDER)
    else:
        scene.part.schedule(ORDER)
    assert bool(scene.typed) is not refused


def test_of_those_in_the_books_the_model_has_judged_and_podman_starts_nobody(tmp_path: Path) -> None:
    known = container("db")
    scene = Scene(tmp_path, known)
    scene.node = Node(containers={known.key: known})
    scene.part.schedule(ORDER)
    scene = Scene(tmp_path, container("db", boots=True))
    scene.node = Node(origins={"docker": Origin("docker", boots=False)})
    with pytest.raises(RuntimeDown, match="db runs"):
        scene.part.schedule(ORDER)


def test_where_nobody_would_start_cmgr_nothing_is_told(tmp_path: Path) -> None:
    scene = Scene(tmp_path, why="nobody would start cmgr after the boot")
    with pytest.raises(RuntimeDown, match="cannot schedule a reboot: nobody would start cmgr") as refused:
        scene.part.schedule(ORDER)
    assert failed(ORDER, refused.value) == RebootScheduled(
        ORDER.id, "nobody would start cmgr after the boot", refused=True
    )
    assert scene.typed == []


def test_a_machine_that_refuses_is_no_refusal_of_ours(tmp_path: Path) -> None:
    scene = Scene(tmp_path, code=1)
    with pytest.raises(CmgrError, match="shutdown ended with code 1") as error:
        scene.part.schedule(ORDER)
    answer = failed(ORDER, error.value)
    assert isinstance(answer, RebootScheduled)
    assert (answer.refused, bool(answer.error)) == (False, True)
    (tmp_path / "shutdown").unlink()
    with pytest.raises(RuntimeDown, match="there is no shutdown"):
        scene.part.schedule(ORDER)


def test_a_shutdown_that_somebody_calls_off_is_told_while_it_could_still_come(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    due = T0 + timedelta(minutes=2)
    scene.node = Node(reboot=Reboot(RebootStage.ANNOUNCED, T0, due=due))
    scene.part.schedule(ORDER)
    scene.part.look()
    assert scene.told == []
    scene.scheduled.unlink()
    scene.part.look()
    assert scene.told == [RebootCancelOrdered("somebody on the machine (shutdown)", done=True)]
    scene.now = due
    scene.part.look()
    assert len(scene.told) == 1, "the machine goes down"
    scene.now, scene.node = T0, Node(reboot=Reboot(RebootStage.ORDERED, T0))
    scene.part.look()
    assert len(scene.told) == 1, "it is not scheduled yet"


def test_the_age_of_a_boot_is_that_of_its_first_process(tmp_path: Path) -> None:
    boot = this_boot()
    assert boot.id
    assert timedelta() <= boot.age
    (tmp_path / "1").mkdir()
    (tmp_path / "1/stat").write_text(f"1 (a) b) S {' '.join(['0'] * 18)} 100 0\n")
    assert this_boot(tmp_path).age > boot.age - timedelta(seconds=1)
    assert replace(this_boot(tmp_path / "none"), id="") == this_boot(tmp_path / "none")
