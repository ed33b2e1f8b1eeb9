"""Random walks on a machine that changes: another configuration in any phase, and chips that come and go.

CMGR_WALKS as in `test_walks`; a failure says its seed.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from cmgr.model.values.chips import Chip
from cmgr.model.values.faults import Handling, Level
from cmgr.model.values.handling.catalog import Catalog
from cmgr.model.values.handling.policy import (
    DEFAULT_LEVELS,
    IsolationPolicy,
    LevelPolicy,
    LimitsPolicy,
    OnIsolate,
    Policy,
    ResetPolicy,
    Strategy,
)
from cmgr.model.values.handling.rules import Rules
from cmgr.model.values.messages import facts
from tests.model.acts import ACTS, RULES, check_end, heal
from tests.model.machine import Plan
from tests.model.walks.test_walks import WALKS
from tests.model.world import CATALOG, World

STEPS = 160
USUAL = Policy(strategy=Strategy.RING)
NOW, SOON = timedelta(), timedelta(seconds=5)

PLANS = {
    "plain": Plan(),
    "two-runtimes": Plan(runtimes=("docker", "containerd"), used=0.7),
    "four-rings": Plan(ring=2, used=0.6, healed=0.5),
    "alone": Plan(ring=1, used=0.6),
}


@dataclass
class Changing(World):
    """`absent`: chips that the driver does not list. `table`: which levels the codes have now."""

    absent: frozenset[int] = frozenset()
    table: Catalog = CATALOG

    def topology(self) -> tuple[Chip, ...]:
        return tuple(chip for chip in super().topology() if chip.id not in self.absent)

    def catalog(self) -> Catalog:
        return replace(self.table, rules=self.rules)

    def set_clock(self) -> None:
        """Between two lives chips go or come, too."""
        super().set_clock()
        whole_ring = self.rng.random() < 0.3
        some = range(self.plan.ring) if whole_ring else self.rng.sample(range(self.plan.chips), self.rng.randrange(3))
        if self.rng.random() < 0.4:
            self.absent = frozenset(some)


def _another_configuration(world: World) -> None:
    assert isinstance(world, Changing)
    dice = world.rng
    world.policy = Policy(
        strategy=dice.choice([Strategy.RING, Strategy.RING, Strategy.SINGLE, Strategy.NEVER]),
        observe=dice.random() < 0.1,
        levels={level: _level(world, level, known) for level, known in DEFAULT_LEVELS.items()},
        reset=ResetPolicy(
            attempts=dice.choice([1, 2, 3, 3]),
            widen_after=dice.choice([None, SOON]),
            at_once=dice.choice([1, 2]),
            boot_timeout=timedelta(seconds=dice.choice([20, 150])),
        ),
        isolation=IsolationPolicy(on_isolate=dice.choice(list(OnIsolate))),
        limits=dice.choice([LimitsPolicy(), LimitsPolicy(rings_at_once=1, episodes_per_hour=4)]),
    )
    table = {code: replace(known, handling=_another(world, known.handling)) for code, known in CATALOG.entries.items()}
    world.table = Catalog(table)
    world.rules = dice.choice([Rules(), RULES])
    world.step(facts.Reconfigured(world.policy, world.catalog(), "a"))


def _another(world: World, known: Handling) -> Handling:
    another: Handling = world.rng.choice([known, known, known, *Handling])
    return another


def _level(world: World, level: Level, known: LevelPolicy) -> LevelPolicy:
    dice = world.rng
    return replace(
        known,
        idle=dice.choice([NOW, NOW, SOON]),
        reset_after=dice.choice([known.reset_after, NOW, SOON]),
        stop_after=dice.choice([NOW, NOW, SOON]),
        observe=level.handled and dice.random() < 0.05,
    )


def _chips_come_back(world: World) -> None:
    assert isinstance(world, Changing)
    if world.absent:
        world.absent = frozenset()
        there = {**world.node.chips, **{chip.id: chip for chip in world.topology()}}
        world.step(facts.ChipsListed(tuple(there[chip] for chip in sorted(there))))


def _a_chip_goes_silent_or_answers(world: World) -> None:
    world.machine.silent ^= {world.rng.randrange(world.plan.chips)}


CHANGES = (
    (_another_configuration, 2, 2),
    (_chips_come_back, 3, 3),
    (_a_chip_goes_silent_or_answers, 2, 2),
    (World.die, 3, 3),
)


@pytest.mark.parametrize("plan", PLANS)
def test_whatever_changes_every_held_container_runs_again(plan: str) -> None:
    acts, busy, quiet = zip(*ACTS, *CHANGES, strict=True)
    for seed in range(max(WALKS // 3, 5)):
        world = Changing(seed, USUAL, PLANS[plan])
        for act in world.rng.choices(acts, quiet if seed % 2 else busy, k=STEPS):
            act(world)
        world.machine.calm = True
        _chips_come_back(world)
        world.policy, world.table, world.rules = USUAL, CATALOG, Rules()
        world.step(facts.Reconfigured(world.policy, world.catalog(), "a test"))
        # While strategy or label said otherwise a container may have been held that they would spare now.
        world.machine.emptied = set(range(world.plan.chips))
        heal(world)
        check_end(world)
