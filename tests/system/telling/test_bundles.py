"""Bundles of the real service: saved with each reset, from real containers, without their secrets."""

import json
import stat
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.daemons.dockerd import IMAGE
from tests.support.hooks import HookFolder
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers

SAYS = ["sh", "-c", "trap 'exit 0' TERM; seq 1 300; while :; do sleep 1 & wait $!; done"]


def bundles(service: Service) -> list[Path]:
    return sorted((service.database.parent / "bundles").glob("*.tar.gz"))


def inside(path: Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        found = ((member.name.partition("/")[2], archive.extractfile(member)) for member in archive.getmembers())
        return {name: file.read().decode() for name, file in found if file is not None}


def test_each_reset_has_its_bundle_and_they_are_bounded(install: Install) -> None:
    service = install({"sim.fail_resets": 2, "bundles.keep": 2})
    service.pretend("one")
    service.start()
    service.inject(0)
    service.until_said("is over: recovered")
    assert [path.name for path in bundles(service)] == [f"episode-000001-reset-{n}.tar.gz" for n in (2, 3)]
    for path in bundles(service):
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        notes = json.loads(inside(path)["timeline.json"])["notes"]
        assert any(note["text"].startswith("waiting → resetting: reset") for note in notes)
    saved = [note.text for note in service.notes(1) if note.text.startswith("saved for a diagnosis: ")]
    assert saved[-1].endswith(str(bundles(service)[-1]))
    assert len(saved) == 3


def test_a_reset_that_a_hook_refuses_has_none_yet(install: Install, folder: Path) -> None:
    hooks = HookFolder(folder)
    hooks.put("before_reset", after=hooks.unless("allowed", "exit 1"))
    service = install({"hooks.dir": str(hooks.dir)})
    service.start()
    service.inject(0)
    hooks.until_run("before_reset", 2)
    assert bundles(service) == []
    hooks.let("allowed")
    service.until_said("is over: recovered")
    assert len(bundles(service)) == 1


@pytest.mark.docker
def test_it_has_what_inspect_says_without_secrets_and_the_last_lines_of_the_log(
    on_docker: Install, containers: Containers
) -> None:
    with closing(containers.dockerd.client()) as client:
        made = client.create_container(
            IMAGE,
            SAYS,
            name="web",
            environment=["ASCEND_VISIBLE_DEVICES=1", "DB_PASSWORD=hunter2"],
            host_config=client.create_host_config(network_mode="none"),
        )
        client.start(made["Id"])
        eventually(lambda: client.logs(made["Id"]).endswith(b"300\n"), why="it has said all")
    service = on_docker({})
    service.start()
    eventually(lambda: service.container("web"))
    service.inject(1)
    service.until_said("is over: recovered")
    (path,) = bundles(service)
    texts = inside(path)
    document = json.loads(texts["containers/01-web.inspect.json"])
    assert document["Id"] == made["Id"]
    assert document["State"]["Running"] is False, "as it was just before the reset"
    assert "ASCEND_VISIBLE_DEVICES=1" in document["Config"]["Env"]
    assert "DB_PASSWORD=(redacted)" in document["Config"]["Env"]
    assert not [name for name, text in texts.items() if "hunter2" in text]
    lines = texts["containers/01-web.log"].splitlines()
    assert [line.split()[-1] for line in lines] == [str(n) for n in range(101, 301)]
