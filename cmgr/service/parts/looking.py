"""Looks at chips and containers that some wish and most machines do without: each as often as it wants to be made."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Protocol

from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.service.metrics.chips import Measuring
from cmgr.service.part import Part
from cmgr.service.parts.core import Core
from cmgr.service.parts.device_rules import DeviceRules
from cmgr.service.parts.hangs import Hangs
from cmgr.service.parts.stragglers import Stragglers


class Look(Protocol):
    """A look that is made so often, where it is of use. `at`: seconds of the monotonic clock. `look` raises nothing."""

    every: timedelta

    def is_wished(self, node: Node) -> bool: ...

    def look(self, at: float) -> None: ...


def looks(core: Core) -> tuple[Look, ...]:
    """Return all that there are: a new one is one more here."""
    node, put, now, values = core.node, core.put, core.clock.now, Measuring(core.driver)
    return Hangs(node, values, put, now), Stragglers(node, values, put, now), DeviceRules(node, put)


class Looks(Part):
    """Makes them one by one on a thread, which begins with the first that is wished, and wakes for those that are.

    A look that is wished no longer is made once more, so that what it has told comes to its end.
    """

    def __init__(self, node: Callable[[], Node], looks: Sequence[Look]) -> None:
        self._node, self._looks = node, looks
        self._due: dict[Look, float] = {}
        self._news, self._over = threading.Event(), False
        self._looked: Mapping[ContainerKey, Container] | None = None
        self._thread: threading.Thread | None = None

    def look(self) -> None:
        node = self._node()
        if node.containers is self._looked:
            return
        self._looked = node.containers
        if any(each not in self._due and each.is_wished(node) for each in self._looks):
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="looks", daemon=True)
                self._thread.start()
            self._news.set()

    def close(self) -> None:
        """Look no more. Safe to repeat."""
        self._over = True
        self._news.set()

    def _run(self) -> None:
        while not self._over:
            self._news.clear()
            node, at = self._node(), time.monotonic()
            wished = [each for each in self._looks if each.is_wished(node)]
            for each in [each for each, due in self._due.items() if at >= due]:
                each.look(at)
                del self._due[each]
            self._looked = None  # Whoever was looked at for the last time is perhaps wished again by now.
            for each in wished:
                self._due.setdefault(each, at + each.every.total_seconds())
            due = min(self._due.values(), default=None)
            if not self._over:
                self._news.wait(None if due is None else max(0.0, due - time.monotonic()))
