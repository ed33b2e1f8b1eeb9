"""containerd, through its socket. It and the modules beside it are the only ones that know gRPC."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from datetime import timedelta
from pathlib import Path

from cmgr.errors import ContainerError
from cmgr.model.values.chips import Chip
from cmgr.model.values.services.containers import NO_RESTART, Container, ContainerKey
from cmgr.model.values.services.origins import Origin
from cmgr.ports import Halt, RuntimeFact
from cmgr.runtimes.containerd import diagnosis as containerd_diagnosis
from cmgr.runtimes.containerd import inside
from cmgr.runtimes.containerd import record as containerd_record
from cmgr.runtimes.containerd.events import Watcher
from cmgr.runtimes.containerd.known import Seen
from cmgr.runtimes.containerd.looks import Looks
from cmgr.runtimes.containerd.messages import SERVER
from cmgr.runtimes.containerd.record import NAME
from cmgr.runtimes.containerd.start import Starter
from cmgr.runtimes.containerd.stop import Stopper
from cmgr.runtimes.containerd.tell import Teller
from cmgr.runtimes.containerd.wire import Limits, Wire
from cmgr.runtimes.images import Decided
from cmgr.runtimes.joined import Donor, placed
from cmgr.runtimes.living import unlisted

DOCKERS_OWN = "moby"

CDI = Path("/etc/cdi")
"""Where CDI files are, unless the configuration says otherwise."""


class ContainerdRuntime:
    """The containers of one containerd, in all namespaces but those skipped, and never Docker's own."""

    name = NAME

    def __init__(
        self,
        address: str,
        skipped: Collection[str] = (),
        limits: Limits | None = None,
        cdi: Path = CDI,
        decided: Decided = lambda _: None,
    ) -> None:
        self._limits = limits or Limits()
        self._skipped = frozenset({*skipped, DOCKERS_OWN})
        self._wire = Wire(address)
        self._looks = Looks(self._wire, self._limits, decided)
        self._stopper = Stopper(self._looks)
        self._starter = Starter(self._looks, cdi)
        self._watcher: Watcher | None = None

    def list(self) -> tuple[Container, ...]:
        self._wire.reach("list containers")
        until = time.monotonic() + self._limits.list
        known, found = self._looks.known, list[Seen]()
        ticket = known.ticket()
        for namespace in self._looks.namespaces(self._limits.list):
            if namespace not in self._skipped:
                found += self._looks.inside(namespace, until - time.monotonic())
        listed = {seen.definition.key for seen in found}
        alive = [*self._unlisted(listed)]
        known.keep(listed | {container.key for container in alive}, ticket)
        donors = {seen.definition.key: _donor(seen) for seen in found}
        return (*(_in_its_place(seen, donors) for seen in found if seen.definition.concerns), *alive)

    def ended_by_boot(self) -> Iterator[Container]:
        for namespace in self._looks.namespaces(self._limits.list):
            if namespace not in self._skipped:
                seen = self._looks.inside(namespace, self._limits.list)
                yield from (found.container() for found in seen if found.running)

    def _unlisted(self, listed: Set[ContainerKey]) -> Iterator[Container]:
        known = self._looks.known
        seen = [found for key in known.ids() - listed if (found := known.last(key)) is not None]
        return unlisted(
            NAME, ((s.container(), s.task.pid) for s in seen if s.definition.concerns and s.task is not None)
        )

    def origin(self) -> Origin:
        try:
            answer = self._wire.call(SERVER, "ask containerd who it is", "", self._limits.look)
        except ContainerError:
            return Origin(NAME)
        return Origin(NAME, str(answer.uuid), "root's id", str(answer.uuid))

    def watch(self, tell: Callable[[RuntimeFact], None]) -> None:
        def told(fact: RuntimeFact) -> None:
            if not watcher.closed:
                tell(fact)

        watcher = Watcher(self._wire, Teller(self._looks, told), self._skipped, self._limits)
        self._watcher = watcher
        watcher.start()

    def stop(self, key: ContainerKey, grace: timedelta) -> Halt:
        return self._stopper.stop(key, grace)

    def start(self, key: ContainerKey, restart_policy: str, *, frozen: bool = False) -> str:
        return self._starter.start(key, restart_policy, frozen=frozen)

    def place(self, key: ContainerKey, placing: Sequence[tuple[Chip, Chip | None]]) -> None:
        self._starter.place(key, placing)

    def set_restart_policy(self, key: ContainerKey, restart_policy: str) -> None:
        what = f"set the restart policy of container {self._looks.known.name(key)}"
        self._wire.reach(what)
        labels = self._looks.definition(key, what).labels
        if restart_policy == NO_RESTART:
            changes = containerd_record.disarming(labels)
        elif containerd_record.wanted_status(restart_policy):
            changes = containerd_record.arming(labels, restart_policy)
        else:
            raise ContainerError(f"cannot {what}: {restart_policy[:48]!r} is none of containerd's")
        if changes:
            self._looks.set_labels(key, changes, what).result(self._limits.look)

    def run_inside(self, key: ContainerKey, command: Sequence[str], seconds: float) -> tuple[int, str]:
        return inside.run(self._looks, key, command, seconds)

    def document(self, key: ContainerKey) -> Mapping[str, object]:
        return containerd_diagnosis.document(self._looks, key)

    def output(self, key: ContainerKey, lines: int) -> str:
        return containerd_diagnosis.output(self._looks, key, lines)

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
        self._wire.close()


def _donor(seen: Seen) -> Donor:
    return Donor(seen.definition.container.name, seen.task.pid if seen.task is not None and seen.running else 0)


def _in_its_place(seen: Seen, donors: Mapping[ContainerKey, Donor]) -> Container:
    key, pid = seen.definition.key, seen.task.pid if seen.task is not None else 0
    return placed(seen.container(), pid, lambda id_: donors.get(key._replace(id=id_)))
