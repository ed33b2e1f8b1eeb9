"""A Docker daemon whose containers live and end as a real one's do, until it falls ill to order."""

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.runtimes.fake_dockerd import FakeDockerd, Request, document
from tests.support.stand_in import standing_in

Ail = Callable[[Request], bool]
"""Answers the request in the daemon's place, or says that it does not."""


def everywhere(answer: Callable[[Request], object]) -> Ail:
    """Return what answers every request so."""

    def ail(request: Request) -> bool:
        answer(request)
        return True

    return ail


def only(what: str, answer: Callable[[Request], object]) -> Ail:
    """Return what answers those requests so whose address ends with this word."""

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
