"""The table of what was tried with which version is written by the runs."""

import json
from pathlib import Path

import pytest

from tests.docs.made import parts
from tests.docs.made.parts import PAGE, Row, block, page, summed

DOCKER = Row("Docker", "bookworm", "20.10.24", "6.1", "v1", "2026-11-30", "0123abcd", passed=7)
pytest_plugins = ["pytester"]


def test_several_runs_with_one_version_are_one_row() -> None:
    later = Row("Docker", "bookworm", "20.10.24", "6.1", "v1", "2026-12-01", "4567cdef", passed=3, skipped=1)
    assert summed([DOCKER, later]) == [
        Row("Docker", "bookworm", "20.10.24", "6.1", "v1", "2026-12-01", "4567cdef", passed=10, skipped=1)
    ]


def test_the_oldest_suite_comes_first() -> None:
    rows = [Row("Docker", suite, "1", "6.1", "v1", "", "", passed=1) for suite in ("sid", "bullseye", "trixie")]
    assert [row.suite for row in summed(rows)] == ["bullseye", "trixie", "sid"]


def test_a_row_says_what_came_of_it_in_counts_or_in_words() -> None:
    python = Row("Python", "bullseye", "3.9.2", "6.1", "v1", "2026-11-30", "0123abcd", said="refused, with what to do")
    assert block([DOCKER, python]).splitlines()[2:] == [
        "| Docker | bookworm | 20.10.24 | 6.1, v1 | 7 passed | 2026-11-30, 0123abcd |",
        "| Python | bullseye | 3.9.2 |  | refused, with what to do | 2026-11-30, 0123abcd |",
    ]


def test_the_page_has_a_place_for_them() -> None:
    text = page(PAGE.read_text(), [DOCKER])
    assert block([DOCKER]) in text
    assert page(text, [DOCKER]) == text


def test_a_failed_test_is_written_into_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(parts.FILE, str(tmp_path / "parts"))
    monkeypatch.setattr("sys.argv", ["parts"])
    parts.add([Row("Docker", "sid", "28.0", "6.1", "v1", "", "", passed=7, failed=1)])
    before = PAGE.read_text()
    assert parts.main() == 1
    assert PAGE.read_text() == before


@pytest.mark.parametrize("side_by_side", [(), ("-n", "1")])
def test_a_run_leaves_a_row_for_each_part_that_it_used(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, side_by_side: tuple[str, ...]
) -> None:
    monkeypatch.setenv(parts.FILE, str(pytester.path / "parts"))
    monkeypatch.setenv(parts.SUITE, "sid")
    monkeypatch.setenv("PYTHONPATH", str(PAGE.parents[1]))
    program = pytester.path / "dockerd"
    program.write_text("#!/bin/sh\necho Docker version 28.5.2+dfsg3, build 1234567\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{pytester.path}:/usr/bin:/bin")
    pytester.makeconftest(
        "import pytest\n\n@pytest.fixture\ndef dockerd(): pass\n@pytest.fixture\ndef podman(): pass\n"
    )
    pytester.makepyfile(
        "import pytest\ndef test_a(dockerd): pass\ndef test_b(dockerd): assert False\ndef test_c(): pass\n"
        "def test_d(podman): pytest.skip('none here')\n"
    )
    pytester.runpytest_subprocess("-p", "tests.docs.made.parts", "-p", "no:cacheprovider", *side_by_side)
    (row,) = (json.loads(line) for line in Path(pytester.path, "parts").read_text().splitlines())
    assert {name: row[name] for name in ("part", "suite", "version", "passed", "failed", "skipped")} == {
        "part": "Docker", "suite": "sid", "version": "28.5.2+dfsg3", "passed": 1, "failed": 1, "skipped": 0,
    }  # fmt: skip
