"""Pretended containers as values, and as the JSON in which they outlive the process. Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

from cmgr.config.sim import SimContainer
from cmgr.frozen import dataclass
from cmgr.model.values.handling.policy import NO_TIME, Strategy
from cmgr.model.values.services.containers import DEFAULT_GRACE, NO_RESTART, Container, ContainerKey, Exit, Heal
from cmgr.typed import plain, value

NAME = "sim"
KILLED = 137
TERMINATED = 143


@dataclass(frozen=True, slots=True)
class Pretended:
    """A pretended container.

    `claims` as in `Container`. `stop_time`: how long it takes to end when told to; one that `ignores_term` ends only
    by the kill after the grace. `fail_stops`, `fail_starts`: how many fail before one works; -1 is every one.
    """

    name: str
    claims: frozenset[str] = frozenset()
    running: bool = True
    strategy: Strategy | None = None
    order: int = 0
    enabled: bool = True
    restart_policy: str = NO_RESTART
    auto_remove: bool = False
    grace: timedelta = DEFAULT_GRACE
    stop_time: timedelta = NO_TIME
    start_time: timedelta = NO_TIME
    ignores_term: bool = False
    fail_stops: int = 0
    fail_starts: int = 0
    heal: bool = False
    group: str = ""
    group_size: int = 0


class State(StrEnum):
    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    EXITED = "exited"


@dataclass(frozen=True, slots=True)
class Life:
    """A pretended container and where it is. `run` counts its starts. `health` as in `Container`."""

    like: Pretended
    id: str
    restart_policy: str
    state: State = State.CREATED
    run: int = 0
    exit: Exit | None = None
    health: str = ""

    @property
    def running(self) -> bool:
        return self.state in (State.RUNNING, State.PAUSED)

    @property
    def key(self) -> ContainerKey:
        return ContainerKey(NAME, "", self.id)

    @property
    def word(self) -> str:
        """The word for its present or last life."""
        return f"{self.id}/{self.run}" if self.run else ""

    def started(self) -> "Life":
        return replace(self, state=State.RUNNING, run=self.run + 1, exit=None, health="")

    def ended(self, exit_: Exit) -> "Life":
        return replace(self, state=State.EXITED, exit=exit_, health="")

    def comes_back(self) -> bool:
        """Return whether its restart policy starts it at once after a death that nobody asked for."""
        name = self.restart_policy.partition(":")[0]
        return name in ("always", "unless-stopped") or (name == "on-failure" and self.failed)

    @property
    def failed(self) -> bool:
        return self.exit is not None and self.exit.code != 0

    def returns(self) -> bool:
        """Return whether its restart policy starts it with the daemon, though it was down before; as Docker's do."""
        name = self.restart_policy.partition(":")[0]
        return name == "always" or (name == "on-failure" and self.failed)

    def container(self) -> Container:
        like = self.like
        return Container(
            key=self.key,
            name=like.name,
            claims=like.claims,
            running=self.running,
            run=self.word,
            exit=self.exit,
            grace=like.grace,
            strategy=like.strategy,
            order=like.order,
            enabled=like.enabled,
            group=like.group,
            group_size=like.group_size,
            restart_policy=self.restart_policy,
            auto_remove=like.auto_remove,
            heal=Heal() if like.heal else None,
            health=self.health,
            frozen=self.state is State.PAUSED,
        )


def pretended(setting: SimContainer) -> Pretended:
    """Return the container that the configuration describes."""
    return Pretended(
        name=setting.name,
        claims=frozenset({*map(str, setting.chips), *setting.shares}),
        running=setting.running,
        strategy=setting.strategy,
        order=setting.order,
        enabled=setting.enabled,
        restart_policy=setting.restart_policy,
        grace=setting.grace,
        stop_time=setting.stop_time,
        start_time=setting.start_time,
        fail_stops=setting.fail_stops,
        fail_starts=setting.fail_starts,
        heal=setting.heal,
        group=setting.group,
        group_size=setting.group_size,
    )


def created(like: Pretended, serial: int) -> Life:
    """Return a new container; it runs when its description says so."""
    life = Life(like, f"{like.name}.{serial}", like.restart_policy)
    return life.started() if like.running else life


def written(lives: Iterable[Life], serial: int) -> str:
    """Return the world as JSON."""
    return json.dumps({"serial": serial, "containers": [document(life) for life in lives]}, indent=1)


def document(life: Life) -> Mapping[str, object]:
    """Return all that there is to know of it, as `written` words it."""
    found: Mapping[str, object] = plain(life, whole=True)
    return found


def read(text: str) -> tuple[tuple[Life, ...], int]:
    """Return the world that `written` wrote. Raises `ValueError` when this is none."""
    try:
        whole = json.loads(text)
        return tuple(value(Life, _named(item)) for item in whole["containers"]), int(whole["serial"])
    except (LookupError, TypeError, RecursionError) as exc:
        raise ValueError("no pretended containers") from exc


def _named(item: Mapping[str, Any]) -> Mapping[str, Any]:
    # cmgr 0.1 wrote the end of a life as a list.
    end = item["exit"]
    return {**item, "exit": dict(zip(("code", "at", "asked"), end, strict=True))} if isinstance(end, list) else item
