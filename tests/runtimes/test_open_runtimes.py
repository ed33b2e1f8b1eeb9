"""Which runtimes are taken."""

import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmgr.config.settings import Config, Docker
from cmgr.config.settings import Containerd as ContainerdSettings
from cmgr.config.sim import Sim, SimContainer
from cmgr.errors import ConfigError, RuntimeDown
from cmgr.ports import Runtime
from cmgr.runtimes import appeared, open_runtimes
from cmgr.runtimes.containerd.wire import Limits as ContainerdLimits
from cmgr.runtimes.docker.wire import Limits as DockerLimits
from cmgr.runtimes.sim.world import created
from tests.runtimes.docker.fake_dockerd import Request, fake_dockerd
from tests.support.waiting import PATIENCE

NOWHERE = "/nonexistent/docker.sock"


def configured(*wanted: str, socket: str = NOWHERE, containerd: str = NOWHERE) -> Config:
    return Config(runtimes=wanted, docker=Docker(socket), containerd=ContainerdSettings(containerd, ()))


def names(*wanted: str, known: tuple[str, ...] = (), **sockets: str) -> list[str]:
    return _closed(open_runtimes(configured(*wanted, **sockets), known))


def _closed(runtimes: tuple[Runtime, ...]) -> list[str]:
    for runtime in runtimes:
        runtime.close()
    return [runtime.name for runtime in runtimes]


@pytest.fixture
def deaf() -> Iterator[str]:
    """A socket at which nobody listens, as a daemon that was killed leaves it."""
    # A unix socket's path may have 107 characters: pytest's own directories are too deep.
    with tempfile.TemporaryDirectory() as made, socket.socket(socket.AF_UNIX) as left:
        left.bind(f"{made}/sock")
        yield f"{made}/sock"


def test_auto_takes_what_answers() -> None:
    with fake_dockerd() as daemon:
        assert names("auto", socket=daemon.socket) == ["docker"]
        assert names("auto", "docker", "auto", socket=daemon.socket) == ["docker"]
        assert names("sim", "auto", socket=daemon.socket) == ["sim", "docker"]


def test_auto_that_finds_nothing_says_so() -> None:
    with pytest.raises(RuntimeDown, match=f"cannot find a container runtime: .* {NOWHERE} or {NOWHERE}") as caught:
        names("auto")
    assert caught.value.hint


def test_auto_takes_what_answers_badly() -> None:
    with fake_dockerd() as daemon:
        daemon.on("GET /version", lambda request: Request.refuse(request, 500, "starting"))
        assert names("auto", socket=daemon.socket) == ["docker"]


def test_auto_takes_every_socket_whatever_is_behind_it(deaf: str) -> None:
    assert names("auto", socket=deaf) == ["docker"]
    assert names("auto", containerd=deaf) == ["containerd"]
    assert names("auto", socket=deaf, containerd=deaf) == ["docker", "containerd"]


def test_auto_takes_what_was_used_before_wherever_it_is() -> None:
    assert names("auto", known=("docker",)) == ["docker"]
    assert names("auto", known=("containerd", "podman", "sim")) == ["containerd"]


def test_what_was_used_before_and_is_not_named_is_left_out() -> None:
    assert names("containerd", known=("docker",)) == ["containerd"]


def test_a_socket_that_appears_later_is_found(deaf: str) -> None:
    assert _closed(appeared(configured("auto", socket=deaf), {"containerd"})) == ["docker"]
    assert appeared(configured("auto", socket=deaf), {"docker", "containerd"}) == ()
    assert appeared(configured("auto"), {"containerd"}) == ()
    assert appeared(configured("containerd", socket=deaf), {"containerd"}) == (), "others were named"


def test_a_runtime_that_is_named_need_not_answer_yet() -> None:
    assert names("docker") == ["docker"]
    assert names("auto", "sim") == ["sim"]


def test_grpc_is_loaded_only_where_there_is_a_containerd() -> None:
    with fake_dockerd() as daemon:
        code = (
            "import sys; from cmgr.config.settings import Config, Containerd, Docker;"
            "from cmgr.runtimes import open_runtimes;"
            f"open_runtimes(Config(docker=Docker({daemon.socket!r}), containerd=Containerd({NOWHERE!r})));"
            "sys.exit('grpc' in sys.modules or 'google.protobuf' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", code], timeout=PATIENCE, check=False).returncode == 0


def test_a_name_that_is_no_runtime_is_refused() -> None:
    with pytest.raises(ConfigError, match="'podman': it is none of auto, docker, containerd, sim"):
        names("sim", "podman")


def test_pretended_containers_are_handed_on(tmp_path: Path) -> None:
    file = tmp_path / "world.containers"
    sim = Sim(world=str(tmp_path / "world"), containers=(SimContainer("web", (0,)),))
    (runtime,) = open_runtimes(Config(runtimes=("sim",), sim=sim))
    assert [container.name for container in runtime.list()] == ["web"]
    assert file.exists()
    runtime.close()


def test_a_configured_container_is_pretended() -> None:
    shown = created(SimContainer("web", (0, 3), order=2, running=False, shares=("1:116",)), 1).container()
    assert (shown.name, shown.claims, shown.order, shown.running) == ("web", frozenset({"0", "3", "1:116"}), 2, False)


@pytest.mark.parametrize("limits", [DockerLimits, ContainerdLimits])
def test_the_usual_timeout_gives_the_usual_limits_and_another_keeps_their_proportions(
    limits: type[DockerLimits] | type[ContainerdLimits],
) -> None:
    usual = limits()
    assert Docker().timeout.total_seconds() == ContainerdSettings().timeout.total_seconds() == usual.list
    assert limits.within(usual.list) == usual
    half = limits.within(usual.list / 2)
    assert (half.list, half.start, half.first_delay) == (usual.list / 2, usual.start / 2, usual.first_delay)
