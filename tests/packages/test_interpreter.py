"""The interpreters of both packages; that of the other architecture is emulated."""

import pytest

from tests.packages import dists
from tests.packages.emulator import Emulator

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
