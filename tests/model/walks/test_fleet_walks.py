"""Random walks of several appliances with an engine between them.

All runs in the end, and in no round is anything started before every appliance has said that its members are down.

CMGR_WALKS sets how many seeds each kind of walk has; a failure says its seed.
"""

import os
from collections.abc import Callable

import pytest

from cmgr.model.values.handling.policy import Policy, RetryPolicy, Strategy
from cmgr.model.values.messages import facts
from tests.model.acts import ACTS
from tests.model.machine import Plan
from tests.model.walks.fleet_world import TP4, FleetWorld

WALKS = int(os.environ.get("CMGR_WALKS", "60"))
STEPS = 250

SMALL = Plan(chips=8, ring=2, containers=6, faulty=4)
LABELLED = Plan(chips=8, ring=2, containers=8, faulty=4, labels=True, healed=0.4)

KINDS = {
    "two": (Policy(strategy=Strategy.SINGLE), SMALL, 2),
    "three": (Policy(strategy=Strategy.RING), SMALL, 3),
    "four": (Policy(strategy=Strategy.SINGLE, retry=RetryPolicy(starts=3)), LABELLED, 4),
}


def _the_engine_is_lost(fleet: FleetWorld) -> None:
    fleet.rng.choice(fleet.appliances).loses_the_engine()


def _the_engine_is_reached(fleet: FleetWorld) -> None:
    for each in fleet.appliances:
        if each.name not in fleet.engine.registered and fleet.rng.random() < 0.8:
            each.reaches_the_engine()


def _the_engine_is_away(fleet: FleetWorld) -> None:
    for each in fleet.appliances:
        each.loses_the_engine()


def _the_engine_forgets(fleet: FleetWorld) -> None:
    if fleet.rng.random() < 0.5:
        fleet.engine.forget()
    else:
        fleet.engine.put_back(fleet.rng)


def _a_person_orders(fleet: FleetWorld) -> None:
    each = fleet.rng.choice(fleet.appliances)
    deed = fleet.rng.choice(["restart", "resume", "alone", "without"])
    others = [other.name for other in fleet.appliances if other is not each]
    if deed == "restart":
        fleet.order_restart(each)
    elif deed == "without":
        each.step(facts.GroupResumeOrdered(TP4, "a", without=frozenset({fleet.rng.choice(others)})))
    else:
        each.step(facts.GroupResumeOrdered(TP4, "a", alone=deed == "alone"))


FLEET_ACTS: tuple[tuple[Callable[[FleetWorld], None], int], ...] = (
    (_the_engine_is_lost, 2),
    (_the_engine_is_away, 1),
    (_the_engine_is_reached, 12),
    (_the_engine_forgets, 1),
    (_a_person_orders, 1),
)


def walk(fleet: FleetWorld) -> None:
    acts, busy, quiet = zip(*ACTS, strict=True)
    own = quiet if fleet.seed % 2 else busy
    deeds, often = zip(*FLEET_ACTS, strict=True)
    for _ in range(STEPS):
        if fleet.rng.random() < 0.1:
            fleet.rng.choices(deeds, often)[0](fleet)
        else:
            each = fleet.rng.choice(fleet.appliances)
            fleet.rng.choices(acts, own)[0](each)
            fleet.moot()


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_happens_to_a_fleet_all_of_it_runs_again_and_nobody_starts_too_early(kind: str) -> None:
    for seed in range(WALKS):
        fleet = FleetWorld(seed, *KINDS[kind])
        walk(fleet)
        fleet.heal()
        fleet.check_end()
