"""A service on simulated chips with a page to it, for the tests of the page."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.page import Site, settings, site
from tests.support.service import Service
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def running() -> Iterator[Site]:
    """One for all tests of a module: each leaves it well."""
    folder = Path(tempfile.mkdtemp(prefix="cmgr-web-"))
    service = Service(folder, settings(folder))
    service.pretend("chat", "search")
    service.start()
    eventually(lambda: service.container("chat"))
    with site(service, folder) as made:
        yield made
    service.close()
    shutil.rmtree(folder)
