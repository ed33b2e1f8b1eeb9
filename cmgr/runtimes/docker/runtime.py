"""Docker, through its socket. The only runtime that knows the SDK (with the `docker_…` modules beside it)."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cmgr.errors import ContainerError, ContainerGone, RuntimeDown
from cmgr.model.values.containers import NO_RESTART, Container, ContainerKey, Exit
from cmgr.ports import Halt, RuntimeFact
from cmgr.runtimes.claims import chip_majors
from cmgr.runtimes.docker.deaths import Deaths
from cmgr.runtimes.docker.events import Watcher
from cmgr.runtimes.docker.inspect import NAME, Described, described, restart_policy
from cmgr.runtimes.docker.tell import Teller
from cmgr.runtimes.docker.wire import Clients, Limits
from cmgr.runtimes.docker_known import Known
from cmgr.runtimes.documents import ended
from cmgr.runtimes.labels import LONGEST_GRACE


class DockerRuntime:
    """The containers of one Docker daemon. It may come up later, go away, and come back as another version."""

    name = NAME

    def __init__(self, socket: str, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._clients = Clients(socket)
        self._known = Known()
        self._deaths = Deaths()
        self._watcher: Watcher | None = None

    @property
    def malformed(self) -> int:
        """How many events could not be read."""
        return self._watcher.malformed if self._watcher is not None else 0

    def check(self, seconds: float = 5.0) -> str:
        """Return the daemon's version. Raises `RuntimeDown` or `ContainerError`."""
        with self._clients.use("reach Docker", seconds) as client:
            return str(client.api.version(api_version=False)["Version"])

    def list(self) -> tuple[Container, ...]:
        until = time.monotonic() + self._limits.list
        ticket = self._known.ticket()
        with self._clients.use("list containers", self._limits.list) as client:
            states = {str(row["Id"]): str(row["State"]) for row in client.api.containers(all=True)}
        self._known.keep(states, ticket)
        self._deaths.keep(states)
        found = (self._listed(id_, state, until) for id_, state in states.items())
        return tuple(self._deaths.completed(f.container) for f in found if f is not None and f.concerns)

    def _listed(self, id_: str, state: str, until: float) -> Described | None:
        if self._known.is_other(id_):
            return None
        known = self._known.fresh(id_, state)
        if known is not None:
            return known
        try:
            left = until - time.monotonic()
            if left <= 0:
                raise ContainerError(f"cannot list containers: Docker did not answer within {self._limits.list:g} s")
            return self._look(id_, min(self._limits.look, left))
        except ContainerGone:
            return None  # Since the list was made.
        except RuntimeDown:
            raise
        except ContainerError:
            # Docker's lock of one container may be held for ever by what hangs on its chip, while its list is made
            # without locks. Where that says the same as the last look, no other container's recovery waits for it.
            last = self._known.last(id_)
            if last is None or last.state != state:
                raise
            return last

    def watch(self, tell: Callable[[RuntimeFact], None]) -> None:
        def told(fact: RuntimeFact) -> None:
            if not watcher.closed:
                tell(fact)

        watcher = Watcher(self._clients, Teller(self._look, self._known, self._deaths, told), self._limits)
        self._watcher = watcher
        watcher.start()

    def stop(self, key: ContainerKey, grace: timedelta) -> Halt:
        seconds = math.ceil(min(max(grace, timedelta()), LONGEST_GRACE).total_seconds())
        before = self._known.last(key.id)
        what = f"stop container {self._known.name(key.id)}"
        # No look comes first: what counts is how soon the request is out.
        try:
            with self._clients.use(what, seconds + self._limits.after_grace) as client:
                was_down = client.stop(key.id, seconds) == 304
        except RuntimeDown:
            raise
        except ContainerError as exc:
            return self._not_stopped(key, exc)
        try:
            halt = _halt(self._look_after(key), what, was_down)
        except ContainerGone:
            if was_down:
                raise
            # Started with --rm: its end was its removal.
            return Halt(before.container.run if before is not None else "")
        if not was_down:
            self._deaths.told(key.id)  # The event that says so may still be on its way, or never come.
        return halt

    def _not_stopped(self, key: ContainerKey, error: ContainerError) -> Halt:
        # Whether it is gone, or down in spite of the error, says only a look: the text does not.
        try:
            container = self._look(key.id).container
        except ContainerGone:
            raise
        except ContainerError:
            raise error from None
        if container.running:
            raise ContainerError(error.message, hint=error.hint)  # Not `ContainerGone`: it is there.
        return Halt(container.run)

    def start(self, key: ContainerKey, restart_policy: str) -> str:
        what = f"start container {self._known.name(key.id)}"
        failure: ContainerError | None = None
        try:
            with self._clients.use(what, self._limits.start) as client:
                client.api.start(key.id)
        except RuntimeDown:
            raise
        except ContainerError as exc:
            failure = exc  # Docker says 404 for a missing network, too, and 409 for a container that is paused.
        container = self._look_after(key)
        if failure is not None and not container.running:
            raise ContainerError(failure.message, hint=failure.hint)  # Not `ContainerGone`: it is there.
        if not self._known.flowing:
            self._deaths.started(key.id)
        if restart_policy not in (NO_RESTART, container.restart_policy):
            with _reached():
                self._update(key, restart_policy)
        return container.run

    def set_restart_policy(self, key: ContainerKey, restart_policy: str) -> None:
        if self._look(key.id).container.restart_policy != restart_policy:
            self._update(key, restart_policy)

    def document(self, key: ContainerKey) -> Mapping[str, object]:
        with self._clients.use(f"inspect container {self._known.name(key.id)}", self._limits.look) as client:
            return dict(client.api.inspect_container(key.id))

    def output(self, key: ContainerKey, lines: int) -> str:
        # One entry of a log has 16 kB at most, so that what comes is bounded.
        with self._clients.use(f"read the log of container {self._known.name(key.id)}", self._limits.look) as client:
            told = client.api.logs(key.id, tail=lines, timestamps=True)
        return ended(bytes(told))

    def _update(self, key: ContainerKey, policy: str) -> None:
        wanted = restart_policy(policy)
        what = f"set the restart policy of container {self._known.name(key.id)}"
        with self._clients.use(what, self._limits.update) as client:
            client.api.update_container(key.id, restart_policy=wanted)  # type: ignore[arg-type]  # knows two names only
        self._known.touch(key.id)

    def _look(self, id_: str, seconds: float | None = None) -> Described:
        """Return the container as it is now."""
        ticket = self._known.ticket()
        with self._clients.use(f"inspect container {self._known.name(id_)}", seconds or self._limits.look) as client:
            document = client.api.inspect_container(id_)
        found = described(document, _majors())
        self._known.put(id_, found, ticket)
        return replace(found, container=self._deaths.completed(found.container))

    def _look_after(self, key: ContainerKey) -> Container:
        """Look at a container that an order has reached."""
        with _reached():
            return self._look(key.id).container

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
        self._clients.close()


def _halt(container: Container, what: str, was_down: bool) -> Halt:
    if container.running:
        raise ContainerError(f"cannot {what}: it runs again")
    if not was_down:
        return Halt(container.run)
    # One that never ran has not died of anything.
    return Halt(container.run, container.exit or Exit(0, datetime.now(UTC), asked=True))


@contextmanager
def _reached() -> Iterator[None]:
    """Keep `RuntimeDown` for orders that never reached the daemon: this one has, and its outcome is not known."""
    try:
        yield
    except RuntimeDown as exc:
        raise ContainerError(exc.message, hint=exc.hint) from exc


def _majors() -> frozenset[int]:
    try:
        return chip_majors(Path("/proc/devices").read_text("ascii", "replace"))
    except OSError:
        return frozenset()
