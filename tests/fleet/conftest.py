"""The fleets of the tests: on an engine that they share, on one of their own, and through a relay."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.fleet.world import Make, appliances
from tests.support.daemons.etcd import Cluster
from tests.support.relay import Relay


@pytest.fixture
def make(etcd: Cluster) -> Iterator[Make]:
    with appliances(etcd.endpoints) as make:
        yield make


@pytest.fixture
def own() -> Iterator[Cluster]:
    """An engine that a test may break."""
    cluster = Cluster()
    cluster.start()
    yield cluster
    cluster.close()


@pytest.fixture
def other() -> Iterator[Cluster]:
    """An engine that was not begun: to be restored from a snapshot of another one."""
    with closing(Cluster()) as cluster:
        yield cluster


@pytest.fixture
def relay(etcd: Cluster) -> Iterator[Relay]:
    relay = Relay(etcd.nodes[0].client)
    yield relay
    relay.close()
