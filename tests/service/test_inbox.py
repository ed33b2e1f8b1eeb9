"""The queue in front of the deciding thread: what it merges, drops and asks for, and who may wake it."""

import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.drivers.storms import STORM
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion, whose_of_both
from cmgr.model.values.messages.commands import CommandId
from cmgr.model.values.messages.facts import (
    ContainerRemoved,
    ContainerSeen,
    ContainersListed,
    Fact,
    FaultReported,
    ReadNeeded,
    Resync,
    Tick,
)
from cmgr.model.values.services.containers import Container, ContainerKey, Exit
from cmgr.service.inbox import BATCH, Inbox
from cmgr.service.timing.clock import SteadyClock
from tests.security.fuzz import tries
from tests.support.waiting import PATIENCE

T0 = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)
OCCURRED, CLEARED, ONCE = Assertion.OCCURRED, Assertion.CLEARED, Assertion.ONCE


class Clock:
    """A second passes with each look at it."""

    def __init__(self) -> None:
        self.looks = 0

    def now(self) -> datetime:
        self.looks += 1
        return T0 + timedelta(seconds=self.looks)


class Stopwatch:
    """Time stands still until the test lets it go on."""

    def __init__(self) -> None:
        self.at = T0

    def now(self) -> datetime:
        return self.at


@pytest.fixture
def inbox() -> Inbox:
    return Inbox(Clock())


def fault(chip: int, number: int = 0, assertion: Assertion = OCCURRED, module: str = "1") -> FaultReported:
    return FaultReported(ChipId(chip), f"{0x80000000 + number:08X}", assertion, module)


def seen(name: str, run: str, end: Exit | None = None) -> ContainerSeen:
    return ContainerSeen(Container(ContainerKey("docker", "", name), name, run=run, running=end is None, exit=end))


def taken(inbox: Inbox) -> list[Fact]:
    return [event.fact for event in inbox.take(T0)]


def all_taken(inbox: Inbox) -> list[Fact]:
    facts: list[Fact] = []
    while len(inbox):
        facts += taken(inbox)
    return facts


def test_facts_come_out_in_order_with_the_time_at_which_they_went_in(inbox: Inbox) -> None:
    facts: list[Fact] = [fault(0), Tick(), fault(1), Resync()]
    for fact in facts:
        inbox.put(fact)
    events = inbox.take(None)
    assert [event.fact for event in events] == facts
    assert [event.at for event in events] == [T0 + timedelta(seconds=n) for n in (1, 2, 3, 4)]
    assert len(inbox) == 0


@pytest.mark.parametrize(
    ("told", "last", "earlier"),
    [
        ((OCCURRED, OCCURRED, OCCURRED), OCCURRED, 2),
        ((OCCURRED, CLEARED), CLEARED, 1),
        ((CLEARED, OCCURRED), OCCURRED, 0),
        ((OCCURRED, CLEARED, OCCURRED), OCCURRED, 1),
        ((ONCE, ONCE), ONCE, 1),
        ((CLEARED, CLEARED), CLEARED, 0),
        ((ONCE, CLEARED, OCCURRED, CLEARED), CLEARED, 2),
    ],
)
def test_a_fault_that_is_queued_is_merged_and_no_occurrence_is_lost(
    inbox: Inbox, told: tuple[Assertion, ...], last: Assertion, earlier: int
) -> None:
    for assertion in told:
        inbox.put(fault(0, assertion=assertion))
    (event,) = inbox.take(None)
    assert isinstance(event.fact, FaultReported)
    assert (event.fact.assertion, event.fact.earlier) == (last, earlier)
    assert event.at == T0 + timedelta(seconds=1), "when it came first"
    assert inbox.merged == len(told) - 1


def merged(queued: FaultReported, fact: FaultReported) -> FaultReported:
    """Return one fact for both, made at once: what the queue counts until it is asked must be the same."""
    return replace(
        fact,
        earlier=queued.earlier + (queued.assertion is not CLEARED) + fact.earlier,
        first=queued.first or queued.assertion,
        repeated=queued.repeated + (queued.assertion is fact.assertion is OCCURRED),
        whose=whose_of_both(queued.whose, fact.whose),
    )


words = st.builds(
    FaultReported,
    st.just(ChipId(0)),
    st.sampled_from(["80000001", "80000002"]),
    st.sampled_from(Assertion),
    severity=st.sampled_from([None, 0, 3]),
    whose=st.sampled_from([None, frozenset({"a"}), frozenset({"b"})]),
)


@tries(100)
@given(st.lists(words, max_size=30))
def test_whatever_is_told_of_a_fault_is_counted_in_its_order(told: list[FaultReported]) -> None:
    inbox, known = Inbox(Clock()), dict[str, FaultReported]()
    for fact in told:
        inbox.put(fact)
        known[fact.code] = merged(known[fact.code], fact) if fact.code in known else fact
    assert taken(inbox) == [*known.values()]


def test_faults_of_other_chips_codes_and_modules_are_not_merged(inbox: Inbox) -> None:
    facts = [fault(0), fault(1), fault(0, 1), fault(0, module="2")]
    for fact in facts:
        inbox.put(fact)
    assert taken(inbox) == facts


def test_only_the_newest_word_about_a_container_is_kept_in_its_own_place(inbox: Inbox) -> None:
    gone = ContainerRemoved(ContainerKey("docker", "", "b"))
    for fact in (seen("a", "1"), seen("b", "1"), Tick(), seen("a", "2"), gone):
        inbox.put(fact)
    assert taken(inbox) == [Tick(), seen("a", "2"), gone]


def test_how_a_container_ended_is_not_lost_when_it_is_gone_or_lives_again_by_then(inbox: Inbox) -> None:
    crash = Exit(1, T0, asked=False)
    gone = ContainerRemoved(ContainerKey("docker", "", "b"))
    for fact in (seen("a", "1"), seen("a", "1", crash), seen("a", "2"), seen("b", "1"), seen("b", "1", crash), gone):
        inbox.put(fact)
    assert taken(inbox) == [seen("a", "1", crash), seen("a", "2"), seen("b", "1", crash), gone]


def test_of_many_lives_the_last_end_is_kept(inbox: Inbox) -> None:
    for life in range(100):
        inbox.put(seen("a", str(life)))
        inbox.put(seen("a", str(life), Exit(1, T0 + timedelta(seconds=life), asked=False)))
    assert taken(inbox) == [seen("a", "99"), seen("a", "99", Exit(1, T0 + timedelta(seconds=99), asked=False))]


def test_ticks_resyncs_and_readings_are_asked_for_once(inbox: Inbox) -> None:
    for fact in (Tick(), Resync(), ReadNeeded(ChipId(1)), ReadNeeded(ChipId(2))) * 3:
        inbox.put(fact)
    assert Counter(taken(inbox)) == Counter((Tick(), Resync(), ReadNeeded(ChipId(1)), ReadNeeded(ChipId(2))))


def test_answers_are_never_merged(inbox: Inbox) -> None:
    answer = ContainersListed(CommandId("list-1"), "docker")
    inbox.put(answer)
    inbox.put(answer)
    assert taken(inbox) == [answer, answer]


def test_beyond_its_limit_a_chip_is_read_instead_and_other_chips_are_heard() -> None:
    inbox = Inbox(Clock(), chip_limit=3)
    for number in range(10):
        inbox.put(fault(0, number))
    inbox.put(fault(1))
    assert taken(inbox) == [fault(0, 0), fault(0, 1), fault(0, 2), ReadNeeded(ChipId(0)), fault(1)]
    assert inbox.dropped == 7
    inbox.put(fault(0, 9))
    assert taken(inbox) == [fault(0, 9)], "what was taken makes room"


def test_one_chip_delays_the_others_by_no_more_than_a_batch() -> None:
    inbox = Inbox(Clock(), chip_limit=10_000)
    for number in range(4 * BATCH):
        inbox.put(fault(0, number))
    answer = ContainersListed(CommandId("list-1"), "docker")
    inbox.put(answer)
    inbox.put(fault(1))
    first = taken(inbox)
    assert len(first) == BATCH
    assert first[-2:] == [answer, fault(1)]
    rest = all_taken(inbox)
    numbers = [f.code for f in [*first[:-2], *rest] if isinstance(f, FaultReported)]
    assert numbers == [fault(0, n).code for n in range(4 * BATCH)], "in order, and none lost"


@pytest.fixture
def watch() -> Stopwatch:
    return Stopwatch()


@pytest.fixture
def stormy(watch: Stopwatch) -> Inbox:
    """A queue that is empty, in front of which chip 0 has begun to storm."""
    inbox = Inbox(watch)
    for number in range(STORM):
        inbox.put(fault(0, number))
    assert len(taken(inbox)) == STORM, "what comes before it is a storm is heard at once"
    return inbox


def test_a_chip_that_storms_is_heard_all_at_once_after_a_little_while(stormy: Inbox, watch: Stopwatch) -> None:
    stormy.put(fault(0, 1001))
    stormy.put(fault(0, 1002))
    assert stormy.take(watch.at) == []
    watch.at += timedelta(milliseconds=80)
    assert [event.fact for event in stormy.take(watch.at)] == [fault(0, 1001), fault(0, 1002)]


@pytest.mark.parametrize("other", [fault(1), Tick(), seen("a", "1")], ids=lambda fact: type(fact).__name__)
@pytest.mark.parametrize("first", [True, False])
def test_no_other_word_waits_for_a_storm(stormy: Inbox, watch: Stopwatch, other: Fact, first: bool) -> None:
    facts = [other, fault(0, 1001)] if first else [fault(0, 1001), other]
    for fact in facts:
        stormy.put(fact)
    assert [event.fact for event in stormy.take(watch.at)] == facts


def test_who_waits_for_a_storm_is_woken_by_another_word(stormy: Inbox) -> None:
    with ThreadPoolExecutor(1) as pool:
        stormy.put(fault(0, 1001))
        waiting = pool.submit(stormy.take, None)
        stormy.put(fault(1))
        assert [event.fact for event in waiting.result(PATIENCE)] == [fault(0, 1001), fault(1)]


def test_a_chip_that_has_calmed_down_is_heard_at_once_again(stormy: Inbox, watch: Stopwatch) -> None:
    watch.at += timedelta(seconds=1)
    stormy.put(fault(0, 1001))
    assert [event.fact for event in stormy.take(watch.at)] == [fault(0, 1001)]


def test_what_a_storm_has_brought_is_there_at_the_end(stormy: Inbox) -> None:
    stormy.put(fault(0, 1001))
    stormy.stop()
    assert [event.fact for event in stormy.take(None)] == [fault(0, 1001)]


def test_room_is_counted_right_when_only_a_part_is_taken() -> None:
    inbox = Inbox(Clock(), chip_limit=BATCH + 10)
    for number in range(BATCH + 10):
        inbox.put(fault(0, number))
    assert len(inbox.take(None)) == BATCH
    for number in range(BATCH):
        inbox.put(fault(0, 10_000 + number))
    assert inbox.dropped == 0
    inbox.put(fault(0, 99_999))
    assert inbox.dropped == 1


def test_memory_is_bounded_whatever_comes() -> None:
    inbox = Inbox(Clock(), chip_limit=50)
    dice = random.Random(7)  # noqa: S311 - a test's dice, not a secret
    for _ in range(20_000):
        inbox.put(fault(dice.randrange(4), dice.randrange(5000)))
        others: list[Fact] = [Tick(), Resync(), seen(str(dice.randrange(3)), "1")]
        inbox.put(dice.choice(others))
    assert len(inbox) <= 4 * 51 + 5


def test_nothing_comes_when_the_time_is_over(inbox: Inbox) -> None:
    assert inbox.take(T0) == []


def test_waiting_ends_with_the_first_fact() -> None:
    inbox = Inbox(SteadyClock())
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(inbox.take, None)
        inbox.put(fault(0))
        assert [event.fact for event in waiting.result(PATIENCE)] == [fault(0)]


def test_what_rang_for_facts_that_were_taken_wakes_nobody_later() -> None:
    inbox = Inbox(SteadyClock())
    for number in range(100):
        inbox.put(fault(0, number))
        assert len(inbox.take(None)) == 1
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(inbox.take, None)
        inbox.put(Tick())
        assert [event.fact for event in waiting.result(PATIENCE)] == [Tick()]


def test_nothing_is_lost_between_many_threads() -> None:
    inbox = Inbox(SteadyClock(), chip_limit=100_000)
    facts: list[Fact] = []

    def tell(chip: int) -> None:
        for number in range(2000):
            inbox.put(fault(chip, number))

    threads = [threading.Thread(target=tell, args=(chip,)) for chip in range(4)]
    for thread in threads:
        thread.start()
    while len(facts) < 8000:
        facts += [event.fact for event in inbox.take(None)]
    for thread in threads:
        thread.join()
    assert len(set(facts)) == len(facts) == 8000


@contextmanager
def on_signal(then: Callable[[], None]) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, lambda _number, _frame: then())
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("word", ["stop", "nudge"])
def test_a_signal_handler_may_wake_who_waits(word: str) -> None:
    inbox = Inbox(SteadyClock())
    with on_signal(getattr(inbox, word)), ThreadPoolExecutor(1) as pool:
        pool.submit(os.kill, os.getpid(), signal.SIGUSR1)
        assert inbox.take(None) == []
    assert inbox.is_stopped() is (word == "stop")
    inbox.put(Tick())
    assert taken(inbox) == [Tick()], "what is queued is still to be had"


def test_a_signal_in_the_middle_of_a_put_does_no_harm() -> None:
    class Signalling(Clock):
        def now(self) -> datetime:
            signal.raise_signal(signal.SIGUSR1)
            return super().now()

    inbox = Inbox(Signalling())

    def wake() -> None:
        inbox.nudge()
        inbox.stop()

    with on_signal(wake):
        inbox.put(fault(0))
        assert taken(inbox) == [fault(0)]
        assert inbox.take(None) == []
