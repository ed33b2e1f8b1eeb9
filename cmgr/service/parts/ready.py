"""Asking containers whether they serve: from each start until they answer, and now and then for as long as they run."""

import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from cmgr.config.settings import Config
from cmgr.model.values.handling.policy import look_again_after
from cmgr.model.values.handling.questions import Question, Way
from cmgr.model.values.messages.health_facts import Answered
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import HEALTHY, STARTING, UNHEALTHY, Container, ContainerKey
from cmgr.ports import Runtime
from cmgr.service.part import Part, Step
from cmgr.service.parts.asking import Reply, ask
from cmgr.service.work.pool import Pool

SIDE_BY_SIDE = 8
"""So many are asked at the same time: those that let everybody wait keep no more threads than that."""

LEAST = timedelta(seconds=1)
"""A service that starts is asked no more often."""

COMMANDS = timedelta(minutes=1)
"""Nor is a command run more often than this in a container, however often that begins anew: it is a process each."""

DOUBLED = 6
"""So often that pause is doubled at the most, while the last command may go on: else they would fill the container."""

BACK = 2
"""So many good answers in a row says that one serves again which did not."""

Life = tuple[ContainerKey, str, Question]


class Record:
    """The outcome of one question in one life. `due`: when it is asked next, in seconds of the monotonic clock.

    `left`: so many commands in a row may have been left to go on since it counts as one that does not serve.
    """

    def __init__(self, due: float) -> None:
        self.due = due
        self.under_way = False
        self.left = 0
        self._good = self._bad = 0

    def taken(self, reply: Reply, before: str, failures: int, *, late: bool) -> str:
        """Return whether the container serves, after this reply. `late`: it has had its time since its start."""
        self._good, self._bad = (self._good + 1, 0) if reply.good else (0, self._bad + 1)
        self.left = 0 if reply.ended or before != UNHEALTHY else self.left + 1
        if reply.good:
            return HEALTHY if before != UNHEALTHY or self._good >= BACK else UNHEALTHY
        waits = before == HEALTHY or late
        return UNHEALTHY if waits and self._bad >= failures else before


class Ready(Part):
    """Asks on threads of its own until `close`; `tell` is called when one has answered otherwise than before.

    Nobody is asked, and no thread is made for it, while no container wishes it.
    """

    def __init__(
        self,
        node: Callable[[], Node],
        runtimes: Mapping[str, Runtime],
        tell: Callable[[Answered], None],
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
        if step.after.containers is not step.before.containers:
            if self._thread.ident is None and any(c.ready is not None for c in step.after.containers.values()):
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
        asked = {(c.key, c.run, c.ready): c for c in self._node().containers.values() if c.ready and _is_asked(c)}
        for gone in self._records.keys() - asked.keys():
            del self._records[gone]
        self._spared = {key: until for key, until in self._spared.items() if until > at}
        for life, container in asked.items():
            record = self._records.setdefault(life, Record(self._spared.get(life[0], at)))
            if record.due > at:
                continue
            if life[2].way is Way.COMMAND:
                self._spared[life[0]] = at + COMMANDS.total_seconds()
            record.due = at + self._pause(container, record).total_seconds()
            if not record.under_way:
                record.under_way = True
                self._pool.submit(lambda c=container, r=record: self._ask(c, r))  # type: ignore[misc]
        return max(0.0, min(record.due for record in self._records.values()) - at) if self._records else None

    def _pause(self, container: Container, record: Record) -> timedelta:
        """Return how long it is before it is asked again."""
        pause = self._config.every
        if container.answer == STARTING and container.since is not None:
            waited = max(self._now() - container.since, timedelta())
            pause = min(pause, look_again_after(waited, LEAST, 1))
        if container.ready is None or container.ready.way is not Way.COMMAND:
            return pause
        return max(pause, COMMANDS) * (1 << min(record.left, DOUBLED))

    def _ask(self, container: Container, record: Record) -> None:
        """Ask, and tell what has come of it. On a thread of the pool."""
        question = container.ready
        assert question is not None
        reply = ask(
            container, question, self._runtimes.get(container.key.runtime), self._config.timeout.total_seconds()
        )
        known = self._node().containers.get(container.key, container)
        now = self._now()
        late = now - (known.up or known.since or now) >= self._node().policy.retry.ready
        before = known.answer or STARTING
        answer = record.taken(reply, before, self._config.failures, late=late)
        record.under_way = False
        # With the first good answer of several nothing has changed yet; with a bad one a person sees why it takes long.
        said = known.said if reply.good and answer != HEALTHY else reply.words
        if (answer, said) != (known.answer, known.said):
            self._tell(Answered(container.key, container.run, question, answer, said))


def _is_asked(container: Container) -> bool:
    """Return whether it can answer: one that is paused cannot, nor one between two lives of it."""
    return container.running and not (container.frozen or container.restarting or container.starting)
