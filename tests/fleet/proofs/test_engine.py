"""The engine loses its quorum, is full, or forgets its past in every phase of a round, and is well again after that."""

import json
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import pytest

from tests.fleet.proofs.trio import BESIDE, Mortal, Trio
from tests.support.daemons.etcd import Cluster, Options
from tests.support.figures import Figures
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.etcd,
    pytest.mark.timeout(1200),
    pytest.mark.parametrize("etcds", [Options(quota=2 * 2**20)], indirect=True, ids=["small"]),
]

PHASES: Mapping[str, tuple[str, str]] = {
    "stopping": ("a", "in r0, which has ended #1"),
    "resetting": ("a", "in a reset that was taken #1"),
    "waiting at the barrier": ("a", "before write of starting #1"),
    "starting": ("b", "before start r0 #1"),
}
"""The service that stands still while the trouble begins, and where it does."""


@contextmanager
def no_quorum(three: Trio) -> Iterator[None]:
    for node in three.cluster.nodes[1:]:
        node.kill()
    yield
    three.cluster.start()


@contextmanager
def full(three: Trio) -> Iterator[None]:
    cluster = three.cluster
    while cluster.ctl("put", "/stranger", "x" * 90_000, check=False).returncode == 0:
        pass
    yield
    compact(cluster)
    for node in cluster.nodes:
        cluster.ctl("defrag", node=node)
    cluster.ctl("alarm", "disarm")


@contextmanager
def compacted(three: Trio) -> Iterator[None]:
    """Nothing is left of what happens while c does not hear."""
    three.relays["c"].cut()
    yield
    compact(three.cluster)
    three.relays["c"].heal()


def compact(cluster: Cluster) -> None:
    """Let it forget all that was before now."""
    told = json.loads(cluster.ctl("get", "/stranger", "--write-out=json").stdout)
    cluster.ctl("compact", str(told["header"]["revision"]))


Trouble = Callable[[Trio], AbstractContextManager[None]]


@pytest.mark.parametrize("trouble", [no_quorum, full, compacted])
def test_whatever_ails_the_engine_in_whichever_phase_the_round_waits_and_goes_on(
    three: Trio, figures: Figures, trouble: Trouble
) -> None:
    for name, point in PHASES.values():
        sleeper = three.meets(name, point, signal.SIGSTOP)
        assert sleeper.stands_still()
        if point == PHASES["resetting"][1]:
            # The word of a may be on its way to the others: its own reset does not wait for their stops. At the barrier
            # they have stopped, and may have started already: any of them may say that the round starts.
            eventually(lambda: three["b"].members() == three["c"].members() == [], "the others have stopped")
        with trouble(three):
            sleeper.goes_on()
            recovers_beside(three["a"])
        three.comes_through(beside="a")
    three.figures(figures, {"rounds in which the engine had a trouble": three.rounds})


@pytest.mark.parametrize("trouble", [no_quorum, full])
def test_the_first_stop_and_all_that_is_local_wait_for_no_engine(
    three: Trio, figures: Figures, trouble: Trouble
) -> None:
    a, b, c = (three[name] for name in "abc")
    with trouble(three):
        three.fault()
        eventually(
            lambda: not a.members() and a.ring()["phase"] == "healthy", "the ring was reset, and its members wait"
        )
        recovers_beside(a)
        assert (a.members(), len(b.members()), len(c.members())) == ([], 2, 2)
    three.comes_through(beside="a")
    three.figures(figures, {"rounds in which the engine had a trouble": three.rounds})


def recovers_beside(each: Mortal) -> None:
    """See that the container beside the group is recovered."""
    before = len(each.deeds())
    each.inject(BESIDE)

    def done() -> bool:
        return [d.action for d in each.deeds()[before:] if d.name == "x"] == ["die", "start"]

    eventually(done, f"x of {each.name} is recovered without the engine")
