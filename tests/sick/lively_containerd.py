"""A containerd whose tasks live and end as a real one's do, until it falls ill to order: gRPC on a real unix socket."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc

from cmgr.runtimes.containerd import messages as calls
from cmgr.runtimes.containerd.messages import MESSAGES, Call
from tests.support.service import Setting
from tests.support.stand_in import standing_in

Message = Any
"""A message of protobuf, whose class is made when the tests start."""

Ail = Callable[[Call[Any], Message, Any], Any]
"""Given the call, what it asks and gRPC's context, answers in the daemon's place, or returns None to leave it that."""

NAMESPACE = "lively"
RUNNING, ENDED = 2, 3

_CALLS: Mapping[str, Call[Any]] = {c.path: c for c in vars(calls).values() if isinstance(c, Call)}
_GRPC_THREADS = 64

# Beyond what Linux gives to any process.
_PIDS = itertools.count(5_000_000)


def _refusing(_well: threading.Event) -> Ail:
    return lambda _call, _asked, context: context.abort(grpc.StatusCode.INTERNAL, "the disk is on fire")


def _hanging(well: threading.Event) -> Ail:
    def ail(_call: Call[Any], _asked: Message, context: Any) -> None:
        well.wait()
        context.abort(grpc.StatusCode.UNAVAILABLE, "well again")

    return ail


def _rubbish(_well: threading.Event) -> Ail:
    """Return what answers with no message."""
    return lambda call, _asked, _context: None if call == calls.SUBSCRIBE else b"\xff\xff\xff\xff no message"


AILS: Mapping[str, tuple[Callable[[threading.Event], Ail], str]] = {
    "refuses": (_refusing, "the disk is on fire"),
    "never answers": (_hanging, "containerd did not answer within"),
    "talks rubbish": (_rubbish, "containerd's answer cannot be read"),
}
"""How it may answer every call until it is well, and what cmgr says of it."""

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


class _Task:
    def __init__(self) -> None:
        self.pid = next(_PIDS)
        self.status = 1
        self.code = 0
        self.at = 0.0
        self.over = threading.Event()


class LivelyContainerd:
    """`ail` is what it suffers from now; `orders` are the kills and starts that it carried out."""

    def __init__(self, folder: Path) -> None:
        self.socket = str(folder / "lively.sock")
        self.ail: Ail | None = None
        self.deaf: set[str] = set()
        """Whose processes no signal ends."""
        self.orders: list[tuple[str, str]] = []
        self.events: list[SimpleQueue[Message]] = []
        self._records: dict[str, dict[str, Any]] = {}
        self._tasks: dict[str, _Task] = {}
        self.well = threading.Event()
        self.refused = 0
        self.poured: list[int] = []
        self._server: Any = None

    @property
    def settings(self) -> Mapping[str, Setting]:
        return {"runtimes": ["containerd"], "containerd.address": self.socket}

    def run(self, name: str, chips: str, **labels: str) -> None:
        """Have a container that runs."""
        spec = {"process": {"env": [f"ASCEND_VISIBLE_DEVICES={chips}"]}}
        self._records[name] = {
            "id": name, "labels": labels, "spec": {"type_url": "spec", "value": json.dumps(spec).encode()},
            "created_at": {"seconds": 1}, "updated_at": {"seconds": 1},
        }  # fmt: skip
        self._tasks[name] = _Task()
        self._tasks[name].status = RUNNING

    def is_running(self, name: str) -> bool:
        return name in self._tasks and self._tasks[name].status == RUNNING

    def all_running(self) -> bool:
        return all(map(self.is_running, self._records))

    def done(self, action: str) -> list[str]:
        return [name for name, did in self.orders if did == action]

    def up(self) -> None:
        Path(self.socket).unlink(missing_ok=True)
        server = self._server = grpc.server(ThreadPoolExecutor(_GRPC_THREADS))
        server.add_generic_rpc_handlers((_Handlers(self),))
        server.add_insecure_port(f"unix:{self.socket}")
        server.start()

    def down(self) -> None:
        if self._server is not None:
            self._server.stop(0).wait()
            self._server = None

    def tell(self, topic: str, payload: bytes) -> None:
        """Send an event to whoever follows them."""
        for stream in tuple(self.events):
            stream.put(_envelope(topic, payload))

    def suffer(self, ail: str) -> str:
        make, words = AILS[ail]
        self.ail = make(self.well)
        return words

    def never_stop(self, name: str) -> str:
        self.deaf.add(name)
        return "it took longer than"

    def cannot_start(self, name: str, why: str) -> None:
        def ail(call: Call[Any], asked: Message, context: Any) -> None:
            if call == calls.START and asked.container_id == name:
                self.refused += 1
                context.abort(grpc.StatusCode.INTERNAL, why)

        self.ail = ail

    def babble(self) -> int:
        for topic, payload in MALFORMED:
            self.tell(topic, payload)
        return len(MALFORMED)

    def pour(self, events: str) -> None:
        def poured() -> Iterator[Message]:
            for event in itertools.takewhile(lambda _: not self.well.is_set(), ENDLESS[events]()):
                self.poured.append(event.ByteSize())
                yield event

        self.ail = lambda call, _asked, _context: poured() if call == calls.SUBSCRIBE else None
        self.hang_up_streams()

    def hang_up_streams(self) -> None:
        """End every event stream."""
        for stream in tuple(self.events):
            stream.put(None)

    def followers(self) -> int:
        return len(self.events)

    def heal(self) -> None:
        self.ail = None
        self.deaf.clear()
        self.well.set()

    # Its answers.

    def follow(self, context: Any) -> Iterator[Message]:
        stream: SimpleQueue[Message] = SimpleQueue()
        self.events.append(stream)
        context.add_callback(lambda: stream.put(None))
        while (envelope := stream.get()) is not None:
            yield envelope
        self.events.remove(stream)

    def answer(self, call: Call[Any], asked: Message, context: Any) -> Mapping[str, Any]:
        if call == calls.NAMESPACES:
            return {"namespaces": [{"name": NAMESPACE}]}
        if call == calls.PUBLISH:
            self.tell(asked.topic, asked.event.value)
            return {}
        if call == calls.LIST:
            return {"containers": list(self._records.values())}
        if call == calls.TASKS:
            return {"tasks": [self._process(name) for name in tuple(self._tasks)]}
        if call == calls.MOUNTS:
            return {"mounts": [{"type": "bind", "source": "/"}]}
        return self._about(call, asked, context)

    def _about(self, call: Call[Any], asked: Message, context: Any) -> Mapping[str, Any]:
        """Answer what is asked about one container."""
        name = asked.id if call == calls.GET else asked.container.id if call == calls.UPDATE else asked.container_id
        missing = name not in (self._records if call in (calls.GET, calls.UPDATE, calls.CREATE) else self._tasks)
        if missing:
            context.abort(grpc.StatusCode.NOT_FOUND, f"no {name}")
        if call in (calls.GET, calls.UPDATE):
            return {"container": self._records[name]}
        if call == calls.TASK:
            return {"process": self._process(name)}
        if call == calls.CREATE:
            self._tasks[name] = _Task()
        elif call == calls.START:
            self._begin(name)
        elif call == calls.DELETE:
            del self._tasks[name]
        elif call == calls.KILL:
            self._kill(name)
        elif call == calls.WAIT:
            return self._waited(self._tasks[name], context)
        return {}

    def _process(self, name: str) -> Mapping[str, Any]:
        task = self._tasks[name]
        return {"id": name, "pid": task.pid, "status": task.status, **_end(task)}

    def _begin(self, name: str) -> None:
        self._tasks[name].status = RUNNING
        self.orders.append((name, "start"))
        self.tell("/tasks/start", MESSAGES["Happening"](container_id=name).SerializeToString())

    def _kill(self, name: str) -> None:
        if name not in self.deaf and self.is_running(name):
            self.orders.append((name, "stop"))
            self._end(name, 0)

    def crash(self, name: str) -> None:
        self._end(name, 139)

    def _end(self, name: str, code: int) -> None:
        task = self._tasks[name]
        task.status, task.at, task.code = ENDED, time.time(), code
        ended = MESSAGES["TaskExit"](container_id=name, id=name, pid=task.pid, **_end(task))
        self.tell("/tasks/exit", ended.SerializeToString())
        task.over.set()

    def _waited(self, task: _Task, context: Any) -> Mapping[str, Any]:
        while not task.over.wait(0.1) and context.is_active():
            pass
        return _end(task)


def _end(task: _Task) -> Mapping[str, Any]:
    return {"exit_status": task.code, "exited_at": {"seconds": int(task.at), "nanos": int(task.at % 1 * 1e9)}}


def _envelope(topic: str, payload: bytes) -> Message:
    return MESSAGES["Envelope"](namespace=NAMESPACE, topic=topic, event={"type_url": topic, "value": payload})


def _of_one() -> Iterator[Message]:
    payload = MESSAGES["Happening"](container_id="beside").SerializeToString()
    return itertools.repeat(_envelope("/tasks/start", payload))


def _of_strangers() -> Iterator[Message]:
    for n in itertools.count():
        yield _envelope("/tasks/start", MESSAGES["Happening"](container_id=f"stranger{n}").SerializeToString())


def _large() -> Iterator[Message]:
    return itertools.repeat(_envelope("/nothing/of/ours", b"x" * 2**20))


ENDLESS: Mapping[str, Callable[[], Iterator[Message]]] = {
    "events of one container": _of_one,
    "events of strangers": _of_strangers,
    "large events": _large,
}


class _Handlers(grpc.GenericRpcHandler):  # type: ignore[misc]  # gRPC ships no types.
    def __init__(self, daemon: LivelyContainerd) -> None:
        self._daemon = daemon

    def service(self, handler_call_details: Any) -> Any:
        call = _CALLS.get(handler_call_details.method)
        if call is None:
            return None
        wire = {
            "request_deserializer": MESSAGES[call.question].FromString,
            "response_serializer": lambda m: m if isinstance(m, bytes) else m.SerializeToString(),
        }
        if call == calls.SUBSCRIBE:
            return grpc.unary_stream_rpc_method_handler(self._follow, **wire)
        return grpc.unary_unary_rpc_method_handler(lambda asked, context: self._one(call, asked, context), **wire)

    def _one(self, call: Call[Any], asked: Message, context: Any) -> Message:
        ail = self._daemon.ail
        ill = ail(call, asked, context) if ail is not None else None
        return ill if ill is not None else MESSAGES[call.answer](**self._daemon.answer(call, asked, context))

    def _follow(self, asked: Message, context: Any) -> Iterator[Message]:
        ail = self._daemon.ail
        ill = ail(calls.SUBSCRIBE, asked, context) if ail is not None else None
        yield from ill if ill is not None else self._daemon.follow(context)


def lively_containerd() -> AbstractContextManager[LivelyContainerd]:
    """A daemon that is up."""
    return standing_in(LivelyContainerd)
