"""The interpreters of both packages; that of the other architecture is emulated."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.fakes.clock.wallclock import WallClock
from tests.packages import dists
from tests.packages.conftest import cannot
from tests.packages.machines.emulator import Emulator, compiler
from tests.support.daemons.daemon import CannotRun

pytestmark = pytest.mark.alone

LOOKED_AT = """
import ctypes, hashlib, importlib, json, sqlite3, ssl, sys
found = {name: sorted(dir(importlib.import_module(name))) for name in sys.builtin_module_names}
found["hashes"] = sorted(hashlib.algorithms_available)
found["ciphers"] = [cipher["name"] for cipher in ssl.create_default_context().get_ciphers()]
found["sqlite"] = [row[0] for row in sqlite3.connect(":memory:").execute("PRAGMA compile_options")]
found["numbers"] = [sys.hash_info, sys.float_info, sys.float_repr_style, sys.int_info, sys.thread_info[:2]]
found["sizes"] = [ctypes.sizeof(t) for t in vars(ctypes).values() if isinstance(t, type) and hasattr(t, "_type_")]
print(json.dumps(found))
"""

LOCKED = """
import json, sqlite3, tempfile, threading
with tempfile.TemporaryDirectory() as folder:
    holder = sqlite3.connect(folder + "/db", isolation_level=None)
    holder.execute("CREATE TABLE t (x)")
    holder.execute("BEGIN IMMEDIATE")
    holder.execute("INSERT INTO t VALUES (1)")
    began, found = threading.Event(), []
    def wait():
        waiter = sqlite3.connect(folder + "/db", timeout=0.9, isolation_level=None)
        waiter.set_trace_callback(lambda statement: began.set())
        try:
            waiter.execute("BEGIN IMMEDIATE")
            found.append("waited")
        except sqlite3.OperationalError as error:
            found.append(str(error))
    thread = threading.Thread(target=wait)
    thread.start()
    began.wait()
    holder.execute("COMMIT")
    thread.join()
print(json.dumps(found))
"""

WAITED = """
import json, os, queue, signal, tempfile, threading, time
with tempfile.TemporaryFile() as file:
    assert time.time() - os.fstat(file.fileno()).st_mtime > 80000, "the clock is not another one"
signal.alarm(60)
lock = threading.Lock()
lock.acquire()
waits = [lock.acquire(timeout=0.2), threading.Event().wait(0.2)]
for empty in (queue.Queue(), queue.SimpleQueue()):
    try:
        empty.get(timeout=0.2)
    except queue.Empty:
        waits.append(False)
print(json.dumps(waits))
"""
"""Each of these would last a day where the wait goes by the time of day, which is a day ahead of the kernel's."""

SIGNALLED = """
import json, signal, threading
lock = threading.Lock()
lock.acquire()
signal.signal(signal.SIGALRM, lambda *_: lock.release())
signal.setitimer(signal.ITIMER_REAL, 0.1)
print(json.dumps(lock.acquire(timeout=60)))
"""
"""The lock is released by the handler alone."""

SHARED = """
import json, sys, threading
sys.setswitchinterval(1e-5)
lock, many, counted = threading.Lock(), threading.Semaphore(3), [0]
def work():
    for _ in range(3000):
        with many:
            while not lock.acquire(timeout=0.001):
                pass
            counted[0] += 1
            lock.release()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps([counted[0], lock.locked()]))
"""


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    tree = dists.unpacked(dists.deb(), tmp_path_factory.mktemp("native") / "tree")
    return (str(tree / "usr/lib/cmgr/python/bin/python3.11"), "-ISB")


def test_it_can_do_the_same_on_both_architectures(native: tuple[str, ...], emulator: Emulator) -> None:
    """For the one that it was not compiled on, what could not be tried had to be guessed."""
    ours, theirs = dists.answer(native, LOOKED_AT), dists.answer(emulator.python, LOOKED_AT)
    different = {what for what in ours.keys() | theirs.keys() if ours.get(what) != theirs.get(what)}
    assert {what: set(map(str, ours[what])) ^ set(map(str, theirs[what])) for what in different} == {}


@pytest.fixture(params=dists.ARCHES)
def python(request: pytest.FixtureRequest) -> tuple[str, ...]:
    if request.param == dists.NATIVE:
        words: tuple[str, ...] = request.getfixturevalue("native")
        return words
    emulator: Emulator = request.getfixturevalue("emulator")
    return emulator.python


def test_a_database_that_is_locked_for_a_moment_is_waited_for(python: tuple[str, ...]) -> None:
    """For less than a second: one whose SQLite can sleep for whole seconds alone gives up at once."""
    assert dists.answer(python, LOCKED) == ["waited"]


@pytest.fixture
def a_day_ahead(request: pytest.FixtureRequest, python: tuple[str, ...], tmp_path: Path) -> tuple[str, ...]:
    """The words that start an interpreter which sees a time of day that is not the kernel's."""
    foreign = "native" not in request.fixturenames and "-L" in python
    try:
        clock = WallClock(tmp_path, compiler(tmp_path / "zig") if foreign else ("gcc",))
    except CannotRun as why:
        cannot("compiler of the other architecture", why)
    clock.set(timedelta(days=1))
    clock.close()
    if foreign:
        given = [word for pair in clock.environment.items() for word in ("-E", "=".join(pair))]
        return (python[0], *given, *python[1:])
    return ("env", *map("=".join, clock.environment.items()), *python)


def test_no_wait_goes_by_the_time_of_day(a_day_ahead: tuple[str, ...]) -> None:
    """A clock that is set back would make every wait of the service longer, until the watchdog ends it."""
    assert dists.answer(a_day_ahead, WAITED) == [False] * 4


def test_a_signal_ends_a_wait(python: tuple[str, ...]) -> None:
    assert dists.answer(python, SIGNALLED) is True


def test_locks_let_one_in_at_a_time_and_forget_nobody(native: tuple[str, ...]) -> None:
    assert dists.answer(native, SHARED) == [8 * 3000, False]
