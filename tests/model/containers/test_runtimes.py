"""Runtimes that come and go, and lists against events."""

from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.containers.moving.spares import free_chips
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    CommandId,
    ListContainers,
    NoteKind,
    ResetRing,
    SetRestartPolicy,
    StartContainer,
    StopContainer,
)
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.view.advice import overdue
from cmgr.view.troubles import troubles
from tests.model.builders import REQUEST, SINGLE, Cmgr, container, died, key, names, seconds

DOWN = facts.RuntimeDown("docker", "connection refused")


def test_a_ring_whose_runtime_is_away_waits_for_it_and_says_so() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(DOWN)
    cmgr.fault(0)
    cmgr.answer(ListContainers, error="connection refused")
    assert (cmgr.phase(), cmgr.ring().reason) == (Phase.LISTING, "cannot ask docker: connection refused")
    cmgr.wait(30)
    assert cmgr.phase() is Phase.HEALTHY


def test_an_absent_runtime_is_asked_again_later_each_time_up_to_ten_seconds() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(DOWN)
    waits = []
    for _ in range(6):
        cmgr.answer(ListContainers, error="connection refused")
        ask_at = cmgr.node.runtimes["docker"].ask_at
        assert ask_at is not None
        waits.append((ask_at - cmgr.now).total_seconds())
        cmgr.wait(waits[-1], run=False)
    assert waits == [1, 2, 4, 8, 10, 10]
    cmgr.run()
    assert cmgr.node.runtimes["docker"].why_down == ""


def test_a_runtime_that_appears_later_is_asked_before_anything_is_reset() -> None:
    cmgr = Cmgr(container("late", 1, runtime="containerd"))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    assert cmgr.phase() is Phase.WAITING
    cmgr.tell(facts.RuntimeFound("containerd"))
    assert [c.runtime for c in cmgr.sent(ListContainers)][-1] == "containerd"
    cmgr.tell(facts.RuntimeFound("containerd"))
    cmgr.tell(facts.RuntimeFound("docker"))
    assert cmgr.notes(NoteKind.WARNING) == ["containerd is there now: its containers are taken care of, too"]
    cmgr.run()
    assert names(cmgr.sent(StopContainer)) == ["late"]


def test_nothing_is_reset_while_a_runtime_that_appeared_does_not_answer() -> None:
    cmgr = Cmgr()
    cmgr.tell(facts.RuntimeFound("containerd"))
    cmgr.answer(ListContainers, error="it hangs")
    cmgr.fault(0)
    cmgr.answer(ListContainers)
    assert cmgr.ring().reason == "cannot ask containerd: it hangs"
    assert cmgr.sent(ResetRing) == []


GONE = facts.RuntimeForgetOrdered("docker", "uid 0 (root)")


def without_docker() -> Cmgr:
    """Return a ring that waits for a runtime that does not answer, with one of its containers held."""
    cmgr = Cmgr(container("a", 0), container("b", 1, runtime="containerd"), runtimes=("docker", "containerd"))
    cmgr.fault(0)
    cmgr.run(StopContainer)
    cmgr.tell(DOWN)
    for command in [c for c in cmgr.pending if isinstance(c, ListContainers)]:
        cmgr.answer(ListContainers, error="connection refused" if command.runtime == "docker" else "")
    assert (cmgr.phase(), cmgr.held()) == (Phase.LISTING, ["a", "b"])
    return cmgr


def test_nothing_waits_for_a_runtime_that_is_gone_for_good() -> None:
    cmgr = without_docker()
    cmgr.tell(GONE)
    assert cmgr.held() == ["b"]
    assert set(cmgr.node.runtimes) == {"containerd"}
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), cmgr.held()) == (Phase.HEALTHY, 1, [])
    assert "a is no longer held: docker is gone for good" in cmgr.notes(NoteKind.HOLD)
    assert "uid 0 (root) ordered that docker is gone for good, with its containers" in cmgr.notes(NoteKind.ACTION)


def test_that_it_is_gone_is_known_in_the_next_life_too() -> None:
    cmgr = without_docker()
    cmgr.tell(GONE)
    cmgr.begin()
    cmgr.tell(facts.RuntimeFound("docker"))
    cmgr.tell(facts.ContainerSeen(container("late", 0)))
    assert set(cmgr.node.runtimes) == {"containerd"}
    assert key("late") not in cmgr.node.containers


def test_one_that_answers_all_the_same_is_not_gone() -> None:
    cmgr = without_docker()
    cmgr.tell(GONE)
    cmgr.tell(facts.RuntimeUp("docker"))
    assert cmgr.node.gone == {}
    cmgr.run()
    assert cmgr.booked("a").kept.chips == {0}
    assert "docker is there now: its containers are taken care of, too" in cmgr.notes(NoteKind.WARNING)


def away(cmgr: Cmgr) -> list[Trouble]:
    return [trouble for trouble in troubles(cmgr.node) if trouble.kind is TroubleKind.RUNTIME]


def test_a_runtime_that_answers_after_it_was_called_gone_gets_back_all_that_was_held_of_it() -> None:
    cmgr = without_docker()
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], restart_policy="always")
    before = cmgr.hold("a")
    cmgr.tell(GONE)
    assert (cmgr.held(), away(cmgr)) == (["b"], [])
    cmgr.begin()
    cmgr.run()
    cmgr.tell(facts.RuntimeUp("docker"))
    assert cmgr.hold("a").restart_policy == before.restart_policy
    assert "a is held again: docker is there" in cmgr.notes(NoteKind.HOLD)
    cmgr.wait(60)
    assert (cmgr.booked("a").running, cmgr.held(), cmgr.node.kept_holds) == (True, [], {})


@pytest.mark.parametrize("held", [False, True])
def test_a_runtime_that_is_left_out_of_the_list_for_one_restart_loses_nothing(held: bool) -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1, runtime="containerd"), runtimes=("docker", "containerd"))
    if held:
        cmgr.fault(0)
        cmgr.run(StopContainer)
    else:
        cmgr.dies("a")
    cmgr.run(StopContainer)
    cmgr.runtimes = ("containerd",)
    cmgr.begin()
    cmgr.wait(60)
    assert (key("a") in cmgr.node.containers, "a" in cmgr.held()) == (False, False)
    (told,) = away(cmgr)
    assert told.words == "nobody looks after docker: it is not in runtimes, and ought to run there: a"
    assert str(told.hint).endswith("cmgr forget --runtime docker")
    assert 0 not in free_chips(cmgr.node), "it may run"
    cmgr.runtimes = ("docker", "containerd")
    cmgr.begin()
    cmgr.wait(60)
    assert cmgr.booked("a").kept.wanted
    assert (cmgr.booked("a").running, cmgr.node.kept_containers) == (held, {})


def test_one_that_was_left_out_and_is_called_gone_keeps_no_chip() -> None:
    cmgr = Cmgr(container("a", 0), runtimes=("docker",))
    cmgr.dies("a")
    cmgr.runtimes = ("containerd",)
    cmgr.begin()
    cmgr.run()
    cmgr.tell(GONE)
    assert (away(cmgr), 0 in free_chips(cmgr.node)) == ([], True)
    cmgr.tell(facts.RuntimeUp("docker"))
    cmgr.run()
    assert cmgr.booked("a").kept.wanted


def unread(name: str, *, running: bool = True, **fields: Any) -> Container:
    """Return what a list says of a container that cannot be read."""
    return container(name, running=running, run="", unread="it hangs", **fields)


def test_a_container_that_cannot_be_read_keeps_no_other_from_its_recovery() -> None:
    cmgr = Cmgr(container("a", 0), unread("nginx"))
    cmgr.fault(0)
    cmgr.run()
    assert names(cmgr.sent(StartContainer), StartContainer) == ["a"]
    assert (cmgr.booked("nginx").running, cmgr.booked("nginx").kept.chips) == (True, frozenset())


def test_what_is_known_of_a_container_counts_while_it_cannot_be_read() -> None:
    cmgr = Cmgr(container("a", 0), policy=SINGLE)
    cmgr.truth[key("a")] = unread("a")
    cmgr.begin()
    cmgr.run()
    assert cmgr.booked("a").kept.chips == {0}
    assert (cmgr.booked("a").run, cmgr.booked("a").unread) == ("life 1", "it hangs")
    cmgr.fault(0)
    assert names(cmgr.sent(StopContainer)) == ["a"]


def test_one_that_is_held_and_cannot_be_read_stays_held() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    assert cmgr.held() == ["a"]
    before = cmgr.hold("a")
    for running in (False, True):
        cmgr.truth[key("a")] = unread("a", running=running)
        cmgr.tell(facts.Resync())
        cmgr.run()
        assert cmgr.hold("a") == before
        assert cmgr.booked("a").running is running


def test_one_that_can_be_read_again_is_booked_as_it_is() -> None:
    cmgr = Cmgr(unread("a"))
    cmgr.truth[key("a")] = container("a", 1)
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert cmgr.booked("a").kept.chips == {1}
    assert cmgr.booked("a").unread == ""


def test_its_absence_and_its_return_are_told_once() -> None:
    cmgr = Cmgr()
    cmgr.tell(DOWN)
    cmgr.tell(DOWN)
    cmgr.answer(ListContainers, error="connection refused")
    cmgr.tell(facts.RuntimeUp("docker"))
    cmgr.tell(facts.RuntimeUp("docker"))
    assert cmgr.notes() == ["cannot reach docker: connection refused", "docker is back"]


def test_a_list_that_fails_is_told_of_once() -> None:
    cmgr = Cmgr()
    cmgr.tell(facts.Resync())
    for _ in range(3):
        cmgr.answer(ListContainers, error="timed out")
        cmgr.wait(20, run=False)
    assert cmgr.notes() == ["cannot list the containers of docker: timed out"]


def test_a_list_that_works_is_enough_to_believe_that_the_runtime_is_back() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.answer(StopContainer, error="connection refused", unreachable=True)
    cmgr.tell(DOWN)
    cmgr.answer(ListContainers, error="connection refused")
    cmgr.wait(1, run=False)
    assert names(cmgr.answer(StopContainer, error="connection refused", unreachable=True)) == []
    assert names(cmgr.answer(ListContainers)) == ["a"]
    assert cmgr.notes(NoteKind.WARNING)[-2:] == ["cannot reach docker: connection refused", "docker is back"]


def test_a_list_of_before_the_connection_broke_says_nothing_of_now() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.Resync())
    cmgr.wait(1, run=False)
    cmgr.tell(DOWN)
    assert [c.runtime for c in cmgr.answer(ListContainers) if isinstance(c, ListContainers)] == ["docker"]
    assert (cmgr.node.runtimes["docker"].why_down, len(away(cmgr))) == ("connection refused", 1)
    cmgr.answer(ListContainers)
    assert cmgr.node.runtimes["docker"].why_down == ""
    assert cmgr.notes() == ["cannot reach docker: connection refused", "docker is back"]


def test_a_list_of_before_the_connection_broke_a_second_time_says_nothing_of_now_either() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(DOWN)
    cmgr.answer(ListContainers, error="connection refused")
    cmgr.tell(facts.RuntimeUp("docker"))
    cmgr.wait(1, run=False)
    cmgr.tell(facts.RuntimeDown("docker", "the stream ended"))
    cmgr.answer(ListContainers)
    assert cmgr.node.runtimes["docker"].why_down == "the stream ended"


def test_nothing_is_started_while_the_runtime_is_away() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.tell(DOWN)
    cmgr.clears(0, REQUEST)
    assert (cmgr.phase(), cmgr.sent(StartContainer)) == (Phase.RESUMING, [])
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.sent(StartContainer))) == (Phase.HEALTHY, 1)


def test_a_runtime_that_is_not_managed_says_nothing_of_interest() -> None:
    cmgr = Cmgr()
    assert cmgr.tell(facts.RuntimeUp("podman")) == []
    assert cmgr.tell(facts.RuntimeDown("podman", "never was there")) == []
    assert cmgr.tell(facts.ContainersListed(_id(cmgr), "podman")) == []


def _id(cmgr: Cmgr) -> CommandId:
    cmgr.tell(facts.Resync())
    command = cmgr.sent(ListContainers)[-1]
    cmgr.run()
    return command.id


def test_a_list_does_not_overrule_an_event_that_came_after_it_was_asked_for() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.Resync())
    cmgr.tell(facts.ContainerSeen(died("a", 0)))
    cmgr.answer(ListContainers)
    assert not cmgr.booked("a").running


def test_a_list_overrules_an_event_of_before_it_was_asked_for() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.ContainerSeen(died("a", 0)))
    cmgr.tell(facts.Resync())
    cmgr.answer(ListContainers)
    assert cmgr.booked("a").running


def test_a_container_that_was_made_after_the_list_was_asked_for_is_not_taken_for_removed() -> None:
    cmgr = Cmgr()
    cmgr.tell(facts.Resync())
    cmgr.tell(facts.ContainerSeen(container("new", 0)))
    cmgr.answer(ListContainers)
    assert cmgr.booked("new").running


def test_a_list_of_one_runtime_removes_nothing_of_another() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 0, runtime="containerd"), runtimes=("docker", "containerd"))
    cmgr.truth.clear()
    cmgr.tell(facts.Resync())
    cmgr.answer(ListContainers)
    assert [c.key.runtime for c in cmgr.node.containers.values()] == ["docker"]


def test_an_old_list_changes_nothing() -> None:
    cmgr = Cmgr(container("a", 0))
    old = _id(cmgr)
    assert cmgr.tell(facts.ContainersListed(old, "docker")) == []
    assert cmgr.booked("a").running


def test_a_list_that_is_wanted_while_one_is_under_way_follows_it() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.Resync())
    cmgr.tell(facts.RuntimeUp("docker"))
    cmgr.tell(facts.RuntimeUp("docker"))
    assert len(cmgr.sent(ListContainers)) == 1
    cmgr.answer(ListContainers)
    assert len(cmgr.sent(ListContainers)) == 2
    cmgr.run()
    assert len(cmgr.sent(ListContainers)) == 2


def test_a_runtime_that_answers_more_slowly_than_it_is_asked_is_heard_all_the_same() -> None:
    cmgr = Cmgr(container("a", 0))
    for _ in range(50):
        cmgr.tell(facts.Resync())
        cmgr.wait(10, run=False)
    assert len(cmgr.sent(ListContainers)) == 1
    cmgr.truth[key("b")] = container("b", 1)
    cmgr.answer(ListContainers)
    assert cmgr.booked("b").running


@pytest.mark.parametrize("kind", [SetRestartPolicy, StopContainer])
def test_a_runtime_that_comes_back_is_given_its_orders_at_once(kind: type[SetRestartPolicy | StopContainer]) -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always"))
    cmgr.fault(0, REQUEST)
    if kind is SetRestartPolicy:
        cmgr.run(StopContainer)
    for _ in range(8):
        cmgr.answer(kind, error="connection refused", unreachable=True)
        cmgr.now = cmgr.hold("a").attempt.retry_at or cmgr.now
        cmgr.tell(facts.Tick())
    cmgr.answer(kind, error="connection refused", unreachable=True)
    assert (cmgr.hold("a").attempt.retry_at or cmgr.now) - cmgr.now == seconds(60)
    assert kind in {type(c) for c in cmgr.tell(facts.RuntimeUp("docker"))}


def test_what_a_runtime_could_not_read_is_kept_with_what_means_no_chip_here() -> None:
    cmgr = Cmgr(replace(container("a", 0, 77), warnings=("the label cmgr.order is no number",)))
    assert cmgr.booked("a").warnings == (
        "the label cmgr.order is no number", "asks for chip 77, which this machine does not have",
    )  # fmt: skip
    assert cmgr.booked("a").kept.chips == {0}


def test_what_a_list_leaves_out_is_lost_in_the_same_order_each_time() -> None:
    cmgr = Cmgr(*(container(f"c{n}", 0) for n in range(8)))
    cmgr.fault(0)
    cmgr.run(StopContainer)
    cmgr.truth.clear()
    cmgr.log.clear()
    cmgr.tell(facts.Resync())
    cmgr.run(ListContainers)
    lost = [text for text in cmgr.notes() if "is lost" in text and not text.startswith("container")]
    # A walk is known by its seed only if the same facts lead to the same decisions, whatever a set's order is.
    assert lost == [f"c{n} is lost: somebody removed it; cmgr cannot start it again" for n in range(8)]


@pytest.mark.parametrize("running", [True, False])
def test_what_is_said_of_one_that_cannot_be_read_is_what_counts(running: bool) -> None:
    cmgr = Cmgr(container("a", 0, running=False, strategy=Strategy.NEVER))
    cmgr.truth[key("a")] = unread("a", running=running)
    cmgr.tell(facts.Resync())
    cmgr.run()
    (told,) = overdue(cmgr.node, cmgr.now)
    counts = "as running on chip 0" if running else "as down, for its runtime lists it so, and no reset waits for it"
    assert told["text"] == f"cannot be read: it hangs; it counts {counts}"
    cmgr.fault(0)
    cmgr.wait(30)
    assert bool(cmgr.sent(ResetRing)) is not running


def test_no_reset_waits_for_one_that_was_never_read_and_that_is_said() -> None:
    cmgr = Cmgr(unread("a"), container("b", 0))
    (told,) = overdue(cmgr.node, cmgr.now)
    assert told["text"].endswith("as running on chips that nobody knows, and no reset waits for it")
    cmgr.fault(0)
    cmgr.wait(30)
    assert len(cmgr.sent(ResetRing)) == 1
