"""Reading containerd's records, tasks and labels of images, and setting labels."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from cmgr.errors import ContainerError, ContainerGone, RuntimeAils
from cmgr.model.values.services.containers import ContainerKey
from cmgr.runtimes.claims import Majors, majors_here
from cmgr.runtimes.containerd import messages as calls
from cmgr.runtimes.containerd import placing
from cmgr.runtimes.containerd import record as records
from cmgr.runtimes.containerd.known import Known, Seen
from cmgr.runtimes.containerd.messages import Record
from cmgr.runtimes.containerd.record import NAME, Definition, Task
from cmgr.runtimes.containerd.wire import Limits, Missing, Pending, TimedOut, Wire
from cmgr.runtimes.images import Decided, Images

_MOST_PLATFORMS = 32
"""So many manifests of an image are looked at: images for more platforms are unheard of."""


class Looks:
    """Looks at containerd, and the memory of them. Any thread."""

    def __init__(self, wire: Wire, limits: Limits, decided: Decided = lambda _: None) -> None:
        self.wire = wire
        self.limits = limits
        self.known = Known()
        self._images = Images(decided)
        # Namespaces in which a shim did not answer to the last list.
        self._mute = frozenset[str]()

    def definition(self, key: ContainerKey, what: str) -> Definition:
        """Return what the record says now. Raises `ContainerGone`."""
        return self._read(key, self.record(key, what), majors_here(), what)

    def _read(self, key: ContainerKey, record: Record, majors: Majors, what: str) -> Definition:
        seen = self.known.last(key)
        known = seen.definition if seen is not None else None
        if known is not None and (known.changed, known.majors) == (records.changed(record), majors):
            return known
        ask = partial(self._image_labels, key.namespace, record, what)
        brought = self._images.brought(key, records.labels_of(record), ask)
        return records.definition(key.namespace, record, majors, brought)

    def _image_labels(self, namespace: str, record: Record, what: str) -> Mapping[str, str] | None:
        """Return the labels that the container's image brought; None where nobody can tell any more.

        The record only has the image's name, which may stand for another image since.
        """
        if not record.image:
            return {}
        try:
            image = self.wire.call(calls.IMAGE, what, namespace, self.limits.look, name=record.image).image
            if records.is_older(record, image):
                return None
            digest = str(image.target.digest)
            return self._images.once(digest, partial(self._labels_of, namespace, digest, what))
        except RuntimeAils:
            raise
        except ContainerError:
            return None  # It may have been removed since.

    def _labels_of(self, namespace: str, digest: str, what: str) -> Mapping[str, str] | None:
        return records.labels_of_image(self._configurations(namespace, digest, what))

    def _configurations(self, namespace: str, digest: str, what: str) -> list[bytes]:
        """Return the configurations of the image; of platforms that were not pulled there are none."""
        manifests, configuration = records.parts_of(self.wire.blob(digest, what, namespace, self.limits.look))
        found = [configuration]
        for manifest in manifests[:_MOST_PLATFORMS]:
            with suppress(Missing):
                found.append(records.parts_of(self.wire.blob(manifest, what, namespace, self.limits.look))[1])
        read = []
        for each in filter(None, found):
            with suppress(Missing):
                read.append(self.wire.blob(each, what, namespace, self.limits.look))
        return read

    def task(self, key: ContainerKey, what: str) -> Task | None:
        """Return the container's task, if it has one."""
        try:
            answer = self.wire.call(calls.TASK, what, key.namespace, self.limits.look, container_id=key.id)
        except Missing:
            return None
        return records.task(answer.process)

    def look(self, key: ContainerKey, what: str, definition: Definition | None = None) -> Seen:
        """Return the container as it is now; its record is read, too, unless it is given. Raises `ContainerGone`."""
        ticket = self.known.ticket()
        definition = definition or self.definition(key, what)
        return self.known.saw(definition, self.task(key, what), ticket)

    def inside(self, namespace: str, seconds: float) -> list[Seen]:
        """Return every container of the namespace."""
        ticket = self.known.ticket()
        what, until = "list containers", time.monotonic() + seconds
        found = self.wire.call(calls.LIST, what, namespace, seconds).containers
        tasks = self._tasks(namespace, [str(record.id) for record in found], what, until)
        majors = majors_here()
        read = (self._read(ContainerKey(NAME, namespace, str(record.id)), record, majors, what) for record in found)
        return [self.known.saw(definition, tasks.get(definition.key.id), ticket) for definition in read]

    def _tasks(self, namespace: str, ids: Sequence[str], what: str, until: float) -> Mapping[str, Task]:
        """Return the tasks of these containers.

        Nobody waits long for a shim that hangs. containerd waits 2 s for each, one after the other, before it answers
        to a list (`io.containerd.timeout.task.state`); asked for one task it waits for no other shim.
        """
        if namespace not in self._mute:
            listed = self.wire.begin(calls.TASKS, what, namespace, until - time.monotonic())
            try:
                answer = listed.result(min(until - time.monotonic(), self.limits.mute))
                return {str(process.id): records.task(process) for process in answer.tasks}
            except TimedOut:
                listed.cancel()
                if time.monotonic() >= until:
                    raise
        left, found = until - time.monotonic(), dict[str, Task]()
        asked = {id_: self.wire.begin(calls.TASK, what, namespace, left, container_id=id_) for id_ in ids}
        patience, self._mute = min(left, self.limits.mute), self._mute - {namespace}
        for id_, pending in asked.items():
            try:
                found[id_] = records.task(pending.result(patience).process)
            except Missing:
                continue
            except TimedOut:
                pending.cancel()
                found[id_], patience, self._mute = records.UNKNOWN, 0.0, self._mute | {namespace}
        return found

    def namespaces(self, seconds: float) -> list[str]:
        return [str(n.name) for n in self.wire.call(calls.NAMESPACES, "list containers", "", seconds).namespaces]

    def record(self, key: ContainerKey, what: str, seconds: float | None = None) -> Record:
        """Return the record itself as it is now. Raises `ContainerGone`. `seconds`: it may take so long at most."""
        limit = self.limits.look if seconds is None else min(self.limits.look, seconds)
        try:
            return self.wire.call(calls.GET, what, key.namespace, limit, id=key.id).container
        except Missing as exc:
            raise ContainerGone(exc.message) from None

    def set_spec(self, key: ContainerKey, type_url: str, spec: bytes, what: str) -> None:
        """Have this definition in the place of the present one. Only while there is no task."""
        container = {"id": key.id, "spec": {"type_url": type_url, "value": spec}}
        mask = {"paths": ["spec"]}
        limit = self.limits.look
        self.wire.call(calls.UPDATE, what, key.namespace, limit, container=container, update_mask=mask)

    def set_placing(self, key: ContainerKey, type_url: str, texts: tuple[bytes, bytes], what: str) -> None:
        """Have this definition, and these originals of it, in the place of what is there. Only without a task."""
        spec, original = texts
        packed = {"type_url": type_url, "value": spec}
        # An extension without a value stands for none: not every containerd can take one away again.
        extensions = {placing.ORIGINAL: {"type_url": placing.ORIGINAL, "value": original}}
        container = {"id": key.id, "spec": packed, "extensions": extensions}
        mask = {"paths": ["spec", f"extensions.{placing.ORIGINAL}"]}
        limit = self.limits.look
        self.wire.call(calls.UPDATE, what, key.namespace, limit, container=container, update_mask=mask)

    def set_labels(self, key: ContainerKey, labels: Mapping[str, str], what: str) -> Pending[object]:
        """Begin to set these labels and leave the others as they are; an empty value removes one."""
        return self.wire.begin(
            calls.UPDATE,
            what,
            key.namespace,
            self.limits.look,
            container={"id": key.id, "labels": labels},
            update_mask={"paths": [f"labels.{name}" for name in labels]},
        )
