"""Directories that lead to a file: only root, or the user who runs cmgr, can have put something else in its place."""

import os
import shlex
import stat
from collections.abc import Iterator
from dataclasses import dataclass

_MOST_LINKS = 40
"""As many as the kernel follows (man 7 path_resolution)."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Weakness:
    """Who else could put another file in the place of this one, and the command that mends it."""

    reason: str
    hint: str


def weakness(path: str | os.PathLike[str]) -> Weakness | None:
    """Return what is wrong with any directory or link on the way to this path, which itself is not looked at.

    A directory that others can write passes where its sticky bit keeps them from what is not theirs, as in /tmp. What
    is not there is nobody's fault. Raises `OSError`.
    """
    try:
        way = _way(os.path.join(os.getcwd(), os.path.dirname(path)))
        return next((found for step, status in way if (found := _of(step, status)) is not None), None)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _way(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield every directory and every link that is passed on the way, this directory the last."""
    at, links = "/", 0
    yield at, os.lstat(at)
    stack = [part for part in reversed(directory.split("/")) if part]
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
            raise OSError(f"too many links on the way to {directory}")
        target = os.readlink(step)
        if target.startswith("/"):
            at = "/"
        stack.extend(part for part in reversed(target.split("/")) if part not in ("", "."))


def _of(step: str, status: os.stat_result) -> Weakness | None:
    name = shlex.quote(step)
    if status.st_uid not in (0, os.geteuid()):
        what = "link" if stat.S_ISLNK(status.st_mode) else "directory"
        reason = f"the {what} {step} belongs to user {status.st_uid}, who is neither root nor the user who runs cmgr"
        return Weakness(reason, f"chown -h root {name}")
    if stat.S_ISLNK(status.st_mode) or status.st_mode & stat.S_ISVTX:
        return None
    if status.st_mode & _OTHERS_WRITE:
        mode = stat.S_IMODE(status.st_mode)
        hint = f"chmod +t {name}" if mode & stat.S_IWOTH else f"chmod g-w {name}"
        return Weakness(f"others can write the directory {step} (mode {mode:04o})", hint)
    return None
