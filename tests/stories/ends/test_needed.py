"""A service whose owner has said that it is to be restarted with another one: `depends_on … restart: true` of compose.

docker/compose 10263 and 10284, moby 29514, dockhand 991. Tried in 2026 on cmgr as it was: those that need the service
on the chip ran on with a dead connection, and nothing said so.
"""

import pytest

from cmgr.runtimes.compose import DEPENDS_ON, NUMBER, PROJECT, SERVICE
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker


def service_of(name: str, chips: str = "", needs: str = "") -> Spec:
    """Return what compose 2 would make of a service."""
    return Spec(name, chips, labels={PROJECT: "ai", SERVICE: name, NUMBER: "1", DEPENDS_ON: needs})


def test_whoever_is_to_be_restarted_with_it_is_whatever_chips_it_has(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"retry.settle": "0s"})
    containers.run(
        service_of("llm", "0"),
        service_of("web", needs="llm:service_started:true"),
        service_of("embed", "4", "llm:service_started:true:true"),
        service_of("index", "5", "llm:service_started:false"),
        service_of("page", needs="llm:service_started"),
    )
    service.start()
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    restarted = [name for name in containers.names if containers.was_restarted(name)]
    assert restarted == ["llm", "web", "embed"]
    assert containers.all_running()
    eventually(lambda: service.cmgr("status", "--check").code == 0)
