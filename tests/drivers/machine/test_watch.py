"""All sources together: each on its own, told of as off or deaf, and none in another's way."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from cmgr.config.sources import SOURCES, Machine, wanted
from cmgr.drivers.machine.source import Off
from cmgr.drivers.machine.watch import MachineWatch, State, sources
from cmgr.model.values.faults import FaultCode
from cmgr.model.values.machine import Symptom
from cmgr.model.values.messages.facts import MachineTold
from tests.fakes.machine.tree import Tree
from tests.support.waiting import eventually

SOON = Machine(every=timedelta(milliseconds=20), timeout=timedelta(milliseconds=50))
ONE = Symptom(FaultCode("disk-gone"), "sda")


@dataclass
class Scripted:
    """A source that does what the test says."""

    name: str
    look_now: Callable[[], Sequence[Symptom]]
    slow: int = 1

    def look(self) -> Sequence[Symptom]:
        return self.look_now()


@dataclass
class Ear:
    heard: list[MachineTold] = field(default_factory=list)

    def of(self, name: str) -> list[tuple[Symptom, ...]]:
        return [told.found for told in self.heard if told.source == name]


Watching = Callable[..., tuple[MachineWatch, Ear]]


@pytest.fixture
def watching() -> Iterator[Watching]:
    made: list[MachineWatch] = []

    def begin(*scripted: Scripted) -> tuple[MachineWatch, Ear]:
        watch, ear = MachineWatch(scripted, SOON), Ear()
        made.append(watch)
        watch.start(ear.heard.append)
        return watch, ear

    yield begin
    for watch in made:
        watch.close()


def raising(error: BaseException) -> Callable[[], Sequence[Symptom]]:
    def look() -> Sequence[Symptom]:
        raise error

    return look


def test_one_that_hangs_is_deaf_and_keeps_no_other_back(watching: Watching) -> None:
    let_go = threading.Event()

    def hang() -> Sequence[Symptom]:
        let_go.wait()
        return [ONE]

    watch, ear = watching(Scripted("hangs", hang), Scripted("well", lambda: [ONE]))
    eventually(lambda: len(ear.of("well")) > 2)
    eventually(lambda: watch.states()[0].deaf != "")
    assert watch.states() == (State("hangs", deaf="it has not answered for more than 50 ms"), State("well"))
    assert ear.of("hangs") == []
    let_go.set()
    eventually(lambda: ear.of("hangs") != [])
    eventually(lambda: watch.states()[0] == State("hangs"))


@pytest.mark.parametrize("error", [OSError("dead"), ValueError("odd"), RecursionError("deep")])
def test_one_that_fails_says_why_and_is_asked_again(watching: Watching, error: Exception) -> None:
    looks: list[Callable[[], Sequence[Symptom]]] = [raising(error), raising(error), lambda: [ONE]]
    watch, ear = watching(Scripted("raid", lambda: looks.pop(0)() if len(looks) > 1 else looks[0]()))
    eventually(lambda: ear.of("raid")[:1] == [(ONE,)])
    assert watch.states() == (State("raid"),)


def test_what_an_error_was_is_told(watching: Watching) -> None:
    watch, ear = watching(Scripted("raid", raising(OSError("it is dead"))))
    eventually(lambda: "it is dead" in watch.states()[0].deaf)
    assert ear.heard == []


def test_one_that_fails_after_an_answer_says_when_that_was(watching: Watching) -> None:
    looks: list[Callable[[], Sequence[Symptom]]] = [lambda: [ONE], raising(OSError("it is dead"))]
    watch, _ = watching(Scripted("smart", lambda: looks.pop(0)() if len(looks) > 1 else looks[0]()))
    eventually(lambda: "it is dead; its check has not run since 20" in watch.states()[0].deaf)


def test_one_without_anything_to_look_at_is_off_and_ends_what_it_told_before(watching: Watching) -> None:
    looks: list[Callable[[], Sequence[Symptom]]] = [lambda: [ONE], raising(Off("there is no array"))]
    watch, ear = watching(Scripted("raid", lambda: looks.pop(0)() if len(looks) > 1 else looks[0]()))
    eventually(lambda: watch.states() == (State("raid", off="there is no array"),))
    eventually(lambda: len(ear.of("raid")) == 2)
    assert ear.of("raid") == [(ONE,), ()]


def test_one_without_the_right_is_off(watching: Watching) -> None:
    watch, _ = watching(Scripted("raid", raising(PermissionError(13, "Permission denied", "/sys/x"))))
    eventually(lambda: watch.states() == (State("raid", off="no right to read /sys/x"),))


def test_where_there_can_be_no_more_threads_that_is_told_and_it_is_asked_later(
    watching: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, refused = threading.Thread.start, threading.Event()

    def start(thread: threading.Thread) -> None:
        if thread.name == "machine-raid" and not refused.is_set():
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    watch, ear = watching(Scripted("raid", lambda: [ONE]), Scripted("disks", lambda: []))
    eventually(lambda: watch.states()[0].deaf == "can't start new thread")
    eventually(lambda: ear.of("disks"))
    refused.set()
    eventually(lambda: ear.of("raid")[:1] == [(ONE,)])
    assert watch.states()[0] == State("raid")


def test_after_its_end_nothing_is_told() -> None:
    asked, let_go, left, ear = threading.Event(), threading.Event(), threading.Event(), Ear()

    def late() -> Sequence[Symptom]:
        asked.set()
        let_go.wait()
        left.set()
        return [ONE]

    watch = MachineWatch([Scripted("raid", late)], SOON)
    watch.start(ear.heard.append)
    assert asked.wait(60)
    watch.close()
    let_go.set()
    assert left.wait(60)
    assert ear.heard == []


def test_all_that_the_settings_name_are_made(tree: Tree) -> None:
    everything = Machine(root=str(tree.root))
    assert [source.name for source in sources(everything, wanted(everything, "dcmi"))] == [*SOURCES]
    assert wanted(everything, "sim") == ()
    assert wanted(Machine(sources=("kernel", "raid")), "sim") == ("raid", "kernel")
    assert wanted(Machine(sources=("none",)), "nvml") == ()


def test_each_code_that_a_source_can_tell_is_in_the_table() -> None:
    from pathlib import Path

    import cmgr.drivers.machine as package
    from cmgr.config.settings import Config
    from cmgr.config.tables.catalog import load_catalog

    text = "".join(path.read_text() for path in Path(package.__file__).parent.glob("*.py"))
    entries = {
        code: entry
        for code, entry in load_catalog(Config()).entries.items()
        # A BMC's alarms have the numbers that it tells.
        if entry.origin.endswith("machine") and not code.startswith("ALM-0x")
    }
    assert {code for code in entries if f'"{code}"' not in text} == set()
    assert all(e.meaning and e.advice and e.chinese.meaning and e.chinese.advice for e in entries.values())
    import re

    told = set(
        re.findall(
            r'"((?:memory|processor|machine|pci|task|container|disk|file-system|raid|fan|psu|redundancy|'
            r'temperature|sensor)-[a-z-]+)"',
            text,
        )
    )
    assert told == {*entries}
