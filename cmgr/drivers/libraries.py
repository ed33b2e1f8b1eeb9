"""Where a driver's library is looked for, and when it may be loaded: never what somebody else could have written."""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from cmgr import trust
from cmgr.drivers import elf
from cmgr.errors import DriverMissing
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import parts, say
from cmgr.vendor import Place

LDCONFIG = ("/sbin/ldconfig", "/usr/sbin/ldconfig")

_LONGEST = 1024
_LDCONFIG_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Wanted:
    """A library. `setting`: that which names it. `package`: what it comes with. `installed`: where that puts it."""

    name: str
    setting: str
    package: str
    installed: Sequence[str]


@dataclass(frozen=True, slots=True)
class Where:
    """Decides where to look. `uid`: whose files are as good as root's; 0 for a service of root's."""

    wanted: Wanted
    configured: str = ""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    cache: str | None = None
    uid: int | None = None


def search(where: Where) -> tuple[Place, ...]:
    """Return every place that was looked at and has a file of that name, up to the first that may be loaded.

    A library that the configuration names is the only candidate.
    """
    uid = os.geteuid() if where.uid is None else where.uid
    looked: list[Place] = []
    for candidate in _candidates(where):
        if candidate.refusal or candidate.path in [c.path for c in looked]:
            looked += [candidate] if candidate.refusal else []
            continue
        looked.append(_judged(candidate, where.wanted, uid))
        if not looked[-1].refusal:
            break
    return tuple(looked)


def find(where: Where) -> str:
    """Return the library's path. Raises `DriverMissing`, with every refusal and its hint."""
    looked = search(where)
    for candidate in looked:
        if not candidate.refusal:
            return candidate.path
    name = where.wanted.name
    if not looked:
        hint = say("driver.install-or-name", package=where.wanted.package, setting=where.wanted.setting)
        raise DriverMissing(say("driver.library-not-found", library=name), hint=hint)
    refusals = [say("driver.place-refused", path=c.path, origin=c.origin, why=c.refusal) for c in looked]
    hints = dict.fromkeys(c.hint for c in looked)
    raise DriverMissing(say("driver.cannot-load", library=name, why=refusals), hint=parts(hints))


def _candidates(where: Where) -> Iterator[Place]:
    wanted = where.wanted
    if where.configured:
        if not os.path.lexists(where.configured):
            hint = say("driver.correct", setting=wanted.setting)
            yield Place(where.configured, wanted.setting, say("driver.no-such-file"), hint)
        else:
            yield Place(where.configured, wanted.setting)
        return
    yield from _in_library_path(where.environ.get("LD_LIBRARY_PATH", ""), wanted)
    cache = _ldconfig() if where.cache is None else where.cache
    for path in cached(cache, wanted.name):
        yield Place(path, say("driver.loader-cache"))
    for directory in wanted.installed:
        path = f"{directory}/{wanted.name}"
        if os.path.lexists(path):
            yield Place(path, say("driver.usual-places"))


def _in_library_path(value: str, wanted: Wanted) -> Iterator[Place]:
    origin = "LD_LIBRARY_PATH"
    if len(value) > _LONGEST:
        hint = say("driver.shorten", setting=wanted.setting)
        yield Place(origin, origin, say("driver.too-long", most=_LONGEST), hint)
        return
    for directory in value.split(":"):
        path = f"{directory}/{wanted.name}"
        # An empty or relative one would mean the working directory, which is nobody's to trust.
        if directory.startswith("/") and len(path) <= _LONGEST and os.path.lexists(path):
            yield Place(path, origin)


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


def cached(listing: str, name: str) -> tuple[str, ...]:
    """Return the paths of the library of that name in what `ldconfig -p` prints."""
    found = []
    for line in listing.splitlines():
        said, arrow, path = line.partition(" => ")
        if arrow and said.split(" (")[0].strip() == name:
            found.append(path.strip())
    return tuple(found)


def _judged(candidate: Place, wanted: Wanted, uid: int) -> Place:
    """Return the candidate with what speaks against it."""
    path = Path(candidate.path)
    try:
        resolved = path.resolve(strict=True)
        if not resolved.is_file():
            return _refused(candidate, say("driver.no-file"), say("driver.name-library"))
        found = trust.weakness(path, itself=True, sticky=False, uid=uid)
        if found is not None:
            return _refused(candidate, found.reason, found.hint)
        if elf.is_cut(resolved):
            return _refused(candidate, say("driver.cut-short"), say("driver.install-again", package=wanted.package))
    except (OSError, RuntimeError) as error:
        why = (error.strerror or "") if isinstance(error, OSError) else str(error)
        return _refused(candidate, say("driver.cannot-look", why=why), say("driver.run-as-root"))
    return Place(str(resolved), candidate.origin)


def _refused(candidate: Place, refusal: str, hint: str) -> Place:
    return Place(candidate.path, candidate.origin, refusal, hint)
