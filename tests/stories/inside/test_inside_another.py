"""A sidecar with `--network container:llm`: when llm begins another life, it sits in the network of the one before.

moby 36334, 22784; compose 6626; gluetun 641. Tried in 2026 on cmgr as it was: llm was recovered, its proxy on no chip
ran on without a network, and all was well. So it was where a person had restarted llm. Where llm was removed and made
anew (watchtower, `docker rm` and `docker run`) its proxy names the old one by its id: no start of it can work.
"""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker


def network(containers: Containers, name: str) -> str:
    """Return which network the container's process is in; nothing while it has none."""
    with suppress(FileNotFoundError):
        return os.readlink(Path(f"/proc/{containers.pid(name)}/ns/net"))
    return f"that of {name}"


def test_whoever_is_in_the_network_of_one_that_is_recovered_is_in_it_again(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"retry.settle": "0s"})
    containers.run(Spec("llm", "0"))
    containers.run(Spec("proxy", "", network="container:llm"), Spec("other", ""))
    containers.run(Spec("probe", "", network="container:proxy"))
    service.start()
    eventually(lambda: service.container("llm"))
    assert network(containers, "llm") == network(containers, "proxy")
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    eventually(lambda: service.cmgr("status", "--check").code == 0, why="all is well")
    assert network(containers, "llm") == network(containers, "proxy") == network(containers, "probe")
    assert [containers.was_restarted(n) for n in ("llm", "proxy", "probe", "other")] == [True, True, True, False]


def told(service: Service) -> str:
    return " ".join(service.cmgr("status").out.split())


def test_one_whose_other_a_person_has_restarted_is_told_until_it_is_restarted_too(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({})
    containers.run(Spec("llm", "0"), Spec("vpn", ""))
    containers.run(Spec("proxy", "", network="container:llm"), Spec("agent", "4", network="container:vpn"))
    service.start()
    eventually(lambda: service.cmgr("status", "--check").code == 0, why="all is well")
    containers.restart_within("llm", 5)
    eventually(lambda: "container proxy does not serve" in told(service))
    assert "it is cut off, for llm, in whose namespaces it runs, has begun another life since" in told(service)
    assert service.cmgr("status", "--check").code == 4
    containers.restart_within("proxy", 5)
    eventually(lambda: service.cmgr("status", "--check").code == 0, why="it is in the network of llm")
    assert network(containers, "llm") == network(containers, "proxy")


def test_one_on_no_chip_is_looked_at_too_and_one_that_wishes_to_be_healed_is_restarted(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"resync": "1s", "heal.backoff": "300ms"})
    containers.run(Spec("vpn", ""))
    containers.run(Spec("llm", "0", network="container:vpn", labels={"cmgr.heal": "true"}))
    service.start()
    eventually(lambda: service.container("llm"))
    containers.restart_within("vpn", 5)
    service.until_said("llm is cut off from the container in whose namespaces it runs")
    eventually(lambda: network(containers, "vpn") == network(containers, "llm"), why="it was restarted")
    eventually(lambda: service.cmgr("status", "--check").code == 0, why="all is well")


def test_one_whose_other_was_made_anew_is_told_to_be_made_anew_too_and_is_not_tried(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({})
    containers.run(Spec("llm", "0"))
    containers.run(Spec("agent", "4", network="container:llm"))
    service.start()
    eventually(lambda: service.container("agent"))
    containers.remove("llm")
    containers.run(Spec("llm", "0"))
    eventually(lambda: "in whose namespaces it runs, exists no more" in told(service))
    assert "recreate it (docker compose up --force-recreate" in told(service)
    service.inject(4)
    service.until_said("is over", 1)
    eventually(lambda: "in whose namespaces it was to run, exists no more" in told(service))
    assert "recreate it" in told(service)
    assert not any("cannot start agent" in note.text for note in service.notes())
    containers.remove("agent")
    containers.run(Spec("agent", "4", network="container:llm"))
    assert network(containers, "agent") == network(containers, "llm")
