import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import cmgr
from cmgr.store import files, open_store
from cmgr.store.sqlite import SqliteStore

ROOT = Path(cmgr.__file__).parents[1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / files.NAME


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = open_store(path)
    yield opened
    opened.close()


@contextmanager
def service_on(path: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run `child` on the path; gives the process and its first line, and kills it (-9) at the end."""
    command = [sys.executable, "-m", "tests.store.child", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()
