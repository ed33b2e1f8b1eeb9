"""Every follower of a daemon's events does this: it opens streams anew, and tells comings and goings once."""

import threading
from collections.abc import Iterable, Iterator

import pytest

from cmgr.errors import ContainerError, RuntimeDown
from cmgr.model.values.messages import facts
from cmgr.ports import RuntimeFact
from cmgr.runtimes.following import Broken, Comings, Follower, Limits
from cmgr.runtimes.memory import Memory
from tests.support.waiting import PATIENCE, eventually

QUICK = Limits(first_delay=0.001, longest_delay=0.002)

FLOWS, SILENT = "flows", "silent"

REFUSED = RuntimeDown("cannot follow: nobody is there")
BROKE = Broken("cannot follow: it broke")
HUNG = ContainerError("cannot follow: it hangs")


class Scripted(Follower):
    """Each stream does what its turn says: events flow, it is silent and opened anew, or it ends with this error."""

    def __init__(self, turns: Iterable[tuple[str | ContainerError, ...]]) -> None:
        self.told: list[RuntimeFact] = []
        self.known = Memory[str, str]()
        self.flowing: list[bool] = []
        super().__init__("scripted", Comings("docker", self.known, self._take), QUICK)
        self._turns = list(turns)
        self._cuts = threading.Event()

    def _take(self, fact: RuntimeFact) -> None:
        self.told.append(fact)
        self.flowing.append(self.known.flowing)

    def _follow(self) -> None:
        for step in self._turns.pop(0) if self._turns else (self._hold,):
            if step == FLOWS:
                self._flows()
            elif isinstance(step, ContainerError):
                raise step
            elif step != SILENT:
                self._hold()

    def _hold(self) -> None:
        self._cuts.wait(PATIENCE)

    def _cut(self) -> None:
        self._cuts.set()

    @property
    def over(self) -> bool:
        return not self._turns


@pytest.fixture
def follow() -> Iterator[list[Scripted]]:
    made: list[Scripted] = []
    yield made
    for follower in made:
        follower.close()


def told(follow: list[Scripted], *turns: tuple[str | ContainerError, ...], count: int) -> list[RuntimeFact]:
    follower = Scripted(turns)
    follow.append(follower)
    follower.start()
    eventually(lambda: follower.over and len(follower.told) >= count, why="all is told")
    follower.close()
    assert follower.flowing == [isinstance(fact, facts.RuntimeUp) for fact in follower.told]
    return follower.told


def test_that_events_flow_is_told_once_however_often_a_silent_stream_is_opened_anew(follow: list[Scripted]) -> None:
    assert told(follow, (FLOWS, SILENT), (FLOWS, SILENT), (FLOWS, FLOWS), count=1) == [facts.RuntimeUp("docker")]


def test_a_daemon_that_is_away_is_told_once_with_the_first_reason(follow: list[Scripted]) -> None:
    found = told(follow, (FLOWS, BROKE), (REFUSED,), (REFUSED,), (FLOWS,), count=3)
    assert found == [
        facts.RuntimeUp("docker"),
        facts.RuntimeDown("docker", "it broke"),
        facts.RuntimeUp("docker", restarted=True),
    ]


def test_one_that_only_hung_is_not_taken_for_one_that_was_restarted(follow: list[Scripted]) -> None:
    found = told(follow, (FLOWS, HUNG), (HUNG,), (FLOWS,), count=3)
    assert found[-1] == facts.RuntimeUp("docker", restarted=False)


def test_a_restart_is_told_of_once_and_not_with_the_next_gap(follow: list[Scripted]) -> None:
    found = told(follow, (REFUSED,), (FLOWS, HUNG), (FLOWS,), count=4)
    assert [fact.restarted for fact in found if isinstance(fact, facts.RuntimeUp)] == [True, False]


def test_nothing_is_told_after_the_end(follow: list[Scripted]) -> None:
    follower = Scripted([])
    follow.append(follower)
    follower.start()
    follower.close()
    follower.close()
    assert follower.told == []
    assert follower.closed


def test_times_keep_their_proportion_to_that_of_a_list() -> None:
    assert Limits.within(14) == Limits(look=2.5, list=14)
    assert Limits.within(28) == Limits()
