"""A model that loads for minutes after a recovery, and a server that answers no more: the container runs all the same.

hashicorp/nomad 878 tells of a service that ran for a day without its GPU, and nobody said so. Tried in 2026 on cmgr as
it was: an episode was recovered as soon as its container ran, and of a server that answered no more nothing was told.
"""

import os
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.metrics.scrape import free_port
from tests.support.service import NOW, Service, Setting
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

WELL, WRONG = 0, 4
QUICK: Mapping[str, Setting] = {"ready.every": "1s", "retry.settle": "0s"}


def server(name: str, port: int, **labels: str) -> Spec:
    """Return a server that answers once its model is there: a file that a life begins without."""
    loads = "trap 'exit 0' TERM; echo ready; until test -e /dev/shm/sick; do sleep 0.1; done"
    serves = f"busybox httpd -f -p 127.0.0.1:{port} -h /dev/shm & while :; do sleep 1 & wait $!; done"
    asked = {"cmgr.ready": f"http://:{port}/sick"} | {key.replace("_", "."): word for key, word in labels.items()}
    return Spec(name, "0", ("sh", "-c", f"{loads}; {serves}"), labels=asked, network="host")


def load(containers: Containers, name: str) -> None:
    """Let the model be there from now on."""
    containers.sicken(name)


def lose(containers: Containers, name: str) -> None:
    containers.mend(name)


def shown(service: Service, name: str, key: str) -> str:
    row = service.container(name)
    return str(row[key]) if row is not None else ""


def test_an_episode_is_recovered_when_the_service_answers(on_docker: Install, containers: Containers) -> None:
    service = on_docker(QUICK)
    containers.run(server("llama", free_port()))
    load(containers, "llama")
    service.start()
    eventually(lambda: shown(service, "llama", "health") == "healthy")
    service.inject(0, NOW)
    service.until_phase("resuming")
    eventually(lambda: containers.was_restarted("llama"), why="it runs again")
    eventually(lambda: "connection refused" in shown(service, "llama", "answer"), why="its model is being loaded")
    assert "it has not answered yet: connection refused" in shown(service, "llama", "reason")
    service.kill9()
    service.start()
    eventually(lambda: shown(service, "llama", "health") == "starting")
    assert [row.ended for row in service.episodes()] == [None]
    load(containers, "llama")
    service.until_over()
    (row,) = service.episodes()
    texts = [note.text for note in service.notes(row.number)]
    assert row.outcome == "recovered"
    assert any(text.startswith("llama answers ") and text.endswith(": HTTP 200") for text in texts)
    assert "of which all ran after" in texts[-1]
    assert service.cmgr("status", "--check").code == WELL


def test_in_peace_a_server_that_answers_no_more_is_told_and_healed(on_docker: Install, containers: Containers) -> None:
    service = on_docker({**QUICK, "heal.backoff": "100ms"})
    containers.run(server("mute", free_port()), server("healed", free_port(), cmgr_heal="true"))
    for name in containers.names:
        load(containers, name)
    service.start()
    eventually(lambda: [shown(service, name, "health") for name in containers.names] == ["healthy"] * 2)
    assert service.cmgr("status", "--check").code == WELL
    for name in containers.names:
        lose(containers, name)
    eventually(lambda: containers.was_restarted("healed"), why="it is healed")
    eventually(lambda: "does not answer: HTTP 404" in " ".join(service.cmgr("status").out.split()))
    assert service.cmgr("status", "--check").code == WRONG
    assert not containers.was_restarted("mute")
    for name in containers.names:
        load(containers, name)
    eventually(lambda: service.cmgr("status", "--check").code == WELL)


def test_a_service_without_a_network_is_asked_by_a_command_of_its_own(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker(QUICK)
    spec = Spec("alone", "0", labels={"cmgr.ready": "exec busybox test -e /dev/shm/sick"})
    containers.run(spec)
    load(containers, "alone")
    service.start()
    eventually(lambda: shown(service, "alone", "health") == "healthy")
    assert shown(service, "alone", "answer") == "busybox ended with code 0"
    assert containers.count("alone", "die") == 0


def test_a_server_that_hangs_lets_nobody_wait(on_docker: Install, containers: Containers) -> None:
    service = on_docker({**QUICK, "ready.timeout": "200ms"})
    containers.run(server("hangs", free_port()))
    load(containers, "hangs")
    service.start()
    eventually(lambda: shown(service, "hangs", "health") == "healthy")
    for child in Path(f"/proc/{containers.pid('hangs')}/task/{containers.pid('hangs')}/children").read_text().split():
        os.kill(int(child), signal.SIGSTOP)
    eventually(lambda: "no answer within 0.2 s" in " ".join(service.cmgr("status").out.split()))
    assert service.cmgr("status", "--check").code == WRONG
