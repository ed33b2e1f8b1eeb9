"""Whole episodes: the real service, real containers on a real Docker daemon, simulated chips."""

import json

import pytest

from tests.support.service import LATER, NOW
from tests.support.waiting import eventually
from tests.system import checks
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec, deaf

pytestmark = pytest.mark.docker

EIGHT = tuple(Spec(f"c{n}", str(n)) for n in range(8))


def test_a_fault_stops_its_ring_and_only_its_ring_and_all_run_again(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(*EIGHT)
    service.start()
    service.inject(2)
    service.until_said("is over: recovered")
    service.until_over()
    ring = ["c0", "c1", "c2", "c3"]
    assert [(r.chips, r.outcome) for r in service.resets()] == [((0, 1, 2, 3), "taken")]
    checks.each_was_stopped_once(containers, ring)
    checks.resets_were_safe(service, containers, ring)
    checks.timeline_is_true(service, containers, 1, containers.names)
    told = json.loads(service.cmgr("history", "1", "--json").out)
    assert (told["episode"]["outcome"], told["episode"]["ring"]) == ("recovered", 0)
    assert len(told["notes"]) == len(service.notes(1))


def test_one_container_on_every_chip_of_a_large_ring(on_docker: Install, containers: Containers) -> None:
    service = on_docker({"sim.ring": 8})
    containers.run(*EIGHT[:6], Spec("both", "Ascend910-6,Ascend910-7"), Spec("every", "0-7"))
    service.start()
    service.inject(7)
    service.until_said("is over: recovered")
    service.until_over()
    assert [r.outcome for r in service.resets()] == ["taken"]
    checks.each_was_stopped_once(containers, containers.names)
    checks.resets_were_safe(service, containers, containers.names)
    checks.timeline_is_true(service, containers, 1, containers.names)


def test_single_recover_stops_the_container_of_the_faulty_chip_alone(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"strategy": "singleRecover", "sim.ring": 1})
    containers.run(*EIGHT)
    service.start()
    service.inject(5)
    service.until_said("is over: recovered")
    service.until_over()
    assert [(r.chips, r.outcome) for r in service.resets()] == [((5,), "taken")]
    checks.each_was_stopped_once(containers, ["c5"])
    checks.resets_were_safe(service, containers, ["c5"])
    checks.timeline_is_true(service, containers, 1, containers.names)


def test_single_recover_waits_for_ring_mates_and_says_what_would_not(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"strategy": "singleRecover", "sim.ring": 8})
    containers.run(*EIGHT)
    service.start()
    service.inject(3)
    service.until_reason("c0", "c7", "strategy ringRecover would stop it")
    assert [name for name in containers.names if not containers.is_running(name)] == ["c3"]
    service.inject(3, assertion="cleared")
    service.until_said("is over: cleared")
    service.until_over()
    assert service.resets() == ()
    checks.each_was_stopped_once(containers, ["c3"])
    checks.timeline_is_true(service, containers, 1, containers.names)


def test_one_that_ignores_the_stop_delays_nobody_else_and_the_reset_waits_for_it(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({})
    containers.run(deaf("deaf", "0"), Spec("quick", "1"))
    service.start()
    service.inject(1)
    service.until_said("is over: recovered")
    service.until_over()
    order = [(h.name, h.action, h.detail) for h in containers.happenings() if h.action in ("kill", "die")]
    # Docker may be done with quick before it tells deaf.
    assert {("deaf", "kill", "15"), ("quick", "kill", "15"), ("quick", "die", "0")} == {*order[:3]}, "told at once"
    assert order[3:] == [("deaf", "kill", "9"), ("deaf", "die", "137")]
    checks.each_was_stopped_once(containers, ["deaf", "quick"])
    checks.resets_were_safe(service, containers, ["deaf", "quick"])
    checks.timeline_is_true(service, containers, 1, containers.names)


def test_what_dies_of_the_fault_runs_again_and_what_had_ended_before_does_not(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({})
    containers.run(
        *(Spec(name, "1") for name in ("before", "during", "stopped")),
        Spec("finished", "1", ("sh", "-c", "echo ready")),
        Spec("created", "1", running=False),
    )
    containers.stop("stopped")
    eventually(lambda: not containers.is_running("finished"))
    service.start()
    containers.crash("before")
    eventually(lambda: not service.runs("before"), why="its death was heard of")
    service.inject(1, LATER)
    service.until_phase("waiting")
    service.until_said("before died by itself (exit code 137)")
    service.until_said("is over: recovered")
    service.until_over()
    assert len(service.resets()) == 1
    running = {name for name in containers.names if containers.is_running(name)}
    assert running == {"before", "during"}
    assert [containers.count(name, "start") for name in ("before", "during", "stopped", "finished")] == [1, 1, 0, 0]
    checks.resets_were_safe(service, containers, ["before", "during"])


def test_one_that_crashes_while_it_is_in_scope_is_started_again_once(
    on_docker: Install, containers: Containers
) -> None:
    # The strategy leaves it alone, so that nobody but the fault can have ended it.
    service = on_docker({"strategy": "singleRecover"})
    containers.run(Spec("faulty", "0"), Spec("mate", "1"))
    service.start()
    service.inject(0)
    service.until_reason("mate", "ringRecover")
    containers.crash("mate")
    service.until_said("is over: recovered")
    service.until_over()
    assert len(service.resets()) == 1
    checks.each_was_stopped_once(containers, ["faulty", "mate"])
    checks.resets_were_safe(service, containers, ["faulty", "mate"])


def test_one_removed_is_lost_and_one_started_by_hand_is_theirs(on_docker: Install, containers: Containers) -> None:
    # So long that the person is there before it.
    service = on_docker({"levels.RestartRequest.reset_after": "10s", "retry.owner_window": "0s"})
    containers.run(Spec("removed", "0"), Spec("theirs", "1"), Spec("ours", "2"))
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    containers.remove("removed")
    service.until_said("removed is lost: somebody removed it")
    containers.start("theirs")
    service.until_said("theirs is no longer held")
    service.until_reason("waits for theirs (started by hand")
    assert service.resets() == ()
    containers.stop("theirs")
    service.until_said("is over: failed")
    service.until_over()
    assert len(service.resets()) == 1
    assert containers.is_running("ours")
    assert not containers.is_running("theirs"), "a person has stopped it"
    assert [containers.count(name, "start") for name in ("theirs", "ours")] == [1, 1]
    checks.resets_were_safe(service, containers, ["theirs", "ours"])


def test_one_that_starts_on_a_faulty_chip_is_stopped_and_held_too(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(Spec("old", "0"), Spec("new", "1", running=False))
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    containers.start("new")
    service.until_said("is over: recovered")
    service.until_over()
    assert len(service.resets()) == 1
    assert [containers.count("new", action) for action in ("start", "die")] == [2, 1]
    assert [containers.count("old", action) for action in ("start", "die")] == [1, 1]
    assert containers.all_running()
    checks.resets_were_safe(service, containers, ["old", "new"])


@pytest.mark.parametrize("policy", ["always", "on-failure:3", "unless-stopped"])
def test_a_restart_policy_is_off_while_its_container_is_held_and_back_afterwards(
    on_docker: Install, containers: Containers, policy: str
) -> None:
    service = on_docker({})
    containers.run(Spec("keen", "0", policy=policy))
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    eventually(lambda: containers.policy("keen") == "no", why="its policy is off")
    service.until_said("is over: recovered")
    service.until_over()
    assert containers.policy("keen") == policy
    assert len(service.resets()) == 1
    checks.each_was_stopped_once(containers, ["keen"])
    checks.resets_were_safe(service, containers, ["keen"])


def test_cmgr_starts_in_order_and_leaves_alone_what_has_its_label(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(
        Spec("late", "0", labels={"cmgr.order": "2"}),
        Spec("early", "1", labels={"cmgr.order": "1"}),
        Spec("other", "5", labels={"cmgr.enable": "false"}),
    )
    service.start()
    service.inject(0)
    service.inject(5)
    service.until_reason("other (label cmgr.enable=false)", ring=4)
    service.inject(5, assertion="cleared")
    service.until_said("is over: recovered")
    service.until_over()
    order = [(h.name, h.action) for h in containers.happenings() if h.action in ("die", "start")]
    assert order == [("late", "die"), ("early", "die"), ("early", "start"), ("late", "start")]


def test_a_fault_that_no_reset_cures_ends_in_isolation_and_a_person_ends_that(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"sim.incurable": [NOW]})
    containers.run(Spec("hit", "0"), Spec("mate", "1"))
    service.start()
    service.inject(0)
    service.until_said("chip 0 is isolated")
    service.until_said("is over: isolated")
    eventually(lambda: containers.is_running("mate"))
    assert [r.outcome for r in service.resets()] == ["taken"] * 3
    assert not containers.is_running("hit")
    shown = service.container("hit")
    assert shown is not None
    assert shown["status"] == "paused"
    assert "cmgr release 0" in shown["hint"]
    checks.resets_were_safe(service, containers, ["hit"])
    service.inject(0, assertion="cleared")
    eventually(lambda: not service.status()["chips"][0]["faults"])
    assert service.cmgr("release", "0").code == 0
    service.until_over()
    checks.each_was_stopped_once(containers, ["hit", "mate"])
    assert len(service.resets()) == 3


def test_a_reset_that_fails_is_tried_again_and_counted(on_docker: Install, containers: Containers) -> None:
    service = on_docker({"sim.fail_resets": 1})
    containers.run(Spec("one", "0"))
    service.start()
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    assert [r.outcome for r in service.resets()] == ["failed", "taken"]
    checks.each_was_stopped_once(containers, ["one"])
    checks.resets_were_safe(service, containers, ["one"])
    checks.timeline_is_true(service, containers, 1, ["one"])


def test_who_only_observes_touches_nothing(on_docker: Install, containers: Containers) -> None:
    service = on_docker({"observe": True})
    containers.run(Spec("one", "0", policy="always"))
    service.start()
    service.inject(0)
    service.until_said("would stop one")
    service.until_reason("cmgr only observes")
    service.inject(0, assertion="cleared")
    service.until_said("is over: observed")
    assert service.resets() == ()
    assert containers.happenings() == []
    assert containers.policy("one") == "always"


SECOND_LIFE_FAILS = (
    'n=$(($(cat /lives 2>/dev/null || echo 0) + 1)); echo $n > /lives; trap "exit 0" TERM; echo "life $n"; '
    '[ $n -eq 2 ] && { echo "no memory left"; exit 3; }; while :; do sleep 0.1; done'
)


def test_a_start_that_does_not_last_has_failed_and_says_what_the_container_wrote(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"retry.settle": "2s"})
    containers.run(Spec("llm", "0", ("sh", "-c", SECOND_LIFE_FAILS)))
    service.start()
    service.inject(0)
    service.until_said("is over: recovered")
    assert "cannot start llm, try 1: it exited with code 3 soon after" in [note.text for note in service.notes(1)]
    service.until_said("llm wrote last: ")
    assert "no memory left" in service.said()
    assert containers.is_running("llm")
