"""Pretended containers: a runtime for the demo, for dry runs and for tests, that behaves as Docker does.

`tests/runtimes/sim/by_hand.py` moves them by hand.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

from cmgr import atomic
from cmgr.config.sim import SimContainer
from cmgr.errors import ContainerError, ContainerGone, RunsAgain
from cmgr.model.values.messages import facts
from cmgr.model.values.services.containers import NO_RESTART, Container, ContainerKey, Exit
from cmgr.ports import Halt, RuntimeFact
from cmgr.runtimes.sim import world as sim_world
from cmgr.runtimes.sim.world import KILLED, NAME, TERMINATED, Life, State

Operation = Literal["list", "stop", "start", "set_restart_policy", "inspect", "output"]


class SimRuntime:
    """A world of pretended containers. Any thread may call anything.

    With a `path` the world is kept in that file and outlives the process: what runs there runs, and a description
    counts only for a container that is not there yet.
    """

    name = NAME

    def __init__(self, containers: Sequence[SimContainer] = (), *, path: Path | None = None) -> None:
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._path = path
        self._facts: SimpleQueue[RuntimeFact | None] = SimpleQueue()
        self._teller: threading.Thread | None = None
        self._closed = threading.Event()
        self._failing: dict[tuple[str, str], int] = {}
        self._lives: dict[str, Life] = {}
        self._serial = 0
        self._reopen()
        there = {life.like.name for life in self._lives.values()}
        for like in containers:
            self._failing |= {("stop", like.name): like.fail_stops, ("start", like.name): like.fail_starts}
            if like.name not in there:
                self.create(like)

    # Called by cmgr.

    def list(self) -> tuple[Container, ...]:
        with self._lock:
            self._arrive("list")
            lives = tuple(self._lives.values())
        return tuple(life.container() for life in lives if life.concerns)

    def watch(self, tell: Callable[[RuntimeFact], None]) -> None:
        def deliver() -> None:
            while (fact := self._facts.get()) is not None and not self._closed.is_set():
                tell(fact)

        with self._lock:
            self._teller = threading.Thread(target=deliver, name="sim-events", daemon=True)
            self._say(facts.RuntimeUp(NAME))
            self._teller.start()

    def stop(self, key: ContainerKey, grace: timedelta) -> Halt:
        life = self._asked("stop", key, f"{grace.total_seconds():g} s")
        if not life.running:
            return Halt(life.word, life.exit or Exit(0, datetime.now(UTC), asked=True))
        killed = life.like.stop_time > grace
        with self._lock:
            self._pass(grace if killed else life.like.stop_time, until=lambda: self._over(life))
            now = self._lives.get(key.id)
            if now is not None and now.running and now.run != life.run:
                raise RunsAgain(f"cannot stop container {life.like.name}: it runs again", now.word)
            if now is not None and now.running:
                self._end(now, KILLED if killed else TERMINATED, asked=True)
        return Halt(life.word)

    def start(self, key: ContainerKey, restart_policy: str, *, frozen: bool = False) -> str:
        life = self._asked("start", key, restart_policy)
        with self._lock:
            if not life.running:
                self._pass(life.like.start_time, until=lambda: key.id not in self._lives)
            if key.id not in self._lives:
                raise ContainerGone(f"cannot start container {life.like.name}: it was removed")
            now = self._lives[key.id]
            policy = restart_policy if restart_policy != NO_RESTART else now.restart_policy
            now = replace(now if now.running else now.started(), restart_policy=policy)
            return self._put(replace(now, state=State.PAUSED) if frozen else now).word

    def set_restart_policy(self, key: ContainerKey, restart_policy: str) -> None:
        life = self._asked("set_restart_policy", key, restart_policy)
        with self._lock:
            if key.id in self._lives and life.restart_policy != restart_policy:
                self._put(replace(self._lives[key.id], restart_policy=restart_policy))

    def document(self, key: ContainerKey) -> Mapping[str, object]:
        return sim_world.document(self._asked("inspect", key, ""))

    def output(self, key: ContainerKey, lines: int) -> str:
        life = self._asked("output", key, str(lines))
        return f"{life.like.name} is simulated, and says nothing\n" if lines else ""

    def close(self) -> None:
        with self._lock:
            self._closed.set()
            self._changed.notify_all()
        self._facts.put(None)
        if self._teller is not None and self._teller is not threading.current_thread():
            self._teller.join(1.5)

    def create(self, like: SimContainer, *, auto_remove: bool = False) -> ContainerKey:
        """Somebody creates a container, and starts it when it is to run."""
        with self._lock:
            self._serial += 1
            return self._put(sim_world.created(like, self._serial, auto_remove=auto_remove)).key

    # The world, under the lock.

    def _asked(self, operation: Operation, key: ContainerKey, detail: str) -> Life:
        with self._lock:
            life = self._lives.get(key.id)
            self._arrive(operation, life.like.name if life is not None else key.id, detail)
            if life is None:
                raise ContainerGone(f"cannot {_VERBS[operation]} {key.id}: there is no such container")
            return life

    def _arrive(self, operation: Operation, name: str = "", detail: str = "") -> None:
        """Let a call begin, or fail. `detail`: what it was told besides."""
        for who in {name, ""}:
            left = self._failing.get((operation, who), 0)
            if left:
                self._failing[operation, who] = left - 1 if left > 0 else left
                raise ContainerError(f"cannot {_VERBS[operation]} {name}: its failure is simulated")

    def _pass(self, time: timedelta, until: Callable[[], bool]) -> None:
        self._changed.wait_for(lambda: self._closed.is_set() or until(), time.total_seconds())

    def _over(self, life: Life) -> bool:
        now = self._lives.get(life.id)
        return now is None or not now.running or now.run != life.run

    def _end(self, life: Life, code: int, *, asked: bool | None) -> Life:
        ended = self._put(life.ended(Exit(code, datetime.now(UTC), asked)))
        if ended.auto_remove:
            self._drop(ended)
        return ended

    def _put(self, life: Life) -> Life:
        self._lives[life.id] = life
        self._changed.notify_all()
        self._save()
        if life.concerns:
            self._say(facts.ContainerSeen(life.container()))
        return life

    def _drop(self, life: Life) -> None:
        del self._lives[life.id]
        self._changed.notify_all()
        self._save()
        if life.concerns:
            self._say(facts.ContainerRemoved(life.key))

    def _say(self, fact: RuntimeFact) -> None:
        if self._teller is not None:
            self._facts.put(fact)

    def _reopen(self) -> None:
        if self._path is None or not self._path.exists():
            return
        try:
            lives, self._serial = sim_world.read(self._path.read_text("utf-8"))
        except (OSError, ValueError) as exc:
            hint = f"remove {self._path} to begin again"
            raise ContainerError(f"cannot read the simulated containers in {self._path}", hint=hint) from exc
        self._lives = {life.id: life for life in lives}

    def _save(self) -> None:
        if self._path is None:
            return
        # A pretended world need not outlive the machine.
        with atomic.written(self._path, 0o600, durable=False) as file:
            file.write(sim_world.written(self._lives.values(), self._serial).encode())


_VERBS = {
    "list": "list containers",
    "stop": "stop container",
    "start": "start container",
    "set_restart_policy": "set the restart policy of container",
    "inspect": "inspect container",
    "output": "read the log of container",
}
