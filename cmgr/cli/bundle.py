"""The command that gathers what somebody needs who is to help: bundle."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tarfile import TarError
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO

from cmgr import __version__, atomic, redact
from cmgr.cli import past, source
from cmgr.cli.look import minutes
from cmgr.cli.options import Common, argument, option
from cmgr.cli.text import out
from cmgr.errors import CmgrError, ConfigError, chain, system_words
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say
from cmgr.service.timing.period import quarter_of

if TYPE_CHECKING:
    from cmgr.config.settings import Config
    from cmgr.service.extras.bundle_parts import Part

EPISODES = 100
TIMELINES = 20
SAVED = 5
"""So many episodes, timelines of episodes, and resets with saved bundles are in it: the newest."""

MAKER_SECONDS = 60.0
"""For all programs of the chips' maker."""

_EVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleOptions(Common):
    out: Path = argument("OUT.tar.gz", "The file to write.")
    force: bool = option("--force", "Overwrite the file if it is there.", False)


def bundle(options: BundleOptions) -> None:
    """Gather what somebody needs who is to help.

    Status, chips, faults, history, configuration, findings of check, versions, the bundles saved before the last
    resets, and what the chips' maker asks for, in one archive; secrets are taken out. Works without the service.
    """
    from cmgr.service.extras.bundles import pack

    with _file(options.out, options.force) as file:
        made = list(_parts(options))
        name = options.out.name.partition(".")[0] or "cmgr"
        pack(file, name, made)
        size = file.tell()
    told = say("usage.bundle-made", path=str(options.out), count=len(made), size=max(1, size // 1000))
    out.lines([out.spoken(told)])
    out.remark(say("usage.bundle-look-through"))


@contextmanager
def _file(path: Path, force: bool) -> Iterator[BinaryIO]:
    """Give a file that becomes the one of this path when all is written, and that only its owner can read."""
    if os.path.isdir(path):  # Unlike that of Path it says no where looking is not allowed.
        raise CmgrError(say("error.cannot-write-to", path=str(path), why=say("error.is-directory")))
    taken = CmgrError(
        say("error.cannot-write-to", path=str(path), why=say("error.is-there")), hint=say("error.to-overwrite")
    )
    if not force and os.path.lexists(path):
        raise taken
    try:
        with atomic.written(path, 0o600, replace=force) as file:
            yield file
    except FileExistsError:
        raise taken from None
    except OSError as error:
        raise CmgrError(say("error.cannot-write-to", path=str(path), why=system_words(error))) from None


def _parts(options: BundleOptions) -> "Iterator[Part]":
    from cmgr.service.extras.bundle_parts import json_part

    makers: Mapping[str, Callable[[], object]] = {
        "about.json": _about,
        "status.json": lambda: _told(source.read(options, "status")),
        "chips.json": lambda: _told(source.read(options, "chips")),
        "faults.json": lambda: _told(source.read(options, "faults")),
        "faults-history.json": lambda: _past_faults(options),
        "history.json": lambda: past.episodes(options, EPISODES),
        "timelines.json": lambda: _timelines(options),
        "downtime.json": lambda: _told(minutes.read(options, quarter_of(source.now()))),
    }
    for name, make in makers.items():
        yield json_part(name, _tried(make))
    try:
        config = source.configuration(options)
    except ConfigError as error:
        yield json_part("configuration.json", {"error": chain(error), "mistakes": list(error.mistakes)})
        return
    yield json_part("configuration.json", _settings(config))
    yield json_part("check.json", _tried(lambda: _findings(config)))
    yield from _saved(config)
    yield from _of_maker(options, config)


def _tried(make: Callable[[], object]) -> object:
    try:
        return make()
    except CmgrError as error:
        return {"error": chain(error), "hint": error.hint}


def _told(told: source.Told[source.Document]) -> object:
    return {"origin": told.origin, **told.value}


def _about() -> object:
    from importlib.metadata import distributions

    system = os.uname()
    return {
        "cmgr": __version__,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": system.nodename,
        "kernel": f"{system.sysname} {system.release} {system.machine}",
        "system": _system(),
        "python": sys.version,
        "packages": dict(sorted({d.metadata["Name"]: d.version for d in distributions()}.items())),
        "user": os.geteuid(),
    }


def _system() -> object:
    import platform

    try:
        return platform.freedesktop_os_release()
    except OSError:
        return None


def _past_faults(options: BundleOptions) -> object:
    from cmgr.cli import stored

    with source.opened(options) as database:
        return stored.past_faults(database, _EVER)


def _timelines(options: BundleOptions) -> object:
    from cmgr.service.door.records import MOST_NOTES, timeline

    with source.opened(options) as database:
        return {
            str(episode.number): timeline(database.notes(episode.number, MOST_NOTES), episode.began)
            for episode in database.episodes(TIMELINES)
        }


def _settings(config: "Config") -> object:
    """Return every setting."""
    told = asdict(config)
    told |= told.pop("drivers")  # In the file the table of each stands by its own name.
    for receiver in told["alarms"]["receivers"]:
        receiver["url"] = redact.address(receiver["url"]) if receiver["url"] else ""
    # Values that JSON does not know, such as durations, become text.
    return json.loads(json.dumps(told, default=str))


def _findings(config: "Config") -> object:
    from cmgr.cli.check.checks import findings

    return [asdict(finding) for finding in findings(config)]


def _saved(config: "Config") -> "Iterator[Part]":
    from cmgr.service.extras.bundle_parts import Part
    from cmgr.service.extras.bundles import DIRECTORY, cleaned, numbers, saved

    found = saved(source.database_of(config).with_name(DIRECTORY))
    newest = sorted({numbers(path.name) for path in found})[-SAVED:]
    for path in (path for path in found if numbers(path.name) in newest):
        try:
            yield Part(f"{DIRECTORY}/{path.name}", cleaned(path))
        except (OSError, TarError) as error:
            why = system_words(error)
            yield Part(f"{DIRECTORY}/{path.name}.txt", f"cannot read {path}: {why}\n")


def _of_maker(options: BundleOptions, config: "Config") -> "Iterator[Part]":
    """Yield the files that the chips' maker asks for, and what its programs say now."""
    from cmgr.host.host import Host
    from cmgr.model.values.rings import Phase
    from cmgr.service.extras import maker_tools
    from cmgr.service.extras.bundle_parts import Part
    from cmgr.vendor import Support, support, vendors

    try:
        with source.opened(options) as database:
            node = database.node()
    except CmgrError:
        return  # The other files say why.
    in_reset = any(ring.phase in (Phase.RESETTING, Phase.VERIFYING) for ring in node.rings.values())
    for name in (vendor.name for vendor in vendors() if config.driver in ("auto", vendor.name)):
        wanted = support(name, list(node.chips.values()))
        if in_reset:
            yield Part(f"maker/{name}/missing.txt", "a ring is in a reset, so no program asks its chips for anything\n")
            wanted = Support(wanted.files)
        with TemporaryDirectory() as place:
            for part in maker_tools.told(Host("", "a person has typed this"), wanted, Path(place), MAKER_SECONDS):
                yield Part(f"maker/{name}/{part.name}", part.content)
