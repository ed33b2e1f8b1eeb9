"""The same events in another order, doubled, or with some lost end in the same state after a resync."""

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.handling.policy import OnIsolate
from cmgr.model.values.messages import facts
from cmgr.model.values.services.containers import Container, Exit
from tests.model.builders import BUSINESS, FREE, MINOR, REQUEST, RESET, RING, SEPARATE, SINGLE, Cmgr, container

SEEDS = int(os.environ.get("CMGR_WALKS", "60")) // 10
STOP = replace(RING, isolation=replace(RING.isolation, on_isolate=OnIsolate.STOP))
POLICIES = {"single": SINGLE, "ring": RING, "stop-isolated": STOP}


@dataclass(frozen=True)
class Script:
    """What happens: faults that come and stay, containers that start, crash and are stopped; do resets cure?"""

    containers: tuple[Container, ...]
    faults: tuple[tuple[int, str], ...]
    changed: tuple[Container, ...]
    cures: bool


def script(dice: random.Random, exit_: Exit, crashes: bool) -> Script:
    made = tuple(
        container(f"c{n}", n % 8, running=dice.random() < 0.7, order=dice.choice([0, 0, 1])) for n in range(10)
    )
    # One fault a chip: of two, of which one isolates, the first decides whether its containers are stopped.
    chips = dice.sample(range(8), dice.randrange(1, 5))
    faults = tuple((c, dice.choice([MINOR, REQUEST, BUSINESS, FREE, RESET, SEPARATE])) for c in chips)
    changed = []
    for each in dice.sample(made, dice.randrange(5)):
        if each.running:
            changed.append(replace(each, running=False, exit=replace(exit_, asked=not crashes or dice.random() < 0.5)))
        else:
            changed.append(replace(each, running=True, run="life 2"))
    return Script(made, faults, tuple(changed), dice.random() < 0.5)


def hints(script: Script) -> list[facts.Fact]:
    told: list[facts.Fact] = [
        facts.FaultReported(ChipId(chip), code, Assertion.OCCURRED) for chip, code in script.faults
    ]
    return told + [facts.ContainerSeen(c) for c in script.changed]


def garbled(dice: random.Random, told: Sequence[facts.Fact]) -> list[facts.Fact]:
    """Return the hints with some lost, some doubled, and in another order."""
    kept = [h for h in told for _ in range(dice.choice([0, 1, 1, 1, 2]))]
    dice.shuffle(kept)
    return kept


def outcome(policy_name: str, script: Script, told: Sequence[facts.Fact]) -> dict[str, object]:
    """Return what has become of everything a quarter of an hour after these hints and a resync."""
    cmgr = Cmgr(*script.containers, policy=POLICIES[policy_name])
    cmgr.cures = script.cures
    for chip, code in script.faults:
        cmgr.faults[chip].add(code)
    cmgr.truth.update({c.key: c for c in script.changed})
    for hint in told:
        cmgr.tell(hint)
    for _ in range(15):
        cmgr.tell(facts.Resync())
        cmgr.wait(60)
    node = cmgr.node
    return {
        "phases": {r.id: r.phase for r in node.rings.values()},
        "held": cmgr.held(),
        "isolated": sorted(node.isolations),
        "faults": sorted((c, k.code) for c, known in node.faults.items() for k in known),
        "running": sorted(c.name for c in cmgr.truth.values() if c.running),
    }


@pytest.mark.parametrize("policy", POLICIES)
def test_lost_doubled_and_reordered_hints_make_no_difference_after_a_resync(policy: str) -> None:
    for seed in range(SEEDS):
        dice = random.Random(seed)  # noqa: S311 - a test's dice, not a secret
        # An isolated chip opens an episode only for one that runs on it, and only an episode holds those that died.
        happened = script(dice, Exit(1, Cmgr().now), crashes=policy != "stop-isolated")
        told = hints(happened)
        expected = outcome(policy, happened, told)
        for _ in range(3):
            other = garbled(dice, told)
            assert outcome(policy, happened, other) == expected, (seed, happened, other)
