"""Random walks with units that have parts: none that went down with a stop of cmgr's is left down in silence."""

import pytest

from cmgr.model.values.handling.policy import Policy, RetryPolicy, Strategy
from tests.model.acts import check_end, heal
from tests.model.holds.parts import PartedWorld
from tests.model.walks.test_walks import UNITED, UNITED_TOO, WALKS, walk

KINDS = {
    "single": (Policy(strategy=Strategy.SINGLE), UNITED),
    "ring": (Policy(strategy=Strategy.RING, retry=RetryPolicy(starts=3)), UNITED_TOO),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_that_went_down_with_its_unit_comes_back_with_it(kind: str) -> None:
    for seed in range(WALKS):
        world = PartedWorld(seed, *KINDS[kind])
        walk(world)
        heal(world)
        world.forget_those_without_whole()
        check_end(world)
        world.check_parts()
