"""The commands in the directory of hooks: which there are, and whether cmgr may run them.

The rule is that of the configuration's files, for what can be run: only root, or the user who runs cmgr, can have put
it there. It is looked at before each run.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from cmgr import trust
from cmgr.sentences.sentence import say

BEFORE_STOP, BEFORE_RESET, AFTER_RESET, AFTER_EPISODE = "before_stop", "before_reset", "after_reset", "after_episode"
BEFORE_START = "before_start"
HOOKS = (BEFORE_STOP, BEFORE_RESET, AFTER_RESET, BEFORE_START, AFTER_EPISODE)

TEST = "test"
"""The test of chips runs as a hook does, but is wherever `reset.test` says."""

_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""As run-parts(8) has it: what an editor or a package leaves beside a file (`x~`, `x.dpkg-old`) is not run."""


def commands(directory: str, hook: str) -> tuple[Path, ...]:
    """Return the files of this hook, in the order in which they run: the one of its name, then those of `NAME.d`."""
    if not directory:
        return ()
    single, several = Path(directory) / hook, Path(directory) / f"{hook}.d"
    found = [single] if os.path.lexists(single) else []
    # There is perhaps none; and one that is closed to us has nothing that we are allowed to run.
    with suppress(OSError):
        found += [several / name for name in sorted(os.listdir(several)) if _NAME.fullmatch(name)]
    return tuple(found)


def strangers(directory: str) -> tuple[str, ...]:
    """Return the names in the directory that cmgr never looks at: slips of the pen, most of the time."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return ()
    known = {*HOOKS, *(f"{hook}.d" for hook in HOOKS)}
    odd = [name for name in names if name not in known]
    for below in (f"{hook}.d" for hook in HOOKS if f"{hook}.d" in names):
        inside = Path(directory) / below
        odd += [f"{below}/{n}" for n in sorted(os.listdir(inside)) if not _NAME.fullmatch(n)] if inside.is_dir() else []
    return tuple(odd)


def is_enabled(path: Path) -> bool:
    """Return whether the file is executable: taking that away switches a hook off."""
    return os.access(path, os.X_OK)


def objection(path: Path, directory: str) -> trust.Weakness | None:
    """Return why cmgr does not run this file of the directory, with the command that mends it."""
    return next(_objections(path, Path(directory)), None)


def _objections(path: Path, directory: Path) -> Iterator[trust.Weakness]:
    try:
        # A link or a directory of others anywhere on the way would let them choose what is run.
        for place in dict.fromkeys((path, path.parent, directory)):
            if place.is_symlink():
                yield trust.Weakness(say("hook.symlink", path=str(place)), say("hook.put-itself"))
        if not path.is_file():
            yield trust.Weakness(say("hook.not-regular", path=str(path)), "")
        found = trust.weakness(path, itself=True)
        if found is not None:
            yield found
    except OSError as error:
        yield trust.Weakness(say("hook.cannot-look", path=str(path), error=error.strerror or ""), "")
