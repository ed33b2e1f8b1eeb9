"""Single steps of the deciding thread: what it sends, and to what it does not. Time is moved by hand."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from cmgr.config.settings import Config
from cmgr.config.sim import Sim
from cmgr.config.tables.catalog import load_catalog
from cmgr.drivers.sim.driver import SimDriver
from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.holds import Attempt, Hold, HoldState
from cmgr.model.values.messages.commands import (
    Action,
    CommandId,
    ListContainers,
    Note,
    NoteKind,
    ResetRing,
    SetRestartPolicy,
    StopContainer,
)
from cmgr.model.values.messages.facts import (
    ContainersListed,
    ContainerStopped,
    Event,
    Fact,
    FaultReported,
    Restarted,
    RestartPolicySet,
    Resync,
    Tick,
)
from cmgr.model.values.messages.reset_facts import ResetPrepared
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import NO_RESTART, Container, ContainerKey, Kept
from cmgr.model.values.troubles import TroubleKind
from cmgr.service.inbox import Inbox
from cmgr.service.loop import PRUNE_EVERY, Loop
from cmgr.service.part import Step
from cmgr.store import open_store
from cmgr.store.files import NAME
from cmgr.store.reader import open_reader
from tests.service.door.desk import CODE, POLICY, Done, Heard
from tests.support.waiting import PATIENCE


class Clock:
    def __init__(self) -> None:
        self.at = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


class Desk:
    def __init__(self, folder: Path) -> None:
        self.log = Heard()
        self.clock = Clock()
        self.store = open_store(folder / NAME)
        self.inbox = Inbox(self.clock)
        self.sent: list[Action] = []
        self.chips = SimDriver(Sim(chips=2, ring=2)).chips()
        node = replace(self.store.load(), policy=POLICY, catalog=load_catalog(Config()))
        self.loop = Loop(node, self.inbox, self.store, self.sent.append, self.log)

    def step(self, *facts: Fact) -> None:
        self.loop.step([Event(self.clock.at, fact) for fact in facts])


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.store.close()


HOUR = timedelta(hours=1)
STRANGER = ContainerKey("sim", "", "stranger")
STOP = StopContainer(CommandId("stop-1"), "a fault", STRANGER, "stranger", timedelta(seconds=1))


def test_a_command_against_the_rules_is_not_sent_and_is_answered(desk: Desk) -> None:
    desk.step(Restarted(desk.chips, ("sim",)))
    desk.sent.clear()
    # `reduce` gives no such command: that is what other tests are for.
    desk.loop._send_one(STOP, written=True)
    assert desk.sent == []
    (event,) = desk.inbox.take(None)
    assert isinstance(event.fact, ContainerStopped)
    assert (event.fact.command, event.fact.error) == (STOP.id, "stranger is not held")
    assert desk.log.warnings[0].startswith("not done, because ")


def test_a_stop_whose_hold_is_not_written_is_not_sent_and_is_answered(desk: Desk) -> None:
    desk.step(Restarted(desk.chips, ("sim",)))
    desk.sent.clear()
    hold = Hold(
        STRANGER,
        "stranger",
        frozenset(),
        1,
        desk.clock.at,
        HoldState.STOPPING,
        "life 1",
        attempt=Attempt(command=STOP.id),
    )
    desk.loop.node = replace(desk.loop.node, holds={STRANGER: hold})
    desk.loop._send_one(STOP, written=False)
    assert desk.sent == []
    (event,) = desk.inbox.take(None)
    assert isinstance(event.fact, ContainerStopped)
    assert "its hold could not be written" in event.fact.error
    assert event.fact.unreachable, "it counts as a try, and another's stop would be taken for it"
    assert desk.loop.bugs == 0
    desk.loop._send_one(STOP, written=True)
    assert desk.sent == [STOP]


def test_a_restart_policy_is_not_switched_off_unless_it_is_written_what_it_was(desk: Desk) -> None:
    off = SetRestartPolicy(CommandId("policy-1"), "a fault", STRANGER, "stranger", NO_RESTART)
    desk.loop._send_one(off, written=False)
    assert desk.sent == []
    (event,) = desk.inbox.take(None)
    assert isinstance(event.fact, RestartPolicySet)
    assert "its hold could not be written" in event.fact.error
    back = replace(off, restart_policy="always:0")
    desk.loop._send_one(back, written=False)
    desk.loop._send_one(off, written=True)
    assert desk.sent == [back, off]


def test_no_answer_is_older_than_the_books_though_the_decider_loses_the_processor(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cmgr status` said "in an episode" for a moment after the history had said that this is over."""
    answers: list[bool] = []
    asked = threading.Event()

    class Watched(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            del timeout
            asked.set()
            return super().wait(PATIENCE)

    def ask() -> None:
        answers.append(bool(desk.loop.booked().rings))
        asked.set()

    monkeypatch.setattr(desk.loop, "_booked", Watched())
    save, asking = desk.store.save, threading.Thread(target=ask)

    def saved(node: Node, actions: Sequence[Action], notes: Sequence[Note]) -> None:
        save(node, actions, notes)
        asking.start()
        assert asked.wait(PATIENCE)

    monkeypatch.setattr(desk.store, "save", saved)
    desk.step(Restarted(desk.chips, ("sim",)))
    asking.join(PATIENCE)
    assert answers == [True]


def test_a_decision_that_meets_a_bug_costs_that_event_alone(desk: Desk) -> None:
    nonsense = cast("Fact", object())
    desk.step(nonsense, Restarted(desk.chips, ("sim",)), nonsense, FaultReported(ChipId(0), CODE, Assertion.OCCURRED))
    assert desk.loop.bugs == 2
    assert [text.partition(":")[0] for text in desk.log.bugs] == ["cannot decide on object"] * 2
    (trouble,) = desk.loop.troubles(desk.clock.at)
    assert (trouble.kind, trouble.text) == (TroubleKind.BUG, "2 decisions met a bug")
    assert [ring.phase for ring in desk.loop.node.rings.values()] == [Phase.LISTING]


def test_faults_that_come_together_are_decided_on_together(desk: Desk) -> None:
    desk.step(Restarted(desk.chips, ("sim",)))
    began = desk.clock.at
    minor, grave = (
        FaultReported(ChipId(0), "9A000001", Assertion.ONCE, severity=1),
        FaultReported(ChipId(0), CODE, Assertion.OCCURRED),
    )
    soon = timedelta(milliseconds=1)
    desk.loop.step([Event(began, minor), Event(began + soon, grave), Event(began + 2 * soon, minor)])
    (ring,) = desk.loop.node.rings.values()
    (fault,) = desk.loop.node.faults[ChipId(0)].values()
    assert (ring.phase, ring.began) == (Phase.LISTING, began + 2 * soon)
    assert (fault.since, fault.count) == (began + soon, 1), "each is booked for its own time"


def test_of_faults_that_come_together_a_bug_costs_its_own_alone(desk: Desk) -> None:
    desk.step(Restarted(desk.chips, ("sim",)))
    nonsense = FaultReported(cast("ChipId", []), CODE, Assertion.OCCURRED)
    desk.step(
        FaultReported(ChipId(0), CODE, Assertion.OCCURRED), nonsense, FaultReported(ChipId(1), CODE, Assertion.OCCURRED)
    )
    assert [text.partition(":")[0] for text in desk.log.bugs] == ["cannot decide on FaultReported"]
    assert {chip: len(faults) for chip, faults in desk.loop.node.faults.items()} == {0: 1, 1: 1}


def test_everything_is_written_before_anything_is_sent(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    episodes: list[int] = []

    def send(_action: Action) -> None:
        with open_reader(tmp_path / NAME) as reader:
            episodes.append(len(reader.episodes(9)))

    desk.step(Restarted(desk.chips, ("sim",)))
    loop = Loop(desk.loop.node, desk.inbox, desk.store, send, desk.log)
    (asked,) = (action for action in desk.sent if isinstance(action, ListContainers))
    desk.clock.at += timedelta(seconds=1)
    fault = FaultReported(ChipId(0), CODE, Assertion.OCCURRED)
    loop.step([Event(desk.clock.at, ContainersListed(asked.id, "sim")), Event(desk.clock.at, fault)])
    assert episodes
    assert set(episodes) == {1}
    desk.store.close()


def knowing_two(desk: Desk) -> None:
    """Let two containers run on chip 0, and be known."""
    desk.step(Restarted(desk.chips, ("sim",)))
    (asked,) = (action for action in desk.sent if isinstance(action, ListContainers))
    keys = [ContainerKey("sim", "", name) for name in "ab"]
    running = tuple(
        Container(key, key.id, frozenset({"0"}), running=True, run="1", kept=Kept(since=desk.clock.at)) for key in keys
    )
    desk.step(ContainersListed(asked.id, "sim", running))
    desk.sent.clear()
    desk.clock.at += timedelta(seconds=1)


class Passing(Clock):
    """Time passes with each look at it."""

    def now(self) -> datetime:
        self.at += timedelta(milliseconds=1)
        return self.at


class Waiting(Inbox):
    """A queue that notes when somebody waits for what comes."""

    def __init__(self, clock: Clock, seen: list[str]) -> None:
        super().__init__(clock)
        self._seen = seen

    def take(self, until: datetime | None) -> list[Event]:
        self._seen.append("waits")
        return super().take(until)


def test_nothing_is_told_of_stops_before_the_interpreter_was_free_for_them(desk: Desk) -> None:
    knowing_two(desk)
    seen, clock = list[str](), Passing()
    clock.at = desk.clock.at
    inbox = Waiting(clock, seen)
    loop = Loop(desk.loop.node, inbox, desk.store, lambda action: seen.append(type(action).__name__), desk.log)
    loop.observers.append(lambda _: seen.append("is told"))

    def after_each() -> None:
        raise Done

    inbox.put(FaultReported(ChipId(0), CODE, Assertion.OCCURRED))
    with suppress(Done):
        loop.run(clock, lambda: HOUR, after_each, lambda: None)
    assert seen == ["waits", "StopContainer", "StopContainer", "ListContainers", "waits", "is told"]


def test_stops_go_out_before_what_is_decided_with_them(desk: Desk) -> None:
    knowing_two(desk)
    desk.step(FaultReported(ChipId(0), CODE, Assertion.OCCURRED))
    assert [type(action) for action in desk.sent] == [StopContainer, StopContainer, ListContainers]


def test_after_the_stop_what_came_is_booked_and_nothing_is_sent(desk: Desk) -> None:
    desk.step(Restarted(desk.chips, ("sim",)))
    desk.sent.clear()
    desk.inbox.put(FaultReported(ChipId(0), CODE, Assertion.OCCURRED))
    desk.inbox.stop()
    desk.loop.run(desk.clock, lambda: HOUR, lambda: None, lambda: None)
    desk.loop.drain()
    assert desk.sent == []
    with open_reader(desk.store.path) as reader:
        assert [fault.code for fault in reader.faults()] == [CODE]


def test_a_reset_that_is_prepared_when_cmgr_ends_does_not_count_as_gone_out(desk: Desk) -> None:
    desk.step(Restarted(desk.chips, ("sim",)))
    order = ResetRing(CommandId("reset-1"), "a fault", RingId(0), (ChipId(0), ChipId(1)), (ChipId(0),), frozenset())
    ring, at = desk.loop.node.rings[order.ring], desk.clock.at
    ring = replace(ring, phase=Phase.RESETTING, since=at, reset=order.id, resets=(at,), preparing=True, reason="why")
    desk.loop.node = replace(desk.loop.node, rings={ring.id: ring})
    desk.inbox.put(ResetPrepared(CommandId("prepare-1"), order))
    desk.inbox.stop()
    desk.loop.drain()
    assert desk.loop.node.rings[ring.id].preparing
    desk.step(ResetPrepared(CommandId("prepare-1"), order))
    assert desk.sent[-1] == order
    assert not desk.loop.node.rings[ring.id].preparing


def test_deadlines_are_met_without_any_event(desk: Desk) -> None:
    desk.step(Restarted(desk.chips, ("sim",)))
    (asked,) = (action for action in desk.sent if isinstance(action, ListContainers))
    desk.sent.clear()
    desk.step(ContainersListed(asked.id, "sim", error="cannot list: no"))
    assert desk.sent == []
    desk.clock.at += HOUR

    def after_each() -> None:
        raise Done

    with suppress(Done):
        desk.loop.run(desk.clock, lambda: HOUR, after_each, lambda: None)
    assert [action for action in desk.sent if isinstance(action, ListContainers)], "it is asked again"


def test_it_is_shown_that_the_deciding_thread_lives_though_nothing_happens(desk: Desk) -> None:
    lived = 0

    def after_each() -> None:
        nonlocal lived
        lived += 1
        if lived == 3:
            raise Done

    steps: list[Step] = []
    desk.loop.observers.append(steps.append)
    with suppress(Done):
        desk.loop.run(desk.clock, timedelta, after_each, lambda: None)
    assert (lived, desk.sent, steps) == (3, [], [])


def test_what_could_not_be_written_is_tried_again_though_nothing_happens(desk: Desk) -> None:
    desk.store.connection.execute("PRAGMA query_only = ON")
    desk.step(Restarted(desk.chips, ("sim",)))
    troubles = [desk.loop.trouble]

    def after_each() -> None:
        troubles.append(desk.loop.trouble)
        if not desk.loop.trouble:
            raise Done
        desk.store.connection.execute("PRAGMA query_only = OFF")

    with suppress(Done):
        desk.loop.run(desk.clock, timedelta, after_each, lambda: None)
    assert troubles[0]
    assert troubles[-1] == ""


def test_old_history_is_pruned_once_in_an_hour_and_only_when_nothing_is_to_do(desk: Desk) -> None:
    desk.step(Restarted(desk.chips, ("sim",)))
    pruned: list[datetime] = []
    rounds: list[Fact] = [Resync(), Tick(), Resync(), Resync()]

    def after_each() -> None:
        desk.clock.at += PRUNE_EVERY / 2
        if rounds:
            desk.inbox.put(rounds.pop(0))
            desk.inbox.put(Tick())
        else:
            desk.inbox.stop()

    def prune() -> None:
        pruned.append(desk.clock.at)

    began = desk.clock.at
    desk.inbox.put(Resync())
    desk.loop.run(desk.clock, lambda: HOUR, after_each, prune)
    assert pruned
    assert all(later - earlier > PRUNE_EVERY for earlier, later in zip([began, *pruned], pruned, strict=False))


def test_the_log_tells_the_same_as_the_timeline(desk: Desk) -> None:
    desk.step(Restarted(desk.chips, ("sim",)), FaultReported(ChipId(1), CODE, Assertion.OCCURRED))
    with open_reader(desk.store.path) as reader:
        notes = reader.notes(None, 100)
    assert [note.text for note in notes] == desk.log.notes
    assert notes[0].kind is NoteKind.FAULT


def test_who_counts_sees_each_step_when_its_commands_are_sent(desk: Desk) -> None:
    seen: list[tuple[Step, int]] = []
    desk.loop.observers.append(lambda step: seen.append((step, len(desk.sent))))
    before = desk.loop.node
    desk.step(Restarted(desk.chips, ("sim",)))
    ((step, sent),) = seen
    assert (step.before, step.after) == (before, desk.loop.node)
    assert list(step.actions) == desk.sent
    assert sent == len(desk.sent) > 0
    assert [type(event.fact) for event in step.events] == [Restarted]


def test_a_bug_in_counting_ends_the_counting_and_nothing_else(desk: Desk) -> None:
    def fails(_step: Step) -> None:
        raise ZeroDivisionError("a bug")

    desk.loop.observers.append(fails)
    desk.step(Restarted(desk.chips, ("sim",)))
    assert len(desk.sent) > 0
    assert desk.loop.bugs == 1
    assert desk.log.bugs == ["cannot tell any more what is done: please report it: ZeroDivisionError('a bug')"]
    desk.step(Tick())
    assert desk.loop.bugs == 1
