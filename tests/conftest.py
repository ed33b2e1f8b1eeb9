"""What tests of every layer share."""

import os
from collections.abc import Iterator

import pytest

from tests.support.containerd import Containerd
from tests.support.dockerd import CannotRun, Dockerd


@pytest.fixture(scope="session")
def dockerd() -> Iterator[Dockerd]:
    """A private Docker daemon with the test image. Where none can run: skipped, but a failure when CI=true."""
    daemon: Dockerd | None = None
    try:
        daemon = Dockerd()
        daemon.start()
        daemon.build_image()
    except CannotRun as exc:
        if daemon is not None:
            daemon.close()
        if os.environ.get("CI") == "true":
            pytest.fail(f"no private dockerd: {exc}")
        pytest.skip(f"no private dockerd: {exc}")
    yield daemon
    daemon.close()


@pytest.fixture(scope="session")
def containerd() -> Iterator[Containerd]:
    """A private containerd with the test image. Where none can run: skipped, but a failure when CI=true."""
    daemon: Containerd | None = None
    try:
        daemon = Containerd()
        daemon.start()
        daemon.import_image()
    except CannotRun as exc:
        if daemon is not None:
            daemon.close()
        if os.environ.get("CI") == "true":
            pytest.fail(f"no private containerd: {exc}")
        pytest.skip(f"no private containerd: {exc}")
    yield daemon
    daemon.close()
