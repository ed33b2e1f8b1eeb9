"""Services whose ground moves: with Ascend chips, and with Docker pretended."""

from tests.fakes.dcmi.fixtures import ascend, workshop
from tests.sick.conftest import lively, on_lively
from tests.system.conftest import folder, install
from tests.system.dcmi.conftest import furnish_alone

__all__ = ["ascend", "folder", "furnish_alone", "install", "lively", "on_lively", "workshop"]
