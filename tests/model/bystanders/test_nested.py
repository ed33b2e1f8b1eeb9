"""Processes in containers that run in containers, in instances that no runtime has, and processes that are gone."""

from dataclasses import replace

import pytest

from cmgr.model.values.chips import UNCLEAR, Process
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ResetRing, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.view import status as view
from cmgr.view.advice import ring_hint
from tests.model.builders import Cmgr, container, key, names

INNER = 64 * "b"
DIND = replace(container("dind"), claims=frozenset({UNCLEAR}), warnings=("is privileged",))


def nested(*around: str, chip: int = 1) -> Cmgr:
    """Return a machine with a process on the chip that is in a container within these."""
    cmgr = Cmgr(DIND, container("a", 0), container("b", 4))
    cmgr.listed[chip] = Process(7, "python3", container=INNER, around=around)
    cmgr.tell(facts.Resync())
    cmgr.run()
    return cmgr


@pytest.mark.parametrize("around", [("dind",), ("dind", 64 * "c"), ("unknown", "dind")])
def test_whoever_a_process_is_in_at_any_depth_is_a_user_of_its_chip(around: tuple[str, ...]) -> None:
    cmgr = nested(*(DIND.key.id if id_ == "dind" else id_ for id_ in around))
    assert set(cmgr.booked("dind").kept.chips) == {1}
    cmgr.fault(0)
    cmgr.run_until(Phase.DRAINING)
    assert {command.key.id for command in cmgr.sent(StopContainer)} == {key("a").id, key("dind").id}


def test_who_is_named_within_a_container_of_the_same_engine_is_no_user() -> None:
    b = key("b").id
    cmgr = Cmgr(DIND, container("a", 0), container("b", 4))
    cmgr.listed[1] = Process(7, "python3", container=b, around=(DIND.key.id,))
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (set(cmgr.booked("b").kept.chips), set(cmgr.booked("dind").kept.chips)) == ({4}, {1})


@pytest.mark.parametrize(
    ("process", "what"),
    [
        (Process(7, "python3", container="lxc:ai one"), "stop its instance yourself: incus stop 'ai one', or lxc-stop"),
        (Process(7, "python3", container="machine:ai"), "stop its instance yourself: machinectl poweroff ai"),
        (
            Process(7, "python3", container=INNER),
            "yourself, in a container that cmgr does not know: bbbb",
        ),
        (
            Process(7, "python3", container=INNER, owner="kubelet"),
            "have kubelet leave this machine alone: kubectl drain $(hostname) --ignore-daemonsets; afterwards: kubectl",
        ),
        (Process(7, "python3"), "end process 7 (python3) yourself"),
    ],
)
def test_whoever_waits_for_a_process_is_told_what_to_do(process: Process, what: str) -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.listed[1] = process
    cmgr.fault(0)
    cmgr.wait(5)
    assert (cmgr.phase(), cmgr.ring().reason) == (Phase.WAITING, "process 7 (python3) is on chip 1")
    assert what in str(ring_hint(cmgr.node, cmgr.ring()))


def test_one_that_the_driver_alone_has_seen_has_a_hint_too() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.answer(ResetRing, error="cannot reset chips 0-3: process 7 (x) is on chip 0", refused=True)
    assert "ps -fp PID" in str(ring_hint(cmgr.node, cmgr.ring()))


def test_a_process_that_does_not_exist_keeps_nobody_from_a_reset_and_is_told_once() -> None:
    cmgr = Cmgr(container("a", 0), container("mate", 2))
    cmgr.listed[1] = Process(4190001, gone=True)
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), sorted(names(cmgr.log))) == (Phase.HEALTHY, 1, ["a", "mate"])
    told = [text for text in cmgr.notes(NoteKind.WARNING) if "4190001" in text]
    assert told == ["process 4190001 is on chip 1, says the driver, and does not exist any more"]
    assert view.chips(cmgr.node)[1]["processes"] == [{"pid": 4190001, "name": "", "memory": 0, "gone": True}]
