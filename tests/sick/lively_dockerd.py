"""A Docker daemon whose containers live and end as a real one's do, until it falls ill to order."""

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.runtimes.docker.fake_dockerd import Answer, FakeDockerd, Request, document
from tests.support.service import Setting
from tests.support.stand_in import standing_in

Ail = Callable[[Request], bool]
"""Answers the request in the daemon's place, or says that it does not."""


AILS: Mapping[str, tuple[Answer, str]] = {
    "answers 500": (lambda request: request.refuse(500, "the disk is on fire"), "the disk is on fire"),
    "hangs up": (Request.hang_up, "Docker closed the connection"),
    "closes in mid-answer": (Request.close_midway, "Docker closed the connection"),
    "never answers": (Request.hang, "Docker did not answer within"),
    "answers for ever": (Request.trickle, "Docker did not answer within"),
    "answers without end": (Request.flood, "Docker's answer is longer than cmgr takes"),
    "talks rubbish": (lambda request: request.give_text("no json"), "Docker's answer cannot be read"),
}
"""How it may answer every request, and what cmgr says of it."""

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


def _only(what: str, answer: Callable[[Request], object]) -> Ail:
    """Return what answers those requests so whose address ends with this word; all requests when it is empty."""

    def ail(request: Request) -> bool:
        if not request.route.endswith(what):
            return False
        answer(request)
        return True

    return ail


class LivelyDockerd(FakeDockerd):
    """`ail` is what it suffers from now; `orders` are the stops and starts that it carried out.

    `ahead`: how far its clock is ahead of the test's own.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.ail: Ail | None = None
        self.ahead = timedelta()
        self.orders: list[tuple[str, str]] = []
        self.well = threading.Event()
        self.refused = 0
        self.poured: list[int] = []
        self._living = threading.Lock()
        self._streams: list[SimpleQueue[Any]] = []

    def run(self, name: str, chips: str, **labels: str) -> None:
        """Have a container that runs. Its name is its id."""
        made = document(name, run=self._now(), Env=[f"ASCEND_VISIBLE_DEVICES={chips}"], Labels=labels)
        self.containers[name] = {**made, "Name": f"/{name}"}

    def is_running(self, name: str) -> bool:
        return bool(self.containers[name]["State"]["Running"])

    def all_running(self) -> bool:
        return all(map(self.is_running, self.containers))

    def done(self, action: str) -> list[str]:
        """Return whose stop or start was carried out, in order."""
        return [name for name, did in self.orders if did == action]

    def crash(self, name: str) -> None:
        """Let the container die by itself."""
        self._end(name, 139, asked=False)

    @property
    def settings(self) -> Mapping[str, Setting]:
        return {"runtimes": ["docker"], "docker.socket": self.socket}

    def suffer(self, ail: str) -> str:
        answer, words = AILS[ail]
        self.ail = _only("", answer)
        return words

    def never_stop(self, name: str) -> str:
        self.ail = _only(f"/{name}/stop", Request.hang)
        return "Docker did not answer within"

    def cannot_start(self, name: str, why: str) -> None:
        def refuse(request: Request) -> None:
            self.refused += 1
            request.refuse(500, why)

        self.ail = _only(f"/{name}/start", refuse)

    def babble(self) -> int:
        for line in MALFORMED:
            self.tell(line)
        return len(MALFORMED)

    def pour(self, events: str) -> None:
        def ail(request: Request) -> bool:
            if request.route != "/events" or "until" in request.query:
                return False
            request.send_response(200)
            request.send_header("Transfer-Encoding", "chunked")
            request.end_headers()
            for text in itertools.takewhile(lambda _: not self.well.is_set(), ENDLESS[events]()):
                request.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
                self.poured.append(len(text))
            request.close_connection = True
            return True

        self.ail = ail
        self.hang_up_streams()

    def followers(self) -> int:
        return len(self._streams)

    def heal(self) -> None:
        self.ail = None
        self.well.set()

    def _now(self) -> str:
        return (datetime.now(UTC) + self.ahead).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def tell(self, event: object) -> None:
        line = event if isinstance(event, bytes) else json.dumps(event).encode()
        for stream in tuple(self._streams):
            stream.put(line + b"\n")

    def _happens(self, action: str, name: str, **attributes: str) -> None:
        at = int((datetime.now(UTC) + self.ahead).timestamp() * 1e9)
        actor = {"ID": name, "Attributes": attributes}
        self.tell({"Type": "container", "Action": action, "Actor": actor, "timeNano": at})

    def _end(self, name: str, code: int, *, asked: bool) -> bool:
        with self._living:
            state: dict[str, Any] = self.containers[name]["State"]
            if not state["Running"]:
                return False
            self.containers[name]["State"] = {
                **state, "Status": "exited", "Running": False, "FinishedAt": self._now(), "ExitCode": code,
            }  # fmt: skip
        if asked:
            self.orders.append((name, "stop"))
            self._happens("kill", name, signal="15")
        self._happens("die", name, exitCode=str(code))
        return True

    def _begin(self, name: str) -> bool:
        with self._living:
            state: dict[str, Any] = self.containers[name]["State"]
            if state["Running"]:
                return False
            self.containers[name]["State"] = {
                **state, "Status": "running", "Running": True, "StartedAt": self._now(),
                "FinishedAt": "0001-01-01T00:00:00Z", "ExitCode": 0,
            }  # fmt: skip
        self.orders.append((name, "start"))
        self._happens("start", name)
        return True

    def _update(self, request: Request, name: str, body: Mapping[str, Any]) -> None:
        self.containers[name]["HostConfig"]["RestartPolicy"] = body["RestartPolicy"]
        request.give({"Warnings": []})

    def answer(self, request: Request) -> None:
        if self.ail is not None and self.ail(request):
            return
        match request.route.strip("/").split("/"):
            case ["events"] if "until" not in request.query:
                stream: SimpleQueue[Any] = SimpleQueue()
                self._streams.append(stream)
                request.stream(stream)
            case ["containers", name, "stop"] if name in self.containers:
                request.give_text("", 204 if self._end(name, 0, asked=True) else 304)
            case ["containers", name, "start"] if name in self.containers:
                request.give_text("", 204 if self._begin(name) else 304)
            case ["containers", name, "update"] if name in self.containers:
                self._update(request, name, json.loads(self.requests[-1][1]))
            case _:
                super().answer(request)

    def hang_up_streams(self) -> None:
        """End every event stream."""
        streams, self._streams = self._streams, []
        for stream in streams:
            stream.put(self.END)

    def down(self) -> None:
        self.hang_up_streams()
        super().down()


def lively_dockerd() -> AbstractContextManager[LivelyDockerd]:
    """A daemon that is up."""
    return standing_in(LivelyDockerd)
