"""A service that is asked whether it serves has recovered when it answers, and is told of when it does not."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cmgr.model.values.handling.policy import Policy, RetryPolicy, Strategy
from cmgr.model.values.handling.questions import Asking, question
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, Note, NoteKind, StartContainer
from cmgr.model.values.messages.health_facts import Answered
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.compose import Composed, Condition, Need
from cmgr.model.values.services.containers import HEALTHY, STARTING, UNHEALTHY, Container, Heal
from cmgr.model.values.troubles import TroubleKind
from cmgr.view.status import containers
from cmgr.view.troubles import troubles
from tests.model.builders import RING, Cmgr, container, key, names

HEALTH = question("http://:8000/health")
LONG = timedelta(minutes=10)
NEVER = Policy(strategy=Strategy.NEVER)


def asked(name: str = "a", chip: int = 0, heal: Heal | None = None) -> Container:
    return container(name, chip, ready=HEALTH, heal=heal)


def answers(cmgr: Cmgr, answer: str, said: str = "HTTP 200", name: str = "a", run: str = "") -> None:
    cmgr.tell(Answered(key(name), run or cmgr.booked(name).run, HEALTH, answer, said))


def recovering(heal: Heal | None = None) -> Cmgr:
    """Return a cmgr that has just started a service which is asked."""
    cmgr = Cmgr(asked(heal=heal), policy=RING, settle=30)
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.hold("a").state, cmgr.booked("a").kept.answer) == (HoldState.SETTLING, STARTING)
    return cmgr


def closing(cmgr: Cmgr) -> Note:
    return next(n for n in reversed(cmgr.log) if isinstance(n, Note) and n.kind is NoteKind.CLOSED)


def kinds(cmgr: Cmgr) -> set[TroubleKind]:
    return {trouble.kind for trouble in troubles(cmgr.node)}


def test_an_episode_is_recovered_when_the_service_answers_and_says_both_times() -> None:
    cmgr = recovering()
    answers(cmgr, STARTING, "connection refused")
    cmgr.wait(300)
    assert (cmgr.held(), cmgr.phase()) == (["a"], Phase.RESUMING)
    assert "it has not answered yet: connection refused" in containers(cmgr.node)[0]["reason"]
    answers(cmgr, HEALTHY)
    cmgr.run(ListContainers)
    told = closing(cmgr)
    assert (cmgr.held(), cmgr.phase(), told.outcome) == ([], Phase.HEALTHY, "recovered")
    assert told.ended == cmgr.booked("a").kept.answered
    _, _, after = told.text.partition("recovered after 30")
    assert "s, of which all ran after 0.0" in after
    assert after.endswith("s and answered then")
    assert any(note.startswith("a answers ") and note.endswith(": HTTP 200") for note in cmgr.notes(NoteKind.RESULT))


@pytest.mark.parametrize("stays", [True, False], ids=["stays up", "dies"])
def test_one_that_its_restart_policy_starts_with_a_new_daemon_has_to_answer_as_any_other(*, stays: bool) -> None:
    cmgr = Cmgr(container("first", 0), replace(asked(), restart_policy="always", order=1), policy=RING)
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], restart_policy="always")
    cmgr.starts("a", "by the daemon")
    cmgr.run()
    cmgr.wait(60)
    assert (cmgr.hold("a").state, cmgr.phase()) == (HoldState.SETTLING, Phase.RESUMING)
    if not stays:
        cmgr.dies("a", 3)
        cmgr.wait(10)
        cmgr.run()
        assert (cmgr.hold("a").attempt.tries, cmgr.booked("a").running) == (1, True)
    answers(cmgr, HEALTHY)
    cmgr.wait(60)
    assert (cmgr.held(), closing(cmgr).outcome) == ([], "recovered")


@pytest.mark.parametrize("how", ["cmgr was killed before it heard of it", "its answer said no"])
def test_one_whose_start_had_worked_all_the_same_has_to_answer_as_any_other(how: str) -> None:
    cmgr = Cmgr(asked(), policy=RING)
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    if how == "its answer said no":
        cmgr.answer(StartContainer, error="timed out")
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], running=True, run="life 2", exit=None)
    if how == "cmgr was killed before it heard of it":
        cmgr.begin()
    cmgr.tell(facts.Resync())
    cmgr.wait(60)
    assert (cmgr.hold("a").state, cmgr.phase()) == (HoldState.SETTLING, Phase.RESUMING)
    answers(cmgr, HEALTHY)
    cmgr.wait(60)
    assert (cmgr.held(), closing(cmgr).outcome, len(cmgr.sent(StartContainer))) == ([], "recovered", 1)


@pytest.mark.parametrize("settle", [0, 30])
def test_one_that_answers_at_once_must_stay_up_all_the_same(settle: float) -> None:
    cmgr = Cmgr(asked(), policy=RING, settle=settle)
    cmgr.fault(0)
    cmgr.run()
    answers(cmgr, HEALTHY)
    cmgr.run()
    assert cmgr.held() == (["a"] if settle else [])
    cmgr.wait(31)
    assert (cmgr.held(), closing(cmgr).outcome) == ([], "recovered")


def test_one_that_stays_mute_is_told_and_left_as_it_is() -> None:
    cmgr = recovering()
    cmgr.wait(600)
    answers(cmgr, UNHEALTHY, "HTTP 503")
    cmgr.run()
    assert (cmgr.held(), closing(cmgr).outcome, len(cmgr.sent(StartContainer))) == ([], "failed", 1)
    (lost,) = [t for t in troubles(cmgr.node) if t.kind is TroubleKind.LOST]
    assert lost.why == "it did not answer (HTTP 503) after 1 start; it is left as it is"
    assert cmgr.booked("a").running
    answers(cmgr, HEALTHY)
    assert not kinds(cmgr) & {TroubleKind.LOST, TroubleKind.IDLE}


def test_one_that_wishes_to_be_healed_is_started_once_more_and_no_third_time() -> None:
    cmgr = recovering(Heal())
    for _ in range(2):
        answers(cmgr, UNHEALTHY, "HTTP 503")
        cmgr.run()
        cmgr.wait(5)
    cmgr.wait(4000)
    assert (cmgr.held(), closing(cmgr).outcome, len(cmgr.sent(StartContainer))) == ([], "failed", 2)
    assert "cannot start a, try 1: it does not answer after its start" in cmgr.notes(NoteKind.WARNING)
    assert {TroubleKind.LOST, TroubleKind.GIVEN_UP} <= kinds(cmgr)
    cmgr.tell(facts.ResumeOrdered(key("a"), "a"))
    cmgr.wait(60)
    assert len(cmgr.sent(StartContainer)) == 3, "a person has it tried again"


def test_nobody_who_asks_is_waited_for_for_ever() -> None:
    cmgr = recovering()
    cmgr.wait(30 + 600 + 119)
    assert cmgr.held() == ["a"]
    cmgr.wait(2)
    assert (cmgr.held(), closing(cmgr).outcome) == ([], "recovered")
    assert any("has not said" in note for note in cmgr.notes(NoteKind.WARNING))


def test_the_answer_of_another_life_or_to_another_question_is_none() -> None:
    cmgr = recovering()
    answers(cmgr, HEALTHY, run="life 0")
    cmgr.tell(Answered(key("a"), cmgr.booked("a").run, question("tcp://:80"), HEALTHY, "port 80 is open"))
    cmgr.tell(Answered(key("b"), "life 0", HEALTH, HEALTHY, "HTTP 200"))
    assert cmgr.booked("a").kept.answer == STARTING


@pytest.mark.parametrize("before", [STARTING, UNHEALTHY, HEALTHY])
def test_the_next_life_of_cmgr_knows_how_it_had_answered(before: str) -> None:
    cmgr = Cmgr(asked(), policy=NEVER)
    answers(cmgr, before, "HTTP 200" if before == HEALTHY else "HTTP 503")
    told = (TroubleKind.IDLE in kinds(cmgr), cmgr.booked("a").kept.answer, cmgr.booked("a").kept.said)
    cmgr.begin()
    assert (TroubleKind.IDLE in kinds(cmgr), cmgr.booked("a").kept.answer, cmgr.booked("a").kept.said) == told
    cmgr.run()
    assert (TroubleKind.IDLE in kinds(cmgr), cmgr.booked("a").kept.answer, cmgr.booked("a").kept.said) == told


def test_a_hold_that_waits_for_an_answer_waits_on_in_the_next_life() -> None:
    cmgr = recovering()
    cmgr.begin()
    cmgr.run()
    cmgr.wait(120)
    assert (cmgr.held(), cmgr.booked("a").kept.answer) == (["a"], STARTING)
    answers(cmgr, HEALTHY)
    cmgr.run()
    assert (cmgr.held(), closing(cmgr).outcome) == ([], "recovered")


def test_in_peace_one_that_does_not_answer_is_told_until_it_does() -> None:
    cmgr = Cmgr(asked(), policy=NEVER)
    answers(cmgr, HEALTHY)
    assert not kinds(cmgr)
    answers(cmgr, UNHEALTHY, "no answer in 5 s")
    (told,) = troubles(cmgr.node)
    assert (told.kind, told.why) == (TroubleKind.IDLE, "it does not answer: no answer in 5 s")
    assert cmgr.notes(NoteKind.WARNING)[-1] == "a does not answer: no answer in 5 s"
    began = cmgr.now
    cmgr.wait(60)
    answers(cmgr, UNHEALTHY, "HTTP 503")
    cmgr.begin()
    cmgr.run()
    assert [t.since for t in troubles(cmgr.node)] == [began], "since the first answer that was none"
    answers(cmgr, HEALTHY)
    assert (list(troubles(cmgr.node)), cmgr.notes(NoteKind.RESULT)[-1]) == ([], "a answers again: HTTP 200")
    answers(cmgr, UNHEALTHY)
    cmgr.sees(replace(cmgr.truth[key("a")], frozen=True))
    assert [t.why for t in troubles(cmgr.node)] == ["it is paused"]


def test_in_peace_one_that_wishes_it_is_healed_and_has_its_time_again() -> None:
    cmgr = Cmgr(asked(heal=Heal(backoff=timedelta(seconds=5))), policy=NEVER)
    answers(cmgr, HEALTHY)
    answers(cmgr, UNHEALTHY, "HTTP 500")
    assert {trouble.text for trouble in troubles(cmgr.node)} == {"container a does not answer"}
    assert any(note.startswith("a does not answer: it is restarted in 5 s") for note in cmgr.notes())
    cmgr.wait(6)
    cmgr.run()
    assert len(cmgr.sent(StartContainer)) == 1
    assert (cmgr.booked("a").kept.answer, cmgr.held()) == (STARTING, [])
    cmgr.wait(300)
    assert len(cmgr.sent(StartContainer)) == 1, "it may load for as long as after any start"
    answers(cmgr, HEALTHY)
    assert not kinds(cmgr)


def test_the_worse_of_its_check_and_its_answer_counts() -> None:
    cmgr = Cmgr(asked(), policy=NEVER)
    answers(cmgr, HEALTHY)
    cmgr.sees(replace(cmgr.truth[key("a")], health=UNHEALTHY))
    assert containers(cmgr.node)[0]["health"] == UNHEALTHY
    assert [t.why for t in troubles(cmgr.node)] == ["its own check says that it is unhealthy"]
    cmgr.sees(replace(cmgr.truth[key("a")], health=HEALTHY))
    answers(cmgr, UNHEALTHY, "HTTP 500")
    row = containers(cmgr.node)[0]
    assert (row["health"], row["ready"], row["answer"]) == (UNHEALTHY, HEALTH.text, "HTTP 500")


def test_who_needs_it_healthy_waits_for_its_answer() -> None:
    needs = Composed("p", "web", 1, (Need("db", Condition.HEALTHY),))
    db, web = replace(asked("db"), composed=Composed("p", "db", 1)), container("web", 1, composed=needs)
    cmgr = Cmgr(db, web, policy=RING, settle=30)
    cmgr.fault(0)
    cmgr.run()
    assert names(cmgr.sent(StartContainer), StartContainer) == ["db"]
    answers(cmgr, HEALTHY, name="db")
    cmgr.run()
    assert names(cmgr.sent(StartContainer), StartContainer) == ["db", "web"]


@pytest.mark.parametrize("fields", [{"group": "g"}, {"group": "g", "order": 1}, {"order": 1}, {}])
def test_whoever_does_not_say_so_waits_for_no_answer_of_another(fields: dict[str, Any]) -> None:
    first = replace(asked("db"), group=fields.get("group", ""))
    cmgr = Cmgr(first, replace(asked("web", 1), **fields), policy=RING, settle=30)
    cmgr.fault(0)
    cmgr.run()
    assert sorted(names(cmgr.sent(StartContainer), StartContainer)) == ["db", "web"]
    assert (cmgr.booked("db").kept.answer, cmgr.booked("web").kept.answer) == (STARTING, STARTING)
    answers(cmgr, HEALTHY, name="web")
    cmgr.wait(60)
    assert cmgr.held() == ["db"], "the one that answers has recovered by itself"


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("we*", {}),
        ("image:vllm/*", {"image": "vllm/server:1"}),
        ("chat", {"composed": Composed("p", "chat", 1)}),
    ],
)
def test_a_setting_names_who_is_asked_and_a_label_goes_before_it(name: str, fields: dict[str, Any]) -> None:
    tcp = question("tcp://:80")
    policy = replace(NEVER, ready=(Asking("other", HEALTH), Asking(name, tcp)))
    labelled = container("labelled", 1, ready=HEALTH, **fields)
    cmgr = Cmgr(container("web", 0, **fields), labelled, container("b", 2), policy=policy)
    assert [cmgr.booked(each).ready for each in ("web", "labelled", "b")] == [tcp, HEALTH, None]
    cmgr.tell(facts.Reconfigured(NEVER, cmgr.node.catalog))
    cmgr.run()
    assert (cmgr.booked("web").ready, cmgr.booked("web").kept.answer) == (None, "")


def test_one_that_is_left_alone_is_not_asked() -> None:
    cmgr = Cmgr(replace(asked(), enabled=False), policy=replace(NEVER, retry=RetryPolicy()))
    assert (cmgr.booked("a").ready, cmgr.booked("a").kept.answer) == (None, "")
