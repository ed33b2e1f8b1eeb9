from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.machine.tree import Tree


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    made = Tree(tmp_path / "root")
    yield made
    made.close()
