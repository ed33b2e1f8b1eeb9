"""Bundles: what is saved for a diagnosis with each reset: how all was when it was ordered.

A bundle is made while the chips are reset, which a reset does not touch any more; the starts after it wait for a
bounded time. How many there are, and how much room they take, is bounded, too.
"""

import grp
import io
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, BinaryIO

from cmgr import atomic, redact
from cmgr.config.around import Bundles as Settings
from cmgr.model.values.chips import RingId
from cmgr.model.values.messages.commands import ResetRing
from cmgr.model.values.messages.facts import Remarked
from cmgr.model.values.rings import Ring
from cmgr.service.extras.bundle_parts import Made, Part, Sources, inspected_part, parts
from cmgr.service.log.setup import Log

DIRECTORY = "bundles"
"""Its name in the state directory."""

LATE = 5.0
"""How many seconds the starts after a reset wait for its bundle at most."""

_NAME = re.compile(r"episode-[0-9]{6,}-reset-[0-9]+(-maker)?\.tar\.gz")
_GROUP = "cmgr"
_pruning = threading.Lock()


class _Saving:
    """A bundle under way, and until when it is waited for. `told`: it has been said that it is late."""

    def __init__(self, thread: threading.Thread, ring: Ring, until: float) -> None:
        self.thread, self.ring, self.until, self.told = thread, ring, until, False


class Bundles:
    """Saves bundles. `save` on one thread, `wait` on any."""

    def __init__(
        self, sources: Sources, settings: Callable[[], Settings], put: Callable[[Remarked], None], log: Log
    ) -> None:
        self._sources = sources
        self._settings = settings
        self._put = put
        self._log = log
        self._lock = threading.Lock()
        self._busy: dict[RingId, _Saving] = {}
        self._directory = sources.database.with_name(DIRECTORY)

    def save(self, action: ResetRing) -> None:
        """Begin to save the bundle for this reset, which has just been ordered. Does not block or raise."""
        settings, node = self._settings(), self._sources.node()
        ring = node.rings[action.ring]
        path = self._directory / name_of(ring)
        # A reset that was refused is tried again: one bundle for it is enough.
        if not settings.keep or path.exists():
            return
        until = time.monotonic() + LATE
        made = Made(action, node, ring, self._sources.now(), until - LATE / 5)
        saving = threading.Thread(target=self._save, args=(made, path, settings), name="bundle", daemon=True)
        with self._lock:
            before = self._busy.get(action.ring)
            if before is not None and before.thread.is_alive():
                return  # It hangs: one of them does, not one more with each reset.
            self._busy[action.ring] = _Saving(saving, ring, until)
            saving.start()

    def wait(self, ring: RingId) -> None:
        """Wait for a bounded time until the bundle for the ring's reset is there: a start changes what it tells of."""
        saving = self._busy.get(ring)
        if saving is None:
            return
        saving.thread.join(max(0.0, saving.until - time.monotonic()))
        with self._lock:
            late = saving.thread.is_alive() and not saving.told
            saving.told = saving.told or late
        if late:
            text = "the bundle is not ready: what is to be started does not wait for it any longer"
            self._put(Remarked(text, ring, saving.ring.episode, loud=True))

    def _save(self, made: Made, path: Path, settings: Settings) -> None:
        try:
            make_directory(self._directory)
            write(path, parts(self._sources, made, settings))
            prune(self._directory, settings)
            self._put(Remarked(f"saved for a diagnosis: {path}", made.ring.id, made.ring.episode))
        except OSError as error:
            self._log.warn(f"cannot save the bundle {path}: {error.strerror or error}")
        except Exception as error:
            # A bug here must cost no more than the bundle.
            self._log.bug(f"cannot save the bundle {path}: please report it", error)


def name_of(ring: Ring, kind: str = "") -> str:
    """Return the name of the bundle for the ring's latest reset."""
    return f"episode-{ring.episode:06}-reset-{len(ring.resets)}{kind}.tar.gz"


def write(path: Path, made: Iterable[Part]) -> None:
    """Write the archive, so that it is there as a whole or not at all. Raises OSError."""
    with atomic.written(path, 0o640) as file:
        _give_to_group(file.fileno(), 0o640)
        pack(file, path.name.removesuffix(".tar.gz"), made)


def pack(file: BinaryIO, directory: str, made: Iterable[Part]) -> None:
    """Write the parts as a compressed archive, in a directory of this name."""
    import tarfile

    now = int(time.time())
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as archive:
        for part in made:
            data = part.content if isinstance(part.content, bytes) else part.content.encode(errors="replace")
            member = tarfile.TarInfo(f"{directory}/{part.name}")
            member.size, member.mtime, member.mode = len(data), now, 0o640
            archive.addfile(member, io.BytesIO(data))


def cleaned(path: Path) -> bytes:
    """Return a saved bundle without the secrets that an earlier cmgr has left in it. Raises OSError, TarError."""
    import tarfile

    file, name = io.BytesIO(), path.name.removesuffix(".tar.gz")
    with tarfile.open(path) as archive:
        pack(file, name, (_cleaned(member.name.partition("/")[2], archive.extractfile(member)) for member in archive))
    return file.getvalue()


def _cleaned(name: str, file: IO[bytes] | None) -> Part:
    data = file.read() if file is not None else b""
    with suppress(ValueError, RecursionError):
        return inspected_part(name, json.loads(data)) if name.endswith(".json") else Part(name, redact.data(data))
    return Part(name, redact.data(data))


def saved(directory: Path) -> list[Path]:
    """Return the bundles in the directory, the oldest first; what makers' programs told beside each."""
    try:
        names = [name for name in os.listdir(directory) if _NAME.fullmatch(name)]
    except OSError:
        return []
    return [directory / name for name in sorted(names, key=lambda name: (numbers(name), name))]


def numbers(name: str) -> tuple[int, ...]:
    """Return the episode and the reset that this bundle was saved for."""
    return tuple(int(number) for number in re.findall(r"[0-9]+", name))


def prune(directory: Path, settings: Settings) -> None:
    """Remove the oldest bundles over the limits, and what was left unfinished. Raises OSError."""
    with _pruning:
        _prune(directory, settings)


def _prune(directory: Path, settings: Settings) -> None:
    for name in os.listdir(directory):
        if name.endswith(atomic.UNFINISHED) and time.time() - (directory / name).stat().st_mtime > 3600:
            (directory / name).unlink(missing_ok=True)
    found = saved(directory)
    sizes = {path: path.stat().st_size for path in found}
    resets, room = set[tuple[int, ...]](), settings.max_mb * 1_000_000
    for path in reversed(found):
        resets.add(numbers(path.name))
        room -= sizes[path]
        if len(resets) > settings.keep or room < 0:
            path.unlink(missing_ok=True)


def make_directory(directory: Path) -> None:
    """Make the directory of bundles, if it is not there. Raises OSError."""
    with suppress(FileExistsError):
        directory.mkdir(mode=0o750)
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            _give_to_group(descriptor, 0o750)
        finally:
            os.close(descriptor)


def _give_to_group(descriptor: int, mode: int) -> None:
    os.fchmod(descriptor, mode)  # Whatever the umask is.
    with suppress(KeyError):
        if os.geteuid() == 0:
            os.fchown(descriptor, 0, grp.getgrnam(_GROUP).gr_gid)
