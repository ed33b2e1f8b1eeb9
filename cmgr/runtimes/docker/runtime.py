"""Docker, through its socket. The modules beside it know its API."""

import math
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

from cmgr.errors import ContainerError, ContainerGone, RunsAgain, RuntimeAils, RuntimeDown
from cmgr.model.values.messages.facts import RuntimeDown as Down
from cmgr.model.values.messages.facts import RuntimeUp as Up
from cmgr.model.values.services.containers import NO_RESTART, Container, ContainerKey, Exit
from cmgr.model.values.services.origins import Origin
from cmgr.ports import Halt, RuntimeFact
from cmgr.runtimes import ears, joined
from cmgr.runtimes.claims import majors_here, mounted_in
from cmgr.runtimes.docker import anew, inside
from cmgr.runtimes.docker.ailments import is_dockers
from cmgr.runtimes.docker.deaths import Deaths
from cmgr.runtimes.docker.events import Watcher
from cmgr.runtimes.docker.inspect import ENDING, NAME, Described, described, key, labels_of, restart_policy, unreadable
from cmgr.runtimes.docker.known import Known
from cmgr.runtimes.docker.origin import origin_of
from cmgr.runtimes.docker.shims import end_idle_shims
from cmgr.runtimes.docker.tell import Teller
from cmgr.runtimes.docker.wire import Clients, Limits
from cmgr.runtimes.documents import Json, ended, items, mapping, text
from cmgr.runtimes.images import Decided, Images
from cmgr.runtimes.joined import Donor
from cmgr.runtimes.labels import LONGEST_GRACE
from cmgr.runtimes.living import lives, unlisted

_LATE = 1.0
"""Seconds by which Docker's word of a stop that worked may come after the answer to another one."""

_DEAD_TASK = re.compile(r"task [0-9a-f]{12,64}:? already exists")
"""Said of a container whose end containerd missed because dockerd was killed meanwhile; it goes on saying so."""


_NO_NETWORK = re.compile(r"network [0-9a-f]{12,64} not found")
"""Said of a container whose network was removed while it was down, by the network's id."""


class DockerRuntime:
    """The containers of one Docker daemon. It may come up later, go away, and come back as another version."""

    name = NAME

    def __init__(self, socket: str, limits: Limits | None = None, decided: Decided = lambda _: None) -> None:
        self._limits = limits or Limits()
        self._images = Images(decided)
        self._clients = Clients(socket)
        self._known = Known()
        self._deaths = Deaths()
        # They have an order under way, or did not answer to the last look: no list waits long for them.
        self._locked: set[str] = set()
        self._watcher: Watcher | None = None
        self._origin: Origin | None = None

    @property
    def malformed(self) -> int:
        """How many events could not be read."""
        return self._watcher.malformed if self._watcher is not None else 0

    def list(self) -> tuple[Container, ...]:
        until = time.monotonic() + self._limits.list
        ticket = self._known.ticket()
        with self._clients.use("list containers", self._limits.list) as client:
            rows = {str(row["Id"]): {**row, "State": str(row["State"])} for row in client.containers()}
        found, patience = [*self._unlisted(rows)], self._limits.look
        self._deaths.keep(self._known.keep({*rows, *(container.key.id for container in found)}, ticket))
        self._locked.intersection_update(rows)
        for row in rows.values():
            described = self._listed(row, min(patience, until - time.monotonic()))
            if described is not None and described.concerns:
                container = self._deaths.completed(described.container)
                found.append(joined.placed(container, described.pid, partial(self._donor, rows)))
            if described is not None and described.container.unread:
                patience = min(patience, self._limits.locked)  # Of many that hang none may use up the others' time.
        return tuple(found)

    def ended_by_boot(self) -> Iterator[Container]:
        with self._clients.use("list containers", self._limits.list) as client:
            rows = [{**row, "State": str(row["State"])} for row in client.containers(down=False)]
        for row in rows:
            described = self._listed(row, self._limits.look)
            if described is not None and described.container.running:
                yield described.container

    def _donor(self, rows: Mapping[str, Json], who: str) -> Donor | None:
        """Return whose namespaces another one joins, by id or name; None for one that exists no more."""
        named = next((row for row in rows.values() if f"/{who}" in items(row.get("Names"))), None)
        row = rows.get(who, named) or {
            "Id": who,
            "State": "",
        }  # Not every list has those that only hold a pod together.
        try:
            known = self._known.fresh(text(row, "Id"), text(row, "State"))
            known = known or self._look(text(row, "Id"), self._limits.locked)
        except ContainerGone:
            return None
        except ContainerError:
            return Donor(who, 0)  # Of what hangs the next list tells.
        return Donor(known.container.name, known.pid)

    def _unlisted(self, rows: Collection[str]) -> Iterator[Container]:
        known = [seen for id_ in self._known.ids() - {*rows} if (seen := self._known.last(id_)) is not None]
        return unlisted("Docker", ((seen.container, seen.pid) for seen in known if seen.concerns))

    def _listed(self, row: Json, seconds: float) -> Described | None:
        id_, state = text(row, "Id"), text(row, "State")
        if self._known.is_other(id_):
            return None
        known = self._known.fresh(id_, state)
        if known is not None:
            return known
        try:
            if seconds <= 0:
                raise ContainerError(f"cannot list containers: Docker did not answer within {self._limits.list:g} s")
            # For what events tell already nobody waits long either.
            soon = id_ in self._locked or self._known.is_followed(id_, state)
            return self._look(id_, min(seconds, self._limits.locked) if soon else seconds)
        except ContainerGone:
            return None  # Since the list was made.
        except RuntimeDown:
            raise
        except ContainerError as exc:
            # Docker's lock of one container may be held for ever by what hangs on its chip, while its list is made
            # without locks. No other container's recovery waits for it.
            last = self._known.last(id_)
            if last is not None and last.state == state:
                return self._known.dated(id_, last)
            return unreadable(row, exc.message, self._images.decided(key(id_)))

    def origin(self) -> Origin:
        origin = self._origin
        if origin is None:
            try:
                with self._clients.use("ask Docker where its data is", self._limits.look) as client:
                    origin = origin_of(client.info())
            except ContainerError:
                origin = Origin(NAME)
            self._origin = origin  # Also where it cannot tell: no list waits for that twice.
        return origin

    def watch(self, tell: Callable[[RuntimeFact], None]) -> None:
        def told(fact: RuntimeFact) -> None:
            if isinstance(fact, Up | Down):
                self._origin = None
            if not watcher.closed:
                tell(fact)

        teller = Teller(self._look, self._known, self._deaths, told, self._clients.takes_calls)
        watcher = Watcher(self._clients, teller, self._limits)
        self._watcher = watcher
        watcher.start()

    def stop(self, key: ContainerKey, grace: timedelta) -> Halt:
        seconds = math.ceil(min(max(grace, timedelta()), LONGEST_GRACE).total_seconds())
        last = self._known.last(key.id)
        before = last.container.run if last is not None else ""
        what = f"stop container {self._known.name(key.id)}"
        # No look comes first: what counts is how soon the request is out.
        signal = last.stop_signal if last is not None else 0
        deaf = ""

        def look_at_ears() -> None:
            # While Docker waits: a process that takes the signal may be gone by now, and one that does not is there.
            nonlocal deaf
            deaf = ears.deaf(last.pid, key.id, signal) if last is not None else ""

        began = self._deaths.stopping(key.id)
        self._locked.add(key.id)
        try:
            with self._clients.use(what, seconds + self._limits.after_grace) as client:
                client.line.after_sending = look_at_ears
                was_down = client.stop(key.id, seconds)
        except RuntimeDown:
            raise
        except ContainerError as exc:
            return self._not_stopped(key, exc)
        try:
            halt = _halt(self._look_after(key), before, what, was_down)
        except ContainerGone:
            if was_down:
                raise
            # Started with --rm: its end was its removal.
            return Halt(before)
        if not was_down:
            self._deaths.obeyed(key.id, began)
        killed = deaf and not was_down and time.monotonic() - began >= seconds > 0
        ordered = not was_down and self._deaths.was_theirs(key.id, began, _LATE)
        return replace(halt, deaf=ears.words(deaf, signal) if killed else "", ordered=ordered)

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

    def run_inside(self, key: ContainerKey, command: Sequence[str], seconds: float) -> tuple[int, str]:
        return inside.run(self._clients, key, f"run {command[0]} in {self._known.name(key.id)}", command, seconds)

    def start(self, key: ContainerKey, restart_policy: str, *, frozen: bool = False) -> str:
        what = f"start container {self._known.name(key.id)}"
        armed = restart_policy != NO_RESTART and self._arm(key, restart_policy, frozen=frozen)
        failure = self._begin(key, what)
        container = self._look_after(key)
        if failure is not None and not container.running:
            if armed and not isinstance(failure, RuntimeAils):  # Without an answer it may be on its way up.
                self._disarm(key, failure)
            raise self._of_start(key, failure)
        if not self._known.flowing:
            self._deaths.started(key.id)
        if frozen and not container.frozen:
            self._freeze(key)
        return container.run

    def _arm(self, key: ContainerKey, policy: str, *, frozen: bool) -> bool:
        """Put the policy back while the container is down. Return whether it was another."""
        container = self._look(key.id).container
        if container.restart_policy == policy:
            return False
        if container.running:
            what = f"start container {container.name}"
            if frozen and not container.frozen:
                self._freeze(key)
            raise RuntimeAils(f"cannot {what}: something else has started it, without its restart policy")
        self._update(key, policy)
        return True

    def _disarm(self, key: ContainerKey, failure: ContainerError) -> None:
        """Take the policy off again after a failed start: with it the next dockerd would start the container."""
        try:
            self.set_restart_policy(key, NO_RESTART)
        except ContainerError as exc:
            raise RuntimeAils(failure.message, hint=failure.hint) from exc

    def _begin(self, key: ContainerKey, what: str) -> ContainerError | None:
        """Ask Docker to start it. Return what it said against that; a look has to tell whether the container runs."""
        until, freed = time.monotonic() + self._limits.start, False
        self._locked.add(key.id)
        while True:
            try:
                with self._clients.use(what, max(0.05, until - time.monotonic())) as client:
                    client.start(key.id)
                return None
            except RuntimeDown:
                raise
            except ContainerError as exc:
                if _DEAD_TASK.search(exc.message) is None:
                    return exc  # Docker says 404 for a missing network, too, and 409 for a container that is paused.
                freed = end_idle_shims(key.id) or freed
                if not freed or time.monotonic() > until - self._limits.start + self._limits.leftover:
                    return exc
            # containerd notices the end of the shim by itself, and clears away what it left.
            threading.Event().wait(0.2)

    def _of_start(self, key: ContainerKey, failure: ContainerError) -> ContainerError:
        """Return why a container did not start: not `ContainerGone`, for it is there."""
        if _DEAD_TASK.search(failure.message):
            return RuntimeAils(f"{failure.message} (containerd keeps its dead task: systemctl restart containerd)")
        ails, message = isinstance(failure, RuntimeAils) or is_dockers(failure.message), failure.message
        if _NO_NETWORK.search(message):
            with suppress(ContainerError):
                network = anew.missing_network(self.document(key), message)
                message += f" ({network})" if network else ""
        return (RuntimeAils if ails else ContainerError)(message, hint=failure.hint)

    def _freeze(self, key: ContainerKey) -> None:
        what = f"pause container {self._known.name(key.id)}"
        try:
            with self._clients.use(what, self._limits.update) as client:
                client.pause(key.id)
        except ContainerError as exc:
            container = self._look_after(key)
            if container.running and not container.frozen:  # It may have ended by now, or somebody was faster.
                raise RuntimeAils(exc.message, hint=exc.hint) from exc

    def set_restart_policy(self, key: ContainerKey, restart_policy: str) -> None:
        container = self._look(key.id).container
        if container.restart_policy == restart_policy:
            return
        if container.running:
            what = f"set the restart policy of container {container.name}"
            raise ContainerError(f"cannot {what}: it runs, and Docker could take its chips away by that")
        self._update(key, restart_policy)

    def document(self, key: ContainerKey) -> Mapping[str, object]:
        with self._clients.use(f"inspect container {self._known.name(key.id)}", self._limits.look) as client:
            return dict(client.inspect(key.id))

    def output(self, key: ContainerKey, lines: int) -> str:
        # One entry of a log has 16 kB at most, so that what comes is bounded.
        with self._clients.use(f"read the log of container {self._known.name(key.id)}", self._limits.look) as client:
            told = client.logs(key.id, lines)
        return ended(told)

    def _update(self, key: ContainerKey, policy: str) -> None:
        """Change the policy of a container that is down.

        Of one that runs Docker hands each update on to runc, which up to 1.0.0-rc92 writes the rules of the device
        cgroup anew, without those that a vendor's hook has added: the chips are gone then.
        """
        wanted = restart_policy(policy)
        what = f"set the restart policy of container {self._known.name(key.id)}"
        self._known.updating(key.id)
        try:
            with self._clients.use(what, self._limits.update) as client:
                client.update(key.id, wanted)
        except ContainerError as exc:
            if not isinstance(exc, RuntimeAils):  # Else it may have worked all the same.
                self._known.updating(key.id, -1)
            if exc.message.endswith(": Not Found"):  # So podman 4.3 calls a request that it does not know.
                raise ContainerError(f"cannot {what}: this podman cannot change one") from exc
            raise
        self._known.touch(key.id)

    def _look(self, id_: str, seconds: float | None = None) -> Described:
        """Return the container as it is now."""
        ticket = self._known.ticket()
        with self._clients.use(f"inspect container {self._known.name(id_)}", seconds or self._limits.look) as client:
            self._locked.add(id_)
            document = client.inspect(id_)
            self._locked.discard(id_)
        image = text(mapping(document), "Image")
        ask = partial(self._images.once, image, partial(self._image_labels, image, seconds or self._limits.look))
        brought = self._images.brought(key(id_), labels_of(document), ask)
        found = described(document, majors_here(), brought, lives)
        if found.state in ENDING and found.container.running:
            self._deaths.found_ending(id_)
        if found.concerns and found.container.running and (given := mounted_in(found.pid)):
            found = replace(found, container=replace(found.container, claims=found.container.claims | given))
        elif found.concerns and not found.container.running:
            lines = anew.lines(mapping(document), brought or ())
            found = replace(found, container=replace(found.container, anew=lines))
        found = self._known.dated(id_, found)
        self._known.put(id_, found, ticket)
        return replace(found, container=self._deaths.completed(found.container))

    def _image_labels(self, image: str, seconds: float) -> Mapping[str, str] | None:
        """Return the labels that this image brings; None where nobody can tell any more."""
        try:
            with self._clients.use("inspect an image", seconds) as client:
                found: object = client.image(image)
        except (RuntimeDown, RuntimeAils):
            raise
        except ContainerError:
            return None  # It may have been removed since.
        return labels_of(found)

    def _look_after(self, key: ContainerKey) -> Container:
        """Look at a container that an order has reached."""
        with _reached():
            return self._look(key.id).container

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
        self._clients.close()


def _halt(container: Container, before: str, what: str, was_down: bool) -> Halt:
    if container.running and before not in ("", container.run):
        raise RunsAgain(f"cannot {what}: it runs again", container.run)
    if container.running:
        raise ContainerError(f"cannot {what}: it runs still")
    if not was_down:
        return Halt(container.run)
    # A container that never ran has not died of anything.
    return Halt(container.run, container.exit or Exit(0, datetime.now(UTC), asked=True))


@contextmanager
def _reached() -> Iterator[None]:
    """Keep `RuntimeDown` for orders that never reached the daemon: this one has, and its outcome is not known."""
    try:
        yield
    except RuntimeDown as exc:
        raise RuntimeAils(exc.message, hint=exc.hint) from exc
