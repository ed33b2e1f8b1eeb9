"""Random walks over the model: whatever happens in whatever order, the invariants hold.

CMGR_WALKS sets how many seeds each kind of walk has; a failure says its seed.
"""

import os
from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.config.week import window
from cmgr.model.values.faults import Level
from cmgr.model.values.handling.calendar import Drill, Exercise
from cmgr.model.values.handling.policy import (
    DEFAULT_LEVELS,
    HealPolicy,
    IsolationPolicy,
    LimitsPolicy,
    OnIsolate,
    Packing,
    Policy,
    ResetPolicy,
    RetryPolicy,
    SparePolicy,
    Strategy,
)
from cmgr.model.values.handling.rules import Rules
from tests.model.acts import ACTS, ASKED_ACTS, RESET_FIRST, RULES, SLOT_ACTS, check_end, heal
from tests.model.machine import Plan
from tests.model.walks.vetoes import Patient
from tests.model.world import World

WALKS = int(os.environ.get("CMGR_WALKS", "60"))
STEPS = 140

PLAIN = Plan()
HALF_USED = Plan(used=0.5)
TWO_RUNTIMES = Plan(runtimes=("docker", "containerd"), labels=True, used=0.7)
FOUR_RINGS = Plan(chips=8, ring=2, faulty=4, labels=True, used=0.5)
HEALED = Plan(chips=8, ring=2, faulty=4, labels=True, used=0.7, healed=0.8)
CHECKED = Plan(chips=8, ring=2, labels=True, checked=0.7)
ASKED = Plan(chips=8, ring=2, labels=True, asked=0.7, healed=0.3, checked=0.2, composed=0.3)
COMPOSED = Plan(chips=8, ring=2, composed=0.8, checked=0.4, used=0.8)
HEALED_TOO = Plan(runtimes=("docker", "containerd"), faulty=4, healed=0.5)

SLOTS = Plan(containers=4, slots=True)
PLACED = Plan(containers=4, placed=True, runtimes=("containerd",))
GROUPED = Plan(chips=8, ring=2, faulty=4, containers=12, labels=True, used=0.8, grouped=0.7)
GROUPED_TOO = Plan(
    chips=8, ring=2, runtimes=("docker", "containerd"), faulty=4, used=0.9, healed=0.5, checked=0.2, grouped=0.6
)

DIVIDED = Plan(chips=8, ring=2, containers=16, labels=True, used=0.8, divided=0.8)
COMPOSED_GROUPS = replace(COMPOSED, grouped=0.6, healed=0.2)

UNITED = Plan(runtimes=("docker", "systemd"), ring=2, faulty=4, labels=True, used=0.7, united=0.7)
UNITED_TOO = Plan(runtimes=("docker", "systemd"), containers=8, united=0.8, grouped=0.3)

SOON = timedelta(seconds=2)

ANY = (window("Sat"),)
DRILLS = (
    Drill("reset", Exercise.RESET, chips=(0, 3)),
    Drill("fault", Exercise.FAULT, chips=(2,), code="80E24E00"),
)
WINDOWED = {
    **DEFAULT_LEVELS,
    Level.RestartRequest: replace(DEFAULT_LEVELS[Level.RestartRequest], stop=False),
    Level.FreeRestartNPU: replace(DEFAULT_LEVELS[Level.FreeRestartNPU], window=ANY, idle_at_most=timedelta(minutes=2)),
    Level.RestartNPU: replace(DEFAULT_LEVELS[Level.RestartNPU], window=ANY),
}
"""When a window is open is the walk's to say, not the week's."""
BUSY = {level: replace(policy, busy=True) for level, policy in DEFAULT_LEVELS.items()}

KINDS: dict[str, tuple[Policy, Plan] | tuple[Policy, Plan, Rules]] = {
    "single": (Policy(strategy=Strategy.SINGLE), HALF_USED),
    "ring": (Policy(strategy=Strategy.RING), PLAIN),
    "never": (Policy(strategy=Strategy.NEVER), FOUR_RINGS),
    "divided": (Policy(strategy=Strategy.SINGLE), DIVIDED),
    "divided-ring": (Policy(strategy=Strategy.RING), replace(DIVIDED, divided=0.5)),
    "widened": (
        Policy(strategy=Strategy.SINGLE, reset=ResetPolicy(widen_after=timedelta(seconds=5), at_once=2)),
        PLAIN,
    ),
    "stop-isolated": (
        Policy(strategy=Strategy.RING, isolation=IsolationPolicy(on_isolate=OnIsolate.STOP)),
        TWO_RUNTIMES,
    ),
    "labels": (Policy(strategy=Strategy.SINGLE), TWO_RUNTIMES),
    "four-rings": (Policy(strategy=Strategy.RING), FOUR_RINGS),
    "escalated": (Policy(strategy=Strategy.RING, software_window=SOON), HALF_USED, RULES),
    "escalated-and-stopped": (
        Policy(strategy=Strategy.SINGLE, software_window=SOON, isolation=IsolationPolicy(on_isolate=OnIsolate.STOP)),
        TWO_RUNTIMES,
        RULES,
    ),
    "escalated-after-a-reset": (Policy(strategy=Strategy.RING, software_window=SOON), HALF_USED, RESET_FIRST),
    "restrained": (
        Policy(strategy=Strategy.RING, limits=LimitsPolicy(rings_at_once=1, episodes_per_hour=4)),
        FOUR_RINGS,
        RULES,
    ),
    "healed": (Policy(strategy=Strategy.NEVER), HEALED),
    "healed-and-recovered": (Policy(strategy=Strategy.RING, heal=HealPolicy(limit=3)), HEALED_TOO),
    "grouped": (Policy(strategy=Strategy.SINGLE), GROUPED),
    "grouped-rings": (Policy(strategy=Strategy.RING, retry=RetryPolicy(starts=3)), GROUPED_TOO),
    "checked": (Policy(strategy=Strategy.RING, retry=RetryPolicy(starts=3)), CHECKED),
    "asked": (Policy(strategy=Strategy.RING, retry=RetryPolicy(ready=timedelta(seconds=60))), ASKED),
    "busy": (
        Policy(strategy=Strategy.RING, levels=BUSY, limits=LimitsPolicy(busy=timedelta(seconds=20))),
        replace(ASKED, healed=0, checked=0),
    ),
    "busy-groups": (
        Policy(strategy=Strategy.SINGLE, levels=BUSY, limits=LimitsPolicy(busy=timedelta(minutes=5))),
        replace(ASKED, grouped=0.5, composed=0),
    ),
    "tested": (Policy(strategy=Strategy.SINGLE, reset=ResetPolicy(test="/t", attempts=2)), HALF_USED),
    "tested-rings": (Policy(strategy=Strategy.RING, reset=ResetPolicy(test="/t")), FOUR_RINGS, RULES),
    "windowed": (
        Policy(strategy=Strategy.RING, levels=WINDOWED, reset=ResetPolicy(window_hours=ANY)),
        HALF_USED,
    ),
    "windowed-four-rings": (
        Policy(strategy=Strategy.SINGLE, levels=WINDOWED, limits=LimitsPolicy(rings_at_once=1), drills=DRILLS),
        FOUR_RINGS,
    ),
    "slots": (
        Policy(strategy=Strategy.SINGLE, isolation=IsolationPolicy(on_isolate=OnIsolate.STOP)),
        SLOTS,
        RULES,
    ),
    "slots-of-rings": (
        Policy(strategy=Strategy.RING, cdi_chips=True, spares=SparePolicy(Packing.SPREAD)),
        replace(SLOTS, ring=2),
        RULES,
    ),
    "placed": (
        Policy(strategy=Strategy.SINGLE, isolation=IsolationPolicy(on_isolate=OnIsolate.STOP)),
        PLACED,
        RULES,
    ),
    "placed-of-rings": (Policy(strategy=Strategy.RING), replace(PLACED, ring=2), RULES),
    "composed": (Policy(strategy=Strategy.RING), COMPOSED),
    "composed-and-grouped": (Policy(strategy=Strategy.SINGLE, retry=RetryPolicy(starts=3)), COMPOSED_GROUPS),
    "composed-alone": (Policy(strategy=Strategy.SINGLE), replace(COMPOSED, ring=4)),
    "united": (Policy(strategy=Strategy.SINGLE), UNITED),
    "united-rings": (Policy(strategy=Strategy.RING, retry=RetryPolicy(starts=3)), UNITED_TOO),
    "idle": (
        Policy(strategy=Strategy.RING, levels={lv: replace(p, idle=SOON) for lv, p in DEFAULT_LEVELS.items()}),
        HALF_USED,
    ),
}


def walk(world: World) -> None:
    slots = world.plan.slots or world.plan.placed
    acts, busy, quiet = zip(*(SLOT_ACTS if slots else ASKED_ACTS if world.plan.asked else ACTS), strict=True)
    for act in world.rng.choices(acts, quiet if world.seed % 2 else busy, k=STEPS):
        act(world)


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_happens_every_held_container_runs_again(kind: str) -> None:
    for seed in range(WALKS):
        world = (Patient if kind.startswith("busy") else World)(seed, *KINDS[kind])
        walk(world)
        heal(world)
        check_end(world)


@pytest.mark.parametrize(("kind", "seed"), [("grouped", 37), ("grouped-rings", 36), ("slots", 44)])
def test_what_a_walk_has_found_stays_mended(kind: str, seed: int) -> None:
    """In the first two mates were given back and stopped again in one turn; in the third a slot moved unseen."""
    world = World(seed, *KINDS[kind])
    walk(world)
    heal(world)
    check_end(world)


def test_observing_changes_nothing_in_the_world() -> None:
    policy, plan = Policy(strategy=Strategy.RING), PLAIN
    for seed in range(max(WALKS // 5, 5)):
        world = World(seed, replace(policy, observe=True), plan)
        walk(world)
        heal(world)
        assert not world.machine.resets, world.seed
        assert not [r for r in world.machine.truth.values() if r.starts], world.seed
        assert not world.node.holds
