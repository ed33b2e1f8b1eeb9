"""Three appliances on an engine of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.proofs.trio import Trio, trio
from tests.support.daemons.etcd import Cluster


@pytest.fixture
def three(etcds: Cluster, tmp_path: Path) -> Iterator[Trio]:
    with trio(tmp_path, etcds) as found:
        yield found
