"""`docker container prune` and `docker network prune` in cron, while a container is held.

docker/for-mac 7703, spotify/docker-gc 174, coolify 1764, moby 17160. Tried in 2026 on cmgr as it was: that the
container was lost was told, and nothing was left with which it could be made again; and a network was missed by an id
that no list has any more.
"""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress

import pytest
from docker.errors import APIError

from tests.support.service import LATER, Service
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

WELL = 0
SECRET = "HF_TOKEN=hf_123"  # noqa: S105 - of nobody
LLM = Spec(
    "llm", "0", policy="always", check="true", labels={"cmgr.order": "3", "x": "y'z"}, binds=("models:/models",),
    environment=("A=b c", SECRET),
)  # fmt: skip


def removed(service: Service) -> dict[str, list[str]]:
    """Return the lines that make containers again, by the text of the trouble that has them."""
    told = json.loads(service.cmgr("status", "-o", "json").out)
    return {trouble["text"]: trouble["lines"] for trouble in told["troubles"] if "lines" in trouble}


def typed(containers: Containers, lines: list[str], variables: Sequence[str] = ()) -> None:
    """Type the lines in a shell."""
    at = f"unix://{containers.dockerd.socket}"
    shell = ["env", f"DOCKER_HOST={at}", *variables, "sh", "-ec"]
    done = subprocess.run([*shell, "\n".join(lines)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (lines, done.stderr)


def asked(containers: Containers, name: str) -> dict[str, object]:
    """Return what the container asks for, without what Docker chose."""
    with closing(containers.dockerd.client()) as client:
        told = client.inspect_container(name)
    config, host = dict(told["Config"]), dict(told["HostConfig"])
    config["Env"] = sorted(config["Env"])
    # The command attaches nothing, and says of much that it is empty.
    config = {key: value for key, value in config.items() if value and not key.startswith(("Attach", "Hostname"))}
    return {"config": config, "host": {key: value for key, value in host.items() if value}, "name": told["Name"]}


def test_a_held_container_that_a_cleaner_removed_is_made_again_by_the_lines_of_status(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"retry.settle": "0s"})
    containers.run(LLM)
    before = asked(containers, "llm")
    service.start()
    eventually(lambda: service.runs("llm"))
    service.inject(0, LATER)
    eventually(lambda: (service.container("llm") or {}).get("status") == "paused")
    with closing(containers.dockerd.client()) as client:
        client.prune_containers()  # type: ignore[no-untyped-call]
    lines = eventually(lambda: removed(service).get("llm is lost", []))
    assert lines[0] == "# set HF_TOKEN first: what looks like a secret is not kept"
    assert "hf_123" not in service.cmgr("status", "-o", "json").out
    told = service.cmgr("status").out
    assert "somebody removed it, says an event of docker" in " ".join(told.split())
    assert all(line in told.splitlines() for line in lines), "no line of a shell is broken"
    service.until_said("is over")
    typed(containers, lines, [SECRET])
    assert asked(containers, "llm") == before
    eventually(lambda: service.runs("llm") and service.cmgr("status", "--check").code == WELL)


@pytest.fixture
def llmnet(containers: Containers) -> Iterator[str]:
    """Make a network. Some machines that run tests let nobody make one."""
    with closing(containers.dockerd.client()) as client:
        try:
            client.create_network("llmnet", driver="bridge")
        except APIError as error:
            pytest.skip(f"no network can be made here: {error.explanation}")
        yield "llmnet"
        with suppress(APIError):
            client.remove_network("llmnet")


def test_a_network_that_a_cleaner_removed_is_told_by_its_name_and_with_what_brings_it_back(
    on_docker: Install, containers: Containers, llmnet: str
) -> None:
    service = on_docker({"retry.settle": "0s", "retry.backoff": "200ms"})
    containers.run(Spec("llm", "0"))
    with closing(containers.dockerd.client()) as client:
        client.disconnect_container_from_network("llm", "none")
        client.connect_container_to_network("llm", llmnet)
        service.start()
        eventually(lambda: service.runs("llm"))
        service.inject(0, LATER)
        eventually(lambda: (service.container("llm") or {}).get("status") == "paused")
        # A swarm that this daemon was in before leaves one that goes with it.
        assert llmnet in client.prune_networks()["NetworksDeleted"]  # type: ignore[no-untyped-call]
    remedy = "docker network create llmnet; docker network connect llmnet llm"
    eventually(lambda: f"its network llmnet was removed: {remedy}" in " ".join(service.cmgr("status").out.split()))
    typed(containers, [remedy.replace("; ", "\n")])
    service.cmgr("resume", "llm")
    eventually(lambda: service.runs("llm") and service.cmgr("status", "--check").code == WELL)
    service.until_over()
