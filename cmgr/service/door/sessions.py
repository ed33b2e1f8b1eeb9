"""Tickets and sessions: who may order through the page. The service gives them out, and nobody else can.

A person whom the control socket answers is given a ticket; it works once, for two minutes, and opens a session of that
person. Both are random texts of which only the BLAKE2 digest is kept, in memory: all of them end with the service.
"""

import os
import threading
import time
from _blake2 import blake2b  # hashlib's own: with hashlib comes OpenSSL, 4 MB of the service for good.
from collections.abc import Callable

from cmgr.config.roles import Role
from cmgr.errors import NotIn, TooMany
from cmgr.frozen import dataclass, replace
from cmgr.sentences.sentence import say

TICKET_SECONDS = 120.0
SESSION_SECONDS = 12 * 3600.0
IDLE_SECONDS = 3600.0
"""A session ends after so long without a request."""

MOST = 32
"""Tickets, and sessions: then the oldest goes."""

ORDERS = 60
"""Orders of one session within a minute; more are refused."""

_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Session:
    """A person at a page. Times are the monotonic clock's."""

    uid: int
    role: Role
    ends: float
    seen: float
    orders: tuple[float, ...] = ()

    def over(self, now: float) -> bool:
        return now >= self.ends or now >= self.seen + IDLE_SECONDS


class Sessions:
    """Any thread. Each raises `NotIn` or `TooMany`. `role_of`: what this user may do now."""

    def __init__(self, role_of: Callable[[int], Role], clock: Callable[[], float] = time.monotonic) -> None:
        self._role_of = role_of
        self._clock = clock
        self._lock = threading.Lock()
        self._tickets: dict[str, tuple[int, Role, float]] = {}
        self._sessions: dict[str, Session] = {}

    def ticket(self, uid: int, role: Role) -> str:
        """Return a ticket for this person, who has this role and gets no other by it."""
        text = os.urandom(32).hex()
        with self._lock:
            self._tickets[_digest(text)] = (uid, role, self._clock() + TICKET_SECONDS)
            _keep(self._tickets)
        return text

    def enter(self, ticket: str) -> tuple[str, Session]:
        """Return the secret of a session of the ticket's person. The ticket is worth nothing afterwards."""
        with self._lock:
            now = self._clock()
            uid, role, until = self._tickets.pop(_digest(ticket), (-1, Role.NONE, now))
            if now >= until or not (role := min(role, self._role_of(uid))):
                raise NotIn(say("error.link-is-old"), hint=say("error.type-web"))
            secret = os.urandom(32).hex()
            session = Session(uid, role, now + SESSION_SECONDS, now)
            self._sessions[_digest(secret)] = session
            _keep(self._sessions)
            return secret, session

    def seen(self, secret: str) -> Session:
        """Return the session, which was used just now, with what its person may do now."""
        with self._lock:
            return self._known(secret)

    def ordering(self, secret: str) -> Session:
        """Return the same for an order; its person must not order too often."""
        with self._lock:
            session = self._known(secret)
            now = self._clock()
            orders = _recent(session.orders, now)
            if len(orders) >= ORDERS:
                raise TooMany(say("error.too-many-orders"), hint=say("error.wait-a-minute"))
            session = self._sessions[_digest(secret)] = replace(session, orders=(*orders, now))
            return session

    def leave(self, secret: str) -> None:
        """End a session, if it is one."""
        with self._lock:
            self._sessions.pop(_digest(secret), None)

    def end(self) -> int:
        """End all of them, and every ticket. Return how many sessions there were."""
        with self._lock:
            count = len(self._sessions)
            self._tickets.clear()
            self._sessions.clear()
            return count

    def left(self, session: Session) -> float:
        """Return for how many seconds the session lasts at most."""
        return max(0.0, session.ends - self._clock())

    def _known(self, secret: str) -> Session:
        digest, now = _digest(secret), self._clock()
        session = self._sessions.get(digest)
        if session is None or session.over(now):
            self._sessions.pop(digest, None)
            raise NotIn(say("error.session-over"), hint=say("error.type-web"))
        role = min(session.role, self._role_of(session.uid))
        if not role:
            del self._sessions[digest]
            raise NotIn(say("error.no-role-any-more"), hint=say("error.join-then-web"))
        self._sessions[digest] = replace(session, role=role, seen=now)
        return self._sessions[digest]


def _digest(text: str) -> str:
    # Looked up by its digest: the time that takes says nothing about the text.
    return blake2b(text.encode(errors="surrogatepass")).hexdigest()


def _recent(moments: tuple[float, ...], now: float) -> tuple[float, ...]:
    return tuple(moment for moment in moments if moment > now - _MINUTE)


def _keep(known: dict[str, tuple[int, Role, float]] | dict[str, Session]) -> None:
    while len(known) > MOST:
        del known[next(iter(known))]
