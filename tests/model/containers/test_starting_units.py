"""A unit of systemd that is starting has its chips and is not up, and one that is killed in each start has failed."""

from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Note, NoteKind, StartContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Exit
from cmgr.model.values.troubles import TroubleKind
from cmgr.view import troubles
from cmgr.view.containers import STARTING
from cmgr.view.status import containers
from tests.model.builders import Cmgr, container, key

LLM = key("llm.service", "systemd")


class Machine(Cmgr):
    """A machine with one unit on chip 0, which says itself when it is up."""

    def __init__(self, **fields: Any) -> None:
        self.slow = False
        unit = container("llm.service", 0, runtime="systemd", **fields)
        super().__init__(unit, runtimes=("systemd",), settle=30)

    def _carry_out(self, command: Any) -> dict[str, Any]:
        told = super()._carry_out(command)
        if self.slow and isinstance(command, StartContainer):
            self.is_now(starting=True)
        return told

    def is_now(self, **fields: Any) -> None:
        """Let the unit be so from now on; its signals are told."""
        self.truth[LLM] = replace(self.truth[LLM], **fields)
        self.sees(self.truth[LLM])

    def is_killed(self, life: str) -> None:
        """Have systemd kill it in its start, and begin the next one."""
        self.is_now(starting=False, restarting=True)
        self.run()
        self.is_now(starting=True, restarting=False, revived=True, run=life)
        self.run()

    def kinds(self) -> set[TroubleKind]:
        return {trouble.kind for trouble in troubles.troubles(self.node)}

    def closed(self) -> list[str]:
        return [n.outcome for n in self.log if isinstance(n, Note) and n.kind is NoteKind.CLOSED]


def starting() -> Machine:
    """Return a machine that has started its unit after a reset: that loads its model still."""
    cmgr = Machine()
    cmgr.slow = True
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.hold("llm.service", "systemd").state, cmgr.phase()) == (HoldState.SETTLING, Phase.RESUMING)
    return cmgr


def row(cmgr: Machine) -> dict[str, Any]:
    return dict(containers(cmgr.node)[0])


def test_its_episode_lasts_until_it_is_up_however_long_that_takes() -> None:
    cmgr = starting()
    cmgr.wait(3600)
    assert (cmgr.phase(), cmgr.closed()) == (Phase.RESUMING, [])
    assert cmgr.ring().reason == "starting llm.service"
    assert (row(cmgr)["status"], row(cmgr)["health"]) == ("settling", "starting")
    assert STARTING in row(cmgr)["reason"]
    cmgr.is_now(starting=False)
    cmgr.wait(29)
    assert (cmgr.phase(), cmgr.closed()) == (Phase.RESUMING, []), "it has to stay up like any other"
    cmgr.wait(2)
    assert (cmgr.phase(), cmgr.closed()) == (Phase.HEALTHY, ["recovered"])
    assert troubles.troubles(cmgr.node) == []


def test_the_time_to_recovery_is_that_until_it_was_up() -> None:
    cmgr = starting()
    cmgr.wait(600)
    cmgr.is_now(starting=False)
    cmgr.wait(31)
    (closed,) = [n for n in cmgr.log if isinstance(n, Note) and n.kind is NoteKind.CLOSED]
    assert closed.text.startswith("episode 1 is over: recovered after 600.")


def test_one_that_is_killed_in_each_start_has_failed() -> None:
    cmgr = starting()
    for life in range(10, 10 + cmgr.policy.retry.starts):
        assert cmgr.closed() == []
        cmgr.wait(60)
        cmgr.is_killed(f"life {life}")
    cmgr.wait(5)
    assert cmgr.closed() == ["failed"]
    for life in range(20, 23):
        cmgr.wait(60)
        assert TroubleKind.LOST in cmgr.kinds(), "neither while it loads nor between two of its lives"
        cmgr.is_killed(f"life {life}")
    cmgr.is_now(starting=False)
    cmgr.wait(31)
    assert cmgr.kinds() == set(), "it is up at last, and stays so"


@pytest.mark.parametrize("seen", [True, False], ids=["between two lives", "in its next life only"])
def test_each_life_counts_once_as_a_start_that_failed(*, seen: bool) -> None:
    cmgr = starting()
    if seen:
        cmgr.is_now(starting=False, restarting=True)
        cmgr.run()
        assert cmgr.hold("llm.service", "systemd").attempt.tries == 1
    cmgr.is_now(starting=True, restarting=False, revived=True, run="life 9")
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert cmgr.hold("llm.service", "systemd").attempt.tries == 1
    cmgr.is_now(starting=False)
    cmgr.wait(31)
    assert cmgr.closed() == ["recovered"]


def test_a_new_life_that_a_person_has_begun_is_theirs() -> None:
    cmgr = starting()
    cmgr.is_now(run="life 9", revived=False)
    cmgr.run()
    assert cmgr.held() == []


def test_a_unit_that_is_killed_in_each_start_without_any_fault_does_not_serve() -> None:
    cmgr = Machine()
    assert cmgr.kinds() == set()
    cmgr.is_now(starting=True, revived=True, run="life 2")
    for _ in range(3):
        cmgr.wait(60)
        assert cmgr.kinds() == {TroubleKind.IDLE}
    cmgr.is_now(starting=False)
    cmgr.wait(29)
    assert cmgr.kinds() == {TroubleKind.IDLE}
    cmgr.wait(2)
    assert cmgr.kinds() == set()


def test_a_start_is_no_trouble_where_nothing_has_died() -> None:
    cmgr = Machine()
    cmgr.is_now(starting=True, run="life 2")
    cmgr.wait(600)
    assert cmgr.kinds() == set()
    assert row(cmgr)["reason"] == STARTING


def test_a_container_that_waits_for_its_next_life_has_not_settled() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always"), settle=30)
    cmgr.fault(0)
    cmgr.run()
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], restarting=True)
    cmgr.sees(cmgr.truth[key("a")])
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.hold("a").attempt.tries) == (Phase.RESUMING, 1)


def test_a_unit_that_fails_to_start_is_tried_again_as_before() -> None:
    cmgr = starting()
    end = Exit(137, cmgr.now, asked=False)
    cmgr.is_now(starting=False, running=False, exit=end)
    cmgr.wait(2)
    assert cmgr.hold("llm.service", "systemd").attempt.tries == 1
    assert "cannot start llm.service, try 1: it exited with code 137 soon after" in cmgr.notes(NoteKind.WARNING)
