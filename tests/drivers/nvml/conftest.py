from collections.abc import Callable, Iterator

import pytest

from cmgr.drivers.nvml.driver import NvmlDriver
from tests.drivers.nvml.driver import open_nvml
from tests.host.conftest import by_systemd, children

__all__ = ["by_systemd", "children"]


@pytest.fixture
def opened() -> Iterator[Callable[..., NvmlDriver]]:
    """Open drivers on the stand-in that are closed in the end."""
    drivers: list[NvmlDriver] = []

    def make(*args: object, **changes: object) -> NvmlDriver:
        drivers.append(open_nvml(*args, **changes))  # type: ignore[arg-type]  # as it has it
        return drivers[-1]

    yield make
    for driver in drivers:
        driver.close()
