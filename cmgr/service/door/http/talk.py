"""One connection's side of HTTP/1.1: bytes in, requests out; answers in, bytes out. No socket is touched here.

h11 takes the bytes apart and watches over their order. Here stand the limits that it leaves to whoever uses it.
"""

import json
import time
from collections.abc import Mapping
from http import HTTPStatus

import h11

from cmgr.errors import CmgrError
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import ENGLISH
from cmgr.service.door.routes import JSON, refusal

HEAD_LIMIT = 16 * 1024
BODY_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that is whole. `tags`: which answer it has already; the others: the headers of their names."""

    method: str
    target: str
    body: bytes
    tags: str
    authorization: str = ""
    accept: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is to be sent."""

    status: int
    body: bytes
    kind: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


class Refused(CmgrError):
    """No request, or none that is read to its end. `status` is what the peer is told."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(f"cannot read the request: {message}")
        self.status = status


class Talk:
    """One thread at a time."""

    def __init__(self) -> None:
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_LIMIT)
        self._head: h11.Request | None = None
        self._body = bytearray()
        self._heard = False
        self.unsent = b""
        """The line to be sent before the answer: that the peer can go on."""

    def take(self, piece: bytes) -> Asked | None:
        """Return the next request if it is whole with this piece. Empty: the peer sends no more. Raises `Refused`."""
        if piece:
            self._heard = True
        self._http.receive_data(piece)
        return self.next()

    def next(self) -> Asked | None:
        """Return the next request if all of it was taken already. Raises `Refused`."""
        try:
            return self._next()
        except h11.RemoteProtocolError as error:
            # h11 says which status fits: 400 for most, 431 for a head that is too long.
            why = "its head is too long" if error.error_status_hint == 431 else "this is no HTTP/1.1"
            raise Refused(why, error.error_status_hint) from error

    def _next(self) -> Asked | None:
        while True:
            event = self._http.next_event()
            match event:
                case h11.Request():
                    self._begin(event)
                case h11.Data():
                    self._body += event.data
                    self._refuse_long(len(self._body))
                case h11.EndOfMessage() if self._head is not None:
                    return self._asked(self._head)
                case _:
                    if self._http.they_are_waiting_for_100_continue:
                        going_on = h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")
                        self.unsent += self._http.send(going_on) or b""
                    return None

    def _begin(self, head: h11.Request) -> None:
        self._head = head
        self._body.clear()
        for name, value in head.headers:
            if name == b"content-length":
                self._refuse_long(int(value))
            elif name == b"transfer-encoding":
                # A body of chunks of one byte each costs a hundred times what it weighs.
                raise Refused("its body comes in chunks, without a Content-Length", 411)

    @staticmethod
    def _refuse_long(length: int) -> None:
        if length > BODY_LIMIT:
            raise Refused(f"its body is longer than {BODY_LIMIT} bytes", 413)

    def _asked(self, head: h11.Request) -> Asked:
        target, body = head.target.decode("latin-1"), bytes(self._body)
        names = (b"if-none-match", b"authorization", b"accept")
        return Asked(head.method.decode(), target, body, *(_header(head, name) for name in names))

    @property
    def idle(self) -> bool:
        """Whether the peer has said nothing since its last request was answered."""
        return not self._heard

    @property
    def over(self) -> bool:
        """Whether nothing can follow the answer that was given."""
        return self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE

    @property
    def left(self) -> bool:
        """Whether the peer has said that it sends no more, and has no request under way."""
        return self._http.their_state is h11.CLOSED

    def again(self) -> None:
        """Be ready for the next request of the same connection."""
        self._http.start_next_cycle()
        self._heard = bool(self._http.trailing_data[0])

    def answer(self, reply: Reply, *, last: bool = False) -> bytes:
        """Return this answer's bytes. `last`: the connection ends with it."""
        about = [("Content-Type", reply.kind), ("Content-Length", str(len(reply.body)))] if reply.status != 304 else []
        headers = [("Date", _now()), *about, *reply.headers, *([("Connection", "close")] if last else [])]
        head = self._head_of(reply.status, headers)
        bare = reply.status == 304 or (self._head is not None and self._head.method == b"HEAD")
        body = b"" if bare or not reply.body else self._http.send(h11.Data(data=reply.body)) or b""
        return head + body + (self._http.send(h11.EndOfMessage()) or b"")

    def stream(self, kind: str) -> bytes:
        """Return the beginning of an answer without an end."""
        headers = [("Date", _now()), ("Content-Type", kind), ("Cache-Control", "no-store"), ("Connection", "close")]
        return self._head_of(200, headers)

    def _head_of(self, status: int, headers: list[tuple[str, str]]) -> bytes:
        reason = HTTPStatus(status).phrase.encode()
        return self._http.send(h11.Response(status_code=status, headers=headers, reason=reason)) or b""

    def more(self, data: bytes) -> bytes:
        """Return the bytes that go on with it."""
        return self._http.send(h11.Data(data=data)) or b""

    def end(self) -> bytes:
        """Return the bytes that end it."""
        return self._http.send(h11.EndOfMessage()) or b""


def as_json(status: int, value: Mapping[str, object], *headers: tuple[str, str]) -> Reply:
    return Reply(status, json.dumps(value, separators=(",", ":")).encode() + b"\n", headers=headers)


def _header(head: h11.Request, wanted: bytes) -> str:
    return b", ".join(value for name, value in head.headers if name == wanted).decode("latin-1")


def refused(status: int, error: CmgrError, *headers: tuple[str, str], language: str = ENGLISH) -> Reply:
    return as_json(status, refusal(error, language), *headers)


def _now() -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
