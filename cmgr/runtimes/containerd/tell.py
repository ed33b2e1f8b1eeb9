"""containerd's events turned into what cmgr is told: which containers changed, and how they are now."""

from collections.abc import Callable

from cmgr.errors import ContainerError, ContainerGone
from cmgr.model.values.messages.facts import ContainerRemoved, ContainerSeen
from cmgr.model.values.services.containers import ContainerKey
from cmgr.ports import RuntimeFact
from cmgr.runtimes.containerd import record as containerd_record
from cmgr.runtimes.containerd.known import Seen
from cmgr.runtimes.containerd.looks import Looks
from cmgr.runtimes.containerd.messages import MESSAGES, TaskExit
from cmgr.runtimes.containerd.record import NAME
from cmgr.runtimes.following import Comings


class Teller(Comings):
    """Looks at each container that an event speaks of, and tells what it found. On the watcher's thread.

    The order of the stream is the order of the looks, so that what is told last is the newest.
    """

    def __init__(self, looks: Looks, tell: Callable[[RuntimeFact], None]) -> None:
        super().__init__(NAME, looks.known, tell)
        self._looks = looks
        self._known = looks.known

    def event(self, namespace: str, topic: str, payload: bytes) -> None:
        # Whatever the event is, its first field is the container's id.
        key = ContainerKey(NAME, namespace, str(MESSAGES["Happening"].FromString(payload).container_id))
        if topic == "/containers/delete":
            gone = self._known.drop(key)
            if gone is not None and gone.definition.concerns:
                self._tell(ContainerRemoved(key))
            return
        seen = self._known.last(key)
        record_changed = topic.startswith("/containers/")
        if not record_changed and seen is not None and not seen.definition.concerns:
            return
        self._known.touch(key)
        if topic == "/tasks/exit":
            self._ended(key, payload)
        elif topic == "/tasks/oom" and seen is not None:
            # The kernel ends it, which nobody asked for.
            self._known.blame(key, seen.run, False)
        else:
            self._look(key, None if record_changed else seen)

    def _ended(self, key: ContainerKey, payload: bytes) -> None:
        event: TaskExit = MESSAGES["TaskExit"].FromString(payload)
        if event.id != event.container_id:
            return  # The end of a process that somebody had run inside it.
        seen = self._known.ended(key, int(event.pid), containerd_record.exit_(event))
        if seen is None:
            self._look(key, self._known.last(key))
        else:
            self._say(seen)

    def _look(self, key: ContainerKey, seen: Seen | None) -> None:
        definition = seen.definition if seen is not None else None
        try:
            self._say(self._looks.look(key, "look at a container", definition))
        except ContainerGone:
            return  # Its removal is an event of its own.
        except ContainerError:
            return  # The next list looks at it again.

    def _say(self, seen: Seen) -> None:
        if seen.definition.concerns:
            self._tell(ContainerSeen(seen.container()))
