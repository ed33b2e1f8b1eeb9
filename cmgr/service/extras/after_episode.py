"""The hook after an episode: on a thread of its own, one episode after the other, and none forgotten.

Which episodes it has run for is kept in a file, because cmgr may die between the end of an episode and the hook.
Episodes that ended before there was a hook are history, and not run for.
"""

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from queue import SimpleQueue

from cmgr import atomic
from cmgr.errors import StoreError, chain
from cmgr.frozen import dataclass
from cmgr.model.values.chips import RingId
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import ContainerKey
from cmgr.service.extras import hook_words
from cmgr.service.extras.hook_files import AFTER_EPISODE
from cmgr.service.extras.hooks import Hooks
from cmgr.service.log.setup import Log
from cmgr.store.history import EpisodeRow, FaultRow
from cmgr.store.reader import open_reader
from cmgr.words import json_of, stamp

FILE = "after_episode.json"
"""Its name in the state directory."""

OBSERVED = "observed"

_REMEMBERED = 1000
_LOOKED_BACK = 200
_NOTES = 10_000


@dataclass(frozen=True, slots=True)
class _Closed:
    """An episode that is over."""

    number: int
    ring: RingId | None
    outcome: str
    text: str


class Afterwards:
    """Runs `after_episode`. `settle` and `note` on one thread; `close` on any."""

    def __init__(self, hooks: Hooks, database: Path, node: Callable[[], Node], log: Log) -> None:
        self._hooks = hooks
        self._database = database
        self._file = database.with_name(FILE)
        self._node = node
        self._log = log
        self._since = ""
        self._done: frozenset[int] = frozenset()
        self._queue: SimpleQueue[_Closed | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def settle(self, now: datetime) -> None:
        """Begin, or go on where the last life was. To be called again when there may be another hook, or none."""
        if not self._hooks.has(AFTER_EPISODE):
            self._since = ""
            with suppress(OSError):
                self._file.unlink(missing_ok=True)
        elif not self._since:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="after-episode", daemon=True)
                self._thread.start()
            if not self._read():
                self._since, self._done = stamp(now), frozenset()
                self._write()
                return
            for episode in reversed(self._episodes()):
                due = episode.ended is not None and stamp(episode.ended) >= self._since
                if due and episode.number not in self._done:
                    self._put(_Closed(episode.number, episode.ring, episode.outcome, episode.cause))

    def note(self, note: Note) -> None:
        """Hear of what was decided. Does not block."""
        if note.kind is NoteKind.CLOSED and self._since:
            self._put(_Closed(note.episode, note.ring, note.outcome, note.text))

    def _put(self, closed: _Closed) -> None:
        if closed.outcome == OBSERVED:
            return  # An observing cmgr does nothing, and runs nothing.
        self._queue.put(closed)

    def close(self) -> None:
        """Begin no other run. The rest is done in the next life."""
        self._queue.put(None)

    def _work(self) -> None:
        while (closed := self._queue.get()) is not None:
            ring = self._node().rings.get(closed.ring) if closed.ring is not None else None
            ring = Ring(ring.id if ring else RingId(-1), ring.chips if ring else (), episode=closed.number)
            self._hooks.after_episode(ring, self._words(ring, closed))
            if self._hooks.closed:
                return
            self._done |= {closed.number}
            self._write()

    def _words(self, ring: Ring, closed: _Closed) -> dict[str, str]:
        told = {"EPISODE": str(closed.number), "RING": str(ring.id), **hook_words.of_chips(self._node(), ring.chips)}
        told |= {"OUTCOME": closed.outcome, "REASON": closed.text}
        try:
            return told | self._from_database(ring, closed.number)
        except StoreError as error:
            self._log.warn(f"hook {AFTER_EPISODE} is told less: {chain(error)}")
            return told

    def _from_database(self, ring: Ring, number: int) -> dict[str, str]:
        with open_reader(self._database) as reader:
            episode = reader.episode(number)
            notes = reader.notes(number, _NOTES)
            began = episode.began if episode is not None else None
            faults = [f for f in reader.faults(since=began) if f.chip in ring.chips and _within(f, episode)]
        known = self._node().containers
        keys: dict[ContainerKey, str] = {}
        for key in (note.container for note in notes):
            if key is not None:
                keys[key] = known[key].name if key in known else key.id
        told = {**hook_words.of_faults(faults), **hook_words.of_containers(keys.items())}
        if episode is None or episode.ended is None:
            return told
        took = (episode.ended - episode.began).total_seconds()
        return {**told, "SECONDS": f"{took:.3f}", "REASON": episode.cause}

    def _episodes(self) -> tuple[EpisodeRow, ...]:
        try:
            with open_reader(self._database) as reader:
                return reader.episodes(_LOOKED_BACK)
        except StoreError as error:
            self._log.warn(f"cannot look for episodes whose hook is due: {chain(error)}")
            return ()

    def _read(self) -> bool:
        atomic.tidy(self._file)
        try:
            told = json_of(self._file.read_text())
            self._since, self._done = str(told["since"]), frozenset(int(number) for number in told["done"])
        except FileNotFoundError:
            return False
        except (OSError, ValueError, TypeError, LookupError) as error:
            self._log.warn(f"cannot read {self._file}, which is made again: {chain(error)}")
            return False
        return True

    def _write(self) -> None:
        self._done = frozenset(sorted(self._done)[-_REMEMBERED:])
        try:
            with atomic.written(self._file, 0o640) as file:
                file.write(json.dumps({"since": self._since, "done": sorted(self._done)}).encode())
        except OSError as error:
            self._log.warn(f"cannot write {self._file}, so a hook may run again: {error.strerror}")


def _within(fault: FaultRow, episode: EpisodeRow | None) -> bool:
    if not fault.level.handled:
        return False
    return episode is None or episode.ended is None or fault.since <= episode.ended
