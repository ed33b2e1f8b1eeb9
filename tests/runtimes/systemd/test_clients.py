"""Clients of container runtimes in units, found and read."""

from pathlib import Path

import pytest

from cmgr.runtimes.systemd.clients import found, monitored, named, unit_of, watched

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


def test_this_machines_own_processes_can_be_looked_through() -> None:
    assert all(unit.endswith(".service") and names for unit, names in found().items())


def test_whose_monitor_lives_is_found(tmp_path: Path) -> None:
    other = "0" * 64
    process(tmp_path, 1, f"conmon --api-version 1 -c {ID} -u {ID} -n llm", "llm.service", comm="conmon")
    process(tmp_path, 2, f"conmon --api-version 1 -c {other} -u {ID} --exec-attach", "llm.service", comm="conmon")
    process(tmp_path, 3, f"docker start --attach {other}", "llm.service")
    assert watched(tmp_path) == {ID}
