"""Docker's event stream says what cannot be understood, or does not end: other things go on, and memory is bounded."""

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping

import pytest

from tests.runtimes.fake_dockerd import Request
from tests.sick.lively_dockerd import Ail, LivelyDockerd
from tests.sick.wellbeing import ROOM, memory, recovered, survived, threads
from tests.support.figures import Figures
from tests.support.waiting import eventually
from tests.system.conftest import Install

SECTION = "Sick daemons"

MALFORMED = (
    b"no json",
    b"[1]",
    b"null",
    b'"die"',
    b"\xff\xfe\x00",
    b"[" * 20_000,
    b'{"Action": 1}',
    b'{"Type": "container", "Action": "die", "Actor": null, "timeNano": 1}',
    b'{"Type": "container", "Action": "die", "Actor": {"ID": ""}, "timeNano": 1}',
    b'{"Type": "container", "Action": "die", "Actor": {"ID": "one"}, "timeNano": -1}',
    b'{"Type": "container", "Action": "die", "Actor": {"ID": "one"}, "timeNano": 1e400}',
    b'{"Type": "container", "Action": "die", "Actor": {"ID": "one", "Attributes": 7}, "timeNano": 1}',
    b'{"Type": "container", "Action": ["die"], "Actor": {"ID": "one"}, "timeNano": 1}',
    b'{"Type": "container", "Action": "start", "Actor": {"ID": "../one"}, "timeNano": 1}',
    b'{"Type": "container", "Action": "start", "Actor": {"ID": "nobody"}, "timeNano": 1}',
    b'{"Type": "container", "Action": "\\u0000", "Actor": {"ID": "one"}, "timeNano": 1}',
)


def test_events_that_cannot_be_understood_hide_no_other(
    on_lively: Install, lively: LivelyDockerd, figures: Figures
) -> None:
    # So long between two lists that only events can tell.
    service = on_lively({"resync": "60s"})
    service.start()
    eventually(lambda: service.container("beside"))
    for line in MALFORMED:
        lively.tell(line)
    lively.crash("beside")
    eventually(lambda: service.container("beside") is None, why="the death after them was heard of")
    service.inject(4)
    service.until_said("beside died by itself (exit code 139)")
    recovered(service)
    assert lively.done("start") == ["beside"]
    survived(figures, SECTION, faults=len(MALFORMED))


def _lines() -> Iterator[bytes]:
    """Return events that are none, for ever."""
    return itertools.repeat(b"".join(line + b"\n" for line in MALFORMED[:5]))


def _one_line() -> Iterator[bytes]:
    return itertools.repeat(b'{"Type": "container",' + b" " * 65536)


def _events() -> Iterator[bytes]:
    """Return events of one container, each a new one, for ever."""
    for at in itertools.count(1):
        event = {"Type": "container", "Action": "start", "Actor": {"ID": "beside"}, "timeNano": at}
        yield json.dumps(event).encode() + b"\n"


def _strangers() -> Iterator[bytes]:
    """Return events of containers that nobody knows, for ever."""
    for at in itertools.count(1):
        event = {"Type": "container", "Action": "start", "Actor": {"ID": f"stranger{at}"}, "timeNano": at}
        yield json.dumps(event).encode() + b"\n"


ENDLESS: Mapping[str, Callable[[], Iterator[bytes]]] = {
    "lines that are no events": _lines,
    "a line without end": _one_line,
    "events without end": _events,
    "containers without end": _strangers,
}

ENOUGH = 64 * 2**20
"""So many bytes are more than cmgr may keep."""

MANY = 3000
TOO_LONG = "Docker's answer is longer than cmgr takes"


def _endless(texts: Callable[[], Iterator[bytes]], healed: threading.Event, sent: list[int]) -> Ail:
    def pour(request: Request) -> None:
        request.send_response(200)
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        for text in texts():
            if healed.is_set():
                break
            request.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
            sent.append(len(text))
        request.close_connection = True

    def ail(request: Request) -> bool:
        if request.route != "/events" or "until" in request.query or healed.is_set():
            return False
        pour(request)
        return True

    return ail


@pytest.mark.parametrize("name", ENDLESS)
def test_events_without_end_cost_no_memory_and_nobody_waits_for_them(
    on_lively: Install, lively: LivelyDockerd, healed: threading.Event, name: str, figures: Figures
) -> None:
    service = on_lively({})
    service.start()
    eventually(lambda: service.container("beside"))
    before, sent = memory(service), list[int]()
    lively.ail = _endless(ENDLESS[name], healed, sent)
    lively.hang_up_streams()
    eventually(
        lambda: sum(sent) > ENOUGH or len(sent) > MANY or service.said().count(TOO_LONG) > 1,
        within=30,
        why="it has said a lot",
    )
    service.inject(0)
    service.until_said("is over: recovered")
    assert memory(service) < before + ROOM
    assert threads(service) < 64
    healed.set()
    recovered(service)
    assert sorted(lively.done("stop")) == sorted(lively.done("start")) == ["one", "two"]
    survived(figures, SECTION, faults=len(sent))
