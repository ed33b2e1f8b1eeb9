"""Services that stand still in a round for longer than the others see them, and wake up with an old view."""

import signal
from pathlib import Path

import pytest

from tests.crash.matrix import EVERY
from tests.fleet.proofs.trio import Mortal, Trio, document, is_seen, steps, too_early
from tests.support.figures import Figures
from tests.support.waiting import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.timeout(3600)]


def test_one_that_stands_still_beyond_its_lease_goes_on_with_the_round_as_it_is(three: Trio, figures: Figures) -> None:
    ends = steps(three.points(), 5 if EVERY else 1)
    for name, point in ends:
        falls_asleep(three, name, point).goes_on()
        three.comes_through()
    three.figures(figures, {"services that stood still beyond their lease": len(ends)})


@pytest.mark.parametrize("point", ["before last look #1", "before start r0 #1"])
def test_one_that_wakes_in_the_next_round_starts_nothing_of_it_too_early(
    three: Trio, figures: Figures, point: str
) -> None:
    """It stood still just before its last look, or between that and the start, then of a round that is over."""
    sleeper = falls_asleep(three, "c", point)
    eventually(lambda: document(three["b"])["phase"] == "starting" and len(three["b"].members()) == 2, "b has started")
    three["b"].inject(0)
    eventually(lambda: (document(three["a"])["phase"], document(three["a"])["round"]) == ("halting", three.rounds + 2))
    eventually(lambda: not three["a"].members() and not three["b"].members(), "a and b are down again")
    before = len(sleeper.deeds())
    sleeper.goes_on()
    three.comes_through(2)
    woken = [deed.action for deed in sleeper.deeds()[before:]]
    # A start that was about to be made is undone; whoever has yet to look does not start.
    assert woken == (["start", "start"] if "look" in point else ["start", "start", "die", "die", "start", "start"])
    three.figures(figures, {"services that woke in the next round": 1})


def test_one_whose_name_has_gone_to_a_later_life_meanwhile_writes_and_starts_nothing(
    three: Trio, tmp_path: Path
) -> None:
    """Somebody has cloned it: with its machine id and name, and a state of its own."""
    sleeper = falls_asleep(three, "c", "before write of halting #1")
    clone = Mortal(tmp_path / "clone", "c", 6, [three.relays["c"].endpoint])
    try:
        clone.start()
        eventually(lambda: clone.is_whole(1), "the clone takes part")
        three.rounds += 1
        for name in "ab":
            eventually(lambda name=name: three[name].is_whole(three.rounds), f"{name} runs again")  # type: ignore[misc]
        before = len(sleeper.deeds())
        sleeper.goes_on()
        sleeper.until_said("later life")
        assert [deed for deed in sleeper.deeds()[before:] if deed.action == "start"] == []
        assert too_early([deed for deed in three.news() if deed.appliance in "ab"], "ab") == []
    finally:
        clone.close()


def falls_asleep(three: Trio, name: str, point: str) -> Mortal:
    """Let one of them stand still at this point of a round, until the others do not see it any more.

    Not every round has the same points: who writes that all may start needs no last look.
    """
    sleeper, other = three[name], three["b" if name == "a" else "a"]
    eventually(lambda: is_seen(other, name), f"{name} is seen")
    for _ in range(6):
        three.meets(name, point, signal.SIGSTOP)
        if sleeper.stands_still():
            eventually(lambda: not is_seen(other, name), f"{name} is not seen any more")
            return sleeper
        sleeper.goes_on()
        three.comes_through()
    raise AssertionError(f"{name} does not come to {point}")
