"""Clients of container runtimes in units, found and read."""

from pathlib import Path

import pytest

from cmgr.model.values.services.compose import Composed
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.runtimes.systemd.clients import Call, commands, found, in_units, monitored, named, tells_of, unit_of, watched

ID = "5ca1ab1e" * 8


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("docker run --rm --name llm image", "llm"),
        ("docker run --rm -it --name=llm image --name other", "llm"),
        ("/usr/bin/docker --host unix:///run/docker.sock run --gpus all --name llm image", "llm"),
        ("docker container run -e A=1 -v /a:/b --pids-limit -1 --name llm image", "llm"),
        ("docker run --oom-kill-disable --name llm image", "llm"),
        ("nerdctl --namespace k8s.io run --name llm image", "llm"),
        ("podman run --replace --sdnotify conmon --name llm image", "llm"),
        ("docker start --attach llm", "llm"),
        ("docker start -ai llm other", "llm"),
        ("docker run --rm image --name other", ""),
        ("docker run --detach --name llm image", ""),
        ("docker run -itd --name llm image", ""),
        ("docker start llm", ""),
        ("docker compose up llm", ""),
        ("docker exec llm run --name other", ""),
        ("docker logs --follow run", ""),
        ("docker run", ""),
        ("docker", ""),
        ("docker run --cidfile relative image", ""),
        ("docker run --cidfile /nonexistent/id image", ""),
    ],
)
def test_a_client_that_stays_names_its_container(words: str, name: str) -> None:
    assert named(words.split()) == name


def test_a_container_is_known_by_the_file_that_its_id_is_written_to(tmp_path: Path) -> None:
    file = tmp_path / "id"
    file.write_text(ID + "\n")
    assert named(["podman", "run", f"--cidfile={file}", "image"]) == ID
    file.write_text("../../etc/passwd\n")
    assert named(["podman", "run", "--cidfile", str(file), "image"]) == ""


@pytest.mark.parametrize(
    ("cgroups", "unit"),
    [
        ("0::/system.slice/llm.service\n", "llm.service"),
        ("0::/system.slice/system-llm.slice/llm@3.service\n", "llm@3.service"),
        ("0::/system.slice/llm.service/client\n", "llm.service"),
        ("12:pids:/\n1:name=systemd:/system.slice/llm.service\n0::/\n", "llm.service"),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/llm.service\n", ""),
        ("0::/user.slice/user-0.slice/session-3.scope\n", ""),
        ("0::/\n", ""),
        ("", ""),
    ],
)
def test_the_unit_of_a_process_is_the_systems(cgroups: str, unit: str) -> None:
    assert unit_of(cgroups) == unit


@pytest.mark.parametrize(
    ("words", "container"),
    [
        (f"conmon --api-version 1 -c {ID} -u {ID} -r /usr/bin/crun -b /b -p /p -n llm --exit-dir /e -s", ID),
        (f"conmon --api-version 1 -c {ID} -u {'0' * 64} -r /usr/bin/crun --exec-attach --exec-process-spec /s", ""),
        ("conmon -c ../../etc -u ../../etc", ""),
        ("conmon --version", ""),
        ("conmon", ""),
    ],
)
def test_podmans_monitor_names_its_container_and_that_of_an_exec_none(words: str, container: str) -> None:
    assert monitored(words.split()) == container


def process(proc: Path, number: int, words: str, unit: str, *, uid: int = 0, comm: str = "docker") -> None:
    folder = proc / str(number)
    folder.mkdir()
    (folder / "comm").write_text(f"{comm}\n")
    (folder / "cmdline").write_text(words.replace(" ", "\0") + "\0")
    (folder / "cgroup").write_text(f"0::/system.slice/{unit}\n")
    (folder / "status").write_text(f"Name:\t{comm}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n")


def test_units_are_found_with_all_their_containers_and_only_by_roots_clients(tmp_path: Path) -> None:
    process(tmp_path, 10, "docker run --name llm image", "llm.service")
    process(tmp_path, 11, "docker run --name tokenizer image", "llm.service")
    process(tmp_path, 12, "docker start -a embed", "embed.service")
    process(tmp_path, 13, "docker run --name theirs image", "theirs.service", uid=1000)
    process(tmp_path, 14, "docker run --name script image", "script.service", comm="python3")
    process(tmp_path, 15, "docker run image", "nameless.service")
    process(tmp_path, 16, "docker run --name shell image", "session-1.scope")
    process(tmp_path, 17, f"conmon -c {ID} -u {ID} -n quadlet", "quadlet.service/runtime", comm="conmon")
    process(tmp_path, 18, f"conmon -c {ID} -u {ID} -n api", "podman.service", comm="conmon")
    process(tmp_path, 19, f"conmon -c {ID} -u {ID} -n other", f"machine.slice/libpod-conmon-{ID}.scope", comm="conmon")
    (tmp_path / "20").mkdir()
    (tmp_path / "self").mkdir()
    assert found(tmp_path) == {
        "llm.service": frozenset({"llm", "tokenizer"}),
        "embed.service": frozenset({"embed"}),
        "quadlet.service": frozenset({ID}),
    }


UNIT = "llm@0.service"
LLM = Container(ContainerKey("docker", "", ID), "llm", unit=UNIT, composed=Composed("models", "llm"))


def client(words: str) -> Call:
    return Call("docker", tuple(words.split()))


def of_shell(words: str) -> Call:
    return Call("sh", ("/bin/sh", "-c", words))


@pytest.mark.parametrize(
    "call",
    [
        client("/usr/bin/docker -H unix:///d.sock run --rm --name llm image serve"),
        Call("docker", ("/usr/bin/docker", "run", "--label", f"cmgr.unit={UNIT}", "image")),
        Call("docker", ("/usr/bin/docker", "run", f"--label=cmgr.unit={UNIT}", "image")),
        Call("docker", ("docker", "start", "--attach", ID)),
        Call("docker", ("docker", "wait", "llm")),
        client("docker stop --time 30 llm"),
        client("/usr/bin/env -i podman create --name=llm image"),
        Call("ctr", ("ctr", "--namespace", "models", "run", "--rm", "--env", "A=1", "docker.io/image", "llm", "serve")),
        Call("conmon", ("conmon", "-c", ID, "-u", ID, "-n", "other")),
        of_shell("docker rm -f llm; exec docker run --name other image"),
        of_shell("test -e /ready && exec /usr/bin/docker run --name 'llm' image"),
        of_shell("while true; do nerdctl run --name llm image; done"),
        client("docker compose -p models up"),
        client("docker compose --file /srv/Models/compose.yaml --file /srv/more.yaml up"),
        Call("docker", ("docker", "compose", "up"), "/srv/models"),
        Call("docker-compose", ("/usr/bin/docker-compose", "up"), "/srv/models"),
        Call(
            "docker-compose", ("/cli-plugins/docker-compose", "compose", "--project-directory", "models", "up"), "/srv"
        ),
    ],
)
def test_a_unit_runs_the_container_that_its_command_or_client_names(call: Call) -> None:
    assert tells_of(call, LLM)


@pytest.mark.parametrize(
    "call",
    [
        Call("sshd", ("/usr/sbin/sshd", "-D", "llm")),
        Call("k3s", ("/usr/local/bin/k3s", "server", "--node-name", "llm")),
        Call("dbus-daemon", ("/usr/bin/dbus-daemon", "--system")),
        Call("dockerd", ("/usr/bin/dockerd", "--data-root", "llm")),
        Call("etcd", ("/usr/bin/etcd", "--name", "llm"), "/srv/models"),
        Call("sh", ("/bin/sh", "-c", "echo llm models", "llm")),
        client("docker run --name web --env MODEL=llm image llm"),
        client("docker run --name llm-2 image --name llm"),
        Call("docker", ("docker", "run", "--label", "cmgr.unit=llm@1.service", "image")),
        Call("docker", ("docker", "run", "--name", "other", "--label", f"cmgr.unit={UNIT}", "image")),
        Call("ctr", ("ctr", "run", "--label", f"cmgr.unit={UNIT}", "image", "other", "serve")),
        Call("docker", ("docker", "run", "--label", f"cmgr.unit={UNIT}.more", "image")),
        Call("docker", ("docker", "run", "--cidfile", "/nonexistent", "image")),
        Call("docker", ("docker", "pull", "llm")),
        Call("docker", ("docker",)),
        Call("conmon", ("conmon", "-c", "0" * 64, "-u", "0" * 64, "-n", "llm")),
        of_shell("docker run --name 'llm"),
        of_shell("docker run --name web image; echo llm"),
        client("docker compose -p others up llm"),
        Call("docker", ("docker", "compose", "up", "llm"), "/srv/others"),
        Call("docker-compose", ("docker-compose", "up"), ""),
    ],
)
def test_a_unit_whose_commands_and_clients_do_not_name_it_does_not_run_it(call: Call) -> None:
    assert not tells_of(call, LLM)


def test_a_container_that_was_made_without_compose_has_no_project() -> None:
    alone = Container(LLM.key, "llm", unit=UNIT)
    assert not tells_of(Call("docker-compose", ("docker-compose", "up"), ""), alone)


def test_the_commands_of_a_unit_are_read_as_systemd_tells_of_them() -> None:
    told = {
        "WorkingDirectory": "!/srv/models",
        "ExecStart": [("/usr/bin/docker", ["client", "run", "image"], False, 0)],
        "ExecStop": [("/bin/true", ["/bin/true"], False, 0)],
        "Environment": ["docker", "start", "llm"],
    }
    assert list(commands(told)) == [
        Call("docker", ("/usr/bin/docker", "run", "image"), "/srv/models"),
        Call("true", ("/bin/true",), "/srv/models"),
    ]
    assert list(commands({})) == []


def test_only_roots_clients_in_a_unit_of_its_own_speak_for_it(tmp_path: Path) -> None:
    process(tmp_path, 10, "docker-compose up", "llm.service", comm="docker-compose")
    (tmp_path / "10" / "cwd").symlink_to("/srv/models")
    process(tmp_path, 11, "docker logs llm", "theirs.service", uid=1000)
    process(tmp_path, 12, "docker logs llm", "docker.service")
    process(tmp_path, 13, "docker logs llm", "mine.service", comm="notdocker")
    assert in_units(tmp_path) == {
        "llm.service": [Call("docker-compose", ("docker-compose", "up"), "/srv/models")],
    }


def test_this_machines_own_processes_can_be_looked_through() -> None:
    assert all(unit.endswith(".service") and names for unit, names in found().items())


def test_whose_monitor_lives_is_found(tmp_path: Path) -> None:
    other = "0" * 64
    process(tmp_path, 1, f"conmon --api-version 1 -c {ID} -u {ID} -n llm", "llm.service", comm="conmon")
    process(tmp_path, 2, f"conmon --api-version 1 -c {other} -u {ID} --exec-attach", "llm.service", comm="conmon")
    process(tmp_path, 3, f"docker start --attach {other}", "llm.service")
    assert watched(tmp_path) == {ID}
