"""Whether a process lives, as the kernel tells."""

import os
import subprocess
import sys
from pathlib import Path

from cmgr.runtimes.living import began, lives
from tests.support.waiting import PATIENCE, eventually

ANY = ":"
"""It is in the words for whatever control group (cgroups(7), /proc/pid/cgroup)."""

LAST_THREAD = """
import ctypes, threading
threading.Thread(target=input).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_process_lives_in_its_own_control_group_only() -> None:
    assert lives(os.getpid(), ANY)
    assert not lives(os.getpid(), "a" * 64)
    assert not lives(0, ANY)
    assert not lives(2**30, ANY)


def test_one_whose_parent_does_not_take_note_of_its_end_lives_no_more() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert lives(process.pid, ANY)
        process.kill()
        eventually(lambda: state(process.pid) == "Z", why="it has ended")
        assert not lives(process.pid, ANY)
        assert began(process.pid), "its number is its own still"


def test_one_that_has_ended_but_for_a_thread_lives() -> None:
    with subprocess.Popen([sys.executable, "-c", LAST_THREAD], stdin=subprocess.PIPE) as process:
        eventually(lambda: state(process.pid) == "Z", why="its first thread has ended")
        assert lives(process.pid, ANY)
        process.communicate(b"\n", PATIENCE)
