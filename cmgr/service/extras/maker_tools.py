"""The programs and files of chips' makers that their support asks for.

Each program runs in the host, in a directory of its own, which it may fill as it likes; it is killed when its time is
up, when it has written too much, or when somebody cuts it short. Secrets are taken out.
"""

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path
from threading import Event, Timer

from cmgr import redact, trust
from cmgr.host.act import Act, CannotBegin, Ended
from cmgr.host.host import Host
from cmgr.service.extras.bundle_parts import Part
from cmgr.vendor import Support, Tool

OUTPUT = "output.txt"
MOST_AT_ONCE = 4
"""So many of a maker's programs for reports may run at a time."""

MOST_OF_ONE = 4 << 20
MOST_OF_ALL = 16 << 20
"""So many bytes are kept: of one file the last ones, of all files of one program or one list."""

_MOST_WRITTEN = 64 << 20
_MOST_FILES = 500
_LOOK_EVERY = 0.2
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# A file may have 32 MiB, in units of 512 bytes.
_SCRIPT = f'cd "$1" && shift && ulimit -f 65536 && exec "$@" >{OUTPUT} 2>&1'


def found(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """Return those of the tools that are installed."""
    return tuple(tool for tool in tools if shutil.which(tool.words[0], path=_PATH))


def run(host: Host, tool: Tool, directory: Path, seconds: float, cut: Event) -> None:
    """Run it in this directory, which is made, and write how it ended behind its output there. Raises `OSError`."""
    directory.mkdir(mode=0o700)
    path = shutil.which(tool.words[0], path=_PATH) or tool.words[0]
    if weak := trust.weakness(path, itself=True):
        how = weak.reason
    elif cut.is_set():
        how = "there was no time left"
    else:
        how = _run(host, (path, *tool.words[1:]), directory, seconds, cut)
    if how:
        with (directory / OUTPUT).open("a") as file:
            file.write(f"\n(cmgr: {' '.join(tool.words)}: {how})\n")


def told(host: Host, wanted: Support, place: Path, seconds: float) -> Iterator[Part]:
    """Yield all that is wanted, when the programs have ended or the time is up. `place` is theirs."""
    cut = Event()
    timer = Timer(seconds, cut.set)
    timer.start()
    try:
        with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
            tools = found((*wanted.tools, *wanted.lost))
            list(pool.map(lambda tool: run(host, tool, place / tool.name, seconds, cut), tools))
    finally:
        timer.cancel()
    yield from left(place)
    yield from files(wanted.files)


def _run(host: Host, words: Sequence[str], directory: Path, seconds: float, cut: Event) -> str:
    name = f"support-{directory.parent.name}-{directory.name}"
    whole = ("/bin/sh", "-c", _SCRIPT, "sh", str(directory), *words)
    if why := host.out_of_reach():
        # It would take the chips from the containers, as any that opens a maker's library there.
        return f"was not run in the service's sandbox, where a driver takes it for a container: {why}"
    try:
        begun = host.begin(Act(name, whole, {"LC_ALL": "C", "PATH": _PATH, "TZ": "UTC"}, seconds))
    except CannotBegin as error:
        return error.message
    ended: Ended | None = None
    while ended is None:
        ended = begun.wait(_LOOK_EVERY, cut)
        if ended is None and cut.is_set():
            begun.kill()
            return "was cut short"
        if ended is None and _written(directory) > _MOST_WRITTEN:
            begun.kill()
            return "was killed: it wrote too much"
    return ended.why or (f"ended with {ended.code}" if ended.code else "")


def _written(directory: Path) -> int:
    return sum(size for _, size in _files(directory))


def _files(directory: Path) -> Iterator[tuple[Path, int]]:
    for place, _, names in os.walk(directory):
        for name in sorted(names, key=lambda name: (name != OUTPUT, name)):
            path = Path(place, name)
            try:
                status = path.lstat()
            except OSError:
                continue  # It goes on writing, and removes what it has written.
            if stat.S_ISREG(status.st_mode):
                yield path, status.st_size


def left(directory: Path) -> Iterator[Part]:
    """Yield what programs have left in this directory and below, as far as there is room."""
    yield from _kept(((str(path.relative_to(directory)), path) for path, _ in _files(directory)))


def files(patterns: Sequence[str]) -> Iterator[Part]:
    """Yield the files of these names, which may have `*` in them, as far as there is room; those that are there."""
    paths = (path for pattern in patterns for path in sorted(glob(pattern, recursive=True)))
    yield from _kept((path.lstrip("/"), Path(path)) for path in paths if os.path.isfile(path))


def _kept(found: Iterator[tuple[str, Path]]) -> Iterator[Part]:
    room, missing = MOST_OF_ALL, []
    for number, (name, path) in enumerate(found):
        try:
            data = _end_of(path, min(room, MOST_OF_ONE)) if number < _MOST_FILES else None
        except OSError as error:
            missing.append(f"{name}: {error.strerror}")
            continue
        if data is None:
            missing.append(f"{name}: no room, or no file")
            continue
        room -= len(data)
        yield Part(name, redact.data(data))
    if missing:
        yield Part("missing.txt", "".join(f"{line}\n" for line in missing))


def _end_of(path: Path, room: int) -> bytes | None:
    # A pipe, or a device, that somebody put there must not be waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or (status.st_size and not room):
            return None
        file.seek(max(0, status.st_size - room))
        return file.read(room)
