"""All that a run of tests starts ends with it, however the run ends: daemons, containers, mounts, folders.

A run is three processes. The one that was started only waits. The tests go on in its grandchild. Between them is the
reaper, a program of its own (this file), so that nobody who kills each pytest kills it: every process whose parent ends
becomes its child (PR_SET_CHILD_SUBREAPER), daemons included, so it finds all. When the tests end, or the process that
was started does, it kills what is left, unmounts what is mounted in the run's folder, and removes that. Should it be
killed itself, the tests end, and the one that waits does its work.

Folders are made in the run's folder (TMPDIR), or by `outside`.
"""

import ctypes
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

FOLDER = "RUN_OF_TESTS"
"""The variable that has the run's folder, in each process of a run."""

_PDEATHSIG, _SUBREAPER = 1, 36
_TOLD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_HEARD = (*_TOLD, signal.SIGCHLD)
_LONGEST = 60.0
"""Seconds after which the reaper gives up, and says what it could not end."""


def guarded() -> bool:
    """Go on as a run, in a process of its own; where this is part of one already, nothing happens. Return whether not.

    In the process that was started it never returns: that ends as the run does. To be called while there is one thread.
    """
    if FOLDER in os.environ:
        return False
    _prctl(_SUBREAPER, 1)
    folder, group = Path(tempfile.mkdtemp(prefix="cmgr-")), os.getpgrp()
    folder.chmod(0o755)  # Some tests' processes are another user's.
    (folder / "outside").touch()
    ours, theirs = socket.socketpair()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    reaper = os.fork()
    if reaper:
        theirs.close()
        _wait(reaper, int(ours.recv(16) or 0), folder)
    ours.close()
    os.setpgid(0, 0)  # Ctrl-C is for the tests.
    _prctl(_SUBREAPER, 1)
    before = [(number, signal.signal(number, signal.SIG_IGN)) for number in _TOLD]
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    tests = os.fork()
    if tests:
        theirs.send(str(tests).encode())
        theirs.set_inheritable(True)
        words = [sys.executable, "-IS", __file__, str(tests), str(theirs.fileno()), str(folder)]
        os.execv(sys.executable, words)  # noqa: S606 - no shell is wanted
    theirs.close()
    _prctl(_PDEATHSIG, signal.SIGKILL)
    os.setpgid(0, group)
    for number, how in before:
        signal.signal(number, how)
    os.environ[FOLDER] = os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    return True


def outside(parent: str | Path, prefix: str) -> Path:
    """Return a new folder in a place that is not the run's own; what is left of it at the run's end is removed."""
    path = Path(parent, f"{prefix}{secrets.token_hex(4)}")
    note(path)
    path.mkdir(mode=0o700)
    return path


def note(path: Path) -> None:
    """Have this removed at the run's end, should it be there. To be called before it is made."""
    assert path.is_absolute(), path
    if FOLDER in os.environ:
        with Path(os.environ[FOLDER], "outside").open("a") as noted:
            noted.write(f"{path}\n")


def _prctl(what: int, value: int) -> None:
    ctypes.CDLL(None).prctl(what, value, 0, 0, 0)


def _wait(reaper: int, tests: int, folder: Path) -> None:
    """End as the run does. The tests are told what this process is told, unless the terminal has told them, too."""
    while True:
        told = signal.sigwaitinfo(_HEARD)
        if told.si_signo != signal.SIGCHLD:
            with suppress(ProcessLookupError):
                if told.si_code <= 0 and tests:  # A process has sent it, not the kernel.
                    os.kill(tests, told.si_signo)
            continue
        ended, status = os.waitpid(reaper, os.WNOHANG)
        if ended:
            if folder.exists():
                clear(folder)
            end_as(status)


def end_as(status: int) -> None:
    """End with that status of a process."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def watch(tests: int, started: socket.socket) -> int:
    """Return the status that the tests ended with, or that of SIGKILL when the process that was started has ended."""
    ready, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    while True:
        with suppress(ChildProcessError):
            while ended := os.waitpid(-1, os.WNOHANG):
                if ended[0] == tests:
                    return ended[1]
                if not ended[0]:
                    break
        if started.fileno() in select.select([started.fileno(), ready], [], [])[0]:
            return signal.SIGKILL
        os.read(ready, 4096)


def clear(folder: Path) -> None:
    """End each process under this one, and remove what is left in the run's folder and outside."""
    groups, until = set[Path](), time.monotonic() + _LONGEST
    while _has_children() and time.monotonic() < until:
        for pid in _descendants():
            groups |= _groups(pid)
            _thaw(pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    for pid in _descendants():
        sys.stderr.write(f"left by the tests, and cannot be ended: {_line(Path('/proc', str(pid), 'cmdline'))}\n")
    for place in [*map(Path, (folder / "outside").read_text().splitlines()), folder]:
        _remove(place)
    for group in groups:
        _remove_group(group)


def _remove(place: Path) -> None:
    table = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for mounted in reversed([each for each in table if Path(each).is_relative_to(place)]):
        subprocess.run(["umount", "--lazy", mounted], check=False, stderr=subprocess.DEVNULL)
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _has_children() -> bool:
    """Return whether anybody is left under this process: whose parent ends is its child.

    A look into /proc does not tell that there is nobody: one whose parent ends meanwhile is not found in it.
    """
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


def _descendants() -> set[int]:
    """Return who is found under this process, with those who have ended: of one that seems so a thread may go on."""
    family, parents = {os.getpid()}, _parents()
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family - {os.getpid()}


def _parents() -> Mapping[int, int]:
    """Return the parent of each process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            _, parent, *_ = _line(entry / "stat").rpartition(")")[2].split() or ("", 0)
            found[int(entry.name)] = int(parent)
    return found


def _line(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(errors="replace").replace("\0", " ")
    return ""


def _groups(pid: int) -> set[Path]:
    """Return the directories of the control groups that this process is in, and its reaper is not."""
    mine, found = _line(Path("/proc/self/cgroup")).splitlines(), set()
    for line in _line(Path(f"/proc/{pid}/cgroup")).splitlines():
        controllers, path = line.split(":", 2)[1:]
        for top in (controllers.removeprefix("name=") or "unified", "") if line not in mine else ():
            found.add(Path("/sys/fs/cgroup", top, path[1:]))
    return found


def _thaw(pid: int) -> None:
    """Let the process be killed: one that the first kind of control groups has frozen is not."""
    for group in _groups(pid):
        with suppress(OSError):
            (group / "freezer.state").write_text("THAWED")


def _remove_group(group: Path) -> None:
    """Remove a control group, and those above it of which it was the last."""
    with suppress(OSError):
        while True:
            group.rmdir()
            group = group.parent


if __name__ == "__main__":
    _status = watch(int(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
    clear(Path(sys.argv[3]))
    end_as(_status)
