"""How the interpreter that the packages carry differs from the one that the tests run on: in nothing that cmgr uses."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.packages import dists

pytestmark = pytest.mark.alone

ABSENT = frozenset(
    {"audioop", "bz2", "crypt", "curses", "distutils", "ensurepip", "idlelib", "lib2to3", "lzma", "nis", "ossaudiodev"}
    | {"pydoc_data", "readline", "spwd", "tkinter", "turtle", "turtledemo", "venv"}
)
"""Modules that are left out on purpose; packaging/python/build.sh says so."""

LOOK = """
import hashlib, importlib, json, os, selectors, sqlite3, ssl, sys, time
def usable(name):
    try:
        importlib.import_module(name)
        return True
    except ImportError:
        return False
named = "errno fcntl math os resource select signal socket sqlite3 ssl struct threading time zlib".split()
options = [row[0] for row in sqlite3.connect(":memory:").execute("PRAGMA compile_options")]
kept = ("DEFAULT_", "THREADSAFE", "TEMP_STORE")
jokes = ("antigravity", "this")
supports = [os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks, os.supports_effective_ids]
print(json.dumps({
    "version": sys.version_info[:2],
    "modules": [n for n in sorted(sys.stdlib_module_names) if n[0] != "_" and n not in jokes and usable(n)],
    "names": [f"{name}.{each}" for name in named for each in dir(importlib.import_module(name)) if each[:2] != "__"],
    "hashes": sorted(hashlib.algorithms_guaranteed),
    "ciphers": [cipher["name"] for cipher in ssl.create_default_context().get_ciphers()],
    "supported": [each.__name__ for group in supports for each in sorted(group, key=lambda f: f.__name__)],
    "same": {
        "numbers": [sys.hash_info, sys.float_info, sys.float_repr_style, sys.int_info, sys.maxsize, sys.byteorder],
        "locks": sys.thread_info[:2],
        "clocks": [str(time.get_clock_info(name)) for name in ("monotonic", "time", "perf_counter")],
        "selector": selectors.DefaultSelector.__name__,
        "encodings": [sys.getdefaultencoding(), sys.getfilesystemencoding()],
        "sqlite": [sqlite3.threadsafety] + [o for o in options if o.startswith(kept)],
        "ssl": [ssl.HAS_TLSv1_2, ssl.HAS_TLSv1_3, ssl.HAS_SNI, ssl.HAS_ALPN],
    },
}))
"""
"""Names and modules that only the shipped one has do no harm; what stands under "same" has to be."""


@pytest.fixture(scope="module")
def looks(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tests' interpreter describes itself, and so does the shipped one."""
    tree = dists.unpacked(dists.deb(), tmp_path_factory.mktemp("same") / "tree")
    shipped = str(tree / "usr/lib/cmgr/python/bin/python3.11")
    ours, theirs = ((sys.executable, "-IX", "utf8"), (shipped, "-ISBX", "utf8"))
    found = tuple(json.loads(_said(words)) for words in (ours, theirs))
    if found[0]["version"] != found[1]["version"]:
        pytest.skip(f"the tests run on Python {found[0]['version']}, and another one is shipped")
    return found[0], found[1]


def _said(words: tuple[str, ...]) -> str:
    # Some modules that are only looked for warn that they are old.
    return subprocess.run([*words, "-W", "ignore", "-c", LOOK], capture_output=True, text=True, check=True).stdout


def test_it_has_every_module_but_those_that_were_left_out(looks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    ours, theirs = looks
    assert set(ours["modules"]) - set(theirs["modules"]) <= ABSENT


def test_cmgr_imports_none_that_was_left_out() -> None:
    used = set[str]()
    for file in (dists.ROOT / "cmgr").rglob("*.py"):
        used |= imported(file)
    assert {"os", "sqlite3", "socket"} <= used
    assert used & ABSENT == set()


def imported(file: Path) -> set[str]:
    """Return the modules that a file imports, anywhere in it."""
    found = set[str]()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found | {name.partition(".")[0] for name in found}


@pytest.mark.parametrize("what", ["names", "hashes", "ciphers", "supported"])
def test_it_can_do_all_that_the_other_can(looks: tuple[dict[str, Any], dict[str, Any]], what: str) -> None:
    """The C library that it was compiled against is older, and its OpenSSL has less."""
    ours, theirs = looks
    assert set(ours[what]) - set(theirs[what]) == set()


def test_it_counts_waits_and_stores_as_the_other_does(looks: tuple[dict[str, Any], dict[str, Any]]) -> None:
    ours, theirs = looks
    assert theirs["same"] == ours["same"]
