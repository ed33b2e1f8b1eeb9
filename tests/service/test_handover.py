"""An order is answered when it is in force, and not before; nobody waits for ever."""

import threading
from datetime import datetime

import pytest

from cmgr.config.settings import Config
from cmgr.errors import CmgrError, ConfigError
from cmgr.model.values.facts import MaintenanceOrdered
from cmgr.service.clock import SteadyClock
from cmgr.service.handover import Handover
from cmgr.service.inbox import Inbox
from cmgr.service.reloading import Reloader
from cmgr.service.systemd import Notifier
from tests.service.desk import Heard

ORDER = MaintenanceOrdered(on=True, who="a test")


def test_an_order_that_nobody_comes_to_is_told_so() -> None:
    clock = SteadyClock()
    inbox = Inbox(clock)
    with pytest.raises(CmgrError, match=r"has not come to it within 0\.05 s"):
        Handover(inbox, clock, lambda: None, patience=0.05).give(ORDER)
    assert [event.fact for event in inbox.take(clock.now())] == [ORDER]


def test_it_waits_until_what_was_given_has_been_decided_on() -> None:
    clock = SteadyClock()
    inbox = Inbox(clock)
    taken: list[datetime] = [clock.now()]
    done = threading.Event()

    def give() -> None:
        Handover(inbox, clock, lambda: taken[-1]).give(ORDER)
        done.set()

    giver = threading.Thread(target=give, daemon=True)
    giver.start()
    (event,) = inbox.take(None)
    taken.append(event.at)
    assert not done.is_set(), "something decided at that time may have come before the order"
    assert inbox.take(None) == [], "the service is called, though nothing else happens"
    taken.append(clock.now())
    assert done.wait(15)
    giver.join(15)


class Quiet(Heard):
    def say(self, text: str) -> None:
        self.notes.append(text)


def reloader(read: object = None, log: Heard | None = None) -> Reloader:
    accepted = Config()
    return Reloader(read, lambda config, catalog, who: accepted, log or Quiet(), Notifier({}))  # type: ignore[arg-type]


def asked(of: Reloader, answers: list[object]) -> threading.Thread:
    """Ask on a thread of its own, and wait until the question is there."""
    called = threading.Event()

    def ask() -> None:
        try:
            answers.append(of.ask("a test", called.set))
        except CmgrError as error:
            answers.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    assert called.wait(15)
    return thread


def test_a_reload_is_answered_only_when_what_was_read_is_in_force() -> None:
    made, answers = reloader(Config), list[object]()
    thread = asked(made, answers)
    made.serve()
    assert answers == []
    made.serve()
    thread.join(15)
    assert answers == [{"changed": [], "after_restart": []}]


def test_a_reload_with_mistakes_is_answered_with_them_and_logged() -> None:
    def read() -> Config:
        raise ConfigError("cannot use the configuration: 2 mistakes", mistakes=("one", "two"))

    log, answers = Quiet(), list[object]()
    made = reloader(read, log)
    thread = asked(made, answers)
    made.serve()
    thread.join(15)
    assert isinstance(answers[0], ConfigError)
    assert log.warnings == ["cannot use the configuration: 2 mistakes: the configuration stays as it was one; two"]


def test_a_service_that_was_started_from_no_configuration_says_so() -> None:
    with pytest.raises(CmgrError, match="was not started from one"):
        reloader().ask("a test", lambda: None)


def test_nobody_waits_for_ever_for_a_reload() -> None:
    with pytest.raises(CmgrError, match="has not come to it within"):
        reloader(Config).ask("a test", lambda: None, patience=0.05)


def test_a_signal_is_served_once() -> None:
    log = Quiet()
    made = reloader(Config, log)
    made.hang_up()
    made.serve()
    made.serve()
    assert len(log.notes) == 1
