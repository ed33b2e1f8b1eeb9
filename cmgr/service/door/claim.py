"""The place of the service's socket: its directory, and the right to listen there, which one process has."""

import contextlib
import grp
import os
import stat
from pathlib import Path

from cmgr import trust
from cmgr.errors import ConfigError, StoreBusy, StoreError
from cmgr.listener import credentials, reached
from cmgr.sentences.sentence import say
from cmgr.store import files

GROUP = "cmgr"


def claim(path: Path) -> files.Lock:
    """Take the right to listen on this path, before anything else is opened. Does not wait.

    Whether somebody listens already is not enough to ask: of two services that start at once, neither finds one.
    Raises `ConfigError`, also when somebody else could put another socket there.
    """
    try:
        refuse_weak(path)
        make_directory(path, gid_of(GROUP))
        return files.Lock(path)
    except StoreBusy as error:
        raise _taken(path, say("start.about-to")) from error
    except (StoreError, OSError) as error:
        raise cannot_listen(path) from error


def refuse_weak(path: Path) -> None:
    """Raise `ConfigError` when somebody else could put another socket there."""
    found = trust.weakness(path)
    if found is not None:
        # A person who can replace the socket can tell the command line anything.
        raise ConfigError(say("start.cannot-listen-for", path=str(path), why=found.reason), hint=found.hint)


def refuse_if_live(path: Path) -> None:
    """Raise `ConfigError` when somebody listens on the path, or when what is there is not a socket."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            what = say("start.cannot-listen-for", path=str(path), why=say("start.no-socket"))
            raise ConfigError(what, hint=say("start.move-away"))
    pid = listener(path)
    if pid is not None:
        raise _taken(path, say("start.listens-pid", pid=pid) if pid else say("start.listens"))


def cannot_listen(path: Path) -> ConfigError:
    """Return the error about a socket that cannot be made there."""
    return ConfigError(say("start.cannot-listen", path=str(path)), hint=say("start.other-path", setting="socket"))


def _taken(path: Path, why: str) -> ConfigError:
    hint = say("start.stop-it", command="systemctl stop cmgr", setting="socket")
    return ConfigError(say("start.cannot-listen-for", path=str(path), why=why), hint=hint)


def listener(path: Path) -> int | None:
    """Return the process that accepts connections on this path, 0 when it cannot be told which; None: there is none."""
    try:
        connection = reached(str(path), 1.0)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        return None
    except TimeoutError:
        return 0
    except OSError:
        return 0 if path.exists() else None
    with connection:
        return credentials(connection)[1]


def make_directory(path: Path, group: int | None) -> None:
    """Make sure that the socket's directory is there, for this group to enter. Raises OSError."""
    if path.parent.exists():
        return
    path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)  # Another may be making it.
    if os.geteuid() == 0 and group is not None:
        os.chown(path.parent, 0, group)


def gid_of(group: str) -> int | None:
    """Return the group's number, or None where there is no such group."""
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        return None
