"""Pretended containers: a runtime for the demo, for dry runs and for tests, that behaves as Docker does."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

from cmgr import atomic
from cmgr.errors import ContainerError, ContainerGone, RunsAgain, RuntimeDown
from cmgr.frozen import dataclass
from cmgr.model.values.chips import ALL_CHIPS
from cmgr.model.values.messages import facts
from cmgr.model.values.services.containers import NO_RESTART, Container, ContainerKey, Exit
from cmgr.ports import Halt, RuntimeFact
from cmgr.runtimes.sim import world as sim_world
from cmgr.runtimes.sim.world import ANY_FAULT, KILLED, NAME, TERMINATED, Life, Pretended, State

Operation = Literal["list", "stop", "start", "set_restart_policy", "inspect", "output"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call by cmgr: the operation, its container, and when on the monotonic clock."""

    operation: Operation
    name: str = ""
    detail: str = ""
    at: float = 0.0


class SimRuntime:
    """A world of pretended containers. Any thread may call anything.

    With a `path` the world is kept in that file and outlives the process: what runs there runs, and a description
    counts only for a container that is not there yet.
    """

    name = NAME

    def __init__(self, containers: Sequence[Pretended] = (), *, path: Path | None = None) -> None:
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._path = path
        self._facts: SimpleQueue[RuntimeFact | None] = SimpleQueue()
        self._teller: threading.Thread | None = None
        self._closed = threading.Event()
        self._why_down = ""
        self._calls: deque[Call] = deque(maxlen=10_000)
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
        return tuple(life.container() for life in lives if life.like.claims)

    def watch(self, tell: Callable[[RuntimeFact], None]) -> None:
        def deliver() -> None:
            while (fact := self._facts.get()) is not None and not self._closed.is_set():
                tell(fact)

        with self._lock:
            self._teller = threading.Thread(target=deliver, name="sim-events", daemon=True)
            down = facts.RuntimeDown(NAME, self._why_down)
            self._say(down if self._why_down else facts.RuntimeUp(NAME))
            self._teller.start()

    def stop(self, key: ContainerKey, grace: timedelta) -> Halt:
        life = self._asked("stop", key, f"{grace.total_seconds():g} s")
        if not life.running:
            return Halt(life.word, life.exit or Exit(0, datetime.now(UTC), asked=True))
        killed = life.like.ignores_term or life.like.stop_time > grace
        with self._lock:
            self._pass(grace if killed else life.like.stop_time, until=lambda: self._over(life))
            self._still_up("stop", life)
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
            self._still_up("start", life)
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
        return f"{life.like.name} is pretended, and says nothing\n" if lines else ""

    def close(self) -> None:
        with self._lock:
            self._closed.set()
            self._changed.notify_all()
        self._facts.put(None)
        if self._teller is not None and self._teller is not threading.current_thread():
            self._teller.join(1.5)

    # Containers as they act without cmgr.

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls by cmgr, the newest last."""
        return tuple(self._calls)

    def container(self, name: str) -> Container:
        """Return the container as it is, behind the back of the call log and of pretended failures."""
        with self._lock:
            return self._named(name).container()

    def create(self, like: Pretended) -> ContainerKey:
        """Somebody creates a container, and starts it when it is to run."""
        with self._lock:
            self._serial += 1
            return self._put(sim_world.created(like, self._serial)).key

    def start_by_hand(self, name: str) -> None:
        with self._lock:
            self._put(self._named(name).started())

    def stop_by_hand(self, name: str, code: int = TERMINATED) -> None:
        with self._lock:
            self._end(self._named(name), code, asked=True)

    def pause_by_hand(self, name: str) -> None:
        with self._lock:
            self._put(replace(self._named(name), state=State.PAUSED))

    def resume_by_hand(self, name: str) -> None:
        with self._lock:
            self._put(replace(self._named(name), state=State.RUNNING))

    def set_health(self, name: str, health: str) -> None:
        """Its own check says something else, as in `Container.health`."""
        with self._lock:
            self._put(replace(self._named(name), health=health))

    def kill(self, name: str, code: int = KILLED) -> None:
        """It dies by itself; its restart policy may start it again at once."""
        with self._lock:
            ended = self._end(self._named(name), code, asked=False)
            if ended.comes_back() and ended.id in self._lives:
                self._put(ended.started())

    def remove(self, name: str) -> None:
        with self._lock:
            self._drop(self._named(name))

    def chip_faulted(self, chip: int, code: str) -> None:
        """A chip has a fault: the containers on it that do not bear that die."""
        with self._lock:
            for life in tuple(self._lives.values()):
                hit = life.like.claims & {str(chip), ALL_CHIPS} and life.like.crashes_on & {code, ANY_FAULT}
                if life.running and hit:
                    self.kill(life.like.name, 1)

    def fail_next(self, operation: Operation, times: int = 1, name: str = "") -> None:
        """Let the next calls fail: of the container so named, or of any. -1 is every one."""
        with self._lock:
            self._failing[operation, name] = times

    def set_down(self, why: str = "it is pretended to be down") -> None:
        """The daemon goes away. Its containers run on until it comes back."""
        with self._lock:
            self._why_down = why
            self._changed.notify_all()
            self._say(facts.RuntimeDown(NAME, why))

    def set_up(self, *, restarted: bool = True) -> None:
        """The daemon comes back; as a new one it has ended its containers, and does what restart policies say."""
        with self._lock:
            self._why_down = ""
            self._say(facts.RuntimeUp(NAME, restarted=restarted))
            for life in tuple(self._lives.values()) if restarted else ():
                returns = life.returns() or (life.running and bool(life.restart_policy))
                ended = self._end(life, TERMINATED, asked=None) if life.running else life
                if returns and ended.id in self._lives:
                    self._put(ended.started())

    # The world, under the lock.

    def _asked(self, operation: Operation, key: ContainerKey, detail: str) -> Life:
        with self._lock:
            life = self._lives.get(key.id)
            self._arrive(operation, life.like.name if life is not None else key.id, detail)
            if life is None:
                raise ContainerGone(f"cannot {_VERBS[operation]} {key.id}: there is no such container")
            return life

    def _arrive(self, operation: Operation, name: str = "", detail: str = "") -> None:
        self._calls.append(Call(operation, name, detail, time.monotonic()))
        what = f"cannot {_VERBS[operation]} {name}".rstrip()
        if self._why_down:
            raise RuntimeDown(f"{what}: {self._why_down}")
        for who in {name, ""}:
            left = self._failing.get((operation, who), 0)
            if left:
                self._failing[operation, who] = left - 1 if left > 0 else left
                raise ContainerError(f"{what}: it is pretended to fail")

    def _still_up(self, operation: Operation, life: Life) -> None:
        if self._why_down:
            raise ContainerError(f"cannot {_VERBS[operation]} {life.like.name}: {self._why_down}")

    def _pass(self, time: timedelta, until: Callable[[], bool]) -> None:
        self._changed.wait_for(lambda: self._closed.is_set() or until(), time.total_seconds())

    def _over(self, life: Life) -> bool:
        now = self._lives.get(life.id)
        return now is None or not now.running or now.run != life.run

    def _named(self, name: str) -> Life:
        for life in self._lives.values():
            if life.like.name == name:
                return life
        raise ContainerGone(f"there is no container {name}")

    def _end(self, life: Life, code: int, *, asked: bool | None) -> Life:
        ended = self._put(life.ended(Exit(code, datetime.now(UTC), asked)))
        if ended.like.auto_remove:
            self._drop(ended)
        return ended

    def _put(self, life: Life) -> Life:
        self._lives[life.id] = life
        self._changed.notify_all()
        self._save()
        if life.like.claims:
            self._say(facts.ContainerSeen(life.container()))
        return life

    def _drop(self, life: Life) -> None:
        del self._lives[life.id]
        self._changed.notify_all()
        self._save()
        if life.like.claims:
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
            hint = f"remove {self._path} to begin anew"
            raise ContainerError(f"cannot read the pretended containers in {self._path}", hint=hint) from exc
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
