"""Pretended containers as values, and as the JSON in which they outlive the process. Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from cmgr.config.sim import SimContainer
from cmgr.frozen import dataclass
from cmgr.model.values.services.containers import Container, ContainerKey, Exit, Heal
from cmgr.typed import plain, value
from cmgr.words import json_of

NAME = "sim"
KILLED = 137
TERMINATED = 143


class State(StrEnum):
    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    EXITED = "exited"


@dataclass(frozen=True, slots=True)
class Life:
    """A pretended container and where it is. `run` counts its starts. `health`, `auto_remove` as in `Container`."""

    like: SimContainer
    id: str
    restart_policy: str
    state: State = State.CREATED
    run: int = 0
    exit: Exit | None = None
    health: str = ""
    auto_remove: bool = False

    @property
    def claims(self) -> frozenset[str]:
        return frozenset({*map(str, self.like.chips), *self.like.shares})

    @property
    def concerns(self) -> bool:
        """Return whether it has chips, or wishes something of cmgr."""
        return bool(self.claims or self.like.heal or self.like.group)

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

    def container(self) -> Container:
        like = self.like
        return Container(
            key=self.key,
            name=like.name,
            claims=self.claims,
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
            auto_remove=self.auto_remove,
            heal=Heal() if like.heal else None,
            health=self.health,
            frozen=self.state is State.PAUSED,
        )


def created(like: SimContainer, serial: int, *, auto_remove: bool = False) -> Life:
    """Return a new container; it runs when its description says so."""
    life = Life(like, f"{like.name}.{serial}", like.restart_policy, auto_remove=auto_remove)
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
        whole = json_of(text)
        return tuple(value(Life, _named(item)) for item in whole["containers"]), int(whole["serial"])
    except (LookupError, TypeError) as exc:
        raise ValueError("no simulated containers") from exc


def _named(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what cmgr 0.1 wrote, the end of a life as a list, and chips and shares as one, as it is written now."""
    like, end = item["like"], item["exit"]
    return {
        **item,
        "like": {"shares": like["claims"], **like} if "claims" in like else like,
        "exit": dict(zip(("code", "at", "asked"), end, strict=True)) if isinstance(end, list) else end,
    }
