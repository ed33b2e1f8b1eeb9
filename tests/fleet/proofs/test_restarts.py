"""Everything of a fleet is killed in a round and starts in any order, or its engine comes back as it was once."""

import random
import signal
from collections.abc import Callable, Sequence

import pytest

from tests.fleet.proofs.test_engine import PHASES
from tests.fleet.proofs.trio import Deed, Mortal, Trio, document, too_early
from tests.fleet.services import MEMBERS
from tests.support.daemons.etcd import Node
from tests.support.figures import Figures
from tests.support.waiting import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.timeout(1200)]


def test_whatever_starts_first_after_all_has_ended_the_round_goes_on(three: Trio, figures: Figures) -> None:
    dice = random.Random(16)  # noqa: S311 - a test's dice, not a secret
    all_: list[Mortal | Node] = [*three.all.values(), *three.cluster.nodes]
    for name, point in PHASES.values():
        three.meets(name, point, signal.SIGSTOP)
        for each in all_:
            if isinstance(each, Mortal):
                each.kill9()
            else:
                each.kill()
        dice.shuffle(all_)
        for each in all_:
            if isinstance(each, Mortal):
                each.goes_on()
            else:
                each.launch([node.member() for node in three.cluster.nodes])
        three.comes_through()
    three.figures(figures, {"restarts of all services and of the engine in a round": len(PHASES)})


def test_an_engine_put_back_to_an_older_round_is_written_again_and_stops_nobody(three: Trio) -> None:
    three.points()
    old = three.cluster.snapshot()
    three.fault("b")
    three.comes_through()
    three.cluster.restore(old)
    three.all_run(three.rounds)
    assert three.news() == []
    three.fault("c")
    three.comes_through()


def test_an_engine_put_back_to_an_older_round_in_a_round_keeps_the_barrier(three: Trio) -> None:
    three.points()
    for phase, due in (("stopping", at_once), ("resetting", at_once), ("starting", others_run)):
        deeds = put_back(three, phase, due)
        done = [[d.action for d in deeds if d.who == (each, member)] for each in three.all for member in MEMBERS]
        assert done == [["die", "start"]] * len(done), (phase, deeds)
    for phase in ABOUT_TO_START:
        put_back(three, phase, at_once)


ABOUT_TO_START = ("waiting at the barrier", "starting")
"""While the others may be about to start: those that have may be stopped with the rest, and started a second time.

At the barrier, too: all are down, and the word that the round starts is the others' as well as that of the one that
stands still before it says so.
"""


def at_once(_: Trio) -> bool:
    return True


def others_run(three: Trio) -> bool:
    return three["a"].members() == three["c"].members() == list(MEMBERS)


def put_back(three: Trio, phase: str, due: Callable[[Trio], bool]) -> Sequence[Deed]:
    """Put the engine back to before a round while one stands still in it, and return what is done until all run.

    `due`: the engine is put back when this is so.
    """
    name, point = PHASES[phase]
    old = three.cluster.snapshot()
    sleeper = three.meets(name, point, signal.SIGSTOP)
    eventually(lambda: due(three), "the others are where they are to be")
    three.cluster.restore(old)
    sleeper.goes_on()
    three.all_run(three.rounds + 1)
    deeds = three.news()
    assert too_early(deeds) == [], (phase, deeds)
    three.rounds = document(three["a"])["round"]
    return deeds
