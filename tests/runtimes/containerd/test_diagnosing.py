"""A container's documents for a diagnosis, and the end of its output, from the real daemons."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmgr.errors import ContainerError, ContainerGone, RuntimeDown
from cmgr.model.values.services.containers import ContainerKey
from cmgr.ports import Diagnosing, Runtime
from cmgr.runtimes.containerd.diagnosis import output
from cmgr.runtimes.docker.runtime import DockerRuntime
from cmgr.runtimes.documents import MOST_OUTPUT, ended
from tests.runtimes.containerd.world import ContainerdWorld
from tests.runtimes.docker.world import DockerWorld
from tests.runtimes.sim.test_contract import SimWorld
from tests.support.daemons.containerd import Containerd
from tests.support.daemons.dockerd import Dockerd
from tests.support.waiting import eventually

SAYS = (
    "sh",
    "-c",
    "trap 'exit 0' TERM; for n in 1 2 3 4 5; do echo line $n; done; while :; do sleep 1 & wait $!; done",
)


@pytest.fixture
def docker(dockerd: Dockerd) -> Iterator[DockerWorld]:
    world = DockerWorld(dockerd)
    yield world
    world.close()


@pytest.fixture
def ctd(containerd: Containerd) -> Iterator[ContainerdWorld]:
    world = ContainerdWorld(containerd)
    yield world
    world.close()


def able(runtime: Runtime) -> Diagnosing:
    assert isinstance(runtime, Diagnosing)
    return runtime


@pytest.mark.docker
def test_docker_tells_what_inspect_says_and_the_last_lines(docker: DockerWorld) -> None:
    key = docker.made("web", command=SAYS, host={}, environment=["ASCEND_VISIBLE_DEVICES=0", "SECRET=x"])
    docker.start(key)
    runtime = able(docker.runtime)
    eventually(lambda: runtime.output(key, 10).count("\n") == 5)
    document = runtime.document(key)
    assert document["Id"] == key.id
    assert json.loads(json.dumps(document)) == document
    last = runtime.output(key, 2).splitlines()
    assert [line.partition(" ")[2] for line in last] == ["line 4", "line 5"]
    assert last[0].partition("T")[0].count("-") == 2, "each line has its time"
    docker.stop(key)
    assert runtime.output(key, 1).endswith("line 5\n"), "of one that is down, too"


@pytest.mark.docker
def test_docker_says_what_is_gone_and_what_keeps_no_log(docker: DockerWorld) -> None:
    runtime = able(docker.runtime)
    nobody = ContainerKey("docker", "", "0" * 64)
    with pytest.raises(ContainerGone):
        runtime.document(nobody)
    with pytest.raises(ContainerGone):
        runtime.output(nobody, 5)
    mute = docker.made("mute", host={"log_config": {"Type": "none"}})
    docker.client.start(mute.id)
    with pytest.raises(ContainerError):
        runtime.output(mute, 5)


def test_a_daemon_that_is_not_there_is_told(tmp_path: Path) -> None:
    runtime = DockerRuntime(str(tmp_path / "nobody.sock"))
    with pytest.raises(RuntimeDown):
        runtime.document(ContainerKey("docker", "", "x"))
    with pytest.raises(RuntimeDown):
        runtime.output(ContainerKey("docker", "", "x"), 5)
    runtime.close()


@pytest.mark.containerd
def test_containerd_tells_the_record_its_spec_its_task_and_the_end_of_a_log_file(ctd: ContainerdWorld) -> None:
    key = ContainerKey("containerd", ctd.namespace, "web")
    ctd.run(key, *SAYS)
    runtime = able(ctd.runtime)
    eventually(lambda: ctd.said(key).count("\n") == 5)
    document = runtime.document(key)
    assert (document["id"], document["namespace"]) == ("web", ctd.namespace)
    assert "ASCEND_VISIBLE_DEVICES=0" in json.dumps(document["spec"])
    assert json.loads(json.dumps(document["task"]))["running"] is True
    assert runtime.output(key, 2) == "line 4\nline 5\n"
    ctd.stop(key)
    assert runtime.output(key, 1) == "line 5\n"
    assert runtime.output(key, 0) == ""


@pytest.mark.containerd
def test_containerd_says_what_is_gone_and_whose_output_only_its_client_reads(ctd: ContainerdWorld) -> None:
    runtime = able(ctd.runtime)
    nobody = ContainerKey("containerd", ctd.namespace, "nobody")
    with pytest.raises(ContainerGone):
        runtime.document(nobody)
    with pytest.raises(ContainerGone):
        runtime.output(nobody, 5)
    key = ContainerKey("containerd", ctd.namespace, "web")
    ctd.run_in_foreground(key, SAYS, "0", {}, rm=False)
    ctd.ready(key, 0)
    with pytest.raises(ContainerError, match="goes where only its own client reads it"):
        runtime.output(key, 5)


@pytest.mark.containerd
def test_the_log_of_nerdctl_is_found_and_read_plainly(ctd: ContainerdWorld, tmp_path: Path) -> None:
    key = ContainerKey("containerd", ctd.namespace, "web")
    (tmp_path / "nerdctl").write_text("#!/bin/sh\nexec 5>&-\ncat <&3 >/dev/null &\ncat <&4 >/dev/null &\nwait\n")
    (tmp_path / "nerdctl").chmod(0o755)
    data = tmp_path / "data"
    log = data / "containers" / ctd.namespace / "web" / "web-json.log"
    log.parent.mkdir(parents=True)
    data.chmod(0o755)
    lines = [{"log": f"line {n}\n", "stream": "stdout", "time": f"2026-01-01T00:00:0{n}Z"} for n in range(3)]
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + "no json\n")
    address = f"binary://{tmp_path}/nerdctl?_NERDCTL_INTERNAL_LOGGING={data}"
    ctd.run(key, *SAYS, labels={"nerdctl/log-uri": address}, options=("--log-uri", address))
    runtime = able(ctd.runtime)
    assert runtime.output(key, 2) == "2026-01-01T00:00:02Z line 2\nno json\n"


@pytest.mark.containerd
def test_a_log_that_others_can_write_is_not_read(ctd: ContainerdWorld) -> None:
    key = ContainerKey("containerd", ctd.namespace, "web")
    ctd.run(key, *SAYS)
    ctd.ready(key, 0)
    ctd.log(key).chmod(stat.S_IMODE(ctd.log(key).stat().st_mode) | 0o022)
    with pytest.raises(ContainerError, match="cannot read the log of container web"):
        output(ctd.runtime._looks, key, 5)


def test_pretended_containers_tell_what_they_are() -> None:
    world = SimWorld()
    key = world.create("web")
    runtime = able(world.runtime)
    assert json.dumps(runtime.document(key)).count("web") == 2
    assert runtime.output(key, 5) == "web is simulated, and says nothing\n"
    world.remove(key)
    with pytest.raises(ContainerGone):
        runtime.document(key)
    world.runtime.close()


def test_very_much_output_is_cut_to_its_end_at_a_line() -> None:
    line = b"x" * 99 + b"\n"
    told = ended(line * 10_000 + b"the end \xff\n")
    assert len(told.encode()) <= MOST_OUTPUT + 3
    assert told.startswith("x" * 99 + "\n")
    assert told.endswith("the end \N{REPLACEMENT CHARACTER}\n")
