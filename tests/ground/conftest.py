"""Services whose ground moves: with chips of stand-ins, and with Docker pretended."""

from tests.fakes.dcmi.fixtures import ascend, workshop
from tests.fakes.nvml.fixtures import gpu_workshop, nvidia
from tests.sick.conftest import lively, on_lively
from tests.system.conftest import folder, install
from tests.system.dcmi.conftest import furnish_alone

__all__ = ["ascend", "folder", "furnish_alone", "gpu_workshop", "install", "lively", "nvidia", "on_lively", "workshop"]
