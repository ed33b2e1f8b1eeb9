"""A runtime's own restart policy: off while a container is held, back when it runs, and lost by no crash."""

from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, SetRestartPolicy, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import UNHEALTHY, Exit, Heal
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.view.troubles import troubles
from tests.model.builders import REQUEST, SINGLE, T0, Cmgr, container, key, names

ALWAYS = "always:0"


def waiting() -> Cmgr:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    assert cmgr.phase() is Phase.WAITING
    return cmgr


def policies(cmgr: Cmgr) -> list[str]:
    return [c.restart_policy for c in cmgr.sent(SetRestartPolicy)]


def test_it_is_switched_off_after_the_stop_and_put_back_by_the_start() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS))
    cmgr.fault(0, REQUEST)
    assert not cmgr.sent(SetRestartPolicy)
    cmgr.answer(StopContainer)
    assert policies(cmgr) == [""]
    cmgr.run()
    assert (cmgr.hold("a").disarmed, cmgr.hold("a").restart_policy) == (True, ALWAYS)
    cmgr.clears(0, REQUEST)
    assert [c.restart_policy for c in cmgr.sent(StartContainer)] == [ALWAYS]
    cmgr.run()
    assert (cmgr.truth[key("a")].restart_policy, cmgr.booked("a").restart_policy) == (ALWAYS, ALWAYS)
    assert policies(cmgr) == [""]


def switches_off(cmgr: Cmgr) -> None:
    """Have somebody switch its restart policy off, as its runtime tells."""
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], restart_policy="")
    cmgr.tell(facts.ContainerSeen(replace(cmgr.truth[key("a")], switched_off=True)))


def test_one_that_somebody_switches_off_while_it_is_off_stays_off() -> None:
    cmgr = waiting()
    switches_off(cmgr)
    assert "somebody has switched the restart policy of a off: it stays off" in cmgr.notes(NoteKind.HOLD)
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert [c.restart_policy for c in cmgr.sent(StartContainer)] == [""]
    assert (cmgr.truth[key("a")].running, cmgr.truth[key("a")].restart_policy, cmgr.held()) == (True, "", [])


def test_one_that_somebody_switches_off_while_it_is_being_stopped_stays_off() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS))
    cmgr.fault(0, REQUEST)
    switches_off(cmgr)
    cmgr.run()
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert (policies(cmgr), cmgr.truth[key("a")].restart_policy) == ([], "")


def test_one_that_somebody_switches_off_while_it_settles_is_started_once_more_without_it() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS), settle=30)
    cmgr.fault(0)
    cmgr.run()
    assert cmgr.hold("a").state is HoldState.SETTLING
    switches_off(cmgr)
    cmgr.dies("a", 1)
    cmgr.wait(60)
    assert (cmgr.truth[key("a")].running, cmgr.truth[key("a")].restart_policy) == (True, "")


def test_an_order_of_an_earlier_life_to_switch_it_off_is_nobody_elses() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS))
    cmgr.fault(0, REQUEST)
    cmgr.answer(StopContainer)
    cmgr.begin()
    switches_off(cmgr)
    cmgr.run()
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert cmgr.truth[key("a")].restart_policy == ALWAYS


def test_one_without_a_policy_is_not_touched() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    assert policies(cmgr) == []


@pytest.mark.parametrize("disarmed", [True, False])
def test_a_crash_of_cmgr_does_not_lose_it(disarmed: bool) -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS))
    cmgr.fault(0, REQUEST)
    cmgr.run(StopContainer)
    if disarmed:
        cmgr.run()
    cmgr.begin()
    cmgr.run()
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert (cmgr.phase(), cmgr.truth[key("a")].restart_policy) == (Phase.HEALTHY, ALWAYS)


def test_a_crash_between_switching_it_off_and_hearing_of_that_does_not_lose_it() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS))
    cmgr.fault(0, REQUEST)
    cmgr.answer(StopContainer)
    cmgr.truth[key("a")] = container("a", 0, running=False)
    cmgr.begin()
    cmgr.run()
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert cmgr.truth[key("a")].restart_policy == ALWAYS


def test_switching_it_off_is_tried_again_and_told_of_once() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS))
    cmgr.fault(0, REQUEST)
    cmgr.run(StopContainer)
    for _ in range(5):
        cmgr.answer(SetRestartPolicy, error="busy")
        cmgr.now = cmgr.hold("a").attempt.retry_at or cmgr.now
        cmgr.tell(facts.Tick())
    assert policies(cmgr) == [""] * 6
    assert cmgr.notes(NoteKind.WARNING) == ["cannot switch off the restart policy of a: busy"]
    cmgr.run()
    assert (cmgr.hold("a").disarmed, cmgr.hold("a").attempt.error) == (True, "")


def test_a_start_is_told_though_its_policy_could_not_be_switched_off() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS))
    cmgr.fault(0, REQUEST)
    cmgr.run(StopContainer)
    cmgr.answer(SetRestartPolicy, error="this podman cannot change one")
    cmgr.clears(0, REQUEST)
    cmgr.wait(90)
    assert [text for text in cmgr.notes(NoteKind.ACTION) if text == "start a"] == ["start a"]


def test_one_whose_policy_cannot_be_switched_off_is_theirs_when_it_is_started() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS))
    cmgr.fault(0, REQUEST)
    cmgr.run(StopContainer)
    cmgr.answer(SetRestartPolicy, error="not supported")
    assert names(cmgr.starts_by_hand("a")) == []
    assert cmgr.hold("a").state is HoldState.RETURNING


def test_it_is_not_switched_off_while_the_runtime_is_away() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS))
    cmgr.fault(0, REQUEST)
    cmgr.tell(facts.RuntimeDown("docker", "connection refused"))
    cmgr.answer(StopContainer)
    assert policies(cmgr) == []
    cmgr.tell(facts.RuntimeUp("docker"))
    assert policies(cmgr) == [""]


def troubles_of_policies(cmgr: Cmgr) -> list[Trouble]:
    return [each for each in troubles(cmgr.node) if each.kind is TroubleKind.POLICY]


def started_by_hand() -> Cmgr:
    cmgr = waiting()
    cmgr.starts_by_hand("a")
    cmgr.wait(3600)
    assert (cmgr.hold("a").state, cmgr.booked("a").running) == (HoldState.RETURNING, True)
    return cmgr


def test_one_that_a_person_starts_gets_its_policy_back_when_it_is_down() -> None:
    cmgr = started_by_hand()
    assert (policies(cmgr)[:2], cmgr.truth[key("a")].restart_policy) == (["", ALWAYS], "")
    (trouble,) = troubles_of_policies(cmgr)
    assert "it runs" in trouble.why
    cmgr.dies("a", 143, asked=True)
    cmgr.run()
    assert (cmgr.held(), cmgr.truth[key("a")].restart_policy, cmgr.truth[key("a")].running) == ([], ALWAYS, False)
    assert not cmgr.sent(StartContainer)


def test_one_that_a_person_starts_and_that_dies_without_its_policy_is_started_with_it() -> None:
    cmgr = started_by_hand()
    cmgr.clears(0, REQUEST)
    cmgr.wait(60)
    cmgr.dies("a", 1)
    assert [c.restart_policy for c in cmgr.sent(StartContainer)] == [ALWAYS]
    cmgr.run()
    assert (cmgr.held(), cmgr.truth[key("a")].restart_policy, cmgr.truth[key("a")].running) == ([], ALWAYS, True)


@pytest.mark.parametrize("policy", ["", ALWAYS])
@pytest.mark.parametrize("error", ["", "cannot set the restart policy of container a: it runs"])
def test_one_that_dies_without_its_policy_while_that_is_put_back_is_started(policy: str, error: str) -> None:
    """Docker restarts nobody whose policy was off when it died; what is seen of it may be from before or after."""
    cmgr = started_by_hand()
    cmgr.clears(0, REQUEST)
    cmgr.wait(60)
    cmgr.wait(600, run=False)
    assert isinstance(cmgr.pending[0], SetRestartPolicy)
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], restart_policy=policy)
    cmgr.dies("a", 1)
    assert cmgr.hold("a").state is HoldState.DOWN
    cmgr.answer(SetRestartPolicy, error=error)
    cmgr.wait(60)
    assert (cmgr.held(), cmgr.truth[key("a")].restart_policy, cmgr.truth[key("a")].running) == ([], ALWAYS, True)


def gets(cmgr: Cmgr, policy: str) -> None:
    """Have somebody give a container that runs a restart policy."""
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], restart_policy=policy)
    cmgr.sees(cmgr.truth[key("a")])


@pytest.mark.parametrize("policy", [ALWAYS, "unless-stopped:0"])
def test_one_that_runs_and_is_given_its_policy_by_a_person_is_held_no_more(policy: str) -> None:
    cmgr = started_by_hand()
    gets(cmgr, policy)
    cmgr.answer(SetRestartPolicy)
    assert (cmgr.held(), troubles_of_policies(cmgr), cmgr.booked("a").restart_policy) == ([], [], policy)


def test_one_that_runs_and_whose_policy_a_person_switches_off_is_held_no_more_and_not_started() -> None:
    cmgr = started_by_hand()
    cmgr.clears(0, REQUEST)
    switches_off(cmgr)
    cmgr.dies("a", 1)
    cmgr.run()
    assert (cmgr.held(), cmgr.sent(StartContainer), cmgr.truth[key("a")].restart_policy) == ([], [], "")


def test_one_that_runs_without_its_policy_is_stopped_by_the_next_fault_and_started_with_it() -> None:
    cmgr = started_by_hand()
    cmgr.clears(0, REQUEST)
    cmgr.wait(60)
    assert cmgr.phase() is Phase.HEALTHY
    cmgr.fault(0)
    assert names(cmgr.log) == ["a", "a"]
    cmgr.wait(60)
    assert (cmgr.held(), cmgr.truth[key("a")].restart_policy, cmgr.truth[key("a")].running) == ([], ALWAYS, True)


def test_one_that_runs_without_its_policy_is_healed_and_gets_it() -> None:
    cmgr = started_by_hand()
    cmgr.clears(0, REQUEST)
    cmgr.wait(60)
    cmgr.sees(replace(cmgr.truth[key("a")], heal=Heal(), health=UNHEALTHY))
    cmgr.wait(60)
    assert names(cmgr.log) == ["a", "a"]
    assert (cmgr.held(), cmgr.truth[key("a")].restart_policy, cmgr.truth[key("a")].running) == ([], ALWAYS, True)


@pytest.mark.parametrize("fields", [{"unreachable": True}, {"runtime_ails": True}])
def test_a_policy_that_a_start_has_left_behind_is_switched_off_while_the_next_try_waits(fields: Any) -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], restart_policy=ALWAYS)
    cmgr.answer(StartContainer, error="no answer", **fields)
    cmgr.fault(0, REQUEST)
    cmgr.wait(5)
    assert (policies(cmgr), cmgr.truth[key("a")].restart_policy) == (["", ""], "")


def test_one_that_a_person_starts_while_its_policy_is_being_switched_off_gets_it_back_after_that() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS))
    cmgr.fault(0, REQUEST)
    cmgr.run(StopContainer)
    cmgr.answer(SetRestartPolicy, error="busy")
    cmgr.wait(1, run=False)
    cmgr.starts_by_hand("a")
    assert (policies(cmgr), cmgr.hold("a").state) == (["", ""], HoldState.RETURNING)
    cmgr.wait(60)  # It could not be switched off any more.
    assert (cmgr.held(), cmgr.truth[key("a")].restart_policy) == ([], ALWAYS)


@pytest.mark.parametrize("runtime", ["docker", "containerd"])
def test_one_that_the_daemon_starts_and_that_need_not_be_down_any_more_gets_its_policy_back(runtime: str) -> None:
    a = container("a", 0, restart_policy=ALWAYS, runtime=runtime)
    cmgr = Cmgr(a, container("mate", 1, runtime=runtime), policy=SINGLE, runtimes=(runtime,))
    cmgr.once(0, REQUEST)
    cmgr.fault(1, REQUEST)
    cmgr.run()
    assert (cmgr.phase(), cmgr.held(), cmgr.hold("a", runtime).disarmed) == (Phase.WAITING, ["a", "mate"], True)
    cmgr.tell(facts.RuntimeUp(runtime, restarted=True))
    cmgr.starts("a", "by the daemon", runtime)
    cmgr.run()
    assert (cmgr.booked("a", runtime).running, cmgr.hold("mate", runtime).is_down) == (True, True)
    if runtime == "docker":  # Of one that runs nothing is changed there.
        assert (cmgr.hold("a").state, cmgr.hold("a").restart_policy) == (HoldState.RETURNING, ALWAYS)
    else:
        assert (cmgr.held(), cmgr.truth[a.key].restart_policy) == (["mate"], ALWAYS)


def test_one_that_the_daemon_started_and_a_person_stopped_gets_its_policy_back() -> None:
    cmgr = waiting()
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    cmgr.starts("a", "by the daemon")
    cmgr.truth[key("a")] = container("a", 0, running=False, run="by the daemon", exit=Exit(143, T0, asked=True))
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running, cmgr.truth[key("a")].restart_policy) == ([], False, ALWAYS)


def test_a_policy_that_cannot_be_put_back_is_tried_until_it_is() -> None:
    cmgr = waiting()
    cmgr.starts_by_hand("a")
    for error in ("connection refused", *["no space left"] * 50):
        assert (cmgr.held(), cmgr.hold("a").state) == (["a"], HoldState.RETURNING)
        cmgr.answer(SetRestartPolicy, error=error, unreachable=error == "connection refused")
        assert cmgr.hold("a").attempt.error == error
        (trouble,) = [each for each in troubles(cmgr.node) if each.kind is TroubleKind.POLICY]
        assert trouble.text == "container a runs without its restart policy always:0"
        cmgr.wait(3600, run=False)
    told = [note for note in cmgr.notes(NoteKind.WARNING) if "no space left" in note]
    assert told == [f"cannot put the restart policy {ALWAYS} of a back yet: no space left"]
    cmgr.dies("a", 143, asked=True)
    cmgr.run()
    assert (cmgr.held(), cmgr.truth[key("a")].restart_policy) == ([], ALWAYS)
    assert [each for each in troubles(cmgr.node) if each.kind is TroubleKind.POLICY] == []


def test_a_policy_that_the_books_did_not_know_of_yet_becomes_part_of_the_hold() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.truth[key("a")] = container("a", 0, restart_policy=ALWAYS)
    cmgr.run()
    assert (cmgr.hold("a").restart_policy, cmgr.hold("a").disarmed) == (ALWAYS, True)
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert cmgr.truth[key("a")].restart_policy == ALWAYS


def test_an_answer_about_the_policy_that_nobody_waits_for_changes_nothing() -> None:
    cmgr = waiting()
    before = cmgr.node
    command = cmgr.sent(SetRestartPolicy)[0]
    assert cmgr.tell(facts.RestartPolicySet(command.id, key("a"))) == []
    assert cmgr.tell(facts.RestartPolicySet(command.id, key("stranger"))) == []
    assert cmgr.node == before


@pytest.mark.parametrize("before", ["", ALWAYS])
def test_one_that_a_person_sets_while_it_is_held_is_what_goes_back(before: str) -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=before))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.sees(replace(cmgr.truth[key("a")], restart_policy="on-failure:3"))
    cmgr.run()
    assert (cmgr.truth[key("a")].restart_policy, cmgr.hold("a").restart_policy) == ("", "on-failure:3")
    if before:
        text = "a was given another restart policy meanwhile, which it gets with its start"
        assert text in cmgr.notes(NoteKind.HOLD)
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert (cmgr.phase(), cmgr.truth[key("a")].restart_policy) == (Phase.HEALTHY, "on-failure:3")


def test_how_a_held_one_is_made_again_is_kept_when_it_is_seen_without_that() -> None:
    cmgr = Cmgr(container("a", 0, anew=("docker run a",)))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.sees(replace(cmgr.booked("a"), anew=()))
    assert cmgr.hold("a").anew == ("docker run a",)
