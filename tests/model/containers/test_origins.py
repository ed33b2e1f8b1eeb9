"""Engines that come up with other books, or with none: their lists say nothing of those that ran."""

import pytest

from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, NoteKind, ResetRing, StartContainer, StopContainer
from cmgr.model.values.services.containers import Container
from cmgr.model.values.services.origins import Origin
from cmgr.model.wanted import missing
from tests.model.builders import REQUEST, Cmgr, container, died, key, names

RIGHT = Origin("docker", "a", "data root", "/disk")
EMPTY = Origin("docker", "b", "data root", "/var/lib/docker")
A, B = container("a", 0), container("b", 4)
WHY = "docker lists none of the 2 containers that ran; its data root is /var/lib/docker, theirs is /disk"


def lists(cmgr: Cmgr, *containers: Container, origin: Origin | None = RIGHT) -> None:
    """Answer the list that is under way, or one more, with these."""
    if not any(isinstance(command, ListContainers) for command in cmgr.pending):
        cmgr.wait(11, run=False)  # Lists that failed are repeated ever more slowly.
        cmgr.tell(facts.Resync())
    cmgr.answer(ListContainers, containers=containers, origin=origin)


def comes_up(cmgr: Cmgr, *containers: Container, origin: Origin | None = EMPTY) -> None:
    """Let a daemon come up that lists these."""
    cmgr.tell(facts.RuntimeDown("docker", "connection refused"))
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    lists(cmgr, *containers, origin=origin)


def two() -> Cmgr:
    cmgr = Cmgr(A, B)
    lists(cmgr, A, B)
    return cmgr


@pytest.mark.parametrize("origin", [EMPTY, RIGHT, None], ids=["another", "the same", "unknown"])
def test_an_engine_that_comes_up_with_nobody_removes_nobody(origin: Origin | None) -> None:
    cmgr = two()
    comes_up(cmgr, origin=origin)
    why = cmgr.node.runtimes["docker"].why_down
    assert why.startswith("docker lists none of the 2 containers that ran")
    assert cmgr.booked("a").running
    cmgr.fault(0)
    lists(cmgr, origin=origin)
    assert (cmgr.sent(ResetRing), cmgr.ring().reason) == ([], f"cannot ask docker: {why}")


def test_it_is_told_where_the_books_are_and_where_they_were() -> None:
    cmgr = two()
    comes_up(cmgr)
    assert cmgr.node.runtimes["docker"].why_down == WHY
    assert f"{WHY}: nothing is reset, and nobody counts as removed" in cmgr.notes(NoteKind.WARNING)


def test_those_that_another_engine_does_list_are_taken_in() -> None:
    cmgr = two()
    comes_up(cmgr, container("c", 1))
    assert {k.id for k in cmgr.node.containers} == {"a", "b", "c"}
    assert cmgr.node.runtimes["docker"].why_down == WHY


def test_what_was_held_is_still_held_when_they_are_listed_again() -> None:
    cmgr = two()
    cmgr.fault(0, REQUEST)
    cmgr.run(StopContainer)
    comes_up(cmgr)
    assert cmgr.held() == ["a"]
    comes_up(cmgr, died("a", 0), B, origin=RIGHT)
    assert (cmgr.held(), cmgr.node.runtimes["docker"].why_down) == (["a"], "")
    cmgr.run()
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert (names(cmgr.sent(StartContainer), StartContainer), cmgr.held()) == (["a"], [])


def test_what_another_engine_calls_gone_is_held_on() -> None:
    cmgr = two()
    cmgr.fault(0, REQUEST)
    cmgr.answer(StopContainer, gone=True)
    comes_up(cmgr)
    assert cmgr.held() == ["a"]


def test_the_doubt_outlives_cmgr() -> None:
    cmgr = two()
    comes_up(cmgr, origin=RIGHT)
    cmgr.begin()
    lists(cmgr, origin=RIGHT)
    assert cmgr.node.runtimes["docker"].why_down
    assert missing(cmgr.node) == ()


def test_another_engine_is_known_as_that_after_a_restart_of_cmgr() -> None:
    cmgr = two()
    cmgr.begin()
    lists(cmgr, origin=EMPTY)
    assert cmgr.node.runtimes["docker"].why_down == WHY


def test_what_was_removed_while_cmgr_was_away_is_removed_where_the_engine_is_the_same() -> None:
    cmgr = two()
    cmgr.begin()
    lists(cmgr, container("new", 0))
    assert {k.id for k in cmgr.node.containers} == {"new"}
    assert cmgr.node.runtimes["docker"].why_down == ""


def test_an_engine_that_has_one_of_them_is_the_same_whatever_it_is_called_now() -> None:
    cmgr = two()
    comes_up(cmgr, A, origin=EMPTY)
    assert ({k.id for k in cmgr.node.containers}, cmgr.node.origins["docker"]) == ({"a"}, EMPTY)


def test_who_is_made_anew_with_each_start_is_not_missed() -> None:
    cmgr = Cmgr(container("rm", 0, auto_remove=True), container("pod", 1, owner="kubelet"), container("u", 2, unit="u"))
    lists(cmgr, *cmgr.truth.values())
    comes_up(cmgr)
    assert (cmgr.node.containers, cmgr.node.runtimes["docker"].why_down) == ({}, "")


def test_who_was_made_in_their_place_on_the_same_engine_ends_no_promise_by_that() -> None:
    cmgr = two()
    comes_up(cmgr, container("new", 0), origin=RIGHT)
    assert {k.id for k in cmgr.node.containers} == {"new"}


def test_a_removal_that_is_told_is_believed() -> None:
    cmgr = two()
    comes_up(cmgr)
    cmgr.tell(facts.ContainerRemoved(key("a")))
    cmgr.tell(facts.ContainerRemoved(key("b")))
    lists(cmgr, origin=EMPTY)
    assert (cmgr.node.runtimes["docker"].why_down, cmgr.node.origins["docker"]) == ("", EMPTY)


def test_a_person_says_that_they_are_gone_for_good() -> None:
    cmgr = two()
    cmgr.fault(0, REQUEST)
    cmgr.run(StopContainer)
    comes_up(cmgr)
    cmgr.tell(facts.RuntimeForgetOrdered("docker", "uid 0 (root)"))
    lists(cmgr, container("c", 1), origin=EMPTY)
    assert ({k.id for k in cmgr.node.containers}, cmgr.held(), cmgr.node.gone) == ({"c"}, [], {})
    assert (cmgr.node.runtimes["docker"].why_down, cmgr.node.origins["docker"]) == ("", EMPTY)


def test_whoever_is_not_listed_and_lives_is_on_its_chips() -> None:
    cmgr = two()
    lists(cmgr, container("a", 0, unread="its process lives", unlisted=True), B)
    assert cmgr.booked("a").running
    cmgr.fault(0)
    cmgr.answer(StopContainer, gone=True)
    lists(cmgr, container("a", 0, unread="its process lives", unlisted=True), B)
    assert cmgr.sent(ResetRing) == []
    comes_up(cmgr, container("a", 0, unread="its process lives", unlisted=True))
    assert cmgr.node.runtimes["docker"].why_down == WHY
