"""Compiling the stand-in for libdcmi.so, and a folder that it may be loaded from."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from cmgr.drivers.dcmi.library.abi import LIBRARY
from cmgr.drivers.dcmi.library.soft_fault import LIBRARY as HAL_LIBRARY
from tests.fakes import workshop
from tests.fakes.workshop import CannotBuild, trusted_folder

__all__ = ["CannotBuild", "Workshop", "trusted_folder"]

SOURCE = Path(__file__).with_name("libdcmi.c")

FAMILIES = {
    **{"one": ("-DONE",), "two": ("-DTWO",), "both": ("-DONE", "-DTWO"), "none": (), "hal": ("-DHAL",)},
    **{"one, older names": ("-DONE", "-DOLD"), "one, newer names": ("-DONE", "-DNEW")},
}


class Workshop(workshop.Workshop):
    """A workshop whose variants are the library's families."""

    def __init__(self, compiler: Sequence[str] = ("gcc",)) -> None:
        super().__init__(SOURCE, LIBRARY, FAMILIES, compiler)

    def place_hal(self, library: Path, variant: str = "hal") -> None:
        """Put the library that libdcmi stands on beside it, over the same machine; `none`: one of an older driver."""
        shutil.copy(self.library(variant), library.with_name(HAL_LIBRARY))
