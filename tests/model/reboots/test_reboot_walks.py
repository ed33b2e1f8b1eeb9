"""Random walks on machines that cmgr may reboot: the boot ends every life on them, cmgr's own too.

CMGR_WALKS as in `test_walks`; a failure says its seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from cmgr.config.week import window
from cmgr.model.recovery.reboots import DAY, in_need, in_the_way
from cmgr.model.values.chips import ChipId, ChipReport, Process
from cmgr.model.values.faults import FaultCode
from cmgr.model.values.handling.catalog import Catalog
from cmgr.model.values.handling.policy import Policy, RebootPolicy, RebootWhen, ResetPolicy, Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Action, Note, ScheduleReboot
from cmgr.model.values.messages.reboot_facts import Boot, RebootCancelOrdered
from cmgr.model.values.services.containers import Container, Exit
from cmgr.model.values.standing import RebootStage
from tests.model.acts import ACTS, check_end, heal
from tests.model.builders import T0
from tests.model.machine import Machine, Plan, Real
from tests.model.walks.engines import starts
from tests.model.walks.test_walks import STEPS, WALKS
from tests.model.world import World

DEAD = FaultCode("A2301001")
DELAY = timedelta(minutes=1)


@dataclass
class Rebootable(Machine):
    """`goes_down`: when the machine is to be rebooted. `boots`: how often it has booted, and `booted` when, at last."""

    goes_down: datetime | None = None
    boots: int = 1
    booted: datetime = T0
    telling: bool = False

    def create(self, number: int) -> Real:
        real = super().create(number)
        if self.rng.random() < 0.9:
            real.policy = real.armed = "always:0"
        return real

    def _users(self, chip: int) -> list[object]:
        """Return those whose processes are told: here each driver says in which container one is."""
        return [*({chip} & self.processes)] if self.telling else super()._users(chip)

    def _report(self, chip: ChipId, fails: bool) -> ChipReport:
        inside = tuple(Process(2, "p", container=r.key.id) for r in super()._users(chip) if isinstance(r, Real))
        self.telling = True
        report = super()._report(chip, fails)
        self.telling = False
        return replace(report, processes=(*report.processes, *inside) if not report.error else ())

    def _carry_out(self, command: Action, fails: bool) -> dict[str, Any]:
        if not isinstance(command, ScheduleReboot):
            return super()._carry_out(command, fails)
        if fails and self.rng.random() < 0.5:
            return {"error": "no", "refused": self.rng.random() < 0.5}
        self.goes_down = self.now + command.delay if command.delay is not None else None
        return {"error": "timed out" if fails else ""}


@dataclass
class Rebooted(World):
    machine: Rebootable = field(init=False)
    came: int = 0

    def make(self) -> Machine:
        return Rebootable(self.seed, self.plan)

    def catalog(self) -> Catalog:
        known = super().catalog()
        return replace(known, entries={**known.entries, DEAD: replace(known.entries[DEAD], reboots=True)})

    def boot(self) -> Boot:
        return Boot(f"boot {self.machine.boots}", self._age())

    def _age(self) -> timedelta:
        first = self.machine.boots == 1
        return 2 * DAY if first else self.machine.now - self.machine.booted

    def step(self, *batch: facts.Fact) -> None:
        if batch:
            super().step(*(self._as_told(fact) for fact in batch))

    def _as_told(self, fact: facts.Fact) -> facts.Fact:
        match fact:
            case facts.Restarted():
                return replace(fact, boot=self.boot())
            case facts.ContainerSeen():
                return replace(fact, container=_booting(fact.container))
            case facts.ContainersListed():
                return replace(fact, containers=tuple(map(_booting, fact.containers)))
            case _:
                return fact

    def _decide(self, batch: Sequence[facts.Fact]) -> tuple[list[Action], list[Note]]:
        actions, notes = super()._decide(batch)
        for action in [a for a in actions if isinstance(a, ScheduleReboot) and a.delay is not None]:
            self._check_order(action)
        return actions, notes

    def _check_order(self, action: ScheduleReboot) -> None:
        """Written down, needed, nobody left down by it, and none within a day before."""
        where = f"seed {self.seed}: {action}"
        known = self.node.reboot
        assert known is not None, where
        assert (known.stage, known.command) == (RebootStage.ORDERED, action.id), where
        assert in_need(self.node), where
        assert not [*in_the_way(self.node)], where
        for container in self.node.containers.values():
            held = container.key in self.node.holds
            assert not container.running or held or container.restart_policy, f"{where}: {container}"
            assert not container.running or container.enabled, f"{where}: {container}"

    def comes(self) -> None:
        """Let the machine go down, when it is to, and boot."""
        machine = self.machine
        if machine.goes_down is None or machine.now < machine.goes_down:
            return
        machine.goes_down = None
        if machine.rng.random() < 0.2 and not machine.calm:
            return  # Something has kept it up, and nobody hears of that.
        if machine.boots > 1:
            assert machine.now - machine.booted >= DAY, f"seed {self.seed}: two reboots within a day"
        self.came, machine.boots, machine.booted = self.came + 1, machine.boots + 1, machine.now
        ran = [real for real in machine.truth.values() if real.running]
        for real in ran:
            known = self.node.containers.get(real.key)
            if known is None or not known.running or not (real.armed or self.is_held(real.key)):
                real.will = None  # It was started in the last moment.
            machine.dies(real, Exit(137, machine.clock(), missed=True))
        machine.processes = set()
        for chip in machine.faults:
            machine.faults[chip] = {code for code in machine.faults[chip] if machine.rng.random() < 0.3}
        for real in [real for real in ran if real.armed]:
            starts(self, real)
        self.die()


def _booting(container: Container) -> Container:
    return replace(container, boots=bool(container.restart_policy))


def _a_chip_dies(world: World) -> None:
    world.machine.fault(world.rng.randrange(world.plan.faulty), DEAD)


def _all_is_quiet(world: World) -> None:
    """Let everything be answered and told, and people leave the machine alone."""
    for _ in range(60):
        world.answer()
        world.deliver()
    world.machine.processes = set()
    world.step(facts.MaintenanceOrdered(on=False, who="a"), facts.ResumeAllOrdered("a"))
    world.advance_time()


def _hours_pass(world: World) -> None:
    world.machine.now += timedelta(hours=world.rng.choice([1, 12]))
    world.step(facts.Tick())


def _comes(world: World) -> None:
    assert isinstance(world, Rebooted)
    if world.machine.goes_down is not None and world.rng.random() < 0.5:
        world.machine.now = max(world.machine.now, world.machine.goes_down)
    world.comes()


def _is_called_off(world: World) -> None:
    assert isinstance(world, Rebooted)
    done = world.rng.random() < 0.5
    if done:
        world.machine.goes_down = None
    world.step(RebootCancelOrdered("a", done=done))


CHANGES = ((_a_chip_dies, 4, 4), (_hours_pass, 4, 4), (_all_is_quiet, 12, 12), (_comes, 12, 12), (_is_called_off, 1, 0))
NOW = RebootPolicy(RebootWhen.NOW, DELAY)
PLAN = Plan(ring=2, used=0.4)

KINDS = {
    "now": (Policy(strategy=Strategy.RING, reboot=NOW), PLAN),
    "window": (
        Policy(strategy=Strategy.SINGLE, reboot=RebootPolicy(RebootWhen.WINDOW, DELAY, (window("Sat"),))),
        replace(PLAN, labels=True),
    ),
    "grouped": (Policy(strategy=Strategy.RING, reboot=NOW, reset=ResetPolicy(attempts=1)), replace(PLAN, grouped=0.5)),
}


def walk(kind: str, seed: int) -> Rebooted:
    world = Rebooted(seed, *KINDS[kind])
    acts, busy, quiet = zip(*ACTS, *CHANGES, strict=True)
    for act in world.rng.choices(acts, quiet if seed % 2 else busy, k=STEPS):
        act(world)
    return world


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_happens_no_reboot_leaves_anybody_down(kind: str) -> None:
    came = 0
    for seed in range(max(WALKS // 2, 6)):
        world = walk(kind, seed)
        came += world.came
        world.step(facts.Reconfigured(replace(world.policy, reboot=RebootPolicy()), world.catalog(), "a test"))
        heal(world)
        check_end(world)
    assert came
