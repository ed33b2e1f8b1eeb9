"""Asking containers whether they serve: from each start until they answer, and now and then for as long as they run.

And whether they are busy: while a fault that is not urgent waits for that (`model/recovery/vetoes.py`), and else never.
"""

import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from cmgr.config.settings import Config
from cmgr.model.recovery.vetoes import to_ask
from cmgr.model.values.handling.policy import look_again_after
from cmgr.model.values.handling.questions import Question, Way, busy_question
from cmgr.model.values.messages.health_facts import Answered, BusySaid
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import HEALTHY, STARTING, UNHEALTHY, Container, ContainerKey
from cmgr.ports import Runtime
from cmgr.service.part import Part, Step
from cmgr.service.work.pool import Pool

if TYPE_CHECKING:
    from cmgr.service.parts.asking import Reply

SIDE_BY_SIDE = 8
"""So many are asked at the same time: those that let everybody wait keep no more threads than that."""

LEAST = timedelta(seconds=1)
"""A service that starts is asked no more often, nor is one that may be busy."""

COMMANDS = timedelta(minutes=1)
"""Nor is a command run more often than this in a container, however often that begins anew: it is a process each."""

DOUBLED = 6
"""So often that pause is doubled at the most, while the last command may go on: else they would fill the container."""

BACK = 2
"""So many good answers in a row says that one serves again which did not."""


class Life(NamedTuple):
    """A life that is asked something. `since`: it is whether it is busy, for which a reset has waited since then."""

    key: ContainerKey
    run: str
    question: Question
    since: datetime | None = None


class Record:
    """The outcome of one question in one life. `due`: when it is asked next, in seconds of the monotonic clock.

    `left`: so many commands in a row may have been left to go on: of one that serves or starts none are counted.
    `told`: what was told last of whether it is busy.
    """

    def __init__(self, due: float) -> None:
        self.due = due
        self.under_way = False
        self.left = 0
        self.told: BusySaid | None = None
        self._good = self._bad = 0

    def taken(self, reply: "Reply", before: str, failures: int, *, late: bool) -> str:
        """Return whether the container serves, after this reply. `late`: it has had its time since its start."""
        self._good, self._bad = (self._good + 1, 0) if reply.good else (0, self._bad + 1)
        self.left = 0 if reply.ended or before != UNHEALTHY else self.left + 1
        if reply.good:
            return HEALTHY if before != UNHEALTHY or self._good >= BACK else UNHEALTHY
        waits = before == HEALTHY or late
        return UNHEALTHY if waits and self._bad >= failures else before

    def said(self, life: Life, reply: "Reply", failures: int) -> BusySaid | None:
        """Return what is to be told of this reply, if anything: one that is mute is asked so many times."""
        self._bad = self._bad + 1 if reply.mute else 0
        self.left = 0 if reply.ended else self.left + 1
        if reply.mute and self._bad < failures:
            return None
        fact = BusySaid(life.key, life.run, life.question.text, reply.good, reply.words, reply.mute)
        new, self.told = fact != self.told, fact
        return fact if new else None


class Ready(Part):
    """Asks on threads of its own until `close`; `tell` is called when one has answered otherwise than before.

    Nobody is asked, and no thread is made for it, while no container wishes it.
    """

    def __init__(
        self,
        node: Callable[[], Node],
        runtimes: Mapping[str, Runtime],
        tell: Callable[[Answered | BusySaid], None],
        now: Callable[[], datetime],
        config: Config,
    ) -> None:
        self._node, self._runtimes, self._tell, self._now, self._config = node, runtimes, tell, now, config.ready
        self._records: dict[Life, Record] = {}
        self._spared: dict[ContainerKey, float] = {}  # Until when no other command is run in it.
        self._pool = Pool(SIDE_BY_SIDE, "ask")
        self._over, self._wake = False, threading.Event()
        self._thread = threading.Thread(target=self._run, name="ready", daemon=True)

    def observe(self, step: Step) -> None:
        """Look whether there is another life to ask."""
        before, after = step.before, step.after
        waits = after.rings is not before.rings and any(ring.vetoed is not None for ring in after.rings.values())
        if waits or after.containers is not before.containers:
            if self._thread.ident is None and (waits or any(c.ready is not None for c in after.containers.values())):
                self._thread.start()
            self._wake.set()

    def configure(self, config: Config) -> None:
        self._config = config.ready
        self._wake.set()

    def close(self) -> None:
        """Ask nobody any more. Safe to repeat."""
        self._over = True
        self._wake.set()

    def _run(self) -> None:
        while not self._over:
            self._wake.clear()
            self._wake.wait(self.look_round(time.monotonic()))

    def look_round(self, at: float) -> float | None:
        """Have those asked that are due, and return in how many seconds the next one is; None while there is none.

        `at`: seconds of the monotonic clock.
        """
        node = self._node()
        asked = {Life(c.key, c.run, c.ready): c for c in node.containers.values() if c.ready and c.can_answer}
        for container, since in to_ask(node, self._now()).values():
            asked[Life(container.key, container.run, busy_question(container.busy), since)] = container
        for gone in self._records.keys() - asked.keys():
            del self._records[gone]
        self._spared = {key: until for key, until in self._spared.items() if until > at}
        for life, container in asked.items():
            first = self._spared.get(life.key, at) if life.since is None else at
            record = self._records.setdefault(life, Record(first))
            if record.due > at:
                continue
            if life.since is None and life.question.way is Way.COMMAND:
                self._spared[life.key] = at + COMMANDS.total_seconds()
            record.due = at + self._pause(container, life, record).total_seconds()
            if not record.under_way:
                record.under_way = True
                self._pool.submit(lambda c=container, of=life, r=record: self._ask(c, of, r))  # type: ignore[misc]
        return max(0.0, min(record.due for record in self._records.values()) - at) if self._records else None

    def _pause(self, container: Container, life: Life, record: Record) -> timedelta:
        """Return how long it is before it is asked again."""
        if life.since is not None:
            waited = max(self._now() - life.since, timedelta())
            return look_again_after(waited, LEAST, 1) * (1 << min(record.left, DOUBLED))
        pause = self._config.every
        if container.kept.answer == STARTING and container.kept.since is not None:
            waited = max(self._now() - container.kept.since, timedelta())
            pause = min(pause, look_again_after(waited, LEAST, 1))
        if life.question.way is not Way.COMMAND:
            return pause
        return max(pause, COMMANDS) * (1 << min(record.left, DOUBLED))

    def _ask(self, container: Container, life: Life, record: Record) -> None:
        """Ask, and tell what has come of it. On a thread of the pool."""
        from cmgr.service.parts.asking import ask  # With it comes OpenSSL, which most machines never need.

        runtime, seconds = self._runtimes.get(container.key.runtime), self._config.timeout.total_seconds()
        reply = ask(container, life.question, runtime, seconds)
        if life.since is None:
            self._take(container, life.question, record, reply)
        elif (fact := record.said(life, reply, self._config.failures)) is not None:
            self._tell(fact)
        record.under_way = False

    def _take(self, container: Container, question: Question, record: Record, reply: "Reply") -> None:
        """Take in whether it serves."""
        known = self._node().containers.get(container.key, container)
        now = self._now()
        late = now - (known.kept.up or known.kept.since or now) >= self._node().policy.retry.ready
        before = known.kept.answer or STARTING
        answer = record.taken(reply, before, self._config.failures, late=late)
        # With the first good answer of several nothing has changed yet; with a bad one a person sees why it takes long.
        said = known.kept.said if reply.good and answer != HEALTHY else reply.words
        if (answer, said) != (known.kept.answer, known.kept.said):
            self._tell(Answered(container.key, container.run, question, answer, said))
