"""The reference beside cmgr: its program is measured as it is started, and nothing of it is asked."""

import sys
from pathlib import Path

import pytest

from bench import reference
from bench.reference import Rival
from bench.report.figures import PAGE, Figure, rows
from bench.site import Site
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.build import CannotBuild, Workshop
from tests.fakes.dcmi.standin import Standin
from tests.fakes.reference import container_manager


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A program that speaks the reference's flags."""
    script = tmp_path / "container-manager"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m {container_manager.__name__} "$@"\n')
    script.chmod(0o755)
    return str(script)


@pytest.mark.alone
@pytest.mark.docker
def test_its_recoveries_are_measured(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "COUNT", 1)
    monkeypatch.setattr(reference, "APART", 0.0)
    monkeypatch.setenv("PYTHONPATH", str(PAGE.parents[1]))
    try:
        workshop = Workshop()
    except CannotBuild as why:
        pytest.skip(str(why))
    with Site() as site:
        if site.docker is None:
            pytest.skip(site.why_pretended)
        single, ring = (
            Standin(workshop.place("one")).create(chips(8)) for chips in (hosts.host_910b_infer, hosts.host_910b)
        )
        theirs = reference.recoveries(site, program, single, ring)
        with (
            pytest.raises(RuntimeError, match="invalid choice: 'bothRecover'"),
            Rival(site, program, ring, "bothRecover"),
        ):
            pass
        workshop.close()
    page = PAGE.read_text()
    assert [name for name in theirs if f"| {name} |" not in page] == []
    assert all(isinstance(value, float) and value > 0 for value in theirs.values()), theirs
    assert (len(single.resets), len(ring.resets)) == (1, 1)


def test_ratios_stand_beside_the_figures() -> None:
    here = [Figure("Part", "a", 10.0, "ms"), Figure("Part", "b", 0.5, "% of a core"), Figure("Part", "c", 1.0, "ms")]
    theirs: reference.Theirs = {"Part: a": 630.0, "Part: b": "lost"}
    assert [row[-1] for row in rows(reference.beside(here, theirs))] == ["630 ms, 63 times", "lost", ""]
    other = Figure("Part", "a", 800.0, "ms", reference="131 s")
    assert [row[-1] for row in rows([other])] == ["131 s, 164 times"]
