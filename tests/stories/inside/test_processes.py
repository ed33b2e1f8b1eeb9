"""Docker in Docker, kind, k3d; and a process that nobody can end, for it is not there.

nvidia-docker 375 and 380, nvidia-container-runtime 92, nvidia-container-toolkit 301, cloud-pipeline 1166; nvitop 134,
mxnet 4242. Tried in 2026 on cmgr as it was: no GPU of the machine was ever reset, for "nobody knows which" the outer
container uses; and for a process that the driver listed and `ps` did not, a GPU and its healthy mates were down without
an end, and without a hint.
"""

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import gpu_workshop, nvidia
from tests.support.waiting import eventually
from tests.system.containers import Containers, Spec
from tests.system.nvml.conftest import Furnish, furnish

__all__ = ["furnish", "gpu_workshop", "nvidia"]

pytestmark = pytest.mark.docker

RESET_THE_GPU = 1
INNER = 64 * "b"


@pytest.fixture
def groups() -> Iterator[list[Path]]:
    """Yield where to book control groups that are to be removed."""
    made: list[Path] = []
    yield made
    for group in made:
        with suppress(OSError):  # The runtime removes those within a container's own.
            group.rmdir()
            group.parent.rmdir()


def inner(containers: Containers, outer: str, groups: list[Path]) -> int:
    """Start a process in the container, as an engine in it would: in a control group of its own below."""
    with closing(containers.dockerd.client()) as client:
        made = client.exec_create(outer, ["busybox", "sleep", "3600"])
        client.exec_start(made["Id"], detach=True)
        eventually(lambda: client.exec_inspect(made["Id"])["Pid"])
        pid = int(client.exec_inspect(made["Id"])["Pid"])
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for name in (controllers.removeprefix("name="), "unified", ""):
            group = Path("/sys/fs/cgroup", name, path.lstrip("/"))
            if group.is_dir() and path.strip("/"):
                below = group / "docker" / INNER
                with suppress(OSError):
                    below.mkdir(parents=True)
                    groups.append(below)
                    (below / "cgroup.procs").write_text(str(pid))
                break
    return pid


def test_a_process_in_a_container_within_a_container_is_of_the_outer_one(
    furnish: Furnish, containers: Containers, groups: list[Path]
) -> None:
    service, machine = (appliance := furnish(hosts.host_h100(4))).service, appliance.machine
    containers.run(Spec("dind", "", binds=("/dev:/dev",)))
    pid = inner(containers, "dind", groups)
    assert INNER in Path(f"/proc/{pid}/cgroup").read_text()
    machine.process(1, pid)
    service.start()
    machine.act(0, RESET_THE_GPU)
    service.until_said("is over: recovered")
    assert (containers.count("dind", "kill"), len(machine.resets)) == (0, 1)
    machine.act(1, RESET_THE_GPU)
    service.until_said("is over: recovered", 2)
    service.until_over()
    assert (containers.is_running("dind"), len(machine.resets)) == (True, 2)
    assert not Path(f"/proc/{pid}").exists()


def test_a_process_that_is_not_there_keeps_no_gpu_from_its_reset(furnish: Furnish, containers: Containers) -> None:
    service, machine = (appliance := furnish(hosts.host_h100(4))).service, appliance.machine
    containers.run(Spec("llm", "2"))
    machine.set("mortal", 0)
    machine.set("ghosts", 1)
    with_no_process = next(pid for pid in range(4_190_001, 4_194_304) if not Path(f"/proc/{pid}").exists())
    machine.process(2, with_no_process)
    service.start()
    machine.act(2, RESET_THE_GPU)
    service.until_said("is over: recovered")
    service.until_over()
    assert (service.runs("llm"), len(machine.resets)) == (True, 1)
    words = f"process {with_no_process} is on chip 2, says the driver, and does not exist any more"
    assert words in service.said()


def test_one_that_is_there_is_waited_for_and_told_with_what_to_do(furnish: Furnish, containers: Containers) -> None:
    service, machine = (appliance := furnish(hosts.host_h100(4))).service, appliance.machine
    containers.run(Spec("llm", "2"))
    machine.process(2, os.getpid())
    service.start()
    machine.act(2, RESET_THE_GPU)
    service.until_reason(f"process {os.getpid()}", "is on chip 2", ring=2)
    assert f"end process {os.getpid()}" in " ".join(service.cmgr("status").out.split())
    assert machine.resets == ()
    machine.process(2, os.getpid(), 0)
    service.until_said("is over: recovered")
