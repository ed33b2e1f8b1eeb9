"""The rule for the files that tell cmgr what to do: only root, or the user who runs cmgr, can have written them."""

import errno
import os
import shlex
import stat

from cmgr.config import places
from cmgr.errors import ConfigError

MAX_SIZE = 1024 * 1024
MAX_MODE = 0o640


def read(path: str) -> str:
    """Return the text of a file that keeps the rule. Raises `ConfigError`, with the command that mends it."""
    text = read_if_there(path)
    if text is None:
        raise ConfigError(f"cannot read {path}: there is no such file")
    return text


def read_if_there(path: str) -> str | None:
    """Return what `read` returns, or None when there is no such file."""
    try:
        # Looking at the name first keeps cmgr from opening a device; what counts is the look at the open file.
        _refuse(path, os.lstat(path))
        _refuse_place(path)
        data = _read_checked(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        hint = f"use sudo, or join the group that may read it: ls -l {shlex.quote(path)}"
        raise ConfigError(f"cannot read {path}: permission denied", hint=hint) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _symlink(path) from None
        raise ConfigError(f"cannot read {path}") from error
    except ValueError as error:  # A zero byte in the path.
        raise ConfigError(f"cannot read {path!r}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ConfigError(f"cannot read {path}: line {line} is not UTF-8") from None


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
    if stat.S_ISLNK(status.st_mode):
        raise _symlink(path)
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError(f"cannot use {path}: it is not a regular file")
    reasons, commands = [], []
    if status.st_uid not in (0, os.geteuid()):
        reasons.append(f"user {status.st_uid} owns it, who is neither root nor the user who runs cmgr")
        commands.append(f"chown root {shlex.quote(path)}")
    mode = stat.S_IMODE(status.st_mode)
    if mode & ~MAX_MODE:
        reasons.append(f"its mode {mode:04o} is wider than {MAX_MODE:04o}")
        commands.append(f"chmod {MAX_MODE:04o} {shlex.quote(path)}")
    if reasons:
        raise ConfigError(f"cannot use {path}: {' and '.join(reasons)}", hint=" && ".join(commands))
    if status.st_size > MAX_SIZE:
        raise _too_big(path)


def _refuse_place(path: str) -> None:
    found = places.weakness(path)
    if found is not None:
        raise ConfigError(f"cannot use {path}: {found.reason}", hint=found.hint)


def _symlink(path: str) -> ConfigError:
    name = shlex.quote(path)
    command = f'cp --remove-destination "$(readlink -f {name})" {name}'
    return ConfigError(f"cannot use {path}: it is a symbolic link", hint=command)


def _too_big(path: str) -> ConfigError:
    return ConfigError(f"cannot use {path}: it is larger than {MAX_SIZE} bytes")
