"""Where trials take place."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.crash import checks
from tests.crash.matrix import Matrix
from tests.crash.trial import Trial
from tests.crash.worlds import PLACES, Chips, Layout, Place, Simulated, Stock
from tests.fakes.clock.wallclock import WallClock
from tests.fakes.dcmi.fixtures import ascend, workshop
from tests.fakes.nvml.fixtures import gpu_workshop, nvidia
from tests.fakes.workshop import CannotBuild

__all__ = ["ascend", "gpu_workshop", "nvidia", "workshop"]

Field = Callable[..., Matrix]
Clocks = Callable[[int], WallClock]


@pytest.fixture
def folder() -> Iterator[Path]:
    # A unix socket's path may have 107 characters: pytest's own folders are too deep.
    made = Path(tempfile.mkdtemp(prefix="cmgr-crash-"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def field(folder: Path) -> Iterator[Field]:
    """Lay out places side by side: `field(layout, stock, chips)`, each called for every place."""
    with ExitStack() as stack:

        def laid_out(
            layout: Layout,
            stock: Callable[[Layout, int], Stock],
            chips: Callable[[Layout, int], Chips] = Simulated,
            make: Callable[[Place, Path], Trial] = Trial,
            check: Callable[[Trial], None] = checks.all_is_well,
        ) -> Matrix:
            places = [Place(n, layout, stock(layout, n), chips(layout, n)) for n in range(PLACES)]
            for place in places:
                stack.callback(place.stock.close)
            return Matrix(places, folder, make, check)

        yield laid_out


@pytest.fixture
def clocks(tmp_path: Path) -> Iterator[Clocks]:
    """Give each place a clock of its own."""
    with ExitStack() as stack:

        def made(place: int) -> WallClock:
            folder = tmp_path / f"clock-{place}"
            folder.mkdir()
            try:
                return stack.enter_context(closing(WallClock(folder)))
            except CannotBuild as why:
                pytest.skip(str(why))

        yield made
