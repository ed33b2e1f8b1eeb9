"""A containerd that answers badly, late or never, and whose events cannot be understood or do not end."""

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from cmgr.runtimes.containerd import messages as calls
from cmgr.runtimes.containerd.messages import MESSAGES, Call, Message
from tests.sick.lively_containerd import Ail, LivelyContainerd, envelope, hanging, refusing, rubbish
from tests.sick.wellbeing import ROOM, memory, recovered, survived, threads, until_ready, until_told, well
from tests.support.figures import Figures
from tests.support.waiting import eventually
from tests.system.conftest import Install

SECTION = "Sick daemons"

AILS: Mapping[str, tuple[Callable[[threading.Event], Ail], str]] = {
    "refuses": (lambda _: refusing("the disk is on fire"), "the disk is on fire"),
    "never answers": (hanging, "containerd did not answer within"),
    "talks rubbish": (lambda _: rubbish, "containerd's answer cannot be read"),
}


def ended_well(tasks: LivelyContainerd, resets: int) -> None:
    assert sorted(tasks.done("stop")) == ["one", "two"]
    assert sorted(tasks.done("start")) == ["one", "two"]
    assert tasks.all_running()
    assert resets == 1


@pytest.mark.parametrize("name", AILS)
def test_what_ails_containerd_at_a_fault_is_told_and_nothing_is_lost(
    on_tasks: Install, tasks: LivelyContainerd, healed: threading.Event, name: str, figures: Figures
) -> None:
    ail, words = AILS[name]
    service = on_tasks({})
    service.start()
    eventually(lambda: service.container("beside"))
    tasks.ail = ail(healed)
    service.inject(0)
    until_told(service, words, "degraded")
    assert (tasks.done("stop"), service.resets()) == ([], ())
    tasks.ail = None
    healed.set()
    recovered(service)
    ended_well(tasks, len(service.resets()))
    survived(figures, SECTION)


@pytest.mark.parametrize("name", ["refuses", "never answers"])
def test_what_ails_containerd_when_containers_are_to_be_started_loses_none(
    on_tasks: Install, tasks: LivelyContainerd, healed: threading.Event, name: str, figures: Figures
) -> None:
    ail, words = AILS[name]
    service = on_tasks({"sim.boot_time": "500ms", "retry.starts": 1000})
    service.start()
    service.inject(0)
    service.until_phase("verifying")
    tasks.ail = ail(healed)
    until_told(service, "start failed", words)
    tasks.ail = None
    healed.set()
    recovered(service)
    ended_well(tasks, len(service.resets()))
    survived(figures, SECTION)


def test_a_process_that_no_signal_ends_delays_nobody_else_and_is_told(
    on_tasks: Install, tasks: LivelyContainerd, figures: Figures
) -> None:
    service = on_tasks({})
    service.start()
    tasks.deaf.add("one")
    service.inject(0)
    eventually(lambda: tasks.done("stop") == ["two"])
    until_told(service, "stop failed", "it took longer than")
    assert service.resets() == (), "it still runs"
    service.inject(4)
    eventually(lambda: tasks.done("start") == ["beside"])
    tasks.deaf.clear()
    recovered(service, episodes=2)
    assert sorted(tasks.done("stop")) == sorted(tasks.done("start")) == ["beside", "one", "two"]
    assert tasks.all_running()
    survived(figures, SECTION)


def test_a_start_that_fails_five_times_is_given_up_until_a_person_says_otherwise(
    on_tasks: Install, tasks: LivelyContainerd, figures: Figures
) -> None:
    service = on_tasks({})
    service.start()
    tasks.ail = refusing("no such device", calls.START)
    service.inject(0)
    service.until_said("one is given up after 5 tries")
    service.until_said("two is given up after 5 tries")
    until_told(service, "no such device", "failed", "cmgr resume two")
    tasks.ail = None
    for name in ("one", "two"):
        assert service.cmgr("resume", name).code == 0
    eventually(tasks.all_running)
    service.until_over()
    ended_well(tasks, len(service.resets()))
    well(service)
    survived(figures, SECTION)


def test_a_daemon_that_comes_and_goes_loses_nothing(
    on_tasks: Install, tasks: LivelyContainerd, figures: Figures
) -> None:
    service = on_tasks({"levels.RestartRequest.reset_after": "3s"})
    tasks.down()
    service.start()
    until_told(service, "cannot reach containerd", tasks.socket)
    tasks.up()
    until_ready(service)
    service.inject(0, "80C98008")
    for _ in range(5):
        tasks.down()
        until_told(service, "cannot reach containerd")
        tasks.up()
        until_ready(service)
    recovered(service)
    ended_well(tasks, len(service.resets()))
    survived(figures, SECTION, faults=6)


MALFORMED: tuple[tuple[str, bytes], ...] = (
    ("/tasks/exit", b"\xff\xff\xff\xff"),
    ("/tasks/exit", b""),
    ("/tasks/start", b"\x0a\xff"),
    ("/tasks/start", MESSAGES["Happening"](container_id="").SerializeToString()),
    ("/tasks/start", MESSAGES["Happening"](container_id="nobody").SerializeToString()),
    ("/containers/delete", b"\x00"),
    ("/containers/update", MESSAGES["Happening"](container_id="../one").SerializeToString()),
    ("/tasks/exit", MESSAGES["TaskExit"](container_id="one", id="one", pid=2**32 - 1).SerializeToString()),
    ("/nothing/of/ours", b"abc"),
    ("", b""),
    ("/cmgr/pulse", b"somebody else's"),
)


def test_events_that_cannot_be_understood_hide_no_other(
    on_tasks: Install, tasks: LivelyContainerd, figures: Figures
) -> None:
    service = on_tasks({"resync": "60s"})
    service.start()
    eventually(lambda: service.container("beside"))
    for topic, payload in MALFORMED:
        tasks.tell(topic, payload)
    tasks.kill("beside")
    eventually(lambda: service.container("beside") is None, why="the end after them was heard of")
    service.inject(0)
    recovered(service)
    assert sorted(tasks.done("start")) == ["one", "two"]
    survived(figures, SECTION, faults=len(MALFORMED))


def _of_one() -> Iterator[Message]:
    payload = MESSAGES["Happening"](container_id="beside").SerializeToString()
    return itertools.repeat(envelope("/tasks/start", payload))


def _of_strangers() -> Iterator[Message]:
    for n in itertools.count():
        yield envelope("/tasks/start", MESSAGES["Happening"](container_id=f"stranger{n}").SerializeToString())


def _large() -> Iterator[Message]:
    return itertools.repeat(envelope("/nothing/of/ours", b"x" * 2**20))


ENDLESS = {"of one container": _of_one, "of strangers": _of_strangers, "large ones": _large}


@pytest.mark.parametrize("name", ENDLESS)
def test_events_without_end_cost_no_memory_and_nobody_waits_for_them(
    on_tasks: Install, tasks: LivelyContainerd, healed: threading.Event, name: str, figures: Figures
) -> None:
    service = on_tasks({})
    service.start()
    eventually(lambda: service.container("beside"))
    before, sent = memory(service), [0]

    def ail(call: Call, context: Any) -> Iterator[Message] | None:
        return poured(context) if call == calls.SUBSCRIBE and not healed.is_set() else None

    def poured(_context: Any) -> Iterator[Message]:
        for event in ENDLESS[name]():
            if healed.is_set():
                return
            sent[0] += 1
            yield event

    tasks.ail = ail
    tasks.down()
    tasks.up()
    eventually(lambda: sent[0] > 2000 or (name == "large ones" and sent[0] > 200), within=30, why="it has said a lot")
    service.inject(0)
    eventually(lambda: sorted(tasks.done("stop")) == ["one", "two"])
    assert memory(service) < before + ROOM
    assert threads(service) < 64
    healed.set()
    recovered(service)
    ended_well(tasks, len(service.resets()))
    survived(figures, SECTION, faults=sent[0])
