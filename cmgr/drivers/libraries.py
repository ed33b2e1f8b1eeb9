"""Where libdcmi.so is looked for, and when it may be loaded: never what somebody else could have written."""

import os
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cmgr.drivers import elf as dcmi_elf
from cmgr.drivers.dcmi.abi import LIBRARY
from cmgr.errors import DriverMissing

INSTALLED = (
    "/usr/local/dcmi",
    "/usr/local/Ascend/driver/lib64/driver",
    "/usr/local/Ascend/driver/lib64",
    "/usr/lib64",
    "/usr/lib",
)
"""Where the driver's packages put it."""

LDCONFIG = ("/sbin/ldconfig", "/usr/sbin/ldconfig")

_LONGEST = 1024
_DEEPEST = 20
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_LDCONFIG_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place that was looked at. `refusal` empty: this is the library; `path` is free of links then."""

    path: str
    origin: str
    refusal: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Where:
    """What decides where to look. `uid`: whose files are as good as root's; 0 for a service of root's."""

    configured: str = ""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    installed: Sequence[str] = INSTALLED
    cache: str | None = None
    uid: int | None = None


def search(where: Where) -> tuple[Candidate, ...]:
    """Return every place that was looked at and has a file of that name, up to the first that may be loaded.

    A library that the configuration names is the only candidate.
    """
    uid = os.geteuid() if where.uid is None else where.uid
    looked: list[Candidate] = []
    for candidate in _candidates(where):
        if candidate.refusal or candidate.path in [c.path for c in looked]:
            looked += [candidate] if candidate.refusal else []
            continue
        looked.append(_judged(candidate, uid))
        if not looked[-1].refusal:
            break
    return tuple(looked)


def find(where: Where) -> str:
    """Return the library's path. Raises `DriverMissing`, with every refusal and its hint."""
    looked = search(where)
    for candidate in looked:
        if not candidate.refusal:
            return candidate.path
    if not looked:
        hint = "install the Ascend driver, or name the library: dcmi.library"
        raise DriverMissing(
            f"cannot find {LIBRARY} in LD_LIBRARY_PATH, the loader's cache, or the usual places", hint=hint
        )
    why = "; ".join(f"{c.path} ({c.origin}): {c.refusal}" for c in looked)
    hints = dict.fromkeys(c.hint for c in looked if c.hint)
    raise DriverMissing(f"cannot load {LIBRARY}: {why}", hint="; ".join(hints))


def _candidates(where: Where) -> Iterator[Candidate]:
    if where.configured:
        if not os.path.lexists(where.configured):
            yield Candidate(where.configured, "dcmi.library", "there is no such file", "correct dcmi.library")
        else:
            yield Candidate(where.configured, "dcmi.library")
        return
    yield from _in_library_path(where.environ.get("LD_LIBRARY_PATH", ""))
    cache = _ldconfig() if where.cache is None else where.cache
    for path in cached(cache):
        yield Candidate(path, "the loader's cache")
    for directory in where.installed:
        path = f"{directory}/{LIBRARY}"
        if os.path.lexists(path):
            yield Candidate(path, "the usual places")


def _in_library_path(value: str) -> Iterator[Candidate]:
    origin = "LD_LIBRARY_PATH"
    if len(value) > _LONGEST:
        yield Candidate(origin, origin, f"longer than {_LONGEST} characters", "shorten it, or set dcmi.library")
        return
    for directory in value.split(":"):
        path = f"{directory}/{LIBRARY}"
        # An empty or relative one would mean the working directory, which is nobody's to trust.
        if directory.startswith("/") and len(path) <= _LONGEST and os.path.lexists(path):
            yield Candidate(path, origin)


def _ldconfig() -> str:
    program = next((p for p in LDCONFIG if os.path.exists(p)), None)
    if program is None:
        return ""
    try:
        # Its own environment: nothing of ours may change what it loads or prints.
        ran = subprocess.run(  # noqa: S603  # A fixed path that only root can write.
            [program, "-p"], capture_output=True, env={"LC_ALL": "C"}, timeout=_LDCONFIG_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return ran.stdout.decode(errors="replace")


def cached(listing: str) -> tuple[str, ...]:
    """Return the library's paths in what `ldconfig -p` prints."""
    found = []
    for line in listing.splitlines():
        name, arrow, path = line.partition(" => ")
        if arrow and name.split(" (")[0].strip() == LIBRARY:
            found.append(path.strip())
    return tuple(found)


def _judged(candidate: Candidate, uid: int) -> Candidate:
    """Return the candidate with what speaks against it."""
    path = Path(candidate.path)
    try:
        if path.is_symlink() and path.lstat().st_uid not in (0, uid):
            return _refused(candidate, f"it is a link of uid {path.lstat().st_uid}", f"chown -h root {path}")
        resolved = path.resolve(strict=True)
        if not stat.S_ISREG(resolved.stat().st_mode):
            return _refused(candidate, "it is not a file", "name the library itself")
        if len(resolved.parents) > _DEEPEST:
            return _refused(candidate, f"it lies deeper than {_DEEPEST} directories", "move it")
        for each in (resolved, *resolved.parents):
            status = each.stat()
            if status.st_uid not in (0, uid):
                return _refused(candidate, f"{each} belongs to uid {status.st_uid}", f"chown root {each}")
            if status.st_mode & _OTHERS_WRITE:
                mode = stat.S_IMODE(status.st_mode)
                return _refused(candidate, f"others can write {each} (mode {mode:04o})", f"chmod go-w {each}")
        if dcmi_elf.is_cut(resolved):
            return _refused(candidate, "it is cut short", "install the Ascend driver again")
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return _refused(candidate, f"it cannot be looked at: {reason}", "run as root")
    return Candidate(str(resolved), candidate.origin)


def _refused(candidate: Candidate, refusal: str, hint: str) -> Candidate:
    return Candidate(candidate.path, candidate.origin, refusal, hint)
