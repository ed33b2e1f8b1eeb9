"""Answers requests over HTTP/1.1, by a table of routes: for the control socket, and for who scrapes metrics."""

import select
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait

from cmgr.config.roles import Role
from cmgr.errors import CmgrError
from cmgr.sentences.sentence import ENGLISH, say, translated
from cmgr.service.door.http.peer_roles import Roles
from cmgr.service.door.http.reception import Guest, Peer, Reception
from cmgr.service.door.http.talk import Asked, Refused, Reply, as_json, refused
from cmgr.service.door.http.turns import Turns
from cmgr.service.door.routes import (
    LINES,
    Found,
    NoPassword,
    Page,
    Request,
    Route,
    Stream,
    Unwell,
    WrongMethod,
    find,
    language_in,
    status_of,
)
from cmgr.service.work.pool import Pool

Report = Callable[[str, BaseException], None]

_NOBODY = refused(408, Refused("nobody waits for the answer", 408))


class Server:
    """Answers whoever comes to a socket that listens, from `start` to `close`.

    `report` is told, on a thread of the server, of each exception that is a bug in an answer. A request must be there
    within `patience` seconds.
    """

    def __init__(self, routes: Sequence[Route], report: Report, patience: float) -> None:
        self.roles = Roles()
        """The roles of those who ask: whoever comes may ask all, unless others are set before `start`."""

        self.wrap: Callable[[socket.socket], socket.socket] = lambda connection: connection
        """`Reception.wrap`, if another is set before `start`."""

        self._routes = routes
        self._report = report
        self._patience = patience
        self._reception: Reception | None = None
        self._turns: Turns[tuple[Guest, Asked]] | None = None
        self._under_way: set[Future[None]] = set()

    def start(self, listening: socket.socket, name: str, threads: int) -> None:
        """Serve there, on at most so many threads beside the one that takes requests in. Does not block."""
        turns = self._turns = Turns(threads, kept=1 if listening.family == socket.AF_UNIX else 0)
        pool = Pool(threads, name, kept=0)

        def take(guest: Guest, asked: Asked) -> None:
            turns.put(guest.peer.whose, (guest, asked))
            try:
                answered = pool.submit(lambda: self._serve(reception, turns))
            except RuntimeError:  # There can be no more threads just now: the others wait, but all are answered.
                self._serve(reception, turns)
                return
            self._under_way.add(answered)
            answered.add_done_callback(self._under_way.discard)

        reception = Reception(
            listening,
            take,
            self._patience,
            name,
            lambda peer: self._role(peer) > Role.NONE,
        )
        reception.wrap = self.wrap
        reception.start()
        self._reception = reception

    def move(self, listening: socket.socket) -> None:
        """Listen there from now on; whoever is connected stays. After `start`. Does not block. Any thread."""
        if self._reception is not None:
            self._reception.move(listening)

    def close(self, seconds: float) -> None:
        """Take no request any more. Blocks up to so many seconds for answers under way. Safe to repeat."""
        reception, turns = self._reception, self._turns
        self._reception = self._turns = None
        if reception is None or turns is None:
            return
        until = time.monotonic() + seconds
        reception.close(seconds)
        turns.close()
        wait([*self._under_way], max(0.0, until - time.monotonic()))

    def followed(self) -> bool:
        """Return whether somebody reads a stream. Any thread."""
        return self._reception is not None and self._reception.streams() > 0

    def tell(self, data: bytes) -> None:
        """Send this to everybody who reads a stream. Does not block. Any thread."""
        if self._reception is not None:
            self._reception.tell(data)

    def _serve(self, reception: Reception, turns: Turns[tuple[Guest, Asked]]) -> None:
        """Answer whoever's turn it is: each request has one thread come, and each takes one of them."""
        item = turns.take()
        if item is None:
            return
        guest, asked = item
        # It may have waited here for long: what nobody waits for any more is not done.
        reply = _NOBODY if _has_left(guest) else self._reply(guest, asked)
        turns.done(guest.peer.whose)
        if reply is None:
            reception.stream(guest, LINES)
        else:
            reception.answer(guest, reply)

    def _reply(self, guest: Guest, asked: Asked) -> Reply | None:
        """Return the answer; None: it is a stream."""
        language = ENGLISH
        try:
            # A role is looked at anew each time: a configuration may have taken it from him.
            role = self._role(guest.peer)
            found = find(self._routes, asked.method, asked.target, asked.body, role)
            language = language_in(found.args)
            return self._answer(guest, asked, found, role)
        except (WrongMethod, NoPassword) as error:
            return refused(status_of(error), error, *error.headers, language=language)
        except CmgrError as error:
            return refused(status_of(error), error, language=language)
        except Exception as error:
            # The thread must outlive a bug in one request, and the peer must hear of it.
            self._report(f"cannot answer {asked.method[:20]} {asked.target[:80]}: please report it", error)
            told = CmgrError(say("error.bug"), hint=say("error.see-journal"))
            return refused(500, told, language=language)

    def _role(self, peer: Peer) -> Role:
        return self.roles.of(peer.uid, peer.groups)

    @staticmethod
    def _answer(guest: Guest, asked: Asked, found: Found, role: Role) -> Reply | None:
        # The tag before the answer: so that an answer is never older than its tag.
        tag = None if found.route.tag is None else f'"{found.route.tag()}"'
        if tag is not None and tag in asked.tags.replace("W/", "").split(", "):
            return Reply(304, b"", headers=(("ETag", tag),))
        peer = guest.peer
        answer = found.route.answer(
            Request(
                found.route.do, found.args, peer.uid, peer.pid, peer.groups, role,
                authorization=asked.authorization, accept=asked.accept, whose=peer.whose,
            )
        )  # fmt: skip
        match answer:
            case Stream():
                return None
            case Page():
                return Reply(200, answer.body, answer.kind or found.route.kind, answer.headers)
            case Unwell():
                return as_json(503, translated(answer.value, language_in(found.args)))
            case _:
                told = translated(answer, language_in(found.args))
                return as_json(200, told, *([("ETag", tag)] if tag is not None else []))


def _has_left(guest: Guest) -> bool:
    """Return whether the peer has closed the connection, and not only said that it sends no more."""
    poll = select.poll()
    poll.register(guest.connection, 0)
    return any(event & select.POLLHUP for _, event in poll.poll(0))
