"""Calls to containerd that end in time and raise only cmgr's errors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Generic

import grpc

from cmgr import listener
from cmgr.errors import ContainerError, RuntimeAils, RuntimeDown, system_words
from cmgr.frozen import dataclass
from cmgr.runtimes import following
from cmgr.runtimes.containerd.messages import CONTENT, MESSAGES, SUBSCRIBE, Answer, Call, Stream
from cmgr.runtimes.following import Broken

_OPTIONS = (
    ("grpc.max_receive_message_length", 64 * 2**20),  # The default of 4 MB is too little: specs add up.
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # A runtime that is opened anew must not inherit the old one's wait.
    ("grpc.use_local_subchannel_pool", 1),
)

LONGEST = 8 << 20
"""Manifests and configurations of images are much smaller than so many bytes: 4 MiB is what registries take."""


class Missing(ContainerError):
    """containerd knows no such container, task or process."""


class Exists(ContainerError):
    """There is a task already."""


class TimedOut(RuntimeAils):
    """No answer came in time: whether the order was carried out is not known."""


@dataclass(frozen=True, slots=True)
class Limits(following.Limits):
    """How many seconds each thing may take.

    `delete`: one that is cut short leaves a task that is neither there nor gone (trap 1 in `start.py`), so it
    goes on when nobody waits any more; `delete_wait` is how long a start waits for it. `settle`: a pass of the restart
    monitor that read the label before it went may start the container once more within this time. `pulse`: how often
    a stream that says nothing is checked; `echo`: how long the answer may take. `mute`: how long a list waits for
    a shim.
    """

    kill: float = 5.0
    after_kill: float = 15.0
    settle: float = 1.0
    create: float = 30.0
    start: float = 55.0
    delete: float = 120.0
    delete_wait: float = 20.0
    leftover: float = 6.0
    pulse: float = 20.0
    echo: float = 10.0
    mute: float = 0.5

    # Not `delete`, which cut short wedges its container, nor what the restart monitor sets.
    IN_PROPORTION: ClassVar = (
        *("look", "list", "kill", "after_kill", "create", "start", "delete_wait", "leftover", "pulse", "echo", "mute"),
    )


class Pending(Generic[Answer]):
    """A call under way. It ends by itself; `cancel` it when nobody wants the answer."""

    def __init__(self, future: Any, what: str, seconds: float) -> None:
        self._future = future
        self._what = what
        self._seconds = seconds

    def result(self, seconds: float) -> Answer:
        """Return the answer. Raises `TimedOut` when it takes longer than this; the call goes on then."""
        try:
            with translated(self._what, self._seconds):
                answer: Answer = self._future.result(timeout=max(seconds, 0.0))
                return answer
        except grpc.FutureTimeoutError:
            raise TimedOut(f"cannot {self._what}: it took longer than {seconds:.1f} s") from None

    def over(self) -> bool:
        """Return whether it has ended, in whatever way."""
        return bool(self._future.done())

    def cancel(self) -> None:
        self._future.cancel()


class Wire:
    """The connection to one containerd; made anew by itself when it breaks. Any thread."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._channel = grpc.insecure_channel(f"unix:{address}", options=_OPTIONS)

    def reach(self, what: str) -> None:
        """Make sure that somebody answers, before an order is given. Raises `RuntimeDown`: "cannot `what`: …".

        gRPC does not tell whether a call that broke had been sent. So this decides: what fails after it may have been
        carried out.
        """
        try:
            listener.reached(self.address, 2.0).close()
        except OSError as exc:
            hint = "see `systemctl status containerd`, and [containerd] address in the configuration"
            reason = system_words(exc)
            raise RuntimeDown(f"cannot {what}: nothing answers at {self.address}: {reason}", hint=hint) from None

    def call(self, call: Call[Answer], what: str, namespace: str, seconds: float, **fields: object) -> Answer:
        """Ask, and return the answer. Raises `Missing`, `Exists`, `TimedOut`, `Broken`, `ContainerError`."""
        with translated(what, seconds):
            answer: Answer = self._method(call)(
                MESSAGES[call.question](**fields),
                timeout=max(seconds, 0.001),
                metadata=_metadata(namespace),
                wait_for_ready=True,
            )
            return answer

    def begin(
        self, call: Call[Answer], what: str, namespace: str, seconds: float | None, **fields: object
    ) -> Pending[Answer]:
        """Ask, and return at once. Without `seconds` there is no limit."""
        with translated(what, seconds or 0):
            future = self._method(call).future(
                MESSAGES[call.question](**fields),
                timeout=seconds,
                metadata=_metadata(namespace),
                wait_for_ready=True,
            )
        return Pending(future, what, seconds or 0)

    def subscribe(self, filters: tuple[str, ...]) -> Stream:
        """Open the stream of events that match one of the filters. It is read under `translated`."""
        open_ = self._channel.unary_stream(
            SUBSCRIBE.path,
            request_serializer=MESSAGES[SUBSCRIBE.question].SerializeToString,
            response_deserializer=MESSAGES[SUBSCRIBE.answer].FromString,
        )
        stream: Stream = open_(MESSAGES[SUBSCRIBE.question](filters=filters), wait_for_ready=True)
        return stream

    def blob(self, digest: str, what: str, namespace: str, seconds: float) -> bytes:
        """Return a blob of the content store. Raises as `call`; `ContainerError` also for one that is too long."""
        ask = self._channel.unary_stream(
            CONTENT.path,
            request_serializer=MESSAGES[CONTENT.question].SerializeToString,
            response_deserializer=MESSAGES[CONTENT.answer].FromString,
        )
        found = bytearray()
        with translated(what, seconds):
            parts = ask(
                MESSAGES[CONTENT.question](digest=digest),
                timeout=max(seconds, 0.001),
                metadata=_metadata(namespace),
                wait_for_ready=True,
            )
            for part in parts:
                found += part.data
                if len(found) > LONGEST:
                    parts.cancel()
                    raise ContainerError(f"cannot {what}: {digest[:80]} is longer than {LONGEST >> 20} MiB")
        return bytes(found)

    def _method(self, call: Call[Answer]) -> Any:
        return self._channel.unary_unary(
            call.path,
            request_serializer=MESSAGES[call.question].SerializeToString,
            response_deserializer=MESSAGES[call.answer].FromString,
        )

    def close(self) -> None:
        self._channel.close()


def _metadata(namespace: str) -> tuple[tuple[str, str], ...]:
    return (("containerd-namespace", namespace),) if namespace else ()


_KINDS: Mapping[object, type[ContainerError]] = {
    grpc.StatusCode.NOT_FOUND: Missing,
    grpc.StatusCode.ALREADY_EXISTS: Exists,
    grpc.StatusCode.DEADLINE_EXCEEDED: TimedOut,
    grpc.StatusCode.UNAVAILABLE: Broken,
    grpc.StatusCode.CANCELLED: Broken,
}


@contextmanager
def translated(what: str, seconds: float) -> Iterator[None]:
    """Turn what gRPC raises into cmgr's errors: "cannot `what`: …"."""
    try:
        yield
    except grpc.RpcError as exc:
        code, said = exc.code(), " ".join(str(exc.details()).split())[:500]
        # The server's own timer can win the race against ours, and it has no code for it.
        late = code is grpc.StatusCode.UNKNOWN and "context deadline exceeded" in said
        kind = TimedOut if late else _KINDS.get(code, ContainerError)
        if kind is TimedOut:
            said = f"containerd did not answer within {round(seconds, 1):g} s"
        elif kind is Broken:
            said = "the connection to containerd broke"
        elif code is grpc.StatusCode.INTERNAL and said.startswith("Exception deserializing"):
            # grpc's own words, and all that it says.
            said = "containerd's answer cannot be read"
        raise kind(f"cannot {what}: {said}") from None
    except (ValueError, grpc.FutureCancelledError):
        # grpc raises this when the channel was closed: for a new call, and for one under way.
        raise Broken(f"cannot {what}: the connection to containerd was closed") from None
