"""The fixtures that tests of every layer share."""

import os
import signal
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from tests.running import reaper
from tests.support.daemons.containerd import Containerd
from tests.support.daemons.daemon import CannotRun
from tests.support.daemons.dockerd import Dockerd
from tests.support.daemons.etcd import Cluster, Options
from tests.support.daemons.podman import Podman
from tests.support.daemons.systemd import Systemd

D = TypeVar("D", Dockerd, Containerd, Podman, Systemd, Cluster)

# These hold tests for classes of other modules: what differs is to be told there, too.
pytest.register_assert_rewrite("tests.drivers.contract", "tests.runtimes.contract")

pytest_plugins = ["tests.support.browser", "tests.support.figures", "tests.support.kinds", "tests.docs.made.parts"]


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    if reaper.guarded() and not config.option.basetemp:
        config.option.basetemp = f"{os.environ[reaper.FOLDER]}/p"  # A unix socket's path may have 107 characters.


def pytest_configure() -> None:
    # A shell has what it runs in the background ignore Ctrl-C, children included: no test could send it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def dockerd() -> Iterator[Dockerd]:
    """A private Docker daemon with the test image. Where none can run: skipped, but a failure when CI=true."""
    yield from _running("dockerd", Dockerd, Dockerd.build_image)


@pytest.fixture(scope="session")
def podman() -> Iterator[Podman]:
    """A private podman with the test image. Where none can run: skipped, but a failure when CI=true."""
    yield from _running("podman", Podman, Podman.build_image)


@pytest.fixture(scope="session")
def containerd() -> Iterator[Containerd]:
    """A private containerd with the test image. Where none can run: skipped, but a failure when CI=true."""
    yield from _running("containerd", Containerd, Containerd.import_image)


@pytest.fixture(scope="session")
def systemd() -> Iterator[Systemd]:
    """A private systemd. Where none can run: skipped, but a failure when CI=true."""
    yield from _running("systemd", Systemd, lambda _: None)


@pytest.fixture(scope="session")
def etcd() -> Iterator[Cluster]:
    """A private etcd of one node, which runs. Where none can: skipped, but a failure when CI=true."""
    yield from _running("etcd", Cluster, lambda _: None)


@pytest.fixture
def etcds(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A private etcd of three nodes of a test's own; a parameter is their options. Where none can run: as `etcd`."""
    options = getattr(request, "param", Options())
    yield from _running("etcd", lambda: Cluster(3, options), lambda _: None)


def _running(name: str, make: Callable[[], D], fill: Callable[[D], None]) -> Iterator[D]:
    daemon: D | None = None
    try:
        daemon = make()
        daemon.start()
        fill(daemon)
    except CannotRun as exc:
        if daemon is not None:
            daemon.close()
        if os.environ.get("CI") == "true":
            pytest.fail(f"no private {name}: {exc}")
        pytest.skip(f"no private {name}: {exc}")
    yield daemon
    daemon.close()
