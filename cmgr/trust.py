"""Whether anybody but root, or the user who runs cmgr, could have written a file or put another in its place.

The rule holds for what tells cmgr what to do (configuration, tables, tokens), what it runs (hooks, the driver's
library), what it keeps (the database), and every directory that leads there.
"""

import errno
import os
import shlex
import stat
from collections.abc import Iterator
from typing import NamedTuple

from cmgr.errors import ConfigError
from cmgr.sentences.sentence import say

MAX_SIZE = 1024 * 1024
MAX_MODE = 0o640

_MOST_LINKS = 40
"""As many as the kernel follows (man 7 path_resolution)."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Weakness(NamedTuple):
    """The others who could have written a file or put another in its place, and the command that mends it."""

    reason: str
    hint: str


def weakness(
    path: str | os.PathLike[str], *, itself: bool = False, sticky: bool = True, uid: int | None = None
) -> Weakness | None:
    """Return what is wrong with any directory or link on the way to this path, and with what is there if `itself`.

    `sticky`: a directory that others can write passes where its sticky bit keeps them from what is not theirs, as in
    /tmp. `uid`: who besides root is trusted; None is the user who runs cmgr. A missing file is nobody's fault.
    Raises `OSError`.
    """
    whole = os.path.join(os.getcwd(), path)
    try:
        way = _way(whole if itself else os.path.dirname(whole))
        return next((found for step, status in way if (found := objection(step, status, sticky=sticky, uid=uid))), None)
    except (FileNotFoundError, NotADirectoryError):
        return None


def objection(
    path: str | os.PathLike[str], status: os.stat_result, *, sticky: bool = True, uid: int | None = None
) -> Weakness | None:
    """Return who but root and `uid` owns or can write this one file, directory or link; see `weakness`."""
    name, mode, kind = shlex.quote(str(path)), stat.S_IMODE(status.st_mode), _kind(status)
    if (found := stranger(path, status, uid)) is not None:
        return found
    is_kept = sticky and kind == "directory" and mode & stat.S_ISVTX
    if kind == "link" or is_kept or not mode & _OTHERS_WRITE:
        return None
    if kind == "directory" and mode & stat.S_ISVTX:
        hint: str = say("trust.elsewhere", directory="/usr/local/lib")
    elif sticky and kind == "directory":
        hint = f"chmod +t {name}" if mode & stat.S_IWOTH else f"chmod g-w {name}"
    else:
        hint = f"chmod go-w {name}"
    return Weakness(say("trust.others-write", kind=kind, path=str(path), mode=f"{mode:04o}"), hint)


def stranger(path: str | os.PathLike[str], status: os.stat_result, uid: int | None = None) -> Weakness | None:
    """Return that neither root nor `uid`, which is the user who runs cmgr by default, owns this."""
    if status.st_uid in (0, os.geteuid() if uid is None else uid):
        return None
    kind = _kind(status)
    link = "-h " if kind == "link" else ""
    whose = say("trust.belongs", kind=kind, path=str(path), uid=status.st_uid)
    return Weakness(whose, f"chown {link}root {shlex.quote(str(path))}")


def no_file(path: str | os.PathLike[str], status: os.stat_result) -> Weakness | None:
    """Return that this is a link, or anything but a regular file. `status` is that of the name, as lstat gives it."""
    if stat.S_ISLNK(status.st_mode):
        name = shlex.quote(str(path))
        return Weakness(say("trust.is-link"), f'cp --remove-destination "$(readlink -f {name})" {name}')
    return None if stat.S_ISREG(status.st_mode) else Weakness(say("trust.is-no-file"), "")


def _kind(status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return "link"
    return "directory" if stat.S_ISDIR(status.st_mode) else "file"


def _way(end: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield every directory and every link that is passed on the way, and at last what is there."""
    at, links = "/", 0
    yield at, os.lstat(at)
    stack = [part for part in reversed(end.split("/")) if part]
    while stack:
        step = os.path.join(at, stack.pop())
        status = os.lstat(step)
        if not stat.S_ISLNK(status.st_mode):
            at = os.path.normpath(step)
            yield at, status
            continue
        yield step, status
        links += 1
        if links > _MOST_LINKS:
            raise OSError(f"too many links on the way to {end}")
        target = os.readlink(step)
        if target.startswith("/"):
            at = "/"
        stack.extend(part for part in reversed(target.split("/")) if part not in ("", "."))


def read(path: str) -> str:
    """Return the text of a file that keeps the rule. Raises `ConfigError`, with the command that mends it."""
    text = read_if_there(path)
    if text is None:
        raise ConfigError(say("trust.no-such-file", path=path))
    return text


def read_if_there(path: str) -> str | None:
    """Return what `read` returns, or None when there is no such file."""
    try:
        # Looking at the name first keeps cmgr from opening a device; what counts is the look at the open file.
        _refuse(path, os.lstat(path))
        _raise_if(path, weakness(path))
        data = _read_checked(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        hint = say("trust.use-sudo", command=f"ls -l {shlex.quote(path)}")
        raise ConfigError(say("trust.denied", path=path), hint=hint) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ConfigError(say("trust.use-no-link", path=path)) from None
        raise ConfigError(say("trust.cannot-read", path=path)) from error
    except ValueError as error:  # A zero byte in the path.
        raise ConfigError(say("trust.cannot-read", path=repr(path))) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ConfigError(say("trust.not-utf-8", path=path, line=line)) from None


def _read_checked(path: str) -> bytes:
    # Without NONBLOCK, opening a pipe that took the file's place since would block for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        _refuse(path, os.fstat(descriptor))
        data = file.read(MAX_SIZE + 1)
    if len(data) > MAX_SIZE:
        raise _too_big(path)
    return data


def _refuse(path: str, status: os.stat_result) -> None:
    _raise_if(path, no_file(path, status))
    reasons, commands = [], []
    if stranger(path, status) is not None:
        reasons.append(say("trust.owned", uid=status.st_uid))
        commands.append(f"chown root {shlex.quote(path)}")
    mode = stat.S_IMODE(status.st_mode)
    if mode & ~MAX_MODE:
        reasons.append(say("trust.wide", mode=f"{mode:04o}", most=f"{MAX_MODE:04o}"))
        commands.append(f"chmod {MAX_MODE:04o} {shlex.quote(path)}")
    if reasons:
        raise ConfigError(say("trust.cannot-use", path=path, why=reasons), hint=" && ".join(commands))
    if status.st_size > MAX_SIZE:
        raise _too_big(path)


def _raise_if(path: str, found: Weakness | None) -> None:
    if found is not None:
        raise ConfigError(say("trust.cannot-use", path=path, why=[found.reason]), hint=found.hint)


def _too_big(path: str) -> ConfigError:
    return ConfigError(say("trust.too-big", path=path, most=MAX_SIZE))
