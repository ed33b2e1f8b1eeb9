"""A test that passes only at its second try is named, counted in the closing lines, and fails a run by hand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AGAIN = ROOT / "tests/support/again.sh"

PYTEST = f"{sys.executable} -m pytest -q -p xdist.plugin"

MAKEFILE = f"""
test:
\t@rm -f build/second-tries
\t@sh {AGAIN} {PYTEST} one
\t@sh {AGAIN} {PYTEST} two
\t@sh {AGAIN}
"""

TESTS = """
import pathlib
import pytest

@pytest.mark.parametrize("what", ["a race", 'a "quote"'])
def test_needs_a_second_try(what):
    tried = pathlib.Path(__file__ + what[:3])
    before, _ = tried.exists(), tried.touch()
    assert before or not pathlib.Path("racy").exists()

def test_is_well():
    assert pathlib.Path("well").exists()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for part in ("one", "two"):
        (tmp_path / part).mkdir()
        (tmp_path / part / f"test_{part}.py").write_text(TESTS)
    (tmp_path / "racy").touch()
    (tmp_path / "well").touch()
    return tmp_path


def made(project: Path, **more: str) -> tuple[int, str]:
    dropped = ("MAKE", "MFLAGS", "PYTEST", "CI")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    done = subprocess.run(
        ["make", "test"],
        cwd=project,
        env={**plain, **more, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


NAMES = [
    f"{part}/test_{part}.py::test_needs_a_second_try[{what}]"
    for part in ("one", "two")
    for what in (r"a \"quote\"", "a race")
]


def test_a_run_by_hand_fails_of_it_and_its_last_lines_name_it(project: Path) -> None:
    code, said = made(project)
    assert code != 0
    assert said.splitlines()[-5:] == ["passed only at their second try: 4", *(f"  {name}" for name in NAMES)]


def test_ci_passes_with_it_and_names_it_all_the_same(project: Path) -> None:
    code, said = made(project, CI="true")
    assert code == 0
    assert said.splitlines()[-5:] == ["passed only at their second try: 4", *(f"  {name}" for name in NAMES)]


@pytest.mark.parametrize("where", [{}, {"CI": "true"}], ids=["by hand", "in CI"])
def test_what_fails_twice_fails_and_what_does_not_is_named_beside_it(project: Path, where: dict[str, str]) -> None:
    (project / "well").unlink()
    code, said = made(project, **where)
    assert code != 0
    assert [line for line in said.splitlines() if line.startswith("passed only")] == [
        f"passed only at its second try: {name}" for name in NAMES[:2]
    ]


def test_nothing_is_said_of_what_passes_at_once(project: Path) -> None:
    assert made(project)[0] != 0
    code, said = made(project)
    assert code == 0
    assert "second try" not in said


def test_every_target_that_tries_twice_forgets_the_last_run_and_ends_with_what_it_found() -> None:
    targets = re.findall(r"^[a-z-]+:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    trying = [lines.splitlines() for lines in targets if re.search(r"again\.sh|shipped\.sh", lines)]
    assert len(trying) == 4
    for lines in trying:
        assert (lines[0], lines[-1]) == ("\t@rm -f $(SECOND_TRIES)", "\t@sh tests/support/again.sh")
