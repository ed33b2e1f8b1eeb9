"""The documents that the programs of a make of chips read: answered on the socket, and kept as files.

The files are renewed also when nothing has changed, so that their readers can tell a dead cmgr from a healthy machine.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from cmgr import atomic
from cmgr.config.settings import Export as Settings
from cmgr.errors import NotThere
from cmgr.model.values.node import Node
from cmgr.model.values.troubles import Trouble
from cmgr.sentences.sentence import say
from cmgr.service.part import Part, Step, degraded
from cmgr.vendor import Line, exports

EVENTS = "events"
"""The document that is made of the history, and has no file."""

MODE = 0o640
RENEWED = 60.0
"""Seconds from one writing to the next where nothing has changed: older files are of a dead cmgr."""

BREATH = 0.2
"""Seconds between two writings: a storm of faults must not keep a disk busy."""


class Exports(Part):
    """One life of them. `text` on any thread; a thread of its own writes the files, if a directory is set."""

    def __init__(self, settings: Settings, node: Callable[[], Node], now: Callable[[], datetime]) -> None:
        self._settings, self._node, self._now = settings, node, now
        self.host = settings.node or socket.gethostname()
        self._due, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._keep, name="exports", daemon=True)
        self._kept: set[Path] = set()
        self.trouble = ""

    def text(self, name: str, *, described: bool = False) -> bytes:
        """Return the document of this name, bare or as the cluster's own command shows it. Raises `NotThere`."""
        found = self._documents()
        if name in found:
            file, text = found[name]
            (export,) = (each for each in exports() if name in each.names)
            return export.described(name, file, text.decode()).encode() if described else text
        known = ", ".join(sorted({EVENTS, *(name for export in exports() for name in export.names)}))
        if any(name in export.names for export in exports()):
            why = "the chips of this machine are of no make that has it"
            if found:
                why = "nobody looks at that part of this machine"
            hint = f"there are {', '.join(sorted(found))}" if found else "cmgr chips"
            raise NotThere(f"cannot export {name}: {why}", hint=hint)
        raise NotThere(f"cannot export {name[:40]!r}: there is no such document", hint=f"there are {known}")

    def events(self, notes: Sequence[Line]) -> bytes:
        """Return the document `EVENTS`, made of these lines of the history. Raises `NotThere`."""
        node, at = self._node(), self._now()
        for export in exports():
            if export.documents(node, self.host, at):
                return export.events(notes, self.host)
        hint = "cmgr chips"
        raise NotThere(f"cannot export {EVENTS}: the chips of this machine are of no make that has it", hint=hint)

    def start(self) -> None:
        """Begin to keep the files, if a directory is set. Raises nothing."""
        if self._settings.dir:
            self._thread.start()

    def observe(self, step: Step) -> None:
        """Have the files looked at where something was decided."""
        if step.notes:
            self._due.set()

    def troubles(self) -> Iterable[Trouble]:
        if why := self.trouble:
            yield degraded("export", say("trouble.export"), why, say("hint.look-at", path=self._settings.dir))

    def close(self) -> None:
        """Write no more. The files are left, and grow old."""
        self._over.set()
        self._due.set()
        if self._thread.is_alive():
            self._thread.join()

    def _documents(self) -> Mapping[str, tuple[str, bytes]]:
        node, at = self._node(), self._now()
        return {name: told for export in exports() for name, told in export.documents(node, self.host, at).items()}

    def _keep(self) -> None:
        while not self._over.is_set():
            self._due.clear()
            try:
                self.write()
                self.trouble = ""
            except OSError as error:
                self.trouble = f"cannot write to {self._settings.dir}: {error.strerror or error}"
            self._over.wait(BREATH)
            self._due.wait(RENEWED)

    def write(self) -> None:
        """Write every document's file, and take away those of documents that are no more. Raises `OSError`."""
        directory = Path(self._settings.dir)
        if not directory.is_absolute():
            raise OSError(f"{directory} is no absolute path")
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        group = directory.stat().st_gid
        kept: set[Path] = set()
        for file, text in self._documents().values():
            # A host's name is this machine's own word, and still no path.
            path = directory / f"{file.replace(os.sep, '_')}.json"
            kept.add(path)
            with atomic.written(path, MODE, durable=False) as out:
                os.fchown(out.fileno(), -1, group)
                out.write(text)
        for gone in self._kept - kept:
            gone.unlink(missing_ok=True)
        self._kept = kept
