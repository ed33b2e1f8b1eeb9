"""The commands that make a container anew on a slot: run for real, they make the same container."""

import json
import shlex
import subprocess
from typing import Any

import pytest

from cmgr.errors import CmgrError, NotThere
from cmgr.runtimes.docker.adopt import adoption, described
from tests.support.daemons.dockerd import IMAGE, Dockerd

GIVEN = (
    *("--restart", "on-failure:3", "--memory", "64m", "--cpus", "0.5", "--shm-size", "128m", "--cap-add", "NET_ADMIN"),
    *("--cap-drop", "CHOWN", "--env", "A=b c", "--env", "ASCEND_VISIBLE_DEVICES=3", "--label", "x=y'z"),
    *("--user", "7:8", "--workdir", "/w", "--hostname", "host", "--stop-timeout", "9", "--stop-signal", "SIGINT"),
    *("--tty", "--init"),
    *("--volume", "/usr:/data:ro", "--volume", "named:/named", "--tmpfs", "/t:size=1m", "--ulimit", "nofile=10:20"),
    *("--network", "none", "--log-opt", "max-size=1m", "--dns", "10.0.0.1", "--add-host", "a:1.2.3.4", "--read-only"),
    *("--entrypoint", "sh", "--group-add", "5", "--security-opt", "no-new-privileges", "--device", "/dev/fuse"),
)  # fmt: skip


def docker(dockerd: Dockerd, *words: str) -> str:
    done = subprocess.run(
        ["docker", "-H", f"unix://{dockerd.socket}", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def inspected(dockerd: Dockerd, name: str) -> dict[str, Any]:
    (found,) = json.loads(docker(dockerd, "inspect", name))
    return dict(found)


@pytest.mark.docker
def test_the_command_makes_the_same_container(dockerd: Dockerd) -> None:
    try:
        docker(dockerd, "create", "--name", "chat", *GIVEN, IMAGE, "-c", "echo 'a b'; sleep 9")
        container, image = described(dockerd.socket, "chat")
        told = adoption(container, image, "chat")
        words = shlex.split(told.command)
        assert words[:4] == ["docker", "create", "--name", "chat"]
        place = words.index("cmgr.io/slot=chat")
        assert words[place - 1] == "--device"
        assert not any(word.startswith("ASCEND_VISIBLE_DEVICES") for word in words), "the slot gives the chips"
        docker(dockerd, "rename", "chat", "before")
        docker(dockerd, *words[1 : place - 1], *words[place + 1 :])  # An older Docker takes a device for a path.
        before, after = inspected(dockerd, "before"), inspected(dockerd, "chat")
        env = [line for line in before["Config"]["Env"] if not line.startswith("ASCEND")]
        assert sorted(after["Config"]["Env"]) == sorted(env)
        assert {**after["Config"], "Env": 0} == {**before["Config"], "Env": 0}
        # The docker command keeps the volumes in a map: their order in a container is chance.
        assert sorted(after["HostConfig"]["Binds"]) == sorted(before["HostConfig"]["Binds"])
        assert {**after["HostConfig"], "Binds": 0} == {**before["HostConfig"], "Binds": 0}
        assert told.left == (
            "volumes that have no name",
            "files that were changed in the container itself (docker diff)",
        )
    finally:
        for name in docker(dockerd, "ps", "-aq").split():
            docker(dockerd, "rm", "-f", name)


@pytest.mark.docker
def test_a_container_that_is_not_there_is_told(dockerd: Dockerd) -> None:
    with pytest.raises(NotThere, match="No such container: nobody"):
        described(dockerd.socket, "nobody")
    with pytest.raises(CmgrError, match="cannot ask Docker on /nowhere"):
        described("/nowhere", "nobody")


def test_what_is_not_carried_over_is_named() -> None:
    container = {
        "Id": "0" * 64,
        "Name": "/chat",
        "Config": {"Image": "llm", "Healthcheck": {"Test": ["CMD", "x"]}},
        "HostConfig": {"BlkioWeight": 300, "Devices": [{"PathOnHost": "/dev/davinci3"}], "Mounts": [{"Type": "bind"}]},
        "NetworkSettings": {"Networks": {"a": {}, "b": {}}},
    }
    told = adoption(container, {}, "chat")
    assert told.command == "docker create --name chat --device cmgr.io/slot=chat llm"
    assert told.left[:4] == (
        "HostConfig.BlkioWeight",
        "HostConfig.Mounts",
        "Config.Healthcheck, where it is not the image's",
        "networks but the first: b",
    )
