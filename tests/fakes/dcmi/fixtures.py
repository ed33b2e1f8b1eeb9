"""Fixtures around the stand-in, for tests of every layer."""

import os
from collections.abc import Callable, Iterator

import pytest

from tests.fakes.dcmi.build import CannotBuild, Workshop
from tests.fakes.dcmi.standin import FakeChip, Standin

Make = Callable[..., Standin]


@pytest.fixture(scope="session")
def workshop() -> Iterator[Workshop]:
    """Compiles the stand-in. Where that cannot be: skipped, but a failure when CI=true."""
    try:
        workshop = Workshop()
    except CannotBuild as why:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no stand-in for libdcmi: {why}")
        pytest.skip(f"no stand-in for libdcmi: {why}")
    yield workshop
    workshop.close()


@pytest.fixture
def ascend(workshop: Workshop) -> Iterator[Make]:
    """Make a machine: `ascend(chips, family="one")`."""
    made: list[Standin] = []

    def make(chips: tuple[FakeChip, ...], family: str = "one") -> Standin:
        made.append(Standin(workshop.place(family)).create(chips))
        return made[-1]

    yield make
    for machine in made:
        machine.let_go()
