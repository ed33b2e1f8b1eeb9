"""dockerd is told to end (an upgrade of its package), its containers with it, and a chip faults before it is back.

Tried in 2026 on cmgr as it was: dockerd was back after six seconds, the chip was reset, the episode `recovered`, the
container stayed down, `exited (0)`: `all is well: … 0 containers running`. No person had spoken through that daemon.
"""

import pytest

from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_what_ended_with_dockerd_while_its_chip_faulted_runs_again(
    end: str, on_docker: Install, containers: Containers
) -> None:
    service = on_docker({})
    containers.run(Spec("llm", "0"), Spec("mate", "1"), Spec("stopped", "2"))
    service.start()
    containers.stop("stopped")
    eventually(lambda: not service.runs("stopped"))
    getattr(containers.dockerd, end)()
    service.inject(0)
    service.until_said("cannot reach docker")
    containers.dockerd.start()
    service.until_said("is over: recovered")
    service.until_over()
    eventually(lambda: containers.is_running("llm") and containers.is_running("mate"))
    assert not containers.is_running("stopped"), "that was a person's, before"
    eventually(lambda: service.cmgr("status", "--check").code == 0)


def test_what_ended_with_dockerd_though_its_chips_are_well_is_told(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(Spec("llm", "0"))
    service.start()
    eventually(lambda: (row := service.container("llm")) is not None and row["status"] == "running", why="it is known")
    containers.dockerd.stop()
    service.until_said("cannot reach docker")
    containers.dockerd.start()
    eventually(lambda: (row := service.container("llm")) is not None and row["status"] == "down")
    assert service.cmgr("status", "--check").code == 4


def test_what_dockerd_ended_while_cmgr_was_away_is_told(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(Spec("llm", "0"))
    service.start()
    eventually(lambda: (row := service.container("llm")) is not None and row["status"] == "running", why="it is known")
    service.kill9()
    containers.dockerd.kill()
    containers.dockerd.start()
    service.start()
    eventually(lambda: (row := service.container("llm")) is not None and row["status"] == "down")
    service.inject(0)
    service.until_over()
    eventually(lambda: containers.is_running("llm"), why="its end was nobody's order")
