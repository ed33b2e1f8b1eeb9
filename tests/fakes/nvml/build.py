"""Compiling the stand-in for libnvidia-ml.so.1, with the fake nvidia-smi and a program that divides GPUs beside it."""

import sys
from pathlib import Path

from cmgr.drivers.nvml.library.abi import LIBRARY
from cmgr.drivers.nvml.resetting.tool import RESCAN
from tests.fakes import workshop

SOURCE = Path(__file__).with_name("libnvidia-ml.c")
TOOLS = {"nvidia-smi": "nvidia_smi.py", "mig-tool": "mig_tool.py"}

RELEASES = (535, 570, 580, 615)
"""Those whose exports differ in what cmgr uses."""


class Workshop(workshop.Workshop):
    """A workshop whose variants are the driver's releases."""

    def __init__(self) -> None:
        super().__init__(SOURCE, LIBRARY, {str(n): (f"-DRELEASE={n}",) for n in RELEASES})

    def place(self, variant: str) -> Path:
        library = super().place(variant)
        (library.parent / RESCAN).parent.mkdir(parents=True)
        (library.parent / RESCAN).touch()
        (library.parent / "dev").mkdir()
        for name, source in TOOLS.items():
            tool = library.with_name(name)
            tool.write_text(f"#!{sys.executable} -IS\n{Path(__file__).with_name(source).read_text()}")
            tool.chmod(0o755)
        return library
