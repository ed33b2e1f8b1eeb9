"""Pretended containers that a test moves, as people, the kernel and a daemon that restarts move real ones."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from cmgr.config.sim import SimContainer
from cmgr.errors import ContainerError, ContainerGone, RuntimeDown
from cmgr.frozen import dataclass
from cmgr.model.values.handling.policy import NO_TIME
from cmgr.model.values.messages import facts
from cmgr.model.values.services.containers import Container
from cmgr.runtimes.sim.runtime import Operation, SimRuntime
from cmgr.runtimes.sim.world import KILLED, NAME, TERMINATED, Life, State


@dataclass(frozen=True, slots=True)
class Call:
    """A call by cmgr: the operation, its container, and when on the monotonic clock."""

    operation: Operation
    name: str = ""
    detail: str = ""
    at: float = 0.0


def pretended(name: str, *claims: str, **settings: Any) -> SimContainer:
    """Return a container that claims this, chips or shares or all, and starts and stops at once."""
    return SimContainer(name, **{"shares": claims, "start_time": NO_TIME, "stop_time": NO_TIME, **settings})


def _comes_back(life: Life) -> bool:
    """Return whether its restart policy starts it at once after a death that nobody asked for."""
    return life.restart_policy.partition(":")[0] in ("always", "unless-stopped", *_if_failed(life))


def _returns(life: Life) -> bool:
    """Return whether its restart policy starts it with the daemon, though it was down before; as Docker's do."""
    return life.restart_policy.partition(":")[0] in ("always", *_if_failed(life))


def _if_failed(life: Life) -> tuple[str, ...]:
    return ("on-failure",) if life.exit is not None and life.exit.code != 0 else ()


class RuntimeByHand(SimRuntime):
    """Any thread may call anything."""

    def __init__(self, containers: Sequence[SimContainer] = (), *, path: Path | None = None) -> None:
        super().__init__(containers, path=path)
        self._why_down = ""
        self._calls = list[Call]()

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls by cmgr, the newest last."""
        return tuple(self._calls)

    def container(self, name: str) -> Container:
        """Return the container as it is, behind the back of the call log and of pretended failures."""
        with self._lock:
            return self._named(name).container()

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

    def kill(self, name: str, code: int = KILLED) -> None:
        """It dies by itself; its restart policy may start it again at once."""
        with self._lock:
            ended = self._end(self._named(name), code, asked=False)
            if _comes_back(ended) and ended.id in self._lives:
                self._put(ended.started())

    def remove(self, name: str) -> None:
        with self._lock:
            self._drop(self._named(name))

    def fail_next(self, operation: Operation, times: int = 1, name: str = "") -> None:
        """Let the next calls fail: of the container so named, or of any. -1 is every one."""
        with self._lock:
            self._failing[operation, name] = times

    def set_down(self, why: str = "it is pretended to be down") -> None:
        """The daemon goes away. Its containers run on until it comes back."""
        with self._lock:
            self._why_down = why
            self._say(facts.RuntimeDown(NAME, why))

    def set_up(self, *, restarted: bool = True) -> None:
        """The daemon comes back; as a new one it has ended its containers, and does what restart policies say."""
        with self._lock:
            self._why_down = ""
            self._say(facts.RuntimeUp(NAME, restarted=restarted))
            for life in tuple(self._lives.values()) if restarted else ():
                returns = _returns(life) or (life.running and bool(life.restart_policy))
                ended = self._end(life, TERMINATED, asked=None) if life.running else life
                if returns and ended.id in self._lives:
                    self._put(ended.started())

    def _named(self, name: str) -> Life:
        for life in self._lives.values():
            if life.like.name == name:
                return life
        raise ContainerGone(f"there is no container {name}")

    def _arrive(self, operation: Operation, name: str = "", detail: str = "") -> None:
        self._calls.append(Call(operation, name, detail, time.monotonic()))
        if self._why_down:
            raise RuntimeDown(f"cannot {operation} {name}: {self._why_down}")
        super()._arrive(operation, name, detail)

    def _pass(self, time: timedelta, until: Callable[[], bool]) -> None:
        super()._pass(time, until)
        if self._why_down:
            raise ContainerError(f"cannot go on: {self._why_down}")
