"""An order is answered when it is in force, and not before; nobody waits for ever."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from cmgr.config.settings import Config
from cmgr.errors import CmgrError, ConfigError, ServiceHangs, Unsure
from cmgr.model.values.messages.facts import Event, Fact, MaintenanceOrdered
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import say
from cmgr.service.desk import Desk
from cmgr.service.inbox import Inbox
from cmgr.service.part import Step
from cmgr.service.reloading import Reloader
from cmgr.service.systemd import Notifier
from cmgr.service.timing.clock import SteadyClock
from tests.service.door.desk import Heard
from tests.support.waiting import PATIENCE

ORDER = MaintenanceOrdered(on=True, who="a test")


def step(*events: Event) -> Step:
    return Step(events, Node(), Node(), (), ())


def test_an_order_that_nobody_comes_to_is_told_so() -> None:
    clock = SteadyClock()
    inbox = Inbox(clock)
    desk = Desk(inbox, patience=0.05)
    with pytest.raises(ServiceHangs, match=r"has not come to it within 50 ms; nothing was done"):
        desk.give(ORDER)
    assert inbox.take(clock.now()) == [], "nobody waits for it any more"


def test_one_of_two_that_order_the_same_takes_back_his_own_only() -> None:
    clock = SteadyClock()
    inbox, other = Inbox(clock), replace(ORDER)
    inbox.put(other)
    with pytest.raises(ServiceHangs):
        Desk(inbox, patience=0.05).give(ORDER)
    (event,) = inbox.take(clock.now())
    assert event.fact is other


def test_an_order_that_is_being_decided_on_is_not_called_undone() -> None:
    class Taking(Inbox):
        def put(self, fact: Fact) -> None:
            super().put(fact)
            self.take(None)

    with pytest.raises(Unsure, match="cannot tell whether it is done"):
        Desk(Taking(SteadyClock()), patience=0.05).give(ORDER)


def test_it_waits_until_this_very_order_has_been_decided_on() -> None:
    clock = SteadyClock()
    inbox = Inbox(clock)
    desk, done = Desk(inbox), threading.Event()

    def give() -> None:
        desk.give(ORDER)
        done.set()

    giver = threading.Thread(target=give, daemon=True)
    giver.start()
    (event,) = inbox.take(None)
    desk.observe(step(replace(event, fact=replace(ORDER))))
    assert not done.is_set(), "somebody else has ordered the same"
    desk.observe(step(event))
    assert done.wait(PATIENCE)
    giver.join(PATIENCE)


class Quiet(Heard):
    def say(self, text: str) -> None:
        self.notes.append(text)


def reloader(read: object = None, log: Heard | None = None, nudge: Callable[[], None] = lambda: None) -> Reloader:
    accepted = Config()
    return Reloader(read, lambda config, catalog, who: accepted, nudge, log or Quiet(), Notifier({}))  # type: ignore[arg-type]


def asked(read: object, answers: list[object], log: Heard | None = None) -> tuple[Reloader, threading.Thread]:
    """Ask on a thread of its own, and wait until the question is there."""
    called = threading.Event()
    of = reloader(read, log, called.set)

    def ask() -> None:
        try:
            answers.append(of.ask("a test"))
        except CmgrError as error:
            answers.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    assert called.wait(PATIENCE)
    return of, thread


def test_a_reload_is_answered_only_when_what_was_read_is_in_force() -> None:
    answers = list[object]()
    made, thread = asked(Config, answers)
    made.look()
    assert answers == []
    made.look()
    thread.join(PATIENCE)
    assert answers == [{"changed": [], "after_restart": [], "did": [say("order.read-again")]}]


def test_a_reload_with_mistakes_is_answered_with_them_and_logged() -> None:
    def read() -> Config:
        raise ConfigError("cannot use the configuration: 2 mistakes", mistakes=("one", "two"))

    log, answers = Quiet(), list[object]()
    made, thread = asked(read, answers, log)
    made.look()
    thread.join(PATIENCE)
    assert isinstance(answers[0], ConfigError)
    assert log.warnings == ["cannot use the configuration: 2 mistakes: the configuration stays as it was one; two"]


def test_a_service_that_was_started_from_no_configuration_says_so() -> None:
    with pytest.raises(CmgrError, match="was not started from one"):
        reloader().ask("a test")


def test_nobody_waits_for_ever_for_a_reload() -> None:
    log = Quiet()
    made = reloader(Config, log)
    with pytest.raises(ServiceHangs, match="nothing was done"):
        made.ask("a test", patience=0.05)
    made.look()
    assert log.notes == [], "nobody waits for it any more"


def test_a_signal_is_served_once() -> None:
    log = Quiet()
    woken = list[bool]()
    made = reloader(Config, log, lambda: woken.append(True))
    made.hang_up()
    assert woken == [True]
    made.look()
    made.look()
    assert len(log.notes) == 1
