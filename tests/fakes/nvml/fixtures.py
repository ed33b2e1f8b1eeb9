"""Fixtures around the stand-in, for tests of every layer."""

import os
from collections.abc import Callable, Iterator

import pytest

from tests.fakes.nvml.build import Workshop
from tests.fakes.nvml.standin import FakeGpu, Standin
from tests.fakes.workshop import CannotBuild

Make = Callable[..., Standin]


@pytest.fixture(scope="session")
def gpu_workshop() -> Iterator[Workshop]:
    """Compiles the stand-in. Where that cannot be: skipped, but a failure when CI=true."""
    try:
        workshop = Workshop()
    except CannotBuild as why:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no stand-in for libnvidia-ml: {why}")
        pytest.skip(f"no stand-in for libnvidia-ml: {why}")
    yield workshop
    workshop.close()


@pytest.fixture
def nvidia(gpu_workshop: Workshop) -> Iterator[Make]:
    """Make a machine: `nvidia(gpus, release=580)`."""
    made: list[Standin] = []

    def make(gpus: tuple[FakeGpu, ...], release: int = 580) -> Standin:
        made.append(Standin(gpu_workshop.place(str(release))).create(gpus))
        return made[-1]

    yield make
    for machine in made:
        machine.close()
