"""Random walks over the model: whatever happens in whatever order, the invariants of design section 6 hold.

CMGR_WALKS sets how many seeds each policy is walked with.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model import facts
from cmgr.model.containers import Exit
from cmgr.model.faults import Assertion
from cmgr.model.policy import IsolationPolicy, OnIsolate, Policy, ResetPolicy, Strategy
from cmgr.model.rings import Phase
from tests.model.world import CODES, Real, World

WALKS = int(os.environ.get("CMGR_WALKS", "150"))
STEPS = 120

POLICIES = {
    "single": Policy(strategy=Strategy.SINGLE),
    "ring": Policy(strategy=Strategy.RING),
    "never": Policy(strategy=Strategy.NEVER),
    "widened": Policy(strategy=Strategy.SINGLE, reset=ResetPolicy(widen_after=timedelta(seconds=5), at_once=2)),
    "stop-isolated": Policy(strategy=Strategy.RING, isolation=IsolationPolicy(on_isolate=OnIsolate.STOP)),
}


def _somebody_acts(world: World) -> None:
    real = world.rng.choice(list(world.real.values())) if world.real else None
    if real is None:
        return
    deed = world.rng.choice(["stop", "start", "crash", "remove"])
    held = real.key in world.node.holds
    if deed == "stop" and real.running:
        real.will = None if held else False
        world._end(real, Exit(143, world.now, asked=True))
    elif deed == "start" and not real.running:
        real.will = True
        world._begin(real)
    elif deed == "crash" and real.running:
        real.will = None
        world._end(real, Exit(1, world.now, asked=False))
    elif deed == "remove" and not real.running and world.rng.random() < 0.3:
        del world.real[real.key]
        world.hint(facts.ContainerRemoved(real.key))


def _hardware_acts(world: World) -> None:
    chip = world.rng.randrange(world.chips)
    code = world.rng.choice([*CODES, "80E24E00", "80E24E00"])
    world.fault(chip, code, world.rng.choice([Assertion.OCCURRED] * 3 + [Assertion.CLEARED, Assertion.ONCE]))


def _a_process_comes_or_goes(world: World) -> None:
    world.foreign ^= {world.rng.randrange(world.chips)}


def _the_runtime_comes_or_goes(world: World) -> None:
    world.runtime_down = not world.runtime_down
    down = facts.RuntimeDown("docker", "connection refused")
    world.hint(down if world.runtime_down else facts.RuntimeUp("docker"))


ACTS: list[tuple[Callable[[World], None], int]] = [
    (World.answer, 60),
    (World.deliver, 40),
    (World.advance_time, 25),
    (_hardware_acts, 8),
    (_somebody_acts, 5),
    (_a_process_comes_or_goes, 2),
    (_the_runtime_comes_or_goes, 1),
    (lambda world: world.feed(facts.Resync()), 3),
    (World.die, 2),
]


def walk(world: World) -> None:
    acts, weights = zip(*ACTS, strict=True)
    for _ in range(STEPS):
        world.rng.choices(acts, weights)[0](world)


def heal(world: World) -> None:
    """Make the hardware well, and give cmgr an hour of peace."""
    world.calm, world.runtime_down, world.foreign = True, False, set()
    for chip in world.faults:
        world.faults[chip] = set()
    world.feed(facts.RuntimeUp("docker"))
    end = world.now + timedelta(hours=1)
    while world.now < end:
        world.feed(facts.Resync())
        for _ in range(400):
            if not (world.under_way or world.hints):
                break
            world.answer()
            world.deliver()
        assert not world.under_way, f"seed {world.seed}: no end of commands: {world.under_way[:3]}"
        for hold in world.node.holds.values():
            if hold.failed:
                world.feed(facts.ResumeOrdered(hold.key, "a test"))
        world.now += timedelta(minutes=1, seconds=20)


def check_end(world: World) -> None:
    seed = f"seed {world.seed}"
    assert all(r.phase is Phase.HEALTHY for r in world.node.rings.values()), (seed, world.node.rings)
    assert not world.node.holds, (seed, world.node.holds)
    assert not world.node.isolations, (seed, world.node.isolations)
    for real in world.real.values():
        assert real.will is None or real.running is real.will, (seed, real)
        booked = world.node.containers[real.key]
        assert booked.running is real.running, (seed, booked, real)
        if real.will:
            assert real.armed == real.policy, (seed, real)
    _check_budget(world)


def _check_budget(world: World) -> None:
    policy = world.policy.reset
    for ring in world.node.rings:
        times = [t for r, t in world.resets if r == ring]
        for first in times:
            within = [t for t in times if first <= t < first + policy.window]
            assert len(within) <= policy.attempts, (world.seed, ring, within)


@pytest.mark.parametrize("name", POLICIES)
def test_whatever_happens_every_held_container_runs_again(name: str) -> None:
    for seed in range(WALKS):
        world = World(seed, POLICIES[name])
        walk(world)
        heal(world)
        check_end(world)


def test_observing_changes_nothing_in_the_world() -> None:
    for seed in range(max(WALKS // 5, 5)):
        world = World(seed, replace(POLICIES["ring"], observe=True))
        walk(world)
        heal(world)
        assert not world.resets, world.seed
        assert not [r for r in world.real.values() if r.starts], world.seed
        assert not world.node.holds


def test_a_real_container_tells_what_it_is() -> None:
    world = World(0, Policy())
    real = next(iter(world.real.values()))
    assert isinstance(real, Real)
    assert real.told().run == "life 1"
