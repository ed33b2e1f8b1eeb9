"""Whether a container's end was asked for, as far as the runtime's events tell.

An order to end counts for the death that it causes, or until its time is over. A process may take a signal and live on,
for it is a thread dump, a reload, or a stop that was given up: what it dies of later nobody has asked for.

A daemon that is stopped ends its containers, one that was killed does so when it comes back and finds them running.
The events of that, if there are any (Docker 20.10 tells them, 28 closes the stream before), look like a person's order.
"""

import math
import threading
import time
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from cmgr.model.values.services.containers import NO_RESTART, Container
from cmgr.runtimes.docker.inspect import ALWAYS
from cmgr.runtimes.memory import by_the_clock


class _Life:
    """A container's present or last life, as far as it was told. `begun`: its start was.

    `orders`: until when it counts that it was told to end, by the code with which it must end; None: with any.
    `ours`: when each stop of ours began, of which `heard` were told back; `worked`: when the last one did that has
    worked. `theirs`: somebody else's order to stop it, since when and until when, and since when by the other clock,
    `told`. `stops`: how many stops were told to have worked. `died`: when it was told to have ended.
    """

    def __init__(self, *, begun: bool = False) -> None:
        self.begun = begun
        self.orders: dict[int | None, float] = {}
        self.ours: list[float] = []
        self.heard = 0
        self.worked = -math.inf
        self.theirs: tuple[float, float] | None = None
        self.told: datetime | None = None
        self.stops = 0
        self.ended = False
        self.died = math.inf
        self.asked: bool | None = None

    def counts(self, at: float, code: int | None) -> bool:
        """Return whether an order stands at this time that an end with this code can follow from."""
        return any(at <= until and only in (None, code) for only, until in self.orders.items())


class Deaths:
    """Remembers, for each container's present or last life, whether anybody told it to end. Any thread.

    Times are in seconds of the monotonic clock.
    """

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._lives: dict[str, _Life] = {}

    def started(self, id_: str, at: float = math.inf) -> None:
        """A new life began then: nobody has told it anything, but for what was ordered before this was told."""
        with self._lock:
            life, before = _Life(begun=True), self._lives.get(id_, _Life())
            life.ours = [began for began in before.ours if began > at]
            if before.theirs is not None and before.theirs[0] > at:
                life.theirs, life.told, life.orders = before.theirs, before.told, {None: before.theirs[1]}
            if before.worked > at:
                # It has ended this very life, before its start was told.
                life.worked, life.orders[None] = before.worked, math.inf
            self._lives[id_] = life

    def told(self, id_: str, until: float = math.inf, code: int | None = None) -> None:
        """It was told to end, which counts until then; with `code` for no other end."""
        with self._lock:
            orders = self._lives.setdefault(id_, _Life()).orders
            orders[code] = max(until, orders.get(code, until))

    def obeyed(self, id_: str, began: float) -> None:
        """A stop of ours that began then has worked: its death, which may be told already or never, was asked for."""
        self.told(id_)
        with self._lock:
            life = self._lives[id_]
            life.worked = began
            if life.ended and life.asked is None:
                life.asked = True

    def asked_to_end(self, id_: str, since: float, until: float) -> None:
        """It was sent a signal that asks it to end: by a stop of ours, or by somebody else."""
        self.told(id_, until)
        with self._lock:
            life = self._lives[id_]
            if life.heard < len(life.ours) and life.ours[life.heard] <= since:
                life.heard += 1
            elif life.theirs is not None and since <= life.theirs[1]:
                life.theirs = life.theirs[0], max(until, life.theirs[1])
            else:
                life.theirs, life.told = (since, until), by_the_clock(since)

    def found_ending(self, id_: str) -> None:
        """A look has found it in the midst of its end: podman tells of no order, and calls nobody so without one.

        Where no stop of ours began it is somebody else's, which counts until it has ended.
        """
        with self._lock:
            ours = self._lives.setdefault(id_, _Life()).ours
        if not ours:
            self.asked_to_end(id_, time.monotonic(), math.inf)

    def stopping(self, id_: str) -> float:
        """A stop of ours begins. Return when."""
        with self._lock:
            now = time.monotonic()
            self._lives.setdefault(id_, _Life()).ours.append(now)
            return now

    def was_theirs(self, id_: str, began: float, patience: float) -> bool:
        """Return whether somebody else's stop was under way when this one of ours began, which has worked.

        One whose time was over then may have been given longer: its own word is awaited, which comes at once. One whose
        life was over is past, though nothing was told yet of the life that ours has ended.
        """
        with self._lock:
            life = self._lives.get(id_, _Life())
            if life.theirs is None or life.theirs[0] > began or life.died < began:
                return False
            return life.theirs[1] >= began or self._lock.wait_for(lambda: life.stops > len(life.ours), patience)

    def died(self, id_: str, at: float, code: int | None = None, *, all_seen: bool) -> None:
        """It ended. `all_seen`: had anybody told it to, we would know."""
        with self._lock:
            life = self._lives.setdefault(id_, _Life())
            life.ended, life.died = True, at
            life.asked = True if life.counts(at, code) else False if all_seen else None

    def stopped(self, id_: str, *, after_death: bool) -> None:
        """A stop of it has worked. `after_death`: that is never told before the end, so a life that goes on is new."""
        with self._lock:
            life = self._lives.setdefault(id_, _Life())
            life.stops += 1
            self._lock.notify_all()
            if not after_death:
                life.orders[None] = math.inf
            elif life.begun and not life.ended:
                return
            if life.told is None and not life.ours:
                # Podman tells of no order: only that it has worked, often before anybody has looked at the end.
                life.told = by_the_clock(min(life.died, time.monotonic()))
            life.ended = life.asked = True

    def swept(self, id_: str) -> None:
        """The daemon ended it as it went or came, when nobody could ask for that."""
        self.drop(id_)

    def asked(self, id_: str, at: float, code: int | None = None) -> bool | None:
        """Return what `Exit.asked` is for the container's last end, or would be for one with this code at this time."""
        with self._lock:
            life = self._lives.get(id_, _Life())
            return life.asked if life.ended else True if life.counts(at, code) else None

    def completed(self, container: Container) -> Container:
        """Return the container with `exit.asked` filled in."""
        if container.exit is None:
            return container
        asked = self.asked(container.key.id, time.monotonic(), container.exit.code)
        with self._lock:
            life = self._lives.get(container.key.id)
            missed = asked is None and (life is None or not life.ended)
            told = life.told if asked and life is not None else None
        amiss = asked is False and container.exit.code == 0 and _is_service(container)
        # Docker calls a container that its policy starts again restarting before it tells of the end. Up to 20.10 none
        # is, once it was sent whatever signal in that life (`HasBeenManuallyStopped` in daemon/kill.go).
        left = asked is False and container.restart_policy != NO_RESTART
        end = replace(container.exit, asked=asked, missed=missed, amiss=amiss, left=left, told=told)
        return replace(container, exit=end)

    def keep(self, ids: Collection[str]) -> None:
        """Forget all containers but these."""
        with self._lock:
            for id_ in self._lives.keys() - set(ids):
                del self._lives[id_]

    def drop(self, id_: str) -> None:
        """Forget a container that exists no more."""
        with self._lock:
            self._lives.pop(id_, None)


def _is_service(container: Container) -> bool:
    """Return whether something says that it is to run on, however well it ends."""
    return container.heal is not None or container.restart_policy.partition(":")[0] in ALWAYS
