"""A service whose engine is full: all is not well until there is room."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cmgr.service.door.client import get
from tests.fleet.services import MEMBERS, TP, Appliance, services
from tests.support.daemons.etcd import Cluster, Options
from tests.support.waiting import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.alone]


@pytest.fixture
def small() -> Iterator[Cluster]:
    cluster = Cluster(1, Options(quota=2 * 2**20))
    cluster.start()
    yield cluster
    cluster.close()


def test_an_engine_that_is_full_is_a_trouble_with_what_to_type_until_there_is_room(
    small: Cluster, tmp_path: Path
) -> None:
    with services(tmp_path, "ab", lambda _: small.endpoints, Appliance) as (a, b):
        while small.ctl("put", "/stranger", "x" * 90_000, check=False).returncode == 0:
            pass
        a.cmgr("group", "restart", TP)
        eventually(lambda: troubles(a), "the service knows that the engine is full")
        told = a.cmgr("status", "--check")
        assert (told.code, "the fleet's engine takes no writes" in told.out, "alarm disarm" in told.out) == (
            4,
            True,
            True,
        )
        assert a.status()["service"]["state"] == "degraded"
        assert "answers, but takes no writes" in a.cmgr("fleet", "status").out
        health: Any = get(a.socket, "health")
        assert "takes no writes" in str(health)
        revision = json.loads(small.ctl("get", "x", "--write-out=json").stdout)["header"]["revision"]
        for words in (("compact", str(revision)), ("defrag",), ("alarm", "disarm")):
            small.ctl(*words)
        eventually(lambda: not troubles(a) and a.is_whole(1) and b.is_whole(1), "there is room, and the round goes on")
        assert a.members() == list(MEMBERS)
        assert a.cmgr("status", "--check").code == 0


def troubles(each: Appliance) -> list[str]:
    return [trouble["text"] for trouble in each.status()["troubles"] if trouble["kind"] == "engine"]
