"""The commands that make a container anew on a slot: run for real, they make the same container."""

import json
import shlex
import subprocess
from typing import Any

import pytest

from cmgr.errors import CmgrError, NotThere
from cmgr.runtimes.docker.adopt import adoption, described
from cmgr.runtimes.docker.anew import lines
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
    with pytest.raises(CmgrError, match="cannot ask Docker of nobody: nothing answers at /nowhere"):
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
    assert told.command == "docker create --name chat --device cmgr.io/slot=chat --health-cmd x llm"
    assert told.left[:3] == ("HostConfig.BlkioWeight", "HostConfig.Mounts", "networks but the first: b")


SECOND = 10**9


@pytest.mark.parametrize(
    ("check", "options"),
    [
        ({"Test": ["CMD-SHELL", "test -e 'a b'"], "Interval": 5 * SECOND}, "--health-interval 5000000000ns"),
        ({"Test": ["CMD", "curl", "a b"], "Retries": 4}, "--health-cmd 'curl '\"'\"'a b'\"'\"'' --health-retries 4"),
        ({"Test": ["NONE"]}, "--no-healthcheck"),
        ({"Test": [], "StartPeriod": SECOND, "Timeout": 0}, "--health-start-period 1000000000ns"),
    ],
)
def test_a_health_check_is_carried_over(check: dict[str, Any], options: str) -> None:
    container = {"Name": "/chat", "Config": {"Image": "llm", "Healthcheck": check}}
    assert options in adoption(container, {}, "chat").command
    assert "health" not in adoption(container, {"Config": {"Healthcheck": check}}, "chat").command


WHOLE = {
    "Id": "0" * 64,
    "Name": "/chat",
    "Config": {
        "Image": "llm:1",
        "Env": ["A=1", "ASCEND_VISIBLE_DEVICES=3", "HF_TOKEN=hf_1", "MAX_TOKENS=7"],
        "Labels": {"cmgr.group": "tp4", "own": "x"},
        "Entrypoint": ["serve", "--fast"],
        "Cmd": ["--api-key", "sk-1", "--password=p w", "--max-tokens", "9", "postgres://u:pw1@db/x"],
    },
    "HostConfig": {
        "NetworkMode": "llm net",
        "RestartPolicy": {"Name": "always", "MaximumRetryCount": 0},
        "Binds": ["models:/models"],
        "Devices": [{"PathOnHost": "/dev/davinci3", "PathInContainer": "/dev/davinci3", "CgroupPermissions": "rwm"}],
        "DeviceRequests": [
            {"Count": 0, "DeviceIDs": ["0", "1"]},
            {"Driver": "cdi", "DeviceIDs": ["cmgr.io/slot=a"]},
        ],
    },
    "Mounts": [
        {"Type": "volume", "Name": "models", "Destination": "/models", "RW": True},
        {"Type": "volume", "Name": "b" * 64, "Destination": "/cache", "RW": True},
        {"Type": "bind", "Source": "/srv", "Destination": "/data", "RW": False},
    ],
    "NetworkSettings": {"Networks": {"llm net": {"Aliases": ["chat-1", "0" * 12]}, "b": {}, "bridge": {}}},
}


def test_of_one_that_was_removed_its_networks_chips_and_volumes_are_made_again_and_no_secret_is_kept() -> None:
    first, *networks, made, connected, started = lines(WHOLE, {"cmgr.group=tp4"})
    assert first == "# set HF_TOKEN, API_KEY, PASSWORD, SECRET_4 first: what looks like a secret is not kept"
    assert networks == [
        "docker network inspect 'llm net' >/dev/null 2>&1 || docker network create 'llm net'",
        "docker network inspect b >/dev/null 2>&1 || docker network create b",
    ]
    assert (connected, started) == ("docker network connect b chat", "docker start chat")
    assert made == (
        "docker create --name chat --restart always --network 'llm net' --volume models:/models "
        "--device /dev/davinci3:/dev/davinci3 --gpus '\"device=0,1\"' --device cmgr.io/slot=a "
        f"--mount type=volume,source={'b' * 64},target=/cache --mount type=bind,source=/srv,target=/data,readonly "
        "--env A=1 --env ASCEND_VISIBLE_DEVICES=3 --env HF_TOKEN --env MAX_TOKENS=7 --label own=x --entrypoint serve "
        '--network-alias chat-1 llm:1 --fast --api-key "$API_KEY" --password="$PASSWORD" --max-tokens 9 "$SECRET_4"'
    )


def test_the_lines_are_lines_whatever_is_in_a_value_and_a_shell_takes_them_for_it() -> None:
    odd = "A=first\n second\\n 'third'\t\u200bü"
    told = lines({"Name": "/chat", "Config": {"Image": "llm", "Env": [odd]}}, ())
    assert all(line.isprintable() for line in told)
    done = subprocess.run(["sh", "-c", f'docker() {{ printf %s "$5"; }}; {told[0]}'], capture_output=True, check=False)
    assert done.stdout.decode() == odd


def test_of_podmans_nobody_knows_the_words() -> None:
    assert lines({"Name": "/chat", "Config": {"Image": "llm"}, "HostConfig": {"Runtime": "oci"}}, ()) == ()
