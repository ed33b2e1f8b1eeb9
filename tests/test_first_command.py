"""The first command that anybody types says at once what is missing, and what to type."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def old(folder: Path) -> str:
    """Return a Python that is too old: it answers what `venv.sh` asks as that of Debian 11 does."""
    path = folder / "python3"
    path.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2 && exit\nexit 1\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("there", [True, False])
def test_where_python_is_too_old_or_missing_the_first_line_says_so(tmp_path: Path, there: bool) -> None:
    python = old(tmp_path) if there else str(tmp_path / "python3")
    venv = tmp_path / "venv"
    words = ["make", "demo", f"PYTHON={python}", f"VENV={venv}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    first, hint, *_ = done.stderr.splitlines()
    is_what = "Python 3.9.2" if there else "not there"
    assert first == f"cmgr: cannot use {python}: it is {is_what}, and cmgr needs Python 3.11 or newer"
    assert hint.startswith("hint: make demo PYTHON=python3.12")
    assert (done.returncode, venv.exists()) == (2, False)
