"""Each of three services is killed at every step that it commits in a round over all of them.

CMGR_CRASH_EVERY=1 tries every step, as `make reliability` does; without it they are sampled.
"""

import signal

import pytest

from tests.crash.matrix import EVERY
from tests.fleet.proofs.trio import Trio, steps
from tests.support.figures import Figures

pytestmark = [pytest.mark.etcd, pytest.mark.timeout(3600)]


def test_killed_at_any_step_of_a_round_nobody_starts_too_early_and_nobody_is_lost(
    three: Trio, figures: Figures
) -> None:
    ends = steps(three.points(), 0 if EVERY else 2)
    killed = 0
    for name, point in ends:
        victim = three.meets(name, point, signal.SIGKILL)
        killed += not victim.running()
        victim.goes_on()
        three.comes_through()
    assert killed >= len(ends) * 4 // 5, f"{killed} of {len(ends)} points came"
    three.figures(figures, {"services killed in a round": killed})
