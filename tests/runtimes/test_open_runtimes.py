"""Which runtimes are taken."""

import subprocess
import sys
from pathlib import Path

import pytest

from cmgr.config.settings import Containerd as ContainerdSettings
from cmgr.config.settings import Docker
from cmgr.config.sim import SimContainer
from cmgr.errors import ConfigError, RuntimeDown
from cmgr.runtimes import open_runtimes
from cmgr.runtimes.containerd.wire import Limits as ContainerdLimits
from cmgr.runtimes.docker.wire import Limits as DockerLimits
from cmgr.runtimes.sim.world import Pretended, pretended
from tests.runtimes.fake_dockerd import Request, fake_dockerd
from tests.support.containerd import Containerd

NOWHERE = "/nonexistent/docker.sock"


def names(*wanted: str, socket: str = NOWHERE, containerd: str = NOWHERE) -> list[str]:
    runtimes = open_runtimes(wanted, docker=Docker(socket), containerd=ContainerdSettings(containerd, ()))
    for runtime in runtimes:
        runtime.close()
    return [runtime.name for runtime in runtimes]


def test_auto_takes_what_answers() -> None:
    with fake_dockerd() as daemon:
        assert names("auto", socket=daemon.socket) == ["docker"]
        assert names("auto", "docker", "auto", socket=daemon.socket) == ["docker"]
        assert names("sim", "auto", socket=daemon.socket) == ["sim", "docker"]


def test_auto_that_finds_nothing_says_so() -> None:
    with pytest.raises(RuntimeDown, match="cannot find a container runtime") as caught:
        names("auto")
    assert caught.value.hint
    assert NOWHERE in str(caught.value.__cause__)


def test_auto_leaves_out_what_answers_badly() -> None:
    with fake_dockerd() as daemon:
        daemon.on("GET /version", lambda request: Request.refuse(request, 500, "starting"))
        assert names("auto", "sim", socket=daemon.socket) == ["sim"]


def test_a_runtime_that_is_named_need_not_answer_yet() -> None:
    assert names("docker") == ["docker"]
    assert names("auto", "sim") == ["sim"]


@pytest.mark.containerd
def test_auto_takes_containerd_too(containerd: Containerd) -> None:
    with fake_dockerd() as daemon:
        assert names("auto", socket=daemon.socket, containerd=containerd.socket) == ["docker", "containerd"]
    assert names("auto", containerd=containerd.socket) == ["containerd"]
    assert names("containerd", "auto", containerd=containerd.socket) == ["containerd"]


def test_auto_leaves_out_a_socket_that_speaks_no_grpc(tmp_path: Path) -> None:
    with fake_dockerd() as daemon:
        assert names("auto", socket=daemon.socket, containerd=daemon.socket) == ["docker"]


def test_grpc_is_loaded_only_where_there_is_a_containerd() -> None:
    with fake_dockerd() as daemon:
        code = (
            "import sys; from cmgr.config.settings import Containerd, Docker; from cmgr.runtimes import open_runtimes;"
            f"open_runtimes(['auto'], docker=Docker({daemon.socket!r}), containerd=Containerd({NOWHERE!r}));"
            "sys.exit('grpc' in sys.modules or 'google.protobuf' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", code], timeout=30, check=False).returncode == 0


def test_a_name_that_is_no_runtime_is_refused() -> None:
    with pytest.raises(ConfigError, match="'podman': it is none of auto, docker, containerd, sim"):
        names("sim", "podman")


def test_pretended_containers_are_handed_on(tmp_path: Path) -> None:
    file = tmp_path / "world.json"
    (runtime,) = open_runtimes(["sim"], pretended=[Pretended("web", frozenset({"0"}))], sim_file=file)
    assert [container.name for container in runtime.list()] == ["web"]
    assert file.exists()
    runtime.close()


def test_a_configured_container_is_pretended() -> None:
    like = pretended(SimContainer("web", (0, 3), order=2, running=False, fail_stops=1))
    assert (like.name, like.claims, like.order, like.running, like.fail_stops) == ("web", frozenset("03"), 2, False, 1)


@pytest.mark.parametrize("limits", [DockerLimits, ContainerdLimits])
def test_the_usual_timeout_gives_the_usual_limits_and_another_keeps_their_proportions(
    limits: type[DockerLimits] | type[ContainerdLimits],
) -> None:
    usual = limits()
    assert Docker().timeout.total_seconds() == ContainerdSettings().timeout.total_seconds() == usual.list
    assert limits.within(usual.list) == usual
    half = limits.within(usual.list / 2)
    assert (half.list, half.start, half.first_delay) == (usual.list / 2, usual.start / 2, usual.first_delay)
