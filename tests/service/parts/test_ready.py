"""Containers are asked from each start until they answer, then now and then; one answer alone changes little."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from cmgr.config.settings import Config
from cmgr.config.settings import Ready as Settings
from cmgr.errors import RuntimeAils
from cmgr.model.reduce import reduce
from cmgr.model.values.chips import Chip, ChipId, RingId
from cmgr.model.values.faults import Fault, FaultCode, Level
from cmgr.model.values.handling.policy import LimitsPolicy, Policy
from cmgr.model.values.handling.questions import question
from cmgr.model.values.messages.facts import Event
from cmgr.model.values.messages.health_facts import Answered, BusySaid
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import HEALTHY, STARTING, UNHEALTHY, Container
from cmgr.service.part import Step
from cmgr.service.parts.ready import Ready
from tests.model.builders import BUSINESS, RING, T0, altered, container, key
from tests.service.work.test_last_words import Speaking
from tests.support.waiting import eventually

EXEC, HTTP = question("exec test"), question("http://:1/")


class Answering(Speaking):
    """A runtime whose containers run a command with this code."""

    code = 1
    failure: RuntimeAils | None = None

    def run_inside(self, key: object, command: object, seconds: float) -> tuple[int, str]:
        self.asked.append(((), seconds))
        if self.failure is not None:
            raise self.failure
        return self.code, ""


@dataclass
class Scene:
    """A service whose command is run, at times that the test says, and what the model makes of what is told."""

    web: Container = field(
        default_factory=lambda: container("web", 0, runtime="sim", ready=EXEC, answer=STARTING, since=T0, run="life 1")
    )
    now: datetime = T0
    told: list[Answered] = field(default_factory=list)
    said: list[tuple[bool, str, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.runtime = Answering()
        self.node = Node(policy=Policy(), containers={self.web.key: self.web})
        config = Config(ready=Settings(failures=3))
        self.part = Ready(lambda: self.node, {"sim": self.runtime}, self._take, lambda: self.now, config)

    def _take(self, fact: Answered | BusySaid) -> None:
        assert isinstance(fact, Answered)
        self.told.append(fact)
        known = self.node.containers[fact.key]
        now = replace(known, kept=replace(known.kept, answer=fact.answer, said=fact.said))
        self.node = replace(self.node, containers={fact.key: now})

    @property
    def at(self) -> float:
        return (self.now - T0).total_seconds()

    def ask(self, code: int, minutes: float = 1) -> str:
        """Let so much time pass, have it asked, and return what it counts as."""
        self.now += timedelta(minutes=minutes)
        self.runtime.code, before = code, len(self.runtime.asked)
        self.part.look_round(self.at)
        eventually(lambda: len(self.runtime.asked) > before, why="it is asked")
        eventually(lambda: not any(record.under_way for record in self.part._records.values()))
        return self.node.containers[self.web.key].kept.answer

    def changes(self, **fields: object) -> None:
        web = altered(self.node.containers[self.web.key], **fields)
        self.node = replace(self.node, containers={web.key: web})


def test_one_that_starts_has_its_time_and_the_first_answer_counts() -> None:
    scene = Scene()
    assert [scene.ask(1) for _ in range(5)] == [STARTING] * 5
    assert [fact.said for fact in scene.told] == ["test ended with code 1"], "the same is told once"
    assert scene.ask(0) == HEALTHY
    assert scene.told[-1] == Answered(scene.web.key, "life 1", EXEC, HEALTHY, "test ended with code 0")


def test_one_that_never_answers_counts_as_not_serving_when_its_time_is_over() -> None:
    scene = Scene()
    found = [scene.ask(1) for _ in range(12)]
    assert found == [STARTING] * 9 + [UNHEALTHY] * 3, "retry.ready is 10 min"
    scene = Scene(now=T0 + timedelta(hours=1))
    assert [scene.ask(1) for _ in range(3)] == [STARTING, STARTING, UNHEALTHY], "a new life of cmgr looks thrice"


def test_in_peace_it_takes_three_failures_and_two_answers() -> None:
    scene = Scene()
    assert [scene.ask(code) for code in (0, 1, 1, 0, 1, 1)] == [HEALTHY] * 6
    assert [scene.ask(code) for code in (1, 0)] == [UNHEALTHY] * 2
    assert scene.told[-1].said == "test ended with code 1", "nothing has changed yet"
    assert [scene.ask(code) for code in (1, 0, 0)] == [UNHEALTHY, UNHEALTHY, HEALTHY]


def test_a_command_is_run_once_a_minute_at_most_whatever_is_set() -> None:
    scene = Scene()
    assert scene.part.look_round(0.0) == 60.0
    eventually(lambda: len(scene.runtime.asked) == 1)
    assert scene.part.look_round(59.0) == 1.0
    for life in range(2, 30):  # It dies each two seconds.
        scene.changes(running=False)
        assert scene.part.look_round(2.0 * life - 1) is None
        scene.changes(run=f"life {life}", running=True)
        assert scene.part.look_round(2.0 * life) == 60.0 - 2.0 * life
    scene.changes(ready=question("exec another"))
    assert scene.part.look_round(59.0) == 1.0
    assert len(scene.runtime.asked) == 1
    assert scene.part.look_round(60.0) == 60.0
    eventually(lambda: len(scene.runtime.asked) == 2)


def test_a_command_that_hangs_is_run_ever_more_seldom_for_no_runtime_ends_it() -> None:
    scene = Scene(now=T0 + timedelta(hours=1))
    scene.runtime.failure = RuntimeAils("cannot run test in web: it did not answer within 5 s")
    pauses: list[float] = []
    for _ in range(12):
        scene.ask(1, minutes=pauses[-1] / 60 if pauses else 1)
        pauses.append(scene.part.look_round(scene.at) or 0)
    assert pauses == [60, 60, 60, 60, 120, 240, 480, 960, 1920, 3840, 3840, 3840], "not before it is told"
    scene.runtime.failure = None
    scene.ask(0, minutes=64)
    scene.ask(0, minutes=64)
    assert scene.part.look_round(scene.at) == 60


@pytest.mark.parametrize(
    ("waited", "answer", "pause"),
    [(0, STARTING, 1.0), (45, STARTING, 1.0), (300, STARTING, 5.0), (3600, STARTING, 10.0), (3600, HEALTHY, 30.0)],
)
def test_one_that_starts_is_asked_often_and_one_that_serves_seldom(waited: float, answer: str, pause: float) -> None:
    scene = Scene(now=T0 + timedelta(seconds=waited))
    scene.changes(ready=HTTP, answer=answer)
    assert scene.part.look_round(0.0) == pause


@pytest.mark.parametrize(
    "fields", [{"frozen": True}, {"restarting": True}, {"starting": True}, {"running": False}, {"ready": None}]
)
def test_who_cannot_answer_is_not_asked(fields: dict[str, object]) -> None:
    scene = Scene()
    scene.changes(**fields)
    assert (scene.part.look_round(0.0), scene.runtime.asked) == (None, [])


def test_another_life_is_asked_at_once() -> None:
    scene = Scene()
    scene.changes(ready=HTTP)
    assert scene.part.look_round(0.0) == 1.0
    scene.changes(run="life 2")
    assert scene.part.look_round(0.5) == 1.0, "and not in half a second"
    scene = Scene()
    scene.ask(0)
    scene.changes(run="life 2", answer=STARTING)
    assert scene.ask(0) == HEALTHY
    assert scene.told[-1].run == "life 2"


def test_nobody_is_asked_and_no_thread_made_before_one_wishes_it() -> None:
    scene = Scene()
    nobody = replace(scene.node, containers={key("b"): container("b", 1)})
    scene.part.observe(Step((), Node(), nobody, (), ()))
    assert scene.part._thread.ident is None
    scene.part.observe(Step((), nobody, scene.node, (), ()))
    scene.runtime.code = 0
    eventually(lambda: scene.node.containers[scene.web.key].kept.answer == HEALTHY)
    scene.part.close()
    scene.part.close()
    scene.part._thread.join()


def test_what_is_told_is_taken_in_by_the_model() -> None:
    scene = Scene()
    node = scene.node
    scene.ask(0)
    after, _ = reduce(node, Event(scene.now, scene.told[-1]))
    assert after.containers[scene.web.key].kept.answer == HEALTHY


TRAIN = container("train", 0, runtime="sim", run="life 1", busy="exec saves", since=T0)


class Waiting(Scene):
    """A service of which a fault waits for a container that may be busy."""

    def __post_init__(self) -> None:
        self.web = TRAIN
        super().__post_init__()
        fault = Fault(ChipId(0), FaultCode(BUSINESS), "", Level.RestartBusiness, T0, T0, T0)
        ring = Ring(RingId(0), (ChipId(0),), vetoed=T0)
        chips = {ChipId(0): Chip(ChipId(0), RingId(0), 0)}
        web = replace(self.web, kept=replace(self.web.kept, chips=frozenset({ChipId(0)})))
        policy = replace(RING, limits=LimitsPolicy(busy=timedelta(minutes=5)))
        self.node = Node(policy, chips=chips, rings={ring.id: ring}, containers={web.key: web})
        self.node = replace(self.node, faults={ChipId(0): {fault.key: fault}})

    def _take(self, fact: Answered | BusySaid) -> None:
        assert isinstance(fact, BusySaid)
        self.said.append((fact.busy, fact.said, fact.mute))


def test_one_for_which_a_fault_waits_is_asked_until_its_time_is_over_and_each_answer_is_told_once() -> None:
    scene = Waiting()
    for code in (0, 0, 1, 1, 0):
        scene.ask(code, minutes=0.5)
    busy, idle = (True, "saves ended with code 0", False), (False, "saves ended with code 1", False)
    assert scene.said == [busy, idle, busy]
    scene.now += timedelta(minutes=5)
    assert scene.part.look_round(scene.at) is None


def test_one_that_is_mute_is_asked_thrice_before_that_is_told() -> None:
    scene = Waiting()
    for code in (127, 127, 0, 127, 127, 127):
        scene.ask(code, minutes=0.5)
    assert scene.said == [(True, "saves ended with code 0", False), (False, "saves ended with code 127", True)]


def test_one_that_may_be_busy_is_asked_each_second_at_first_also_by_a_command() -> None:
    scene = Waiting()
    assert scene.part.look_round(scene.at) == 1.0
    scene.now += timedelta(minutes=4)
    eventually(lambda: len(scene.runtime.asked) == 1)
    assert scene.part.look_round(scene.at) == 4.0


def test_a_thread_is_made_when_a_ring_waits_and_none_before() -> None:
    scene = Waiting()
    ring = scene.node.rings[RingId(0)]
    peace = replace(scene.node, rings={ring.id: replace(ring, vetoed=None)})
    scene.part.observe(Step((), Node(), peace, (), ()))
    assert scene.part._thread.ident is None
    scene.part.observe(Step((), peace, scene.node, (), ()))
    eventually(lambda: bool(scene.said))
    scene.part.close()
    scene.part._thread.join()
