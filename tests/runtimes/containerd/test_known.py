"""The memory of lives and ends."""

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cmgr.model.values.services.containers import Exit
from cmgr.runtimes.containerd import record as records
from cmgr.runtimes.containerd.known import Known
from cmgr.runtimes.containerd.messages import MESSAGES
from cmgr.runtimes.containerd.record import Definition, Streams, Task
from cmgr.runtimes.memory import Ticket

FIRST = Ticket(0, 0.0)
ME = os.getpid()
NOBODY = 2**22 + 1
END = Exit(7, datetime(2026, 1, 1, tzinfo=UTC))
LATER = Exit(137, datetime(2026, 1, 2, tzinfo=UTC))


def definition(labels: Mapping[str, str] | None = None) -> Definition:
    return records.definition("ns", MESSAGES["Container"](id="web", labels=labels or {}), {})


WEB = definition()
STOPPED_BY_HAND = definition({records.EXPLICITLY_STOPPED: "true"})


def task(pid: int = ME, status: int = 2, end: Exit | None = None) -> Task:
    return Task(pid, status, Streams("out"), end)


def test_a_life_has_one_word_from_its_begin_to_its_end_and_beyond() -> None:
    known = Known()
    run = known.saw(WEB, task(), FIRST).run
    assert run
    assert known.saw(WEB, task(status=4), FIRST).run == run
    ended = known.saw(WEB, task(status=3, end=END), FIRST).container()
    assert (ended.run, ended.running, ended.exit) == (run, False, END)
    gone = known.saw(WEB, None, FIRST).container()
    assert (gone.run, gone.exit) == (run, END)


def test_another_process_is_another_life() -> None:
    known = Known()
    first = known.saw(WEB, task(), FIRST)
    second = known.saw(WEB, task(os.getppid()), FIRST)
    assert second.run != first.run
    assert second.exit is None


def test_a_process_number_that_is_used_again_is_another_life() -> None:
    known = Known()
    old = known.saw(WEB, task(NOBODY, 3, END), FIRST)
    assert old.run.endswith(".")
    assert known.saw(WEB, task(), FIRST).run.split(".")[2]


def test_one_that_never_ran_has_no_word() -> None:
    container = Known().saw(WEB, None, FIRST).container()
    assert (container.run, container.running, container.exit) == ("", False, None)


def test_a_task_that_is_being_made_is_no_new_life_yet() -> None:
    known = Known()
    run = known.saw(WEB, task(status=3, end=END), FIRST).run
    made = known.saw(WEB, task(NOBODY, 1), FIRST).container()
    assert (made.run, made.running, made.exit) == (run, False, END)


def test_the_first_end_counts() -> None:
    known = Known()
    known.saw(WEB, task(), FIRST)
    first = known.ended(WEB.key, ME, END)
    second = known.ended(WEB.key, ME, LATER)
    assert first is not None
    assert second is not None
    assert second.exit == END
    assert known.saw(WEB, task(status=3, end=LATER), FIRST).exit == END


def test_the_end_of_another_life_is_none_of_this_one() -> None:
    known = Known()
    known.saw(WEB, task(), FIRST)
    assert known.ended(WEB.key, NOBODY, END) is None
    assert known.ended(WEB.key._replace(id="other"), ME, END) is None


def test_who_asked_is_known_of_our_own_and_of_what_the_client_wrote_down() -> None:
    known = Known()
    run = known.saw(WEB, task(), FIRST).run
    known.blame(WEB.key, run, True)
    known.ended(WEB.key, ME, END)
    exit_ = known.saw(WEB, task(status=3, end=END), FIRST).container().exit
    assert exit_ is not None
    assert exit_.asked is True
    other = Known()
    other.saw(WEB, task(), FIRST)
    said = other.saw(STOPPED_BY_HAND, task(status=3, end=END), FIRST).container().exit
    assert said is not None
    assert said.asked is True


def test_a_blame_is_taken_back_and_does_not_reach_another_life() -> None:
    known = Known()
    run = known.saw(WEB, task(), FIRST).run
    known.blame(WEB.key, run, True)
    known.blame(WEB.key, run, None)
    known.blame(WEB.key, "another", True)
    exit_ = known.saw(WEB, task(status=3, end=END), FIRST).container().exit
    assert exit_ is not None
    assert exit_.asked is None


@pytest.mark.parametrize("end", [END, None], ids=["seen down first", "seen running first"])
def test_a_blame_of_a_life_whose_look_was_overtaken_by_its_own_events_counts(end: Exit | None) -> None:
    known = Known()
    before = known.ticket()
    known.touch(WEB.key)  # The event of its start.
    run = known.saw(WEB, task(), before).run
    assert known.last(WEB.key) is None
    known.blame(WEB.key, run, True)
    now = known.ticket()
    if end is None:
        known.saw(WEB, task(), now)
        known.ended(WEB.key, ME, END)
    exit_ = known.saw(WEB, task(status=3, end=END), now).container().exit
    assert exit_ is not None
    assert exit_.asked is True


def test_a_label_that_was_there_when_the_life_began_says_nothing_of_its_end() -> None:
    known = Known()
    known.saw(STOPPED_BY_HAND, task(), FIRST)
    exit_ = known.saw(STOPPED_BY_HAND, task(status=3, end=END), FIRST).container().exit
    assert exit_ is not None
    assert exit_.asked is None
    assert exit_.by_itself


def written(at: int, *, grace: int = 10) -> Definition:
    """Return the definition after its client has written down, at this moment, that a person ends the container."""
    labels = {records.EXPLICITLY_STOPPED: "true", "nerdctl/stop-timeout": str(grace)}
    record = MESSAGES["Container"](id="web", labels=labels, updated_at={"seconds": at})
    return records.definition("ns", record, {})


@pytest.mark.parametrize(("grace", "asked"), [(10, True), (-3, None)], ids=["at once", "when that is over"])
def test_what_its_client_wrote_down_counts_for_its_time(grace: int, asked: bool | None) -> None:
    """`nerdctl kill -s QUIT` writes down the same as `nerdctl stop`, and the process lives on."""
    known = Known()
    known.saw(WEB, task(), FIRST)
    over = replace(written(1), container=replace(written(1).container, grace=timedelta(seconds=grace)))
    assert known.saw(over, task(), FIRST).is_ordered is (grace > 0)
    ended = known.ended(WEB.key, ME, END)
    assert ended is not None
    end = ended.container().exit
    assert end is not None
    assert (end.asked, end.by_itself) == (asked, asked is None)
    later = known.saw(over, task(status=3, end=END), FIRST).container().exit
    assert later == end, "and each look after it says the same"


def test_an_order_that_is_written_down_once_more_counts_anew() -> None:
    known = Known()
    known.saw(written(1, grace=0), task(), FIRST)
    assert not known.saw(written(1), task(), FIRST).is_ordered, "it was there when that life began"
    assert known.saw(written(2), task(), FIRST).is_ordered
    ended = known.ended(WEB.key, ME, END)
    assert ended is not None
    assert (end := ended.container().exit) is not None
    assert end.asked


def test_what_is_written_down_after_the_end_says_that_a_person_wants_it_down() -> None:
    known = Known()
    known.saw(WEB, task(), FIRST)
    known.ended(WEB.key, ME, END)
    end = known.saw(written(1), task(status=3, end=END), FIRST).container().exit
    assert end is not None
    assert end.asked


def test_a_look_that_began_before_a_change_is_not_remembered() -> None:
    known = Known()
    ticket = known.ticket()
    known.touch(WEB.key)
    assert known.saw(WEB, task(), ticket).running
    assert known.last(WEB.key) is None


def test_what_a_list_does_not_name_is_forgotten_unless_it_is_newer() -> None:
    known = Known()
    known.saw(WEB, task(), FIRST)
    known.keep([], known.ticket())
    assert known.last(WEB.key) is None
    ticket = known.ticket()
    known.touch(WEB.key)
    known.saw(WEB, task(), known.ticket())
    known.keep([], ticket)
    assert known.last(WEB.key) is not None
    assert known.name(WEB.key) == "web"
    assert known.drop(WEB.key) is not None
    assert known.name(WEB.key) == "web"


def test_one_of_which_nothing_can_be_told_goes_on_as_it_was() -> None:
    known = Known()
    assert known.saw(WEB, task(0, 0), FIRST).running
    run = known.saw(WEB, task(), FIRST).run
    now = known.saw(WEB, task(0, 0), FIRST)
    assert (now.running, now.run, now.streams) == (True, run, Streams("out"))
    known.saw(WEB, task(status=3, end=END), FIRST)
    assert not known.saw(WEB, task(0, 0), FIRST).running
