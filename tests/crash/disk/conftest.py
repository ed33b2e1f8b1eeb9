"""The copies of a disk that tests go on from."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.disk.copies import Copy, copied


@pytest.fixture
def copies(folder: Path) -> Sequence[Copy]:
    """The files on the disk after each commit of an episode, in their order."""
    return copied(folder)
