"""The container that docker compose makes in the place of a held one is started in its place."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, Note, NoteKind, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.compose import Composed
from cmgr.model.values.services.containers import Container, Exit
from cmgr.model.values.troubles import TroubleKind
from cmgr.model.wanted import missing
from tests.model.builders import T0, Cmgr, container, key, names

NEWER = T0 + timedelta(hours=1)


def web(name: str = "web", number: int = 1, made: Any = T0, service: str = "web", **more: Any) -> Container:
    return container(name, 0, composed=Composed("llm", service, number, (), made), **more)


def heir(**more: Any) -> Container:
    """Return what compose makes: it has not run, and a name for the moment."""
    return replace(web("1234_web", made=NEWER), **{"running": False, "run": "", **more})


def held() -> Cmgr:
    cmgr = Cmgr(web())
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    assert cmgr.hold("web").state is HoldState.DOWN
    return cmgr


def recreates(cmgr: Cmgr, made: Container) -> None:
    cmgr.sees(made)
    cmgr.removes("web")


def outcome(cmgr: Cmgr) -> str:
    return next(n.outcome for n in reversed(cmgr.log) if isinstance(n, Note) and n.kind is NoteKind.CLOSED)


def test_the_hold_goes_on_to_the_successor_and_that_is_told() -> None:
    cmgr = held()
    recreates(cmgr, heir())
    assert list(cmgr.node.holds) == [key("1234_web")]
    assert "compose has recreated web: it is started in the place of the one that was held" in cmgr.notes(NoteKind.HOLD)
    assert missing(cmgr.node) == (key("1234_web"),)
    cmgr.run()
    assert [c.key.id for c in cmgr.sent(StartContainer)] == ["1234_web"]
    assert (cmgr.held(), cmgr.phase(), outcome(cmgr)) == ([], Phase.HEALTHY, "recovered")
    assert not cmgr.node.troubles


@pytest.mark.parametrize("command", [StopContainer, StartContainer])
def test_one_that_was_made_anew_while_cmgr_was_not_there_is_not_lost(
    command: type[StopContainer | StartContainer],
) -> None:
    cmgr = Cmgr(web())
    cmgr.fault(0)
    if command is StartContainer:
        cmgr.run_until(Phase.RESUMING)
        cmgr.run(ListContainers)
    del cmgr.truth[key("web")]
    cmgr.truth[key("1234_web")] = heir()
    if command is StopContainer:
        cmgr.begin()
    cmgr.answer(command, gone=True)
    assert cmgr.held() == ["web"], "only a list tells whether it has an heir"
    cmgr.wait(60)
    assert [c.key.id for c in cmgr.sent(StartContainer)][-1:] == ["1234_web"]
    assert (cmgr.held(), cmgr.phase(), cmgr.node.troubles) == ([], Phase.HEALTHY, {})


def test_one_of_a_project_that_is_gone_without_an_heir_is_lost_as_soon_as_a_list_says_so() -> None:
    cmgr = Cmgr(web())
    cmgr.fault(0)
    del cmgr.truth[key("web")]
    cmgr.answer(StopContainer, gone=True)
    cmgr.run(ListContainers)
    assert cmgr.held() == []
    assert any(t.kind is TroubleKind.LOST for t in cmgr.node.troubles.values())


def test_it_wishes_what_its_own_labels_say() -> None:
    cmgr = held()
    recreates(cmgr, heir(grace=timedelta(seconds=3), order=7, restart_policy="always:0"))
    hold = cmgr.hold("1234_web")
    assert (hold.grace, hold.order, hold.restart_policy, hold.run) == (timedelta(seconds=3), 7, "always:0", "")


def test_composes_own_start_on_bad_chips_is_undone_until_they_are_well() -> None:
    cmgr = held()
    recreates(cmgr, heir())
    cmgr.starts("1234_web", "by compose")
    assert names(cmgr.pending, StopContainer) == ["web"]
    text = "compose has started web, whose chips are not well: it is stopped until they are"
    assert text in cmgr.notes(NoteKind.HOLD)
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("1234_web").running, outcome(cmgr)) == ([], True, "recovered")
    assert not cmgr.ring().restarts, "compose is no owner that fights"


def test_a_later_start_by_a_person_is_the_persons() -> None:
    cmgr = held()
    cmgr.cures = False
    recreates(cmgr, heir())
    cmgr.starts("1234_web", "by compose")
    cmgr.run(StopContainer)
    cmgr.starts_by_hand("1234_web", "by hand")
    assert cmgr.held() == []
    assert cmgr.booked("1234_web").running


def test_one_that_compose_starts_on_chips_that_are_well_is_composes_own() -> None:
    cmgr = Cmgr(web())
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.answer(StartContainer, error="the image is gone")
    recreates(cmgr, heir())
    cmgr.starts("1234_web", "by compose")
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("1234_web").running, outcome(cmgr)) == ([], True, "recovered")


@pytest.mark.parametrize(
    "other",
    [
        {"composed": Composed("other", "web", 1, (), NEWER)},
        {"composed": Composed("llm", "db", 1, (), NEWER)},
        {"composed": Composed("llm", "web", 2, (), NEWER)},
        {"composed": Composed("llm", "web", 1, (), T0)},
        {"composed": Composed("llm", "web", 1, (), None)},
        {"composed": None},
    ],
)
def test_nobody_else_is_its_successor(other: dict[str, Any]) -> None:
    cmgr = held()
    recreates(cmgr, heir(**other))
    assert cmgr.held() == []
    assert (TroubleKind.LOST, "docker//web") in cmgr.node.troubles


@pytest.mark.parametrize("labels", [{"enabled": False}, {"strategy": Strategy.NEVER}, {"auto_remove": True}])
def test_one_that_is_to_be_left_alone_inherits_nothing(labels: dict[str, Any]) -> None:
    cmgr = held()
    recreates(cmgr, heir(**labels))
    assert (cmgr.held(), cmgr.node.troubles) == ([], {})
    text = "web is no longer held: compose has recreated web, and that one is left to compose"
    assert text in cmgr.notes(NoteKind.HOLD)


def test_one_that_a_person_has_stopped_before_cmgr_heard_of_it_stays_down() -> None:
    cmgr = held()
    del cmgr.truth[key("web")]
    cmgr.truth[key("1234_web")] = heir(run="by compose", exit=Exit(143, NEWER, asked=True))
    cmgr.tell(facts.Resync())
    cmgr.run(ListContainers)
    cmgr.run()
    assert (cmgr.held(), cmgr.sent(StartContainer), cmgr.node.troubles) == ([], [], {})
    text = "web is no longer held: compose has recreated web, and that one has been stopped since"
    assert text in cmgr.notes(NoteKind.HOLD)


def test_one_that_a_person_has_stopped_before_the_old_one_went_stays_down() -> None:
    cmgr = held()
    cmgr.sees(heir())
    cmgr.truth[key("1234_web")] = heir(run="by compose", exit=Exit(143, NEWER, asked=True))  # Nobody has told of it.
    cmgr.removes("web")
    cmgr.run()
    assert (cmgr.held(), cmgr.sent(StartContainer), cmgr.node.troubles) == ([], [], {})


def test_one_that_died_by_itself_since_is_started() -> None:
    cmgr = held()
    recreates(cmgr, heir(run="by compose", exit=Exit(1, NEWER, asked=False)))
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("1234_web").running) == ([], True)


def test_of_compose_1_the_successor_runs_before_the_old_one_goes() -> None:
    cmgr = held()
    recreates(cmgr, heir(running=True, run="by compose"))
    assert (cmgr.held(), cmgr.node.troubles) == (["1234_web"], {}), "it is on the ring, and in scope itself"
    assert "compose has recreated web, and that one is held itself" in cmgr.notes(NoteKind.HOLD)


def test_compose_down_ends_the_promise_and_is_told() -> None:
    cmgr = held()
    cmgr.removes("web")
    cmgr.run()
    assert (cmgr.held(), cmgr.sent(StartContainer)) == ([], [])
    assert "web is lost: somebody removed it; cmgr cannot start it again" in cmgr.notes(NoteKind.WARNING)


def renamed(made: Container) -> Cmgr:
    """Let an updater rename the held container, make another of its name, and remove the first."""
    cmgr = Cmgr(container("web", 0), container("other", 4))
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.sees(replace(cmgr.truth[key("web")], name="web-old"))
    cmgr.sees(made)
    cmgr.removes("web")
    return cmgr


@pytest.mark.parametrize("early", [True, False])
def test_one_that_was_renamed_and_replaced_by_its_namesake_is_no_loss(early: bool) -> None:
    cmgr = renamed(replace(container("new", 0, run="by hand", running=early), name="web"))
    if not early:
        assert (TroubleKind.LOST, "docker//web") in cmgr.node.troubles, "that one has not run yet"
        return
    assert cmgr.node.troubles == {}
    cmgr.run()
    assert (cmgr.phase(), outcome(cmgr), cmgr.node.troubles) == (Phase.HEALTHY, "recovered", {})
    assert cmgr.booked("new").running


@pytest.mark.parametrize("made", [container("new", 4), replace(container("new", 0), name="another")])
def test_one_of_another_name_or_on_other_chips_is_not_in_its_place(made: Container) -> None:
    cmgr = renamed(made if made.name == "another" else replace(made, name="web"))
    assert (TroubleKind.LOST, "docker//web") in cmgr.node.troubles


def test_the_successor_is_found_by_a_list_when_every_event_was_lost() -> None:
    cmgr = held()
    del cmgr.truth[key("web")]
    cmgr.truth[key("1234_web")] = heir()
    cmgr.tell(facts.Resync())
    cmgr.run(ListContainers)
    assert list(cmgr.node.holds) == [key("1234_web")]


def test_a_next_life_finds_the_successor_that_was_made_while_cmgr_was_down() -> None:
    cmgr = held()
    del cmgr.truth[key("web")]
    cmgr.truth[key("1234_web")] = heir()
    cmgr.begin()
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("1234_web").running, outcome(cmgr)) == ([], True, "recovered")


def test_that_it_is_an_heir_outlives_cmgr() -> None:
    cmgr = held()
    recreates(cmgr, heir())
    cmgr.begin()
    cmgr.truth[key("1234_web")] = replace(cmgr.truth[key("1234_web")], running=True, run="by compose")
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("1234_web").running, outcome(cmgr)) == ([], True, "recovered")


def test_an_answer_to_an_order_for_the_old_one_changes_nothing() -> None:
    cmgr = Cmgr(web())
    cmgr.fault(0)
    assert names(cmgr.pending, StopContainer) == ["web"]
    recreates(cmgr, heir())
    cmgr.answer(StopContainer, gone=True)
    assert (cmgr.hold("1234_web").state, cmgr.hold("1234_web").attempt.command) == (HoldState.DOWN, None)


def test_the_round_of_a_group_goes_on_with_the_successor() -> None:
    cmgr = Cmgr(web(group="tp2"), container("other", 4, group="tp2"))
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    recreates(cmgr, heir(group="tp2"))
    assert cmgr.node.groups["tp2"].members == {key("1234_web"), key("other")}
    cmgr.starts("1234_web", "by compose")
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("1234_web").running, cmgr.booked("other").running) == ([], True, True)
