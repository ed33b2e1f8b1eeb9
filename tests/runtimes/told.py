"""The facts that a runtime told, as the tests ask for it."""

import threading
from collections.abc import Callable
from typing import TypeVar

from cmgr.model.values.messages.facts import ContainerRemoved, ContainerSeen
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.ports import RuntimeFact
from tests.support.waiting import eventually

F = TypeVar("F", bound=RuntimeFact)


class Told:
    """Collects facts; `tell` is what a runtime's `watch` takes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._facts: list[RuntimeFact] = []

    def tell(self, fact: RuntimeFact) -> None:
        with self._lock:
            self._facts.append(fact)

    @property
    def facts(self) -> tuple[RuntimeFact, ...]:
        with self._lock:
            return tuple(self._facts)

    def of(self, kind: type[F]) -> list[F]:
        return [fact for fact in self.facts if isinstance(fact, kind)]

    def first(self, kind: type[F]) -> F:
        """Wait for a fact of this kind."""
        return eventually(lambda: self.of(kind), why=kind.__name__)[0]

    def seen(self, key: ContainerKey) -> list[Container]:
        return [fact.container for fact in self.of(ContainerSeen) if fact.container.key == key]

    def last(self, key: ContainerKey) -> Container | None:
        seen = self.seen(key)
        return seen[-1] if seen else None

    def running(self, key: ContainerKey, *, not_run: str | None = None) -> Container:
        """Wait until the container was last seen running, in another life than `not_run`."""
        found = eventually(lambda: self._if(key, lambda c: c.running and c.run != not_run), why="seen running")
        assert found is not None
        return found

    def down(self, key: ContainerKey) -> Container:
        """Wait until the container was last seen down with an exit."""
        found = eventually(lambda: self._if(key, lambda c: not c.running and c.exit is not None), why="seen down")
        assert found is not None
        return found

    def removed(self, key: ContainerKey) -> None:
        """Wait until the container was told to be removed."""
        eventually(lambda: ContainerRemoved(key) in self.facts, why="told removed")

    def _if(self, key: ContainerKey, condition: Callable[[Container], bool]) -> Container | None:
        last = self.last(key)
        return last if last is not None and condition(last) else None
