"""Starting a container: a new task on the container's own snapshot, with the streams of the one before.

The traps of containerd that are numbered here each have a test in `test_traps`:
1. A delete that is cut short leaves a task that is neither there nor gone.
3. A start that fails leaves a task.
4. A task without the mounts of its snapshot, or beside a directory that an earlier one left, cannot be started.
6. Its client may still be deleting the last task: its directory or FIFO goes in the midst of a start.
7. A namespace that the container joins may be of a process that is gone, or of another that has its number now.
"""

import json
import os
import re
import threading
import time
from contextlib import suppress
from pathlib import Path

from cmgr.errors import ContainerError, RuntimeAils
from cmgr.model.values.services.containers import ContainerKey
from cmgr.runtimes.claims import majors_here
from cmgr.runtimes.containerd import io as containerd_io
from cmgr.runtimes.containerd import messages as calls
from cmgr.runtimes.containerd import placing, slots
from cmgr.runtimes.containerd import record as containerd_record
from cmgr.runtimes.containerd.known import Seen
from cmgr.runtimes.containerd.looks import Looks
from cmgr.runtimes.containerd.messages import Mount
from cmgr.runtimes.containerd.record import Definition, Streams, Task
from cmgr.runtimes.containerd.wire import Exists, Missing, Pending, TimedOut
from cmgr.runtimes.documents import mapping
from cmgr.words import json_of


class Starter:
    """Starts containers. Any thread."""

    def __init__(self, looks: Looks, cdi: Path) -> None:
        """`cdi`: the directory of CDI files, where those of slots are."""
        self._looks = looks
        self._cdi = cdi
        self._wire = looks.wire
        self._limits = looks.limits
        self._deletes: dict[ContainerKey, Pending[object]] = {}

    def start(self, key: ContainerKey, restart_policy: str, *, frozen: bool) -> str:
        """Do what `Runtime.start` says."""
        what = f"start container {self._looks.known.name(key)}"
        self._wire.reach(what)
        until = time.monotonic() + self._limits.start
        seen = self._looks.look(key, what)
        if seen.task is not None and seen.task.unknown:
            raise ContainerError(f"cannot {what}: whether it runs is not known, because its shim does not answer")
        if not seen.running:
            self._begin(seen, what, until)
        seen = self._looks.look(key, what)
        # Only now: until it runs the restart monitor must not see it.
        labels = containerd_record.arming(seen.definition.labels, restart_policy)
        if labels:
            self._looks.set_labels(key, labels, what).result(self._limits.look)
        if frozen and seen.task is not None and not seen.task.paused:
            self._freeze(key)
        return seen.run

    def _freeze(self, key: ContainerKey) -> None:
        what = f"pause container {self._looks.known.name(key)}"
        try:
            self._wire.call(calls.PAUSE, what, key.namespace, self._limits.kill, container_id=key.id)
        except ContainerError as exc:
            seen = self._looks.look(key, what)
            if seen.task is not None and seen.running and not seen.task.paused:  # It may have ended by now.
                raise RuntimeAils(exc.message, hint=exc.hint) from exc

    def _begin(self, seen: Seen, what: str, until: float) -> None:
        definition, key = seen.definition, seen.definition.key
        self._join(definition, what)
        streams = containerd_io.streams_for(definition, _streams(seen))
        # Also where there seems to be none: a delete that was cut short leaves one that nobody sees (trap 1).
        self._delete(key, what, until)
        self._give_slot(key, what)
        rootfs = self._rootfs(definition, what)
        try:
            self._create(definition, streams, rootfs, (what, until))
        except Exists:
            if self._looks.look(key, what, definition).running:
                return  # Somebody was faster.
            self._delete(key, what, until)
            self._create(definition, streams, rootfs, (what, until))
        try:
            self._order(calls.START, key, what, _left(until))
        except ContainerError:
            with suppress(ContainerError):
                self._delete(key, what, until)
            self._end_loggers(key, streams)
            raise

    def _give_slot(self, key: ContainerKey, what: str) -> None:
        """Have a container that was made with a slot get the chips that the slot has now."""
        record = self._looks.record(key, what)
        spec = containerd_record.spec_of(record)
        slot = slots.slot_in(spec)
        if not slot:
            return
        path = self._cdi / slots.file_name(slot)
        try:
            document = mapping(json_of(path.read_text("utf-8", "replace")))
        except (OSError, ValueError) as error:
            raise RuntimeAils(f"cannot {what}: cannot read {path}") from error
        try:
            fresh = slots.given(spec, slots.edits_of(document, slot))
        except ContainerError as error:
            raise ContainerError(f"cannot {what}: {error.message}") from None
        if fresh != spec:
            self._looks.set_spec(key, record.spec.type_url, json.dumps(fresh).encode(), what)

    def place(self, key: ContainerKey, pairs: placing.Pairs) -> None:
        """Do what `Placing.place` says."""
        what = f"give other chips to container {self._looks.known.name(key)}"
        self._wire.reach(what)
        if self._looks.look(key, what).running:
            return
        record = self._looks.record(key, what)
        spec, before = containerd_record.spec_of(record), containerd_record.extension(record, placing.ORIGINAL)
        original = placing.kept(before) or placing.original_of(spec)
        try:
            fresh = placing.placed(spec, original, pairs, majors_here())
        except ContainerError as error:
            raise ContainerError(f"cannot {what}: {error.message}") from None
        is_home = all(old == new for old, new in pairs)
        kept = b"" if is_home else before or json.dumps(original).encode()
        if fresh != spec or kept != before:
            self._looks.set_placing(key, record.spec.type_url, (json.dumps(fresh).encode(), kept), what)

    def _join(self, definition: Definition, what: str) -> None:
        """Have it join the namespaces that its donors have now; its record has those that they had (trap 7).

        Where it does not say whose they are, one is refused of a process that is gone, or is no container's any more.
        """
        if not definition.shared:
            return
        namespace, key = definition.key.namespace, definition.key
        tasks = self._wire.call(calls.TASKS, what, namespace, self._limits.look).tasks
        pids = {str(t.id): int(t.pid) for t in tasks if containerd_record.task(t).running}
        told, joins = containerd_record.donors(definition.labels), definition.container.joins
        donors = {kind: donor for kind, donor in told.items() if donor in joins}
        if missing := sorted(set(donors.values()) - pids.keys()):
            name = self._looks.known.name(key._replace(id=missing[0]))
            raise ContainerError(f"cannot {what}: {name}, in whose namespaces it runs, does not run")
        record = self._looks.record(key, what)
        spec = containerd_record.spec_of(record)
        fresh = containerd_record.rejoined(spec, {kind: pids[donor] for kind, donor in donors.items()})
        if fresh != spec:
            self._looks.set_spec(key, record.spec.type_url, json.dumps(fresh).encode(), what)
        if containerd_record.shared(fresh) - set(pids.values()):
            name = definition.container.name
            text = "it shares a namespace of another container that has been started again since"
            hint = f"start it with the client that made it: nerdctl --namespace {namespace} start {name}"
            raise ContainerError(f"cannot {what}: {text}", hint=hint)

    def _delete(self, key: ContainerKey, what: str, until: float) -> None:
        """Delete the old task. It goes on when this gives up: cut short it would wedge the container (trap 1)."""
        begun = self._deletes.get(key) or self._wire.begin(
            calls.DELETE, what, key.namespace, self._limits.delete, container_id=key.id
        )
        self._deletes[key] = begun
        try:
            begun.result(min(self._limits.delete_wait, _left(until)))
        except Missing:
            pass
        except TimedOut:
            text = "its last task is still being deleted, because something that reads its output does not end"
            raise ContainerError(f"cannot {what}: {text}") from None
        except ContainerError:
            self._deletes.pop(key, None)
            if not self._looks.look(key, what).running:
                raise
        self._deletes.pop(key, None)

    def _rootfs(self, definition: Definition, what: str) -> list[Mount]:
        """Return the mounts of its snapshot. A task without them would wedge the container (trap 4)."""
        if not definition.snapshot_key:
            return []
        fields = {"snapshotter": definition.snapshotter, "key": definition.snapshot_key}
        try:
            answer = self._wire.call(calls.MOUNTS, what, definition.key.namespace, self._limits.look, **fields)
        except Missing as exc:
            raise ContainerError(exc.message, hint="its files are gone: recreate the container") from None
        if not answer.mounts:
            raise ContainerError(f"cannot {what}: its snapshot has no mounts")
        for mount in answer.mounts if definition.mount_label else ():
            mount.options.append(f'context="{definition.mount_label}"')
        return list(answer.mounts)

    def _create(self, definition: Definition, streams: Streams, rootfs: list[Mount], bound: tuple[str, float]) -> None:
        what, until = bound
        fields = {
            "container_id": definition.key.id,
            "rootfs": rootfs,
            "stdout": streams.stdout,
            # A terminal has one stream; a logger is named twice all the same.
            "stderr": "" if definition.terminal and "://" not in streams.stdout else streams.stderr,
            "terminal": definition.terminal,
        }
        over = time.monotonic() + self._limits.leftover
        while True:
            try:
                with containerd_io.kept_open(streams, what):  # Trap 2.
                    seconds = min(self._limits.create, _left(until))
                    self._wire.call(calls.CREATE, what, definition.key.namespace, seconds, **fields)
                return
            except Exists:
                raise
            except ContainerError as exc:
                self._end_loggers(definition.key, streams)
                bundle, late = _left_over(exc.message, definition.key), time.monotonic() > over
                if bundle is None and (late or not _swept_away(exc.message, definition.key, streams)):
                    raise
                if bundle is not None and late:
                    over = until
                    _remove_bundle(bundle, what)
                threading.Event().wait(min(0.3, _left(until)))

    def _end_loggers(self, key: ContainerKey, streams: Streams) -> None:
        """End what a failed start has left (trap 3)."""
        if streams.stdout.startswith("binary://"):
            containerd_io.end_loggers(key.namespace, key.id)

    def _order(self, call: calls.Call[object], key: ContainerKey, what: str, seconds: float) -> None:
        try:
            self._wire.call(call, what, key.namespace, seconds, container_id=key.id)
        except Missing as exc:
            # Its client may have removed it, as it does for `--rm` (trap 6).
            self._looks.definition(key, what)
            raise ContainerError(exc.message) from None


def _streams(seen: Seen) -> Streams | None:
    task: Task | None = seen.task
    return task.streams if task is not None else seen.streams


def _left(until: float) -> float:
    return max(0.05, until - time.monotonic())


def _left_over(text: str, key: ContainerKey) -> Path | None:
    """Return the directory that an earlier task has left, when that is what the answer complains of (trap 4).

    containerd has no code for this, and no other way to ask for the place.
    """
    tail = re.escape(f"/io.containerd.runtime.v2.task/{key.namespace}/{key.id}")
    found = re.search(rf"mkdir (/\S+{tail}): file exists", text)
    return Path(found[1]) if found else None


def _swept_away(text: str, key: ContainerKey, streams: Streams) -> bool:
    """Return whether the task's own directory or FIFO vanished: the last one's client was still deleting (trap 6)."""
    directory = f"/io.containerd.runtime.v2.task/{key.namespace}/{key.id}/"
    fifos = [path for path in (streams.stdout, streams.stderr) if path.startswith("/")]
    # A shim is started in that directory, and then does not say its path.
    own = "|".join([rf"{re.escape(directory)}\S+", *map(re.escape, fifos), r"start failed: \S+: getwd"])
    return re.search(rf"(?:{own}): no such file or directory", text) is not None


def _remove_bundle(bundle: Path, what: str) -> None:
    """Remove what is left of a task that containerd does not know. Nothing below its first level is touched."""
    hint = f"see what is in {bundle} and remove it, or reboot"
    # The answer that named it also quotes what the container is to run: a link there would lead anywhere.
    if os.path.realpath(bundle) != str(bundle):
        raise ContainerError(f"cannot {what}: {bundle} is in its way, and is reached through a link", hint=hint)
    try:
        # Fails where something is still mounted on it, and then nothing is removed.
        with suppress(FileNotFoundError):
            (bundle / "rootfs").rmdir()
        for entry in list(bundle.iterdir()):
            entry.unlink()
        bundle.rmdir()
    except FileNotFoundError:
        return
    except OSError as exc:
        why = f"an earlier task has left its directory: {exc.strerror}"
        raise ContainerError(f"cannot {what}: {why}", hint=hint) from None
